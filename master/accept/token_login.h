/* Clients that present a token, untrusted input from the handshake's worker. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "master/workers/child.h"

struct gate;
struct penalties;
struct routes;

/* What it takes, owned by others. */
struct token_login {
	struct routes		*routes;
	struct penalties	*penalties;
	struct gate		*gate;
};

/*
 * Verify the token (len 0: none) that a client presented.  0: it is admitted,
 * with c->grant; or an HTTP status, and why, for the client.  Failures count as
 * penalties; repeated ones are summed up in the log.
 */
#define TOKEN_LOGIN_WHY_MAX	120
uint32_t token_login_judge(const struct token_login *l, struct child *c,
	    const void *shown, size_t len,
	    char why_out[TOKEN_LOGIN_WHY_MAX]);

/* Queue its connection (taken), and first message, for its user's worker. */
void	 token_login_pass_on(const struct token_login *l, struct child *c,
	    int fd, const void *message, size_t len);
