/*
 * Host names to addresses, in a process of its own: libwebsockets would wait
 * for the answer, and with it all streams; and so the uplink itself needs no
 * file of the system.
 */
#ifndef COMMON_DIAL_RESOLVE_H
#define COMMON_DIAL_RESOLVE_H

#include <stdbool.h>
#include <stddef.h>

#include "common/dial/wsloop.h"

#define RESOLVE_TEXT	48	/* a numeric address and its NUL */
#define RESOLVE_MAX	8	/* addresses of a name that are tried */

struct resolve_answer {
	size_t	 n;			/* 0: there is no such host */
	char	 address[RESOLVE_MAX][RESOLVE_TEXT];
};

struct resolver;

/*
 * Fork the process, which calls confine_self() to give up what it does not
 * need (0, or -1: it exits); before there is a secret in memory.  NULL after a
 * line in the log.
 */
struct resolver	*resolver_start(int (*confine_self)(void));

/*
 * Serve its answers from here on.  on_gone is called once if its process ends
 * before we do: names that it has told of stay known from then on, others are
 * not found.  0, or -1 with errno.
 */
int		 resolver_attach(struct resolver *r, struct wsloop *l,
		    void (*on_gone)(void *arg), void *arg);
bool		 resolver_is_gone(const struct resolver *r);
void		 resolver_free(struct resolver **rp);

struct resolve_wish;

/*
 * Look up a name (numeric addresses go through as they are).  on_answer is
 * called once from the loop, and the wish is over then.  NULL with errno:
 * nothing will be called.
 */
struct resolve_wish	*resolve(struct resolver *r, const char *host,
		    void (*on_answer)(void *arg,
		    const struct resolve_answer *a), void *arg);

/* Never mind.  Forgets the pointer; NULL is fine. */
void		 resolve_cancel(struct resolve_wish **wp);

#endif
