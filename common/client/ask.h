/* Requests whose answer is waited for. */
#pragma once

#include "common/client/client.h"

/*
 * As execsrv_call(), waiting for the answer.  0: fn was called; -1 with e: the
 * server's error, silence for timeout_ms, a failed client.  Not while held.
 */
int	 execsrv_ask(struct execsrv *x, const char *method, const char *params,
	    size_t len, int timeout_ms, execsrv_answer_fn *fn, void *arg,
	    struct execsrv_error *e) MUST_CHECK;
