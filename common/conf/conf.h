/*
 * The configuration: rows of proto/conf.def, read from a file in sshd's form
 * ("Keyword value", # comments, keywords in any case) or set one by one; the
 * Uplink blocks; and Match blocks, which set some rows for some clients.
 */
#ifndef COMMON_CONF_CONF_H
#define COMMON_CONF_CONF_H

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

typedef char			*CONF_TEXT;
typedef struct conf_list	 CONF_LIST, CONF_NAMES;
typedef uint64_t		 CONF_COUNT, CONF_SIZE, CONF_ROOM, CONF_WEIGHT,
				 CONF_SECONDS, CONF_TIMEOUT;	/* ms */
typedef uint32_t		 CONF_MODE, CONF_NICE;
typedef struct conf_rlimit	 CONF_RLIMIT;
typedef int			 CONF_CHOICE_level, CONF_CHOICE_paths,
				 CONF_CHOICE_root, CONF_CHOICE_cgroup,
				 CONF_CHOICE_transport, CONF_CHOICE_yesno,
				 CONF_CHOICE_stdin, CONF_CHOICE_sandbox,
				 CONF_CHOICE_facility, CONF_CHOICE_format,
				 CONF_CHOICE_token, CONF_CHOICE_transcript,
				 CONF_CHOICE_overflow;

enum { CONF_CGROUP_AUTO, CONF_CGROUP_NO };
enum { CONF_FORMAT_TEXT, CONF_FORMAT_JSON };
enum { CONF_OVERFLOW_HOLD, CONF_OVERFLOW_DROP };
enum { CONF_TRANSCRIPT_NONE, CONF_TRANSCRIPT_PTY, CONF_TRANSCRIPT_ALL };
enum { CONF_TRANSPORT_NOISE, CONF_TRANSPORT_RELAY, CONF_TRANSPORT_PLAIN };
enum { CONF_TOKEN_REMOTE, CONF_TOKEN_ALWAYS };
enum { CONF_ROOT_NO, CONF_ROOT_LOCAL, CONF_ROOT_YES };
enum { CONF_SANDBOX_NONE, CONF_SANDBOX_READ, CONF_SANDBOX_WRITE };
enum { CONF_STDIN_NO, CONF_STDIN_BEARER, CONF_STDIN_FRAMES };

/* The rows, by number. */
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

/* A block: the rows of proto/uplink.def. */
struct conf_uplink {
	char	*label;		/* what stands behind "Uplink" */
	char	*where;		/* "FILE:LINE" of that, or "" */
	bool	 given[CONF_UPLINK_ROWS];
	struct conf_list where_of[CONF_UPLINK_ROWS];
#define UPLINK(keyword, type, member, value, help)	CONF_##type member;
#include "proto/uplink.def"
#undef UPLINK
};

/* What a Match block may ask for: the rows of proto/confmatch.def. */
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
	struct conf_value	*value;		/* the first of a row counts */
	size_t			 nvalue;
	char			*where;		/* "FILE:LINE" or "" */
};

enum conf_block { CONF_OUTER, CONF_IN_UPLINK, CONF_IN_MATCH };

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
	enum conf_block		 block;		/* the last one is open */
};

struct conf_error {
	char	 text[512];
};

/* Put a reason into e.  Always -1. */
int	 conf_fail(struct conf_error *e, const char *fmt, ...)
	    __attribute__((format(printf, 2, 3)));

/*
 * Where a value was read, "FILE:LINE", or "": on the command line, or nowhere.
 * i: which one of a list, else 0.  Of an uplink without it, where that begins.
 */
const char *conf_where(const struct conf *c, size_t row, size_t i);
const char *conf_uplink_where(const struct conf_uplink *u, size_t row);

/* Put such a place before the reason in e.  Always -1. */
int	 conf_at(struct conf_error *e, const char *where);

/* All at their defaults.  0, or -1 with errno ENOMEM. */
int	 conf_init(struct conf *c) __attribute__((warn_unused_result));
void	 conf_fini(struct conf *c);

/*
 * Set one keyword.  "Uplink" and "Match" begin a block, to which what follows
 * belongs until the next one or conf_end_block().  What is set here, no file
 * changes any more; a list gets both.  0, or -1 with the reason in e.
 */
int	 conf_set(struct conf *c, const char *keyword, const char *value,
	    struct conf_error *e) __attribute__((warn_unused_result));

/* Forget what a list has (CONF_ROW_...). */
void	 conf_empty(struct conf *c, size_t row);

/* What comes next is about everything again. */
void	 conf_end_block(struct conf *c);

/*
 * Read a file and those that it includes.  Of a keyword that is there more than
 * once the first one counts, as in sshd_config(5); of a list all.  Each
 * file must belong to root or to us and be writable by nobody else.  0, or -1
 * with "FILE:LINE: reason" in e; what came before the bad line is set.
 */
int	 conf_load(struct conf *c, const char *path, struct conf_error *e)
	    __attribute__((warn_unused_result));

/*
 * The same of a text (cut up in place, NUL at its end) that is called name.
 * Pure but for include, which reads what an Include names: 0, -1 with the whole
 * of e, or -2 with a reason that is about that line.
 */
typedef int	 conf_include_fn(void *arg, struct conf *c,
		    const char *pattern, struct conf_error *e);
int	 conf_parse(struct conf *c, const char *name, char *text, size_t len,
	    conf_include_fn *include, void *arg, struct conf_error *e)
	    __attribute__((warn_unused_result));

/* The word for a value of a choice (confchoice.def); "?": there is none. */
const char	*conf_word(const char *choice, int value);

/* Print all settings as they are, as a file that sets them. */
void	 conf_print(const struct conf *c, FILE *out);

/*
 * From what was in force to what a file says now: rows and Uplink blocks that
 * need a restart keep what they were, the blocks at their address, and on_kept
 * is called for each that says something else.  0, or -1 with errno ENOMEM:
 * both are as they were.
 */
int	 conf_keep(struct conf *now, struct conf *old,
	    void (*on_kept)(void *arg, const char *keyword), void *arg)
	    __attribute__((warn_unused_result));

/* --- clients --- */

/* Who asks, by the rows of confmatch.def; NULL is as empty. */
struct conf_client {
	const char	*text[CONF_CRITERIA];	/* but for the group */
	char *const	*group;
	size_t		 ngroup;
};

/*
 * What is in force for a client: a configuration without Match and Uplink
 * blocks.  A list has what is said for everybody and in each block that holds.
 * conf_fini() after 0; -1 with errno ENOMEM.
 */
int	 conf_resolve(const struct conf *c, const struct conf_client *who,
	    struct conf *out) __attribute__((warn_unused_result));

/*
 * The same as text: "user=U,group=G,group=G,address=A,...".  Owns its texts.
 * addr stands for address.
 */
struct conf_spec {
	struct conf_client	  client;
	char			 *copy;
	char			**groups;
};
int	 conf_spec_parse(struct conf_spec *s, const char *text,
	    struct conf_error *e) __attribute__((warn_unused_result));
void	 conf_spec_fini(struct conf_spec *s);

/* --- patterns; pure --- */

/* Of names with blanks or commas between them, in place, such a list: */
void	 conf_join_names(char *text);

/*
 * sshd's lists: PATTERN[,PATTERN...], with * and ?, and ! before one that may
 * not match.  1: one matches; 0: none; -1: one with ! does.
 */
int	 conf_pattern_list(const char *list, const char *text);

/*
 * The same for addresses, where ADDRESS/LENGTH stands for a network.  -2: one
 * with a slash is none, or has bits behind its length.
 */
int	 conf_address_list(const char *list, const char *address);

#endif
