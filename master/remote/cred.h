/*
 * What we show a registry: a token, from the environment, a file or standard
 * input.  Tokens are kept in locked memory, and nowhere else.
 */
#ifndef MASTER_REMOTE_CRED_H
#define MASTER_REMOTE_CRED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CRED_MAX	(16 * 1024)	/* bytes of a token, and of a line */

/* Where it comes from. */
enum cred_source {
	CRED_NONE,
	CRED_API_KEY,		/* CODEX_API_KEY */
	CRED_BEARER,		/* CODEX_EXEC_SERVER_REMOTE_BEARER_TOKEN */
	CRED_LINE,		/* a line of standard input */
	CRED_FRAMES,		/* lines of JSON there, each for the next */
	CRED_FILE
};

struct cred {
	enum cred_source	 source;
	char			*token;		/* locked; NULL: none */
	uint64_t		 expires;	/* Unix seconds; 0: never */
};

/*
 * Take the tokens out of the environment and wipe them there.  The first that
 * is set of the two becomes c (CRED_NONE if neither is; without a token if it
 * is none).  0, or -1 with errno.
 */
int	 cred_take_env(struct cred *c) __attribute__((warn_unused_result));

/* Another copy.  0, or -1 with errno. */
int	 cred_copy(struct cred *to, const struct cred *from)
	    __attribute__((warn_unused_result));
void	 cred_fini(struct cred *c);

/*
 * Read a file: one line, readable and writable by its owner only, who is us or
 * root.  0, or -1 with the reason in why.
 */
int	 cred_read_file(struct cred *c, const char *path, char *why,
	    size_t size) __attribute__((warn_unused_result));

/*
 * Wait for a line on standard input and take it: as a token, or (frames) as
 * JSON for that environment, see cred_take_frame().  0, or -1 with the reason.
 */
int	 cred_read_stdin(struct cred *c, bool frames,
	    const char *environment, char *why, size_t size)
	    __attribute__((warn_unused_result));

/*
 * Take a line of len bytes, {"version":1,"environment_id":ID,"token":TOKEN,
 * "expires_at":SECONDS} and nothing else; it is wiped.  0, or -1 with the
 * reason, and c is as it was.
 */
int	 cred_take_frame(struct cred *c, char *line, size_t len,
	    const char *environment, char *why, size_t size)
	    __attribute__((warn_unused_result));

/* Whether it may be used now. */
bool	 cred_is_good(const struct cred *c);

/* Whether a URL is https, or of this machine. */
bool	 cred_is_safe(const char *url);

#endif
