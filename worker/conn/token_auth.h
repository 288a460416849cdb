/*
 * Clients with a token, whom a worker of its user is to serve.  Reads the
 * request's head and one message, no byte beyond.
 */
#pragma once

#include <stdint.h>

#include "common/span.h"

/* Ask the master on sock (len 0: none).  0: good; or HTTP status and why. */
#define TOKEN_AUTH_WHY_MAX	200
int	 token_auth_ask(int sock, struct span token, uint64_t deadline,
	    char why[TOKEN_AUTH_WHY_MAX]);

/*
 * An upgraded client's first message goes with fd to the master, within ms;
 * anything else is answered as by a conn.
 */
void	 token_auth_pass(int sock, int fd, uint64_t ms);
