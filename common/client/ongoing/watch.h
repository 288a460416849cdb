/* The watches of a client: notifications, lost connections. */
#pragma once

#include "common/client/client.h"

/* Whether it was about one of them. */
bool	 execsrv_watch_note(struct execsrv *x, const struct json *j,
	    const char *method, uint32_t params);

/* Report a change, as there may have been one. */
void	 execsrv_watch_lost(struct execsrv *x);

void	 execsrv_watch_free_all(struct execsrv *x);
