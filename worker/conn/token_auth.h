/*
 * Clients with a token.  The master verifies it and has a worker of the token's
 * user serve them.  Reads the head of the request and one message, no byte
 * beyond.
 */
#pragma once

#include <stdint.h>

#include "common/span.h"

/*
 * Ask the master on sock about a token (len 0: none).  0: good; or an HTTP
 * status and a reason, perhaps empty.
 */
#define TOKEN_AUTH_WHY_MAX	200
int	 token_auth_ask(int sock, struct span token, uint64_t deadline,
	    char why[TOKEN_AUTH_WHY_MAX]);

/*
 * Read the first message of an upgraded client within ms and pass it with fd to
 * the master.  Anything else is answered as by a conn.
 */
void	 token_auth_pass(int sock, int fd, uint64_t ms);
