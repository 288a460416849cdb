/* The HTTP request that becomes a WebSocket, and its answer.  Pure. */
#pragma once

#include <stddef.h>

#include "common/client/execsrv.h"
#include "common/client/url.h"

#define EXECSRV_KEY_LEN		24	/* Sec-WebSocket-Key, without NUL */
#define EXECSRV_HEAD_MAX	8192	/* bytes of the answer */

#define EXECSRV_TOKEN_MAX	4096
#define EXECSRV_REQUEST_MAX	(1024 + EXECSRV_TOKEN_MAX)

/* With a bearer token or NULL.  The length, less than size; 0: no room. */
size_t	 execsrv_upgrade_request(const struct execsrv_address *u,
	    const char *key, const char *token, char *out, size_t size);

/*
 * Judge the answer, a head of len bytes with its empty line, of which all bytes
 * have arrived with what follows.  0, or -1 with e, and what the server says.
 */
int	 execsrv_upgrade_judge(const char *head, size_t len, size_t all,
	    const char *key, struct execsrv_error *e) MUST_CHECK;
