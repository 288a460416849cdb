#include "common/client/loop.h"

#include <assert.h>
#include <stdlib.h>

#include "common/client/handshake.h"
#include "common/client/ongoing/http.h"
#include "common/client/ongoing/transfer.h"
#include "common/client/ongoing/watch.h"
#include "common/client/process/process.h"

#define TURNS_MAX	4	/* of one dispatch, before others get theirs */

/* --- its life --- */

static void
loop_on_change(struct execsrv *x)
{
	if (!x->is_handling && transport_has_loop_fd(&x->transport))
		transport_watch(&x->transport, execsrv_wait_ms(x));
}

static bool
loop_on_note(struct execsrv *x, const struct json *j, const char *method,
    uint32_t params)
{
	return execsrv_process_note(x, j, method, params) ||
	    execsrv_http_note(x, j, method, params) ||
	    execsrv_watch_note(x, j, method, params);
}

struct execsrv *
execsrv_new(void)
{
	static const struct client_events	 events = {
		.on_change = loop_on_change,
		.on_note = loop_on_note,
		.on_hello = handshake_on_hello,
		.on_other = handshake_on_other
	};

	return client_new(&events);
}

void
execsrv_free(struct execsrv **xp)
{
	struct execsrv	*x = *xp;

	if (x == NULL)
		return;
	assert(!x->is_handling);
	execsrv_process_free_all(x);
	execsrv_http_free_all(x);
	execsrv_watch_free_all(x);
	execsrv_transfer_free_all(x);
	client_free(xp);
}

void
execsrv_hold(struct execsrv *x, bool hold)
{
	/* What was missing may have lain unread. */
	if (x->is_held && !hold)
		execsrv_process_restart_wait(x);
	execsrv_set_held(x, hold);
	execsrv_changed(x);
}

/* --- a turn --- */

/* Of two times, -1 for ever. */
static int
least(int a, int b)
{
	return a == -1 || (b != -1 && b < a) ? b : a;
}

int
execsrv_wait_ms(const struct execsrv *x)
{
	int	 ms;

	if (x->state == EXECSRV_GONE || x->transfers.has_work)
		return 0;
	if (!execsrv_is_open(x))
		return handshake_wait_ms(x);
	ms = transport_wait_ms(&x->transport);
	return x->is_held ? ms : least(execsrv_process_wait_ms(x), ms);
}

static void
handle(struct execsrv *x, short revents)
{
	if (!execsrv_is_open(x))
		handshake_step(x, revents);
	transport_handle(&x->transport, revents);
	if (execsrv_is_open(x) && !x->is_held) {
		execsrv_process_check(x);
		transport_check_silence(&x->transport);
	}
	(void)transport_flush(&x->transport);
	calls_trim(&x->calls);
	handshake_check(x);
	if (x->state == EXECSRV_LOST)
		handshake_recover(x);
}

int
execsrv_handle(struct execsrv *x, short revents)
{
	assert(!x->is_handling);
	x->is_handling = true;
	if (x->state != EXECSRV_GONE)
		handle(x, revents);
	execsrv_tell_status(x);
	if (x->state == EXECSRV_GONE) {
		calls_fail(&x->calls, &x->why);
		execsrv_http_lost(x);
		execsrv_watch_lost(x);
		execsrv_process_lose_all(x);
	}
	if (x->transfers.has_work)
		execsrv_transfer_work(x);
	x->is_handling = false;
	execsrv_process_free_deferred(x);
	execsrv_http_free_deferred(x);
	execsrv_changed(x);
	return x->state == EXECSRV_GONE ? -1 : 0;
}

/* --- for callers --- */

int
execsrv_wait(struct execsrv *x, int timeout_ms)
{
	int	 ms = execsrv_wait_ms(x);

	if (ms == -1 || (timeout_ms != -1 && timeout_ms < ms))
		ms = timeout_ms;
	return execsrv_handle(x, transport_poll(&x->transport, ms));
}

int
execsrv_fd(struct execsrv *x)
{
	return transport_loop_fd(&x->transport);
}

int
execsrv_dispatch(struct execsrv *x)
{
	short	 revents;
	int	 r, turns = 0;

	transport_loop_began(&x->transport);
	revents = transport_poll(&x->transport, 0);
	do
		r = execsrv_handle(x, revents);
	while (r == 0 && (revents = transport_poll(&x->transport, 0)) != 0 &&
	    ++turns < TURNS_MAX);
	if (r == 0 && revents != 0)
		transport_loop_again(&x->transport);
	return r;
}
