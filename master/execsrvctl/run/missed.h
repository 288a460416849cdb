/* Output that was lost while detached, on standard error. */
#pragma once

#include "common/client/execsrv.h"

/* Report it, unless it is what was reported last, in said. */
void	 missed_report(const struct execsrv *x, struct execsrv_overflow *said);
