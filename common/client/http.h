/* http/request, for those above. */
#ifndef COMMON_CLIENT_HTTP_H
#define COMMON_CLIENT_HTTP_H

#include "common/client/client.h"

/* A notification; whether it was one of these. */
bool	 execsrv_http_note(struct execsrv *x, const struct json *j,
	    const char *method, uint32_t params);

/* The connection is lost: bodies that were under way end. */
void	 execsrv_http_lost(struct execsrv *x);

/* Free those that were freed inside a hook; free all. */
void	 execsrv_http_bury(struct execsrv *x);
void	 execsrv_http_free_all(struct execsrv *x);

#endif
