/*
 * Clients that show a token: what it is worth, and who serves them then.  The
 * token comes from the worker that greets, as bytes that mean nothing until
 * they were compared.
 */
#ifndef MASTER_ACCEPT_TOKEN_LOGIN_H
#define MASTER_ACCEPT_TOKEN_LOGIN_H

#include <stddef.h>
#include <stdint.h>

#include "master/workers/child.h"

/*
 * Judge what the client of a greeting worker showed (len 0: nothing); counted,
 * logged now and then, and remembered.  0: it is admitted; or a status of HTTP,
 * and what the client may know of the reason.
 */
#define TOKEN_LOGIN_WHY_MAX	120
uint32_t token_login_judge(struct child *c, const void *shown, size_t len,
	    char why_out[TOKEN_LOGIN_WHY_MAX]);

/*
 * The connection (taken) of a client that was admitted, with its first
 * message, goes to a worker of the user that its token names.
 */
void	 token_login_pass_on(struct child *c, int fd, const void *message,
	    size_t len);

#endif
