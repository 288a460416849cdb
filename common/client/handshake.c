#include "common/client/handshake.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "common/client/dialing.h"
#include "common/client/error.h"
#include "common/client/ongoing/http.h"
#include "common/client/ongoing/watch.h"
#include "common/client/process/process.h"
#include "common/client/text.h"

#define FULL_MS		10	/* the queue of a Unix socket is full */
#define CATCH_UP_MS	10000	/* of silence while missed output is read */
#define INITIALIZE_MAX	(64 * 1024)
#define ATTACHED	(-32010) /* the server has not missed the old one yet */
#define REACH		"execsrv-reach"

/* --- what is wanted --- */

static int
take_options(struct execsrv *x, const struct execsrv_options *options,
    struct execsrv_error *e)
{
	assert(x->state == EXECSRV_WAITING);
	if (options->silence_ms > 0)
		transport_set_silence(&x->transport, options->silence_ms);
	if (options->recover_ms != 0)
		recovery_set_limit(&x->recovery,
		    options->recover_ms > 0 ? options->recover_ms : 0);
	return opening_take_options(&x->opening, options, e);
}

int
handshake_prepare(struct execsrv *x, const char *url,
    const struct execsrv_options *options, struct execsrv_error *e)
{
	if (opening_set_url(&x->opening, url, options, e) == -1)
		return -1;
	return take_options(x, options, e);
}

int
handshake_prepare_command(struct execsrv *x, const char *const *argv,
    bool is_server, const struct execsrv_options *options,
    struct execsrv_error *e)
{
	if (take_options(x, options, e) == -1 ||
	    opening_set_command(&x->opening, argv[0], e) == -1)
		return -1;
	/* Its session ends with it. */
	recovery_set_limit(&x->recovery, 0);
	if (transport_spawn(&x->transport, argv, environ, is_server) == 0)
		return 0;
	execsrv_error_set(e, EXECSRV_WHY_SYSTEM, "%s: %s", argv[0],
	    strerror(errno));
	return -1;
}

/* --- the first connection --- */

void
handshake_open(struct execsrv *x)
{
	struct opening	*o = &x->opening;
	uint64_t	 now = execsrv_now(x);

	assert(x->state == EXECSRV_WAITING && execsrv_is_opening(x));
	recovery_open(&x->recovery, now, o->open_ms > 0 ? o->open_ms :
	    o->connect_ms);
	if (transport_is_connecting(&x->transport)) {
		recovery_allow(&x->recovery, now, o->connect_ms, true);
		execsrv_set_state(x, EXECSRV_CONNECTING);
	}
}

static void
give_up(struct execsrv *x)
{
	static const char	 lost[] = "the connection was lost";
	struct execsrv_error	 e = *recovery_why(&x->recovery);

	if (!execsrv_is_opening(x)) {
		/* The transport may have said so already. */
		if (strncmp(e.text, lost, sizeof(lost) - 1) != 0)
			execsrv_error_prefix(&e, lost);
		execsrv_fail_as(x, &e);
	} else if (x->state == EXECSRV_INITIALIZING) {
		execsrv_fail(x, EXECSRV_WHY_TIMEOUT,
		    "the server does not answer initialize");
	} else if (transport_is_upgrading(&x->transport)) {
		execsrv_fail(x, EXECSRV_WHY_TIMEOUT,
		    "the server does not answer");
	} else if (e.text[0] != '\0') {
		execsrv_fail_as(x, &e);
	} else {
		errno = ETIMEDOUT;
		execsrv_fail(x, EXECSRV_WHY_CONNECT, "%s: %s",
		    x->opening.where, strerror(errno));
	}
}

/* Another server at this address, or this one later, may take it. */
static bool
may_pass(int error)
{
	return error == ECONNREFUSED || error == ENOENT ||
	    error == ETIMEDOUT || error == EHOSTUNREACH ||
	    error == ENETUNREACH || error == ECONNRESET || error == ENETDOWN;
}

/* Whether a server that ended a connection before the session has stopped. */
static bool
has_stopped(const struct execsrv *x, int error)
{
	return x->opening.is_second &&
	    (error == ECONNREFUSED || error == ENOENT);
}

