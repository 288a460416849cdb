/*
 * Why a server ends a session, for people: otherwise an exit status of 143
 * looks as if the command were killed.
 */
#pragma once

#include <stddef.h>

/* An execsrv_note_fn: print the reason of session/ending. */
void	 ending_on_note(void *arg, const char *method, const char *params,
	    size_t len);

struct execsrv;

/* If the connection to a URL was given up, but not by the server: print how to
   come back to the session. */
void	 ending_hint(const struct execsrv *x, const char *url);
