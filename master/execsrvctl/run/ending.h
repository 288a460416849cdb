/* Why a server ends a session, for people. */
#pragma once

#include <stddef.h>

/* An execsrv_note_fn: print the reason of session/ending. */
void	 ending_on_note(void *arg, const char *method, const char *params,
	    size_t len);

struct execsrv;

/* If the connection was given up, not by the server: how to come back. */
void	 ending_hint(const struct execsrv *x, const char *url);