/* Not now, not there, or not at all. */
static void
on_first_failed(struct execsrv *x, int error)
{
	bool			 is_reach;
	struct execsrv_address	*a = &x->opening.address;
	struct execsrv_error	 e;

	assert(execsrv_is_opening(x));
	is_reach = execsrv_reach_is_set(&x->opening.reach);
	if (error == EAGAIN) {
		recovery_retry_in(&x->recovery, execsrv_now(x), FULL_MS);
	} else if (error == ECONNREFUSED && a->is_name) {
		/* It may be served on its IPv6 address only. */
		execsrv_address_v6(a);
		transport_close(&x->transport);
		recovery_retry_in(&x->recovery, execsrv_now(x), 0);
		if (x->state != EXECSRV_WAITING)
			execsrv_set_state(x, EXECSRV_WAITING);
	} else {
		errno = error;
		execsrv_error_set(&e, EXECSRV_WHY_CONNECT, "%s: %s", is_reach ?
		    execsrv_reach_program(&x->opening.reach) :
		    x->opening.where, strerror(error));
		if (has_stopped(x, error))
			execsrv_error_prefix(&e, "the server has stopped");
		if (is_reach || !may_pass(error) || !execsrv_tries_on(x) ||
		    has_stopped(x, error))
			execsrv_fail_as(x, &e);
		else if (x->state == EXECSRV_WAITING)
			recovery_failed(&x->recovery, execsrv_now(x), &e);
		else
			execsrv_lose_as(x, &e);
	}
}

/* --- connecting --- */

static void
attempt(struct execsrv *x)
{
	struct opening	*o = &x->opening;
	uint64_t	 now = execsrv_now(x);
	struct execsrv_error	 e;

	assert(x->state == EXECSRV_WAITING);
	if (dialing_start(o, &x->transport) == 0) {
		recovery_allow(&x->recovery, now, o->connect_ms, false);
		execsrv_set_state(x, EXECSRV_CONNECTING);
	} else if (execsrv_is_opening(x)) {
		on_first_failed(x, errno);
	} else {
		execsrv_error_set(&e, EXECSRV_WHY_CONNECT,
		    "cannot connect: %s", strerror(errno));
		recovery_failed(&x->recovery, now, &e);
	}
}

static void
on_connected(struct execsrv *x)
{
	struct opening	*o = &x->opening;
	int		 error = transport_connect_error(&x->transport);

	if (error != 0 && execsrv_is_opening(x))
		on_first_failed(x, error);
	else if ((errno = error) != 0)
		execsrv_lose(x, EXECSRV_WHY_CONNECT, "cannot connect: %s",
		    strerror(error));
	else if (dialing_greet(o, &x->transport) == -1 && errno != EPIPE)
		execsrv_lose(x, EXECSRV_WHY_SYSTEM, "cannot send to " REACH
		    ": %s", strerror(errno));
}

/* --- execsrv-reach --- */

/* It gave up, for a reason. */
static void
on_reach_failed(struct execsrv *x, const char *why, bool is_permanent)
{
	if (execsrv_is_opening(x) && !is_permanent)
		execsrv_lose(x, EXECSRV_WHY_REFUSED, "%.200s: %s",
		    x->opening.where, why);
	else if (execsrv_is_opening(x))
		execsrv_fail(x, EXECSRV_WHY_REFUSED, "%.200s: %s",
		    x->opening.where, why);
	else if (is_permanent)
		execsrv_fail(x, EXECSRV_WHY_REFUSED,
		    "the connection was lost: %s", why);
	else
		execsrv_lose(x, EXECSRV_WHY_LOST, "%s", why);
}

bool
handshake_on_other(struct execsrv *x, const struct json *j)
{
	char	 why[sizeof(x->why.text)];
	bool	 is_permanent;

	if (!execsrv_reach_is_set(&x->opening.reach) ||
	    !execsrv_reach_read_error(j, why, sizeof(why), &is_permanent))
		return false;
	on_reach_failed(x, why, is_permanent);
	return true;
}

void
handshake_on_hello(struct execsrv *x, char *text, size_t len)
{
	char	 why[sizeof(x->why.text)];
	bool	 is_permanent;

	switch (dialing_read_hello(&x->transport, text, len, why, sizeof(why),
	    &is_permanent)) {
	case 0:
		on_reach_failed(x, why, is_permanent);
		break;
	case -1:
		execsrv_fail(x, EXECSRV_WHY_PROTOCOL,
		    REACH " sent a malformed answer");
		break;
	}
}

/* --- the session --- */

static void
on_refused(struct execsrv *x, const struct execsrv_error *e)
{
	struct execsrv_error	 copy = *e;

	if (execsrv_is_opening(x)) {
		execsrv_fail_as(x, e);
	} else if (e->code == ATTACHED) {
		recovery_reset_backoff(&x->recovery);
		execsrv_lose_as(x, e);
	} else {
		copy.code = 0;
		execsrv_error_prefix(&copy, "the connection was lost, and the "
		    "session cannot be resumed");
		execsrv_fail_as(x, &copy);
	}
}

