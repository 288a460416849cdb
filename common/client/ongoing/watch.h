/* The watches of a client: notifications, lost connections. */
#pragma once

#include "common/client/client.h"

/* Take a notification; return whether it was about one of them. */
bool	 execsrv_watch_note(struct execsrv *x, const struct json *j,
	    const char *method, uint32_t params);

/* The connection is lost: report a change, as there may have been one. */
void	 execsrv_watch_lost(struct execsrv *x);

void	 execsrv_watch_free_all(struct execsrv *x);
