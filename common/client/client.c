#include "common/client/client.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/client/error.h"
#include "common/client/text.h"

/* --- its state --- */

/* Which states may follow which: bits. */
static const unsigned	 next_states[] = {
#define TO(state)	(1u << EXECSRV_##state)
	[EXECSRV_WAITING] = TO(CONNECTING) | TO(GONE),
	[EXECSRV_CONNECTING] = TO(INITIALIZING) | TO(WAITING) | TO(LOST) |
	    TO(GONE),
	[EXECSRV_INITIALIZING] = TO(CATCHING_UP) | TO(LOST) | TO(GONE),
	[EXECSRV_CATCHING_UP] = TO(OPEN) | TO(LOST) | TO(GONE),
	[EXECSRV_OPEN] = TO(LOST) | TO(GONE),
	[EXECSRV_LOST] = TO(WAITING) | TO(GONE),
	[EXECSRV_GONE] = 0,
#undef TO
};

/* What was missed is read even if the caller holds: others wait for it. */
static void
update_pause(struct execsrv *x)
{
	transport_pause(&x->transport, x->is_held &&
	    x->state == EXECSRV_OPEN);
}

void
execsrv_set_state(struct execsrv *x, enum execsrv_state to)
{
	assert((next_states[x->state] & (1u << to)) != 0);
	x->state = to;
	if (to == EXECSRV_LOST || to == EXECSRV_GONE)
		transport_stop(&x->transport);
	update_pause(x);
}

bool
execsrv_has_frames(const struct execsrv *x)
{
	return transport_is_up(&x->transport);
}

bool
execsrv_is_open(const struct execsrv *x)
{
	return x->state == EXECSRV_OPEN;
}

bool
execsrv_is_opening(const struct execsrv *x)
{
	return opening_phase(&x->opening) == SESSION_NONE;
}

enum execsrv_status
execsrv_status(const struct execsrv *x)
{
	if (x->state == EXECSRV_GONE)
		return EXECSRV_FAILED;
	if (execsrv_is_opening(x))
		return EXECSRV_OPENING;
	if (x->state != EXECSRV_OPEN)
		return EXECSRV_RECOVERING;
	return opening_phase(&x->opening) == SESSION_ENDING ?
	    EXECSRV_ENDING : EXECSRV_CONNECTED;
}

bool
execsrv_tries_on(const struct execsrv *x)
{
	return execsrv_is_opening(x) && x->opening.open_ms > 0 &&
	    !recovery_is_over(&x->recovery, execsrv_now(x));
}

/* Whether there may be another connection after this one. */
static bool
has_next(const struct execsrv *x)
{
	return execsrv_tries_on(x) || (recovery_is_enabled(&x->recovery) &&
	    opening_session(&x->opening) != NULL &&
	    opening_phase(&x->opening) != SESSION_ENDING);
}

/*
 * It was a server, and the connection broke before the session was known: try
 * for it as long as for the next connection of one that is.
 */
static void
try_on(struct execsrv *x, const struct execsrv_error *e)
{
	if (!transport_was_up(&x->transport) || !execsrv_is_opening(x) ||
	    x->opening.open_ms > 0 || e->reason != EXECSRV_WHY_LOST ||
	    !recovery_is_enabled(&x->recovery))
		return;
	x->opening.open_ms = x->recovery.recover_ms;
	x->opening.is_second = true;
	recovery_open(&x->recovery, execsrv_now(x), x->opening.open_ms);
}

int
execsrv_lose_as(struct execsrv *x, const struct execsrv_error *e)
{
	struct execsrv_error	 copy = *e;

	try_on(x, e);
	if (opening_phase(&x->opening) == SESSION_ENDING)
		copy.reason = EXECSRV_WHY_ENDED;
	if (!has_next(x))
		return execsrv_fail_as(x, &copy);
	if (x->state != EXECSRV_LOST && x->state != EXECSRV_GONE) {
		if (execsrv_is_opening(x))
			recovery_failed(&x->recovery, execsrv_now(x), e);
		else
			recovery_lost(&x->recovery, execsrv_now(x), e,
			    x->state == EXECSRV_CATCHING_UP);
		execsrv_set_state(x, EXECSRV_LOST);
		execsrv_changed(x);
	}
	errno = EPIPE;
	return -1;
}

int
execsrv_lose(struct execsrv *x, enum execsrv_reason why, const char *fmt, ...)
{
	struct execsrv_error	 e;
	va_list			 ap;

	va_start(ap, fmt);
	execsrv_error_vset(&e, why, fmt, ap);
	va_end(ap);
	return execsrv_lose_as(x, &e);
}

/* A server that is our child, and ends before it is one: say how. */
static void
explain_child(struct execsrv *x)
{
	int	 status;

	if (x->why.reason != EXECSRV_WHY_LOST || !execsrv_is_opening(x) ||
	    (status = transport_child_status(&x->transport)) == -1)
		return;
	execsrv_error_set(&x->why, EXECSRV_WHY_LOST,
	    "the server ended with status %d before it answered", status);
}

