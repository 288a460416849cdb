/*
 * Clients that present a token: verification, and the move to a worker of the
 * token's user.  The worker of the handshake sends the token; it is untrusted
 * input.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "master/workers/child.h"

/*
 * Verify the token (len 0: none) that a client presented to a worker.  0: the
 * client is admitted, c->grant is its identity; or an HTTP status, and in
 * why_out the reason for the client.  Failures count as penalties; repeated
 * ones are summed up in the log.
 */
#define TOKEN_LOGIN_WHY_MAX	120
uint32_t token_login_judge(struct child *c, const void *shown, size_t len,
	    char why_out[TOKEN_LOGIN_WHY_MAX]);

/*
 * Queue the connection (taken) of an admitted client, with its first message,
 * for a worker of the token's user.
 */
void	 token_login_pass_on(struct child *c, int fd, const void *message,
	    size_t len);