static void
on_session(void *arg, const struct execsrv_answer *a)
{
	static const char	 done[] = "{\"method\":\"initialized\"}";
	struct execsrv		*x = arg;

	if (a->error != NULL && a->error->code == 0)
		return;			/* lost again: settled */
	assert(x->state == EXECSRV_INITIALIZING);
	if (a->error != NULL) {
		on_refused(x, a->error);
		return;
	}
	if (execsrv_is_opening(x) && opening_take_session(&x->opening,
	    a->json, a->result) == -1) {
		execsrv_fail(x, EXECSRV_WHY_PROTOCOL, "the server's answer to "
		    "initialize is malformed");
		return;
	}
	execsrv_set_state(x, EXECSRV_CATCHING_UP);
	if (execsrv_send(x, done, strlen(done)) == 0)
		execsrv_process_catch_up(x);
}

/* Ask for the session, as soon as messages can be sent. */
static void
initialize(struct execsrv *x)
{
	struct execsrv_call_opts	 opts = { .fn = on_session, .arg = x,
				    .is_internal = true };
	struct buf		 b;

	assert(transport_is_up(&x->transport));
	execsrv_set_state(x, EXECSRV_INITIALIZING);
	recovery_allow(&x->recovery, execsrv_now(x), x->opening.initialize_ms,
	    execsrv_is_opening(x) && x->opening.open_ms == 0);
	buf_init(&b, INITIALIZE_MAX);
	if (opening_put_initialize(&x->opening, &b) == -1 ||
	    execsrv_request(x, "initialize", (char *)buf_data(&b), b.len,
	    &opts) == -1)
		execsrv_fail_memory(x);
	buf_fini(&b);
}

static void
finish(struct execsrv *x)
{
	execsrv_set_state(x, EXECSRV_OPEN);
	execsrv_process_restart_wait(x);
	calls_connected(&x->calls);
}

/* --- for the loop --- */

/* While missed output is read: when silence has been too long. */
static uint64_t
catch_up_until(const struct execsrv *x)
{
	return transport_last_received(&x->transport) + CATCH_UP_MS;
}

void
handshake_step(struct execsrv *x, short revents)
{
	uint64_t	 now = execsrv_now(x);

	switch (x->state) {
	case EXECSRV_WAITING:
		if (recovery_is_over(&x->recovery, now))
			give_up(x);
		else if (recovery_is_due(&x->recovery, now))
			attempt(x);
		break;
	case EXECSRV_CONNECTING:
	case EXECSRV_INITIALIZING:
		if (recovery_is_over(&x->recovery, now))
			give_up(x);
		else if (recovery_is_due(&x->recovery, now))
			execsrv_lose(x, EXECSRV_WHY_TIMEOUT,
			    "the server does not answer");
		else if (transport_is_connecting(&x->transport) &&
		    revents != 0)
			on_connected(x);
		break;
	case EXECSRV_CATCHING_UP:
		if (now >= catch_up_until(x))
			execsrv_lose(x, EXECSRV_WHY_TIMEOUT,
			    "the server does not answer");
		break;
	case EXECSRV_OPEN:
	case EXECSRV_LOST:
	case EXECSRV_GONE:
		break;
	}
}

void
handshake_check(struct execsrv *x)
{
	if (x->state == EXECSRV_CONNECTING &&
	    transport_is_up(&x->transport))
		initialize(x);
	if (x->state == EXECSRV_CATCHING_UP && !execsrv_process_is_behind(x))
		finish(x);
}

void
handshake_recover(struct execsrv *x)
{
	assert(x->state == EXECSRV_LOST);
	transport_close(&x->transport);
	execsrv_set_state(x, EXECSRV_WAITING);
	calls_disconnected(&x->calls);
	execsrv_http_lost(x);
	execsrv_watch_lost(x);
}

int
handshake_wait_ms(const struct execsrv *x)
{
	uint64_t	 now = execsrv_now(x), until;

	switch (x->state) {
	case EXECSRV_CATCHING_UP:
		until = catch_up_until(x);
		return until > now ? (int)(until - now) : 0;
	case EXECSRV_LOST:
		return 0;
	default:
		return recovery_wait_ms(&x->recovery, now);
	}
}

/* --- the end --- */

bool
handshake_begin_close(struct execsrv *x)
{
	if (transport_send_close(&x->transport) == -1)
		return false;
	execsrv_set_held(x, true);	/* no more hooks */
	return true;
}

bool
handshake_is_closing(const struct execsrv *x)
{
	return transport_has_output(&x->transport);
}

void
handshake_end_close(struct execsrv *x)
{
	transport_end_child(&x->transport);
}
