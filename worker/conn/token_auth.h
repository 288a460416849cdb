/*
 * A client that shows a token, which means nothing to us: the master judges
 * it, and has another worker serve who it names.  What is read here is the
 * head of the request and one message, and not a byte behind it.
 */
#ifndef WORKER_CONN_TOKEN_AUTH_H
#define WORKER_CONN_TOKEN_AUTH_H

#include <stdint.h>

#include "common/span.h"

/*
 * Ask the master on sock about a token (len 0: none was shown).  0: it is
 * good; or the status of HTTP to answer with, and why, or an empty text.
 */
#define TOKEN_AUTH_WHY_MAX	200
int	 token_auth_ask(int sock, struct span token, uint64_t deadline,
	    char why[TOKEN_AUTH_WHY_MAX]);

/*
 * Read the first message from an upgraded client within ms milliseconds, and
 * give it to the master together with the connection fd.  What is no message
 * is answered as any connection answers it.
 */
void	 token_auth_pass(int sock, int fd, uint64_t ms);

#endif
