/*
 * Resolves host names in a process of its own: libwebsockets would block, and
 * this program needs no files.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "common/dial/resolve_process.h"
#include "common/dial/wsloop.h"

struct resolver;

/*
 * Fork the process, which calls confine_self() to give up what it does not
 * need (0, or -1: it exits); before there is a secret in memory.  NULL after a
 * line in the log.
 */
struct resolver	*resolver_start(int (*confine_self)(void));

/*
 * Receive answers in l.  on_gone is called once if the process ends: from then
 * on only names that are cached are found.  0, or -1 with errno.
 */
int		 resolver_attach(struct resolver *r, struct wsloop *l,
		    void (*on_gone)(void *arg), void *arg);
bool		 resolver_is_gone(const struct resolver *r);
void		 resolver_free(struct resolver **rp);

struct resolve_query;

/*
 * Look up a name; a numeric address is its own answer.  on_answer is called
 * once, from the loop, and frees the query.  NULL with errno: no call.
 */
struct resolve_query	*resolve(struct resolver *r, const char *host,
		    void (*on_answer)(void *arg,
		    const struct resolve_answer *a), void *arg);

/* Cancel: on_answer is not called. */
void		 resolve_cancel(struct resolve_query **qp);
