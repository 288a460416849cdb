/* The HTTP requests of a client: notifications, lost connections. */
#pragma once

#include "common/client/client.h"

/* Whether it was about one of them. */
bool	 execsrv_http_note(struct execsrv *x, const struct json *j,
	    const char *method, uint32_t params);

/* End the bodies that were not complete. */
void	 execsrv_http_lost(struct execsrv *x);

/* What was freed inside a hook; all. */
void	 execsrv_http_free_deferred(struct execsrv *x);
void	 execsrv_http_free_all(struct execsrv *x);
