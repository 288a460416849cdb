#include "common/client/calls.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/client/calls_priv.h"
#include "common/client/error.h"
#include "common/limit.h"

#define TEXT_KEEP	(256 * 1024)	/* bytes of memory kept for the next */
#define KEPT_MAX	((size_t)128 * 1024 * 1024)	/* bytes of requests */

void
calls_init(struct calls *cs, const struct calls_events *events, void *arg)
{
	assert(events->send != NULL && events->on_failed != NULL);
	memset(cs, 0, sizeof(*cs));
	cs->events = events;
	cs->arg = arg;
	TAILQ_INIT(&cs->list);
	buf_init(&cs->text, LIMIT_MESSAGE);
	json_init(&cs->json);
}

static void
call_free(struct calls *cs, struct execsrv_call *c)
{
	assert(cs->kept >= c->len);
	TAILQ_REMOVE(&cs->list, c, entry);
	cs->kept -= c->len;
	free(c->text);
	free(c);
}

void
calls_fini(struct calls *cs)
{
	struct execsrv_call	*c;

	while ((c = TAILQ_FIRST(&cs->list)) != NULL) {
		if (c->opts.owns_arg)
			free(c->opts.arg);
		call_free(cs, c);
	}
	assert(cs->kept == 0);
	buf_fini(&cs->text);
	json_fini(&cs->json);
}

/* --- out --- */

void
calls_begin(struct calls *cs, const char *method, struct json_out *o)
{
	assert(cs->text.len == 0);
	json_out_init(o, &cs->text);
	json_out_open(o, '{');
	json_out_pair_u64(o, "id", ++cs->last_id);
	json_out_pair(o, "method", method);
	json_out_key(o, "params");
}

int
calls_send_text(struct calls *cs)
{
	int	 r;

	assert(cs->text.len > 0);
	r = cs->events->send(cs->arg, (char *)buf_data(&cs->text),
	    cs->text.len);
	buf_drain(&cs->text, cs->text.len);
	buf_trim(&cs->text, TEXT_KEEP);
	return r;
}

static int
fail(struct calls *cs, const char *why)
{
	struct execsrv_error	 e;

	execsrv_error_set(&e, EXECSRV_WHY_TOO_MUCH, "%s", why);
	buf_drain(&cs->text, cs->text.len);
	cs->events->on_failed(cs->arg, &e);
	errno = EPIPE;
	return -1;
}

static int
fail_memory(struct calls *cs)
{
	buf_drain(&cs->text, cs->text.len);
	calls_fail_memory(cs);
	errno = EPIPE;
	return -1;
}

/* Until there is a connection, or until it is answered. */
static int
keep_text(struct calls *cs, struct execsrv_call *c)
{
	assert(c->text == NULL && c->len == 0);
	if (cs->kept + cs->text.len > KEPT_MAX)
		return fail(cs, "too many bytes of requests wait for the "
		    "server");
	if ((c->text = malloc(cs->text.len)) == NULL)
		return fail_memory(cs);
	memcpy(c->text, buf_data(&cs->text), cs->text.len);
	c->len = cs->text.len;
	cs->kept += c->len;
	return 0;
}

static void
drop_text(struct calls *cs, struct execsrv_call *c)
{
	assert(cs->kept >= c->len);
	cs->kept -= c->len;
	free(c->text);
	c->text = NULL;
	c->len = 0;
}

static struct execsrv_call *
call_new(struct calls *cs, const struct execsrv_call_opts *opts)
{
	struct execsrv_call	*c;

	if ((c = calloc(1, sizeof(*c))) == NULL)
		return NULL;
	c->id = cs->last_id;
	c->opts = *opts;
	TAILQ_INSERT_TAIL(&cs->list, c, entry);
	return c;
}

/* A request that is too long is the caller's fault.  Any other one that was not
   sent would be an unnoticed hole, as in the input of a process: fail. */
static int
end_unwritten(struct calls *cs)
{
	bool	 is_long = errno == EFBIG;

	buf_fini(&cs->text);
	if (!is_long)
		return fail_memory(cs);
	errno = EFBIG;
	return -1;
}

