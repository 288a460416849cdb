/* The requests of calls.def: structs out, structs in. */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/client/client.h"
#include "common/client/error.h"
#include "common/client/jsonmap.h"
#include "common/clock.h"
#include "common/limit.h"

/* A hook of any type, and the function that calls it as what it is. */
typedef void any_fn(void);
typedef void give_fn(any_fn *fn, void *arg, const void *r,
	    const struct execsrv_error *e);

struct request {
	const char		*method;
	const struct jsonmap	*in, *out;
	bool			 is_safe;
	give_fn			*give;
};

/* A caller that waits: where the answer goes. */
struct waiting {
	bool			 is_done;
	void			*result;
	struct execsrv_error	*error;
};

struct typed {
	const struct request	*request;
	any_fn			*fn;		/* or NULL */
	void			*arg;
	struct waiting		*waiting;	/* or NULL */
};

static void
typed_give(struct typed *t, void *r, const struct execsrv_error *e)
{
	assert((r == NULL) == (e != NULL));
	if (t->waiting != NULL) {
		assert(!t->waiting->is_done);
		t->waiting->is_done = true;
		t->waiting->result = r;
		if (e != NULL)
			*t->waiting->error = *e;
		return;
	}
	if (t->fn != NULL)
		t->request->give(t->fn, t->arg, r, e);
	free(r);
}

static void
typed_on_answer(void *arg, const struct execsrv_answer *a)
{
	struct typed		*t = arg;
	struct execsrv_error	 e;
	void			*r = NULL;

	if (a->error == NULL && (r = execsrv_jsonmap_get(t->request->out,
	    a->json, a->result)) == NULL)
		execsrv_error_set(&e, errno == ENOMEM ? EXECSRV_WHY_SYSTEM :
		    EXECSRV_WHY_PROTOCOL, errno == ENOMEM ? "out of memory" :
		    "the server's answer to %s is malformed",
		    t->request->method);
	typed_give(t, r, r != NULL ? NULL : a->error != NULL ? a->error : &e);
	free(t);
}

/* Write the parameters as JSON.  0, or -1 with errno. */
static int
put_params(const struct request *q, const void *in, struct buf *b)
{
	struct json_out	 o;

	json_out_init(&o, b);
	if (execsrv_jsonmap_put_object(&o, q->in, in) == -1)
		return -1;
	return json_out_fini(&o);
}

static int
send_typed(struct execsrv *x, const struct request *q, const struct buf *b,
    struct typed *t)
{
	struct execsrv_call_opts	 opts = {
		.fn = typed_on_answer, .arg = t, .owns_arg = true,
		.is_safe = q->is_safe, .is_callers = t->waiting == NULL
	};

	return execsrv_request(x, q->method, (char *)buf_data(b), b->len,
	    &opts);
}

/* Send a request, which the client frees.  NULL with errno. */
static struct typed *
request(struct execsrv *x, const struct request *q, const void *in,
    const struct typed *opts)
{
	struct typed	*t;
	struct buf	 b;
	int		 error;

	buf_init(&b, LIMIT_MESSAGE);
	if ((t = malloc(sizeof(*t))) == NULL)
		return NULL;
	*t = *opts;
	t->request = q;
	if (put_params(q, in, &b) == -1 || send_typed(x, q, &b, t) == -1) {
		error = errno;
		free(t);
		t = NULL;
		errno = error;
	}
	buf_fini(&b);
	return t;
}

static int
call(struct execsrv *x, const struct request *q, const void *in, any_fn *fn,
    void *arg)
{
	struct typed	 opts = { .fn = fn, .arg = arg };

	return request(x, q, in, &opts) != NULL ? 0 : -1;
}

