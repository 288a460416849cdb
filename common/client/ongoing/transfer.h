/* The transfers of a client. */
#ifndef COMMON_CLIENT_ONGOING_TRANSFER_H
#define COMMON_CLIENT_ONGOING_TRANSFER_H

#include "common/client/client.h"

/* Go on with transfers that were resumed outside the loop. */
void	 execsrv_transfer_work(struct execsrv *x);

/* Free all, without waiting for requests in flight. */
void	 execsrv_transfer_free_all(struct execsrv *x);

#endif
