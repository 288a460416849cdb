/*
 * The configuration: rows of proto/conf.def, from a file like sshd_config(5) or
 * set one by one; Uplink blocks; Match blocks, which set rows for some clients.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct conf_list {
	char	**item;
	size_t	 n;
};

struct conf_rlimit {
	bool		 is_set;
	uint64_t	 soft, hard;	/* UINT64_MAX: unlimited */
};

typedef char			*CONF_TEXT, *CONF_PATH;
typedef struct conf_list	 CONF_LIST, CONF_NAMES;
typedef uint64_t		 CONF_COUNT, CONF_AMOUNT, CONF_SIZE, CONF_ROOM,
				 CONF_WEIGHT,
				 CONF_SECONDS, CONF_TIMEOUT;	/* ms */
typedef uint32_t		 CONF_MODE, CONF_NICE;
typedef struct conf_rlimit	 CONF_RLIMIT;
typedef int			 CONF_CHOICE_level, CONF_CHOICE_paths,
				 CONF_CHOICE_root, CONF_CHOICE_cgroup,
				 CONF_CHOICE_transport, CONF_CHOICE_yesno,
				 CONF_CHOICE_stdin, CONF_CHOICE_sandbox,
				 CONF_CHOICE_facility, CONF_CHOICE_format,
				 CONF_CHOICE_token, CONF_CHOICE_transcript,
				 CONF_CHOICE_overflow, CONF_CHOICE_network,
				 CONF_CHOICE_reach, CONF_CHOICE_ready;

enum { CONF_CGROUP_AUTO, CONF_CGROUP_NO };
enum { CONF_FORMAT_TEXT, CONF_FORMAT_JSON };
enum { CONF_NETWORK_UNMANAGED, CONF_NETWORK_MANAGED };
enum { CONF_OVERFLOW_HOLD, CONF_OVERFLOW_DROP };
enum { CONF_TRANSCRIPT_NONE, CONF_TRANSCRIPT_PTY, CONF_TRANSCRIPT_ALL };
enum { CONF_TRANSPORT_NOISE, CONF_TRANSPORT_RELAY, CONF_TRANSPORT_PLAIN };
enum { CONF_TOKEN_REMOTE, CONF_TOKEN_ALWAYS };
enum { CONF_REACH_AUTO, CONF_REACH_REDIRECT, CONF_REACH_SPLICE };
enum { CONF_READY_AUTO, CONF_READY_ALL, CONF_READY_ANY, CONF_READY_NONE };
enum { CONF_ROOT_NO, CONF_ROOT_LOCAL, CONF_ROOT_YES };
enum { CONF_SANDBOX_NONE, CONF_SANDBOX_READ, CONF_SANDBOX_WRITE };
enum { CONF_STDIN_NO, CONF_STDIN_BEARER, CONF_STDIN_FRAMES };

enum {
#define CONF(keyword, type, member, value, when, help)	CONF_ROW_##member,
#include "proto/conf.def"
#undef CONF
	CONF_ROWS
};
enum {
#define UPLINK(keyword, type, member, value, help)	CONF_UPLINK_##member,
#include "proto/uplink.def"
#undef UPLINK
	CONF_UPLINK_ROWS
};

/* An Uplink block: the rows of proto/uplink.def. */
struct conf_uplink {
	char	*label;		/* after "Uplink" */
	char	*where;		/* its "FILE:LINE", or "" */
	bool	 given[CONF_UPLINK_ROWS];
	struct conf_list where_of[CONF_UPLINK_ROWS];
#define UPLINK(keyword, type, member, value, help)	CONF_##type member;
#include "proto/uplink.def"
#undef UPLINK
};

/* Criteria of a Match block: the rows of proto/confmatch.def. */
enum {
#define CRITERION(keyword, member, kind, help)	CONF_MATCH_##member,
#include "proto/confmatch.def"
#undef CRITERION
	CONF_CRITERIA
};

struct conf_value {
	size_t	 row;
	char	*text;
};

struct conf_match {
	char			*pattern[CONF_CRITERIA];	/* or NULL */
	struct conf_value	*value;		/* first one of a row wins */
	size_t			 nvalue;
	char			*where;		/* "FILE:LINE" or "" */
};

/* CONF_IN_WRONG: the block's first line has a mistake. */
enum conf_block { CONF_OUTER, CONF_IN_UPLINK, CONF_IN_MATCH, CONF_IN_WRONG };

