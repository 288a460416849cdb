/* Looks up host names in a process of its own, as libwebsockets would block. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "common/dial/resolve_process.h"
#include "common/dial/wsloop.h"

struct resolver;

/*
 * Fork the process, before there is a secret in memory.  NULL after a line in
 * the log.  confine_self: 0, or -1: it exits.
 */
struct resolver	*resolver_start(int (*confine_self)(void));

/* on_gone: once, if the process ends; then only cached names are found. */
int		 resolver_attach(struct resolver *r, struct wsloop *l,
		    void (*on_gone)(void *arg), void *arg);
bool		 resolver_is_gone(const struct resolver *r);
void		 resolver_free(struct resolver **rp);

struct resolve_query;

/*
 * Look up a name or numeric address.  on_answer is called once, from the loop,
 * and frees the query.  NULL with errno: no call.
 */
struct resolve_query	*resolve(struct resolver *r, const char *host,
		    void (*on_answer)(void *arg,
		    const struct resolve_answer *a), void *arg);

/* on_answer is not called. */
void		 resolve_cancel(struct resolve_query **qp);
