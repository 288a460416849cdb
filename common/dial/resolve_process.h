/* The process that looks up host names; questions and answers are packets. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "common/attributes.h"

#define RESOLVE_TEXT	48	/* bytes */
#define RESOLVE_MAX	8	/* addresses that are tried */
#define RESOLVE_HOST	255	/* bytes of a name (RFC 1035) */

struct resolve_answer {
	size_t	 n;			/* 0: no such host */
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

/* What it gives up first. */
struct resolve_how {
	const char	*role;			/* in the log */
	void		(*forget)(void *arg);	/* wipe memory; or NULL */
	void		*arg;
	int		(*confine_self)(void);	/* 0, or -1: it exits */
};

/* Return our end, non-blocking; its end ends the process.  -1 with errno. */
int	 resolve_process(const struct resolve_how *how) MUST_CHECK;

/* 1; 0: none now, or none at all; -1 with errno, 0: the end. */
int	 resolve_take(int sock, struct resolve_reply *out) MUST_CHECK;
