/*
 * The process that looks up names of hosts for one that needs no files and must
 * not wait.  A question and its answer are packets on their socket, each as it
 * is: no end of the two may take another number of bytes for one.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "common/attributes.h"

#define RESOLVE_TEXT	48	/* a numeric address and its NUL */
#define RESOLVE_MAX	8	/* addresses of a name that are tried */
#define RESOLVE_HOST	255	/* bytes of a name (RFC 1035) */

struct resolve_answer {
	size_t	 n;			/* 0: there is no such host */
	char	 address[RESOLVE_MAX][RESOLVE_TEXT];
};

struct resolve_question {
	uint32_t	 number;
	char		 host[RESOLVE_HOST + 1];
};
struct resolve_reply {
	uint32_t		 number;
	struct resolve_answer	 answer;
};

/* What it gives up before it reads. */
struct resolve_how {
	const char	*role;			/* in the log */
	void		(*forget)(void *arg);	/* wipe memory; or NULL */
	void		*arg;
	int		(*confine_self)(void);	/* 0, or -1: it exits */
};

/*
 * Fork it.  Return our end of the socket, whose end ends it too, non-blocking;
 * -1 with errno.
 */
int	 resolve_process(const struct resolve_how *how) MUST_CHECK;

/* Take an answer: 1; 0: none now, or none at all; -1 with errno, 0: the end. */
int	 resolve_take(int sock, struct resolve_reply *out) MUST_CHECK;
