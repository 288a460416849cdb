/* fs/watchMissing, for those above. */
#ifndef COMMON_CLIENT_WATCH_H
#define COMMON_CLIENT_WATCH_H

#include "common/client/client.h"

/* A notification; whether it was one of these. */
bool	 execsrv_watch_note(struct execsrv *x, const struct json *j,
	    const char *method, uint32_t params);

/* The connection is lost: what was watched may have changed. */
void	 execsrv_watch_lost(struct execsrv *x);

void	 execsrv_watch_free_all(struct execsrv *x);

#endif
