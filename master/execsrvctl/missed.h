/* Output that was lost while detached, on standard error. */
#ifndef MASTER_EXECSRVCTL_MISSED_H
#define MASTER_EXECSRVCTL_MISSED_H

#include "common/client/execsrv.h"

/* Report it, unless it is what was reported last, in said. */
void	 missed_say(const struct execsrv *x, struct execsrv_overflow *said);

#endif
