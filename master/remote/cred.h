/* The credential for a registry: a token, in locked memory only. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CRED_MAX	(16 * 1024)	/* bytes of a token, and of a line */

enum cred_source {
	CRED_NONE,
	CRED_API_KEY,		/* CODEX_API_KEY */
	CRED_BEARER,		/* CODEX_EXEC_SERVER_REMOTE_BEARER_TOKEN */
	CRED_LINE,		/* a line of standard input */
	CRED_FRAMES,		/* lines of JSON, each replaces the last */
	CRED_FILE
};

struct cred {
	enum cred_source	 source;
	char			*token;		/* locked; NULL: none */
	uint64_t		 expires;	/* Unix seconds; 0: never */
};

/*
 * Remove both variables from the environment, wiped, and use the first that is
 * set: CRED_NONE if none is; no token if malformed.  0, or -1 with errno.
 */
int	 cred_take_env(struct cred *c) MUST_CHECK;

/*
 * Keep one of the environment for programs that are executed later.  A socket;
 * -1 if there is none; or -2 with errno.
 */
int	 cred_keep(const struct cred *c) MUST_CHECK;

/* Read a kept one, which stays there.  0, or -1 with errno. */
int	 cred_take_kept(struct cred *c, int fd) MUST_CHECK;

/* 0, or -1 with errno. */
int	 cred_copy(struct cred *to, const struct cred *from) MUST_CHECK;
void	 cred_fini(struct cred *c);

/*
 * Below: 0, or -1 with the reason in why.  A file of one line, owned by us or
 * root, with no access for others.
 */
int	 cred_read_file(struct cred *c, const char *path, char *why,
	    size_t size) MUST_CHECK;

/* Wait for a line of standard input: a token, or with frames as below. */
int	 cred_read_stdin(struct cred *c, bool frames,
	    const char *environment, char *why, size_t size) MUST_CHECK;

/*
 * Parse and wipe
 * {"version":1,"environment_id":ID,"token":TOKEN,"expires_at":SECONDS}; -1: c
 * is unchanged.
 */
int	 cred_take_frame(struct cred *c, char *line, size_t len,
	    const char *environment, char *why, size_t size) MUST_CHECK;

/* Whether there is a token that has not expired. */
bool	 cred_is_good(const struct cred *c);

/* Whether a URL is https, or a loopback address. */
bool	 cred_is_safe(const char *url);