int
calls_end(struct calls *cs, const struct execsrv_call_opts *opts, bool is_open,
    bool has_next, struct json_out *o)
{
	struct execsrv_call	*c;
	int			 r = 0;

	json_out_close(o, '}');
	if (json_out_fini(o) == -1)
		return end_unwritten(cs);
	if ((c = call_new(cs, opts)) == NULL)
		return fail_memory(cs);
	c->is_sent = opts->is_internal || is_open;
	if (!c->is_sent || (opts->is_safe && has_next))
		r = keep_text(cs, c);
	if (r == 0 && c->is_sent)
		r = calls_send_text(cs);
	else
		buf_drain(&cs->text, cs->text.len);
	if (r == -1)
		call_free(cs, c);
	return r;
}

/* --- answers --- */

void
calls_forget(struct calls *cs, execsrv_answer_fn *fn, const void *arg)
{
	struct execsrv_call	*c;

	TAILQ_FOREACH(c, &cs->list, entry)
		if (c->opts.fn == fn && c->opts.arg == arg)
			c->opts.fn = NULL;
}

int
calls_cancel(struct calls *cs, uint64_t id)
{
	struct execsrv_call	*c;

	TAILQ_FOREACH(c, &cs->list, entry)
		if (c->id == id)
			break;
	if (c == NULL || !c->opts.is_callers) {
		errno = ENOENT;
		return -1;
	}
	if (c->opts.owns_arg)
		free(c->opts.arg);
	c->opts.fn = NULL;
	c->opts.arg = NULL;
	c->opts.is_callers = c->opts.owns_arg = false;
	if (!c->is_sent)
		call_free(cs, c);
	return 0;
}

bool
calls_await(const struct calls *cs, int tag)
{
	const struct execsrv_call	*c;

	assert(tag != 0);
	TAILQ_FOREACH(c, &cs->list, entry)
		if (c->opts.tag == tag)
			return true;
	return false;
}

bool
calls_is_empty(const struct calls *cs)
{
	return TAILQ_EMPTY(&cs->list);
}

void
calls_answer(struct calls *cs, struct execsrv_call *c,
    const struct execsrv_answer *a)
{
	struct execsrv_call_opts	 opts = c->opts;
	struct execsrv_answer	 copy = *a;

	copy.tag = opts.tag;
	if (a->error == NULL && !opts.is_internal)
		cs->events->on_result(cs->arg);
	call_free(cs, c);
	if (opts.fn != NULL)
		opts.fn(opts.arg, &copy);
}

/* --- between two connections --- */

void
calls_disconnected(struct calls *cs)
{
	struct execsrv_answer	 a = { .is_unconfirmed = true };
	struct execsrv_error	 e;
	struct execsrv_call	*c;
	uint64_t		 last = cs->last_id;

	cs->received = cs->acknowledged = 0;
	execsrv_error_set(&e, EXECSRV_WHY_LOST, "the connection was lost "
	    "before the answer");
	a.error = &e;
	/* Hooks may make other requests, which wait. */
	for (;;) {
		TAILQ_FOREACH(c, &cs->list, entry)
			if (c->id <= last && c->is_sent && !c->opts.is_safe)
				break;
		if (c == NULL)
			break;
		calls_answer(cs, c, &a);
	}
	TAILQ_FOREACH(c, &cs->list, entry)
		if (c->id <= last)
			c->is_sent = false;
}

void
calls_connected(struct calls *cs)
{
	struct execsrv_call	*c;

	TAILQ_FOREACH(c, &cs->list, entry) {
		if (c->is_sent)
			continue;
		assert(c->text != NULL);
		c->is_sent = true;
		if (cs->events->send(cs->arg, c->text, c->len) == -1)
			return;
		if (!c->opts.is_safe)
			drop_text(cs, c);
	}
}

void
calls_fail(struct calls *cs, const struct execsrv_error *why)
{
	struct execsrv_error	 e = *why;
	struct execsrv_answer	 a = { .error = &e };
	struct execsrv_call	*c;

	e.code = 0;			/* it may be that of initialize */
	do {
		TAILQ_FOREACH(c, &cs->list, entry)
			if (!c->opts.is_quiet)
				break;
		if (c != NULL)
			calls_answer(cs, c, &a);
	} while (c != NULL);
}
