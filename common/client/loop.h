/* The loop of a client: what it waits for, and what it does then. */
#ifndef COMMON_CLIENT_LOOP_H
#define COMMON_CLIENT_LOOP_H

#include "common/client/client.h"

/* A client that is to be opened, or NULL. */
struct execsrv	*execsrv_new(void);

/* Free it and all that belongs to it, without a goodbye. */
void		 execsrv_free(struct execsrv **xp);

/* ms until execsrv_handle() wants to be called anyway, or -1. */
int	 execsrv_wait_ms(const struct execsrv *x);

/*
 * Read, write and call hooks, as poll(2) said of what transport_wants().  0, or
 * -1: the client failed.
 */
int	 execsrv_handle(struct execsrv *x, short revents)
	    __attribute__((warn_unused_result));

#endif