int
execsrv_fail_as(struct execsrv *x, const struct execsrv_error *e)
{
	char	 said[256];

	if (x->state != EXECSRV_GONE) {
		x->why = *e;
		explain_child(x);
		/* What its server said last may be the reason. */
		if (transport_last_line(&x->transport, said, sizeof(said)))
			execsrv_error_add(&x->why, said);
		execsrv_set_state(x, EXECSRV_GONE);
		execsrv_changed(x);
	}
	errno = EPIPE;
	return -1;
}

int
execsrv_fail(struct execsrv *x, enum execsrv_reason why, const char *fmt, ...)
{
	struct execsrv_error	 e;
	va_list			 ap;

	va_start(ap, fmt);
	execsrv_error_vset(&e, why, fmt, ap);
	va_end(ap);
	return execsrv_fail_as(x, &e);
}

int
execsrv_fail_memory(struct execsrv *x)
{
	errno = ENOMEM;
	return execsrv_fail(x, EXECSRV_WHY_SYSTEM, "out of memory");
}

void
execsrv_on_status(struct execsrv *x, execsrv_status_fn *fn, void *arg)
{
	x->on_status = fn;
	x->status_arg = arg;
	x->told = execsrv_status(x);
}

void
execsrv_tell_status(struct execsrv *x)
{
	enum execsrv_status	 status = execsrv_status(x);

	if (x->on_status == NULL || status == x->told)
		return;
	x->told = status;
	x->on_status(x->status_arg, status,
	    status == EXECSRV_FAILED ? &x->why :
	    status == EXECSRV_RECOVERING ? recovery_why(&x->recovery) : NULL);
}

const struct execsrv_error *
execsrv_why(const struct execsrv *x)
{
	return &x->why;
}

void
execsrv_set_held(struct execsrv *x, bool is_held)
{
	x->is_held = is_held;
	update_pause(x);
}

void
execsrv_end_recovery(struct execsrv *x)
{
	recovery_set_limit(&x->recovery, 0);
}

void
execsrv_changed(struct execsrv *x)
{
	x->events->on_change(x);
}

void
execsrv_progress(struct execsrv *x)
{
	recovery_progress(&x->recovery);
}

unsigned
execsrv_read_max(const struct execsrv *x)
{
	return recovery_read_max(&x->recovery);
}

void
execsrv_make_id(const struct execsrv *x, char letter, uint64_t n, char *out,
    size_t size)
{
	opening_make_id(&x->opening, letter, n, out, size);
}

uint64_t
execsrv_now(const struct execsrv *x)
{
	return transport_now(&x->transport);
}

/* --- requests --- */

int
execsrv_begin(struct execsrv *x, const char *method, struct json_out *o)
{
	if (x->state == EXECSRV_GONE) {
		errno = EPIPE;
		return -1;
	}
	calls_begin(&x->calls, method, o);
	return 0;
}

int
execsrv_end(struct execsrv *x, const struct execsrv_call_opts *opts,
    struct json_out *o)
{
	return calls_end(&x->calls, opts, execsrv_is_open(x), has_next(x), o);
}

int
execsrv_request(struct execsrv *x, const char *method, const char *params,
    size_t len, const struct execsrv_call_opts *opts)
{
	struct json_out	 o;

	if (execsrv_begin(x, method, &o) == -1)
		return -1;
	if (params != NULL)
		json_out_raw(&o, params, len);
	else
		json_out_null(&o);
	return execsrv_end(x, opts, &o);
}

int
execsrv_call(struct execsrv *x, const char *method, const char *params,
    size_t len, execsrv_answer_fn *fn, void *arg)
{
	struct execsrv_call_opts	 opts = { .fn = fn, .arg = arg };

	return execsrv_request(x, method, params, len, &opts);
}

void
execsrv_forget(struct execsrv *x, execsrv_answer_fn *fn, const void *arg)
{
	calls_forget(&x->calls, fn, arg);
}

uint64_t
execsrv_last_request(const struct execsrv *x)
{
	return x->calls.last_id;
}

int
execsrv_cancel(struct execsrv *x, uint64_t request)
{
	return calls_cancel(&x->calls, request);
}

void
execsrv_wakeup(struct execsrv *x)
{
	transport_wake(&x->transport);
}

void
execsrv_error_unsent(struct execsrv_error *e, const struct execsrv *x)
{
	if (x->state == EXECSRV_GONE)
		*e = x->why;
	else
		execsrv_error_set(e, errno == EINVAL || errno == EILSEQ ||
		    errno == ENAMETOOLONG || errno == EFBIG ?
		    EXECSRV_WHY_ARGUMENT : EXECSRV_WHY_SYSTEM, "%s",
		    strerror(errno));
}

/* --- what comes in --- */

void
execsrv_on_note(struct execsrv *x, execsrv_note_fn *fn, void *arg)
{
	x->on_note = fn;
	x->note_arg = arg;
}

/* A notification that nothing here knows. */
static void
pass_note(struct execsrv *x, const struct json *j, const char *name,
    uint32_t params)
{
	struct json_out	 o;
	struct buf	 b;

	buf_init(&b, SIZE_MAX);
	json_out_init(&o, &b);
	if (params != 0)
		execsrv_put_value(&o, j, params);
	if (json_out_fini(&o) == -1)
		execsrv_fail_memory(x);
	else
		x->on_note(x->note_arg, name, (char *)buf_data(&b), b.len);
	buf_fini(&b);
}

