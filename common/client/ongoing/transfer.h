/* The transfers of a client. */
#pragma once

#include "common/client/client.h"

/* Go on with transfers that were resumed outside the loop. */
void	 execsrv_transfer_work(struct execsrv *x);

/* Without waiting for requests in flight. */
void	 execsrv_transfer_free_all(struct execsrv *x);
