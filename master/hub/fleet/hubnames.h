/*
 * Names of NATS servers, looked up by a process of its own: the worker of a hub
 * may open no file, and waits for nobody.
 */
#pragma once

#include "common/ev.h"
#include "common/net/endpoint.h"

struct hubnames;

typedef void	 hubnames_fn(void *arg, const char *address);

/*
 * Fork, before anything is confined; forget() wipes what it has no use for.
 * NULL with errno.
 */
struct hubnames	*hubnames_new(void (*forget)(void *arg), void *arg);

/* From now on answers come by fn: the address of a name, or "".  -1: errno. */
int		 hubnames_attach(struct hubnames *n, struct event_base *base,
		    hubnames_fn *fn, void *arg) MUST_CHECK;
void		 hubnames_free(struct hubnames **np);

/* 0, or -1 with errno: there will be no answer. */
int		 hubnames_ask(struct hubnames *n, const char *host) MUST_CHECK;
