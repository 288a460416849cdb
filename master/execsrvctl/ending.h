/* Why a server ends a session: its notification session/ending. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Write the reason, made printable.  False: another method, or none. */
bool	 ending_reason(const char *method, const char *params, size_t len,
	    char *out, size_t size);
