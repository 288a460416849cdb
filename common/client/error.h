/* Why something failed, as text that can be shown.  Pure. */
#ifndef COMMON_CLIENT_ERROR_H
#define COMMON_CLIENT_ERROR_H

#include <stdint.h>

#include "common/client/execsrv.h"

/* Write a reason; what is not printable becomes '?'. */
void	 execsrv_error_set(struct execsrv_error *e, int64_t code,
	    const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* What somebody else said about it, behind the reason. */
void	 execsrv_error_add(struct execsrv_error *e, const char *said);

#endif
