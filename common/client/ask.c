/* Requests with JSON as text, and such whose answer is waited for. */
#include "common/client/ask.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/client/error.h"
#include "common/client/text.h"

/* --- in JSON as text --- */

struct text_call {
	execsrv_json_fn	*fn;
	void		*arg;
};

static void
on_text_answer(void *arg, const struct execsrv_answer *a)
{
	struct text_call	*t = arg;
	struct execsrv_error	 e;
	struct json_out		 o;
	struct buf		 b;

	assert(t->fn != NULL);
	buf_init(&b, SIZE_MAX);
	json_out_init(&o, &b);
	if (a->error == NULL)
		execsrv_put_value(&o, a->json, a->result);
	if (json_out_fini(&o) == -1) {
		execsrv_error_set(&e, EXECSRV_WHY_SYSTEM, "out of memory");
		t->fn(t->arg, NULL, 0, &e);
	} else {
		t->fn(t->arg, a->error != NULL ? NULL : (char *)buf_data(&b),
		    b.len, a->error);
	}
	buf_fini(&b);
	free(t);
}

int
execsrv_call_json(struct execsrv *x, const char *method, const char *params,
    size_t len, execsrv_json_fn *fn, void *arg)
{
	struct execsrv_call_opts	 opts = { .fn = on_text_answer,
				    .owns_arg = true };
	struct text_call	*t;
	int			 error;

	if (params != NULL && execsrv_check_json(params, len) == -1)
		return -1;
	opts.is_callers = true;
	if (fn == NULL) {
		opts.fn = NULL;
		opts.owns_arg = false;
		return execsrv_request(x, method, params, len, &opts);
	}
	if ((t = malloc(sizeof(*t))) == NULL)
		return -1;
	t->fn = fn;
	t->arg = arg;
	opts.arg = t;
	if (execsrv_request(x, method, params, len, &opts) == 0)
		return 0;
	error = errno;
	free(t);
	errno = error;
	return -1;
}

/* --- waiting for the answer --- */

struct ask {
	execsrv_answer_fn	*fn;		/* or NULL */
	void			*arg;
	struct execsrv_error	*error;
	bool			 done;
	int			 result;
};

static void
on_asked(void *arg, const struct execsrv_answer *a)
{
	struct ask	*k = arg;

	assert(!k->done);
	k->done = true;
	k->result = a->error == NULL ? 0 : -1;
	if (a->error != NULL)
		*k->error = *a->error;
	else if (k->fn != NULL)
		k->fn(k->arg, a);
}

/* Until it is answered: 0; the client failed, or timeout_ms are over: -1. */
static int
wait_answer(struct execsrv *x, const char *method, int timeout_ms,
    struct ask *k)
{
	uint64_t	 began = execsrv_now(x), spent;
	int		 left = timeout_ms;

	while (!k->done) {
		if (execsrv_wait(x, left) == -1) {
			if (!k->done)
				*k->error = *execsrv_why(x);
			return k->done ? 0 : -1;
		}
		spent = execsrv_now(x) - began;
		if (k->done || timeout_ms == -1)
			continue;
		if (spent >= (uint64_t)timeout_ms) {
			execsrv_error_set(k->error, EXECSRV_WHY_TIMEOUT,
			    "the server does not answer %s", method);
			return -1;
		}
		left = timeout_ms - (int)spent;
	}
	return 0;
}

/* While held the answer would not be read. */
int
execsrv_ask(struct execsrv *x, const char *method, const char *params,
    size_t len, int timeout_ms, execsrv_answer_fn *fn, void *arg,
    struct execsrv_error *e)
{
	struct ask	 k = { .fn = fn, .arg = arg, .error = e };

	if (execsrv_call(x, method, params, len, on_asked, &k) == -1) {
		execsrv_error_unsent(e, x);
		return -1;
	}
	if (wait_answer(x, method, timeout_ms, &k) == -1)
		k.result = -1;
	/* After a timeout the answer may still come: ignore it. */
	execsrv_forget(x, on_asked, &k);
	/* The hook may have found the answer unbearable. */
	if (k.result == 0 && execsrv_status(x) == EXECSRV_FAILED) {
		*e = *execsrv_why(x);
		k.result = -1;
	}
	return k.result;
}
