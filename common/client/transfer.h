/* Files block by block, for those above. */
#ifndef COMMON_CLIENT_TRANSFER_H
#define COMMON_CLIENT_TRANSFER_H

#include "common/client/client.h"

/* Go on with those that were paused and are not any more. */
void	 execsrv_transfer_work(struct execsrv *x);

/* Free all, whatever is under way. */
void	 execsrv_transfer_free_all(struct execsrv *x);

#endif
