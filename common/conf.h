/*
 * The configuration: rows of proto/conf.def, read from a file in sshd's form
 * ("Keyword value", # comments, keywords in any case) or set one by one.
 */
#ifndef COMMON_CONF_H
#define COMMON_CONF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct conf_list {
	char	**item;
	size_t	 n;
};

typedef char			*CONF_TEXT;
typedef struct conf_list	 CONF_LIST;
typedef uint64_t		 CONF_COUNT, CONF_SIZE, CONF_SECONDS; /* ms */
typedef int			 CONF_CHOICE_level, CONF_CHOICE_paths,
				 CONF_CHOICE_root, CONF_CHOICE_cgroup,
				 CONF_CHOICE_token, CONF_CHOICE_transport;

enum { CONF_CGROUP_AUTO, CONF_CGROUP_NO };
enum { CONF_TRANSPORT_NOISE, CONF_TRANSPORT_RELAY, CONF_TRANSPORT_PLAIN };
enum { CONF_TOKEN_REMOTE, CONF_TOKEN_ALWAYS };
enum { CONF_ROOT_NO, CONF_ROOT_LOCAL, CONF_ROOT_YES };

/* A block: the rows of proto/uplink.def. */
struct conf_uplink {
	char	*label;		/* what stands behind "Uplink" */
#define UPLINK(keyword, type, member, value, help)	CONF_##type member;
#include "proto/uplink.def"
#undef UPLINK
};

struct conf {
#define CONF(keyword, type, member, value, help)	CONF_##type member;
#include "proto/conf.def"
#undef CONF
	struct conf_uplink	*uplink;
	size_t			 nuplink;
	bool			 in_uplink;	/* the last one is open */
};

struct conf_error {
	char	 text[256];
};

/* All at their defaults.  0, or -1 with errno ENOMEM. */
int	 conf_init(struct conf *c) __attribute__((warn_unused_result));
void	 conf_fini(struct conf *c);

/*
 * Set one keyword.  "Uplink" begins a block, to which what follows belongs
 * until conf_end_block().  0, or -1 with the reason in e.
 */
int	 conf_set(struct conf *c, const char *keyword, const char *value,
	    struct conf_error *e) __attribute__((warn_unused_result));

/* What comes next is about everything again. */
void	 conf_end_block(struct conf *c);

/*
 * Read a file.  It must belong to root or to us and be writable by nobody
 * else. 0, or -1 with file, line and reason in e; what came before the bad
 * line is set.
 */
int	 conf_load(struct conf *c, const char *path, struct conf_error *e)
	    __attribute__((warn_unused_result));

/* The word for a value of a choice (confchoice.def); "?": there is none. */
const char	*conf_word(const char *choice, int value);

/* Print all settings as they are, as a file that sets them. */
void	 conf_print(const struct conf *c, FILE *out);

#endif