static void
client_on_note(void *arg, const struct json *j, const char *name,
    uint32_t params)
{
	struct execsrv	*x = arg;

	if (strcmp(name, "session/ending") == 0) {
		opening_end(&x->opening);
		execsrv_tell_status(x);
	}
	if (strcmp(name, "session/taken") == 0) {
		execsrv_fail(x, EXECSRV_WHY_ENDED,
		    "another client has taken the session");
		return;
	}
	if (!x->events->on_note(x, j, name, params) && x->on_note != NULL)
		pass_note(x, j, name, params);
}

static bool
client_on_other(void *arg, const struct json *j)
{
	struct execsrv	*x = arg;

	return x->events->on_other(x, j);
}

void
execsrv_on_trace(struct execsrv *x, execsrv_trace_fn *fn, void *arg)
{
	x->on_trace = fn;
	x->trace_arg = arg;
}

int
execsrv_send(struct execsrv *x, const char *text, size_t len)
{
	if (x->on_trace != NULL && execsrv_has_frames(x))
		x->on_trace(x->trace_arg, true, text, len);
	return transport_send(&x->transport, text, len);
}

static int
client_send(void *arg, const char *text, size_t len)
{
	return execsrv_send(arg, text, len);
}

static void
client_on_lost(void *arg, const struct execsrv_error *why)
{
	execsrv_lose_as(arg, why);
}

static void
client_on_failed(void *arg, const struct execsrv_error *why)
{
	execsrv_fail_as(arg, why);
}

static void
client_on_hello(void *arg, char *text, size_t len)
{
	struct execsrv	*x = arg;

	x->events->on_hello(x, text, len);
}

static void
client_on_message(void *arg, char *text, size_t len)
{
	execsrv_on_message(arg, text, len);
}

void
execsrv_on_message(struct execsrv *x, char *text, size_t len)
{
	if (x->on_trace != NULL)
		x->on_trace(x->trace_arg, false, text, len);
	calls_take(&x->calls, text, len);
	if ((x->state == EXECSRV_OPEN || x->state == EXECSRV_CATCHING_UP) &&
	    opening_has_receipts(&x->opening))
		calls_acknowledge(&x->calls);
}

static void
client_on_change(void *arg)
{
	execsrv_changed(arg);
}

static void
client_on_result(void *arg)
{
	execsrv_progress(arg);
}

static const struct transport_events	 transport_events = {
	.on_message = client_on_message,
	.on_hello = client_on_hello,
	.on_lost = client_on_lost,
	.on_failed = client_on_failed,
	.on_change = client_on_change
};

static const struct calls_events	 calls_events = {
	.send = client_send,
	.on_result = client_on_result,
	.on_note = client_on_note,
	.on_other = client_on_other,
	.on_protocol_error = client_on_lost,
	.on_failed = client_on_failed
};

/* --- its life --- */

struct execsrv *
client_new(const struct client_events *events)
{
	struct execsrv	*x;

	assert(events->on_change != NULL && events->on_note != NULL);
	assert(events->on_hello != NULL && events->on_other != NULL);
	if ((x = calloc(1, sizeof(*x))) == NULL)
		return NULL;
	x->events = events;
	x->state = EXECSRV_WAITING;
	x->told = EXECSRV_OPENING;
	if (transport_init(&x->transport, &transport_events, x) == -1) {
		free(x);
		return NULL;
	}
	calls_init(&x->calls, &calls_events, x);
	recovery_init(&x->recovery);
	opening_init(&x->opening);
	TAILQ_INIT(&x->processes.live);
	TAILQ_INIT(&x->processes.freed);
	TAILQ_INIT(&x->processes.unconfirmed);
	TAILQ_INIT(&x->https.live);
	TAILQ_INIT(&x->https.freed);
	TAILQ_INIT(&x->watches.live);
	TAILQ_INIT(&x->transfers.live);
	return x;
}

void
client_free(struct execsrv **xp)
{
	struct execsrv	*x = *xp;

	*xp = NULL;
	assert(TAILQ_EMPTY(&x->processes.live));
	assert(TAILQ_EMPTY(&x->https.live) && TAILQ_EMPTY(&x->watches.live));
	assert(TAILQ_EMPTY(&x->transfers.live));
	calls_fini(&x->calls);
	transport_fini(&x->transport);
	opening_fini(&x->opening);
	free(x);
}

/* --- what is known of the session --- */

bool
execsrv_can(const struct execsrv *x, const char *name)
{
	return opening_can(&x->opening, name);
}

const char *
execsrv_session(const struct execsrv *x)
{
	return opening_session(&x->opening);
}

bool
execsrv_is_local(const struct execsrv *x)
{
	return x->opening.address.is_local;
}

const char *
execsrv_cwd(const struct execsrv *x)
{
	return x->opening.cwd;
}

struct execsrv_overflow
execsrv_overflow(const struct execsrv *x)
{
	return x->opening.overflow;
}
