/* Reasons of failures, as text that can be shown.  Pure. */
#pragma once

#include <stdint.h>

#include "common/client/execsrv.h"

/* Write a reason; characters that are not printable become '?'. */
void	 execsrv_error_set(struct execsrv_error *e, int64_t code,
	    const char *fmt, ...) PRINTF(3, 4);

/* Append "; " and what somebody else said. */
void	 execsrv_error_add(struct execsrv_error *e, const char *said);
