/* The event loop of a client, and its life. */
#pragma once

#include "common/client/client.h"

/* A client that is to be opened, or NULL. */
struct execsrv	*execsrv_new(void);

/* Free it and all that belongs to it, without a close frame. */
void		 execsrv_free(struct execsrv **xp);

/* Return the ms until execsrv_handle() is due, or -1. */
int	 execsrv_wait_ms(const struct execsrv *x);

/*
 * Read, write and call hooks, as poll(2) said of transport_poll_events().  0,
 * or -1: the client failed.
 */
int	 execsrv_handle(struct execsrv *x, short revents) MUST_CHECK;