struct conf {
#define CONF(keyword, type, member, value, when, help)	CONF_##type member;
#include "proto/conf.def"
#undef CONF
	bool			 given[CONF_ROWS];
	struct conf_list	 where_of[CONF_ROWS];	/* each value */
	struct conf_uplink	*uplink;
	size_t			 nuplink;
	struct conf_match	*match;
	size_t			 nmatch;
	enum conf_block		 block;		/* open: the last of its kind */
	const char		*folder;	/* of relative paths */
	const char		*reading;	/* file */
	struct conf_list	 note;		/* no mistakes, but likely */
	struct conf_list	 wrong;		/* keywords; "": any */
};

/* One reason; of conf_load() and conf_more() lines of them. */
struct conf_error {
	char	 text[4096];
};

/* Write a reason.  Always -1. */
int	 conf_fail(struct conf_error *e, const char *fmt, ...) PRINTF(2, 3);

/* Add the reasons in e to all, which may be empty.  Always -1. */
int	 conf_more(struct conf_error *all, const struct conf_error *e);

/* Return the next reason of a text and its length, or NULL. */
const char *conf_error_line(const char **at, size_t *len_out);

/* "FILE:LINE" of a value (the i-th of a list), or the block's; "": no file. */
const char *conf_where(const struct conf *c, size_t row, size_t i);
const char *conf_uplink_where(const struct conf_uplink *u, size_t row);

/* Put a place in front of the reason.  Always -1. */
int	 conf_at(struct conf_error *e, const char *where);

/* Set the defaults.  0, or -1 with errno ENOMEM. */
int	 conf_init(struct conf *c) MUST_CHECK;
void	 conf_fini(struct conf *c);

/*
 * Set a keyword as the command line does: files add to a list, but override
 * nothing else.  "Uplink" and "Match" begin a block for those that follow.  A
 * relative path is in c->folder, if set.  0, or -1 with e.
 */
int	 conf_set(struct conf *c, const char *keyword, const char *value,
	    struct conf_error *e) MUST_CHECK;

/* Whether a mistake was perhaps made with this keyword: it is not as meant. */
bool	 conf_is_wrong(const struct conf *c, const char *keyword);

void	 conf_empty(struct conf *c, size_t row);	/* of a list */
void	 conf_end_block(struct conf *c);

/*
 * Read a file and its Includes, owned by root or us and not writable by others.
 * The first value of a keyword wins, lists accumulate.  A relative path is
 * beside its file.  0, or -1 with "FILE:LINE: reason" of each mistake; other
 * lines are set.
 */
int	 conf_load(struct conf *c, const char *path, struct conf_error *e)
	    MUST_CHECK;

/*
 * The same for a text (NUL-terminated, cut up in place); pure but for include,
 * which reads files: 0; -1 with all of e; -2 with a reason in e about this
 * line.
 */
typedef int	 conf_include_fn(void *arg, void *c, const char *pattern,
		    struct conf_error *e);
int	 conf_parse(struct conf *c, const char *name, char *text, size_t len,
	    conf_include_fn *include, void *arg, struct conf_error *e)
	    MUST_CHECK;

/* Return a value's word (confchoice.def), or "?". */
const char	*conf_word(const char *choice, int value);

/* As a configuration file. */
void	 conf_print(const struct conf *c, FILE *out);

/*
 * On reload, give now what needs a restart to change from old (Uplink blocks at
 * their address); on_kept is called for each that differs.  0, or -1 with errno
 * ENOMEM, nothing changed.
 */
int	 conf_keep(struct conf *now, struct conf *old,
	    void (*on_kept)(void *arg, const char *keyword), void *arg)
	    MUST_CHECK;

/* A client, by the rows of confmatch.def; NULL counts as "". */
struct conf_client {
	const char	*text[CONF_CRITERIA];	/* except group */
	char *const	*group;
	size_t		 ngroup;
};

/* Without blocks, lists joined; end it with conf_fini().  -1: ENOMEM. */
int	 conf_resolve(const struct conf *c, const struct conf_client *who,
	    struct conf *out) MUST_CHECK;

/* "user=U,group=G,group=G,addr=A,..."; owns its texts. */
struct conf_spec {
	struct conf_client	  client;
	char			 *copy;
	char			**groups;
};
int	 conf_spec_parse(struct conf_spec *s, const char *text,
	    struct conf_error *e) MUST_CHECK;
void	 conf_spec_fini(struct conf_spec *s);

/* --- patterns; pure --- */

/* Blanks between names become commas. */
void	 conf_join_names(char *text);

/* Match sshd's PATTERN,... with *, ?, !.  1; 0; -1: a negated one matches. */
int	 conf_pattern_list(const char *list, const char *text);

/* The same for addresses and ADDRESS/LENGTH.  -2: not a valid network. */
int	 conf_address_list(const char *list, const char *address);
