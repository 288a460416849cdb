/* The event loop of a client, and its life. */
#pragma once

#include "common/client/client.h"

/* To be opened, or NULL. */
struct execsrv	*execsrv_new(void);

/* With all that belongs to it, without a close frame. */
void		 execsrv_free(struct execsrv **xp);

/* The ms until execsrv_handle() is due, or -1. */
int	 execsrv_wait_ms(const struct execsrv *x);

/* For poll(2)'s revents.  0, or -1: the client failed. */
int	 execsrv_handle(struct execsrv *x, short revents) MUST_CHECK;