static void *
typed_wait_for(struct execsrv *x, const struct request *q, const void *in,
    int timeout_ms, struct execsrv_error *e)
{
	struct waiting	 w = { .error = e };
	struct typed	 opts = { .waiting = &w }, *t;
	uint64_t	 until = clock_ms() + (uint64_t)timeout_ms, now;
	int		 left = timeout_ms;

	if ((t = request(x, q, in, &opts)) == NULL) {
		execsrv_error_unsent(e, x);
		return NULL;
	}
	/* A client that fails answers all its requests. */
	while (!w.is_done && execsrv_wait(x, left) == 0 && !w.is_done) {
		if (timeout_ms < 0)
			continue;
		if ((now = clock_ms()) >= until) {
			execsrv_error_set(e, EXECSRV_WHY_TIMEOUT, "the server "
			    "does not answer %s", q->method);
			break;
		}
		left = (int)(until - now);
	}
	if (!w.is_done)
		t->waiting = NULL;	/* ignore the answer */
	return w.result;
}

static int
wait_done(struct execsrv *x, const struct request *q, const void *in,
    int timeout_ms, struct execsrv_error *e)
{
	void	*r = typed_wait_for(x, q, in, timeout_ms, e);

	free(r);
	return r != NULL ? 0 : -1;
}

#define SAFE	true
#define ONCE	false

#define ROW_OF(name, method, in, out, safe)				\
	static const struct request request_##name = { method,		\
	    &execsrv_jsonmap_##in, &execsrv_jsonmap_##out,		\
	    safe, give_##name };

/* Call a hook by its own type. */
#define GIVE(name, out)							\
	static void							\
	give_##name(any_fn *fn, void *arg, const void *r,		\
	    const struct execsrv_error *e)				\
	{								\
		((execsrv_##out##_fn *)fn)(arg, r, e);			\
	}

#define CALL(name, method, in, out, safe)				\
	GIVE(name, out)							\
	ROW_OF(name, method, in, out, safe)				\
	int								\
	execsrv_##name(struct execsrv *x, const struct execsrv_##in *p,	\
	    execsrv_##out##_fn *fn, void *arg)				\
	{								\
		return call(x, &request_##name, p, (any_fn *)fn, arg);	\
	}								\
	struct execsrv_##out *						\
	execsrv_##name##_wait(struct execsrv *x,			\
	    const struct execsrv_##in *p, int timeout_ms,		\
	    struct execsrv_error *e)					\
	{								\
		return typed_wait_for(x, &request_##name, p, timeout_ms, e); \
	}

#define ASK(name, method, out, safe)					\
	GIVE(name, out)							\
	ROW_OF(name, method, none, out, safe)				\
	int								\
	execsrv_##name(struct execsrv *x, execsrv_##out##_fn *fn,	\
	    void *arg)							\
	{								\
		return call(x, &request_##name, NULL, (any_fn *)fn,	\
		    arg);						\
	}								\
	struct execsrv_##out *						\
	execsrv_##name##_wait(struct execsrv *x, int timeout_ms,	\
	    struct execsrv_error *e)					\
	{								\
		return typed_wait_for(x, &request_##name, NULL, timeout_ms, \
		    e);							\
	}

#define DO(name, method, in, safe)					\
	static void							\
	give_##name(any_fn *fn, void *arg, const void *r,		\
	    const struct execsrv_error *e)				\
	{								\
		(void)r;						\
		((execsrv_done_fn *)fn)(arg, e);			\
	}								\
	ROW_OF(name, method, in, none, safe)				\
	int								\
	execsrv_##name(struct execsrv *x, const struct execsrv_##in *p,	\
	    execsrv_done_fn *fn, void *arg)				\
	{								\
		return call(x, &request_##name, p, (any_fn *)fn, arg);	\
	}								\
	int								\
	execsrv_##name##_wait(struct execsrv *x,			\
	    const struct execsrv_##in *p, int timeout_ms,		\
	    struct execsrv_error *e)					\
	{								\
		return wait_done(x, &request_##name, p, timeout_ms, e);	\
	}

#include "common/client/calls.def"
