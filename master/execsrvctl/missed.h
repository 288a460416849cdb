/* What became of output while nobody was attached, on standard error. */
#ifndef MASTER_EXECSRVCTL_MISSED_H
#define MASTER_EXECSRVCTL_MISSED_H

#include "common/client/execsrv.h"

/* Say it if it is not what was said last, which is the caller's to keep. */
void	 missed_say(const struct execsrv *x, struct execsrv_overflow *said);

#endif
