/* Reasons of failures, as text that can be shown.  Pure. */
#pragma once

#include <stdarg.h>
#include <stdint.h>

#include "common/client/execsrv.h"
#include "common/json/json.h"

/* What is not printable becomes '?'; WHY_SYSTEM and WHY_CONNECT add errno. */
void	 execsrv_error_set(struct execsrv_error *e, enum execsrv_reason why,
	    const char *fmt, ...) PRINTF(3, 4);
void	 execsrv_error_vset(struct execsrv_error *e, enum execsrv_reason why,
	    const char *fmt, va_list ap) PRINTF(3, 0);

/* Write what a server answered; its "(os error N)" is the errno. */
void	 execsrv_error_answer(struct execsrv_error *e, int64_t code,
	    const char *text);

/* The same of an error object; -32603 if it has no code. */
void	 execsrv_error_read(const struct json *j, uint32_t error,
	    struct execsrv_error *e);

/* Put "what: " before the text; append "; " and what somebody else said. */
void	 execsrv_error_prefix(struct execsrv_error *e, const char *what);
void	 execsrv_error_add(struct execsrv_error *e, const char *said);
