#include "master/uplink/rendezvous.h"

#include <sys/socket.h>

#include <netinet/in.h>
#include <netinet/tcp.h>

#include <assert.h>
#include <sched.h>
#include <sodium.h>
#include <string.h>

#include "common/clock.h"
#include "common/limit.h"
#include "common/log.h"
#include "master/uplink/carrier.h"
#include "master/uplink/uplink_env.h"

static void	 connect_now(void *arg);
static void	 on_stuck(void *arg);

#define PHASE(name)	(1u << IPC__UPLINK_PHASE__##name)

static void
set_phase(struct rendezvous *r, Ipc__UplinkPhase phase)
{
	static const unsigned	 may[] = {
		[IPC__UPLINK_PHASE__IDLE] =
		    PHASE(CONNECTING) | PHASE(PAUSING) | PHASE(STALE),
		[IPC__UPLINK_PHASE__STALE] =
		    PHASE(CONNECTING) | PHASE(PAUSING) | PHASE(STALE),
		[IPC__UPLINK_PHASE__CONNECTING] =
		    PHASE(CONNECTED) | PHASE(PAUSING) | PHASE(STALE),
		[IPC__UPLINK_PHASE__CONNECTED] =
		    PHASE(PAUSING) | PHASE(STALE),
		[IPC__UPLINK_PHASE__PAUSING] =
		    PHASE(CONNECTING) | PHASE(PAUSING) | PHASE(STALE),
	};

	assert((may[r->phase] & 1u << phase) != 0);
	assert((phase == IPC__UPLINK_PHASE__CONNECTED) == (r->carrier != NULL));
	r->phase = phase;
	r->env->events->on_news(r->env->arg, 0);
}

/* --- between connections --- */

/* At random between half the window and all of it (PROTOCOL 12.4). */
static void
pause_and_connect(struct rendezvous *r)
{
	uint64_t	 ms = r->window / 2 +
			    randombytes_uniform((uint32_t)r->window / 2 + 1);

	assert(r->sock == NULL && r->window > 0);
	r->window = r->window * 2 < LIMIT_RENDEZVOUS_PAUSE ? r->window * 2 :
	    LIMIT_RENDEZVOUS_PAUSE;
	r->must_pause = false;
	wsloop_timer_set(&r->env->loop, &r->pause, ms, connect_now, r);
	set_phase(r, IPC__UPLINK_PHASE__PAUSING);
}

/* Whether to register again first; without Noise before each connection. */
static bool
is_stale(const struct rendezvous *r, bool was_open)
{
	if (r->env->registry.kind != ANSWER_NOISE)
		return true;
	return !was_open && r->status >= 400 && r->status <= 499;
}

static void
stop_timers(struct rendezvous *r)
{
	struct wsloop	*l = &r->env->loop;

	wsloop_timer_clear(l, &r->pause);
	wsloop_timer_clear(l, &r->ping);
	wsloop_timer_clear(l, &r->pong);
	wsloop_timer_clear(l, &r->stuck);
	r->must_ask = r->is_writing = false;
}

/* The websocket ended, or was never connected. */
static void
rendezvous_on_end(void *arg, unsigned status, const char *why)
{
	struct rendezvous	*r = arg;
	bool			 was_open = r->opened != 0;

	r->status = was_open ? 0 : status;
	if (r->status != 0)
		log_warnx("rendezvous: refused with HTTP status %u", r->status);
	else
		log_warnx("rendezvous: %s", why);
	stop_timers(r);
	carrier_free(&r->carrier);
	wsock_free(&r->sock);		/* and why is gone */
	if (was_open && (clock_ms() - r->opened >= LIMIT_RENDEZVOUS_STABLE ||
	    r->env->registry.kind != ANSWER_NOISE))
		r->window = LIMIT_RENDEZVOUS_WINDOW;
	r->opened = 0;
	if (is_stale(r, was_open)) {
		r->must_pause = true;
		set_phase(r, IPC__UPLINK_PHASE__STALE);
	} else {
		pause_and_connect(r);
	}
}

/* --- connected --- */

static void
line_want(void *arg)
{
	struct rendezvous	*r = arg;

	if (r->sock == NULL || r->is_writing)
		return;
	r->is_writing = true;
	wsock_want(r->sock);
	wsloop_timer_set(&r->env->loop, &r->stuck, LIMIT_RENDEZVOUS_PONG,
	    on_stuck, r);
}

/* The last LIMIT_UNPROVEN bytes count as read: they are retained anyway. */
static bool
line_has_read(void *arg, uint64_t pos)
{
	struct rendezvous	*r = arg;
	uint64_t		 read = r->inflight.read;

	if (pos <= read || r->bytes_out - read <= LIMIT_UNPROVEN)
		return true;
	r->must_ask = true;
	if (!r->inflight.is_asked)
		line_want(r);
	return false;
}

static uint64_t
line_sent(const void *arg)
{
	const struct rendezvous	*r = arg;

	return r->bytes_out;
}

static void
line_fail(void *arg)
{
	struct rendezvous	*r = arg;

	if (r->sock != NULL)
		wsock_fail(r->sock);
}

static const struct carrier_line	 line = {
	line_want, line_has_read, line_sent, line_fail
};

static void
on_no_pong(void *arg)
{
	struct rendezvous	*r = arg;

	assert(r->sock != NULL && r->inflight.is_asked);
	log_warnx("rendezvous: no answer to a ping");
	line_fail(r);
}

static void
on_stuck(void *arg)
{
	struct rendezvous	*r = arg;

	assert(r->sock != NULL && r->is_writing);
	log_warnx("rendezvous: does not accept data any more");
	line_fail(r);
}

static void
on_ping_timer(void *arg)
{
	struct rendezvous	*r = arg;

	assert(r->sock != NULL && r->opened != 0);
	r->must_ask = !r->inflight.is_asked;
	line_want(r);
}

static bool
must_ask(const struct rendezvous *r)
{
	return (r->must_ask && !r->inflight.is_asked) ||
	    inflight_must_ask(&r->inflight, r->bytes_out);
}

static void
rendezvous_ask(struct rendezvous *r)
{
	struct wsloop	*l = &r->env->loop;

	r->must_ask = false;
	inflight_ask(&r->inflight, r->bytes_out, clock_us());
	wsock_ping(r->sock);
	wsloop_timer_set(l, &r->ping, LIMIT_RENDEZVOUS_PING, on_ping_timer, r);
	wsloop_timer_set(l, &r->pong, LIMIT_RENDEZVOUS_PONG, on_no_pong, r);
}

static void
rendezvous_on_pong(void *arg)
{
	struct rendezvous	*r = arg;
	uint64_t		 now = clock_us();

	if (!r->inflight.is_asked)
		return;
	assert(r->sock != NULL && r->carrier != NULL);
	wsloop_timer_clear(&r->env->loop, &r->pong);
	inflight_answer(&r->inflight, now);
	line_want(r);
	carrier_on_proof(r->carrier);
	r->env->events->on_news(r->env->arg, LIMIT_RENDEZVOUS_TOLD);
}

static void
rendezvous_on_open(void *arg)
{
	struct rendezvous	*r = arg;
	int			 low = LIMIT_RENDEZVOUS_UNSENT;

	assert(r->sock != NULL && r->carrier == NULL);
	/* No stream overtakes what the kernel holds: give it just enough. */
	if (setsockopt(wsock_fd(r->sock), IPPROTO_TCP, TCP_NOTSENT_LOWAT,
	    &low, sizeof(low)) == -1)
		log_debug("TCP_NOTSENT_LOWAT");
	r->opened = clock_ms();
	r->status = 0;
	inflight_init(&r->inflight, r->bytes_out, LIMIT_RENDEZVOUS_FIRST,
	    LIMIT_RENDEZVOUS_LEAST);
	wsloop_timer_set(&r->env->loop, &r->ping, LIMIT_RENDEZVOUS_PING,
	    on_ping_timer, r);
	if ((r->carrier = carrier_new(r->env, &line, r)) == NULL) {
		log_warn("cannot set up streams for the rendezvous");
		line_fail(r);
		return;
	}
	log_info("connected to the rendezvous");
	set_phase(r, IPC__UPLINK_PHASE__CONNECTED);
}

static void
rendezvous_on_message(void *arg, uint8_t *data, size_t len, bool is_binary)
{
	struct rendezvous	*r = arg;

	r->bytes_in += len;
	if (r->carrier != NULL)
		carrier_on_message(r->carrier, data, len, is_binary);
}

static void
rendezvous_on_writable(void *arg)
{
	struct rendezvous	*r = arg;
	uint8_t			*frame;
	bool			 is_binary;
	size_t			 n, sent = 0;

	assert(r->sock != NULL);
	wsloop_timer_clear(&r->env->loop, &r->stuck);
	r->is_writing = false;
	/* Limit a turn: a fast reader must not starve other descriptors. */
	while (r->carrier != NULL && sent < LIMIT_RENDEZVOUS_TURN &&
	    !wsock_is_full(r->sock)) {
		if (must_ask(r)) {
			rendezvous_ask(r);
			continue;
		}
		if (inflight_is_full(&r->inflight, r->bytes_out))
			return;		/* until the pong */
		if ((n = carrier_next(r->carrier, &frame, &is_binary)) == 0) {
			inflight_idle(&r->inflight, clock_us());
			return;
		}
		if (r->inflight.is_idle)
			inflight_resume(&r->inflight, r->bytes_out,
			    clock_us());
		wsock_send(r->sock, frame, n, is_binary ? WSOCK_BINARY : 0);
		r->bytes_out += n;
		sent += n;
	}
	line_want(r);
	/*
	 * There is more to send: let processes of other streams run first.  It
	 * lowers their latency beside a flood more than it slows the flood.
	 */
	if (carrier_streams(r->carrier) > 1)
		sched_yield();
}

static const struct wsock_events wsock_events = {
	rendezvous_on_open, rendezvous_on_message, rendezvous_on_writable,
	    rendezvous_on_pong, NULL, rendezvous_on_end
};

static void
connect_now(void *arg)
{
	struct rendezvous	*r = arg;
	struct uplink_env	*env = r->env;
	struct target		 t;
	size_t			 max = env->registry.kind == ANSWER_PLAIN ?
				    (size_t)LIMIT_MESSAGE :
				    (size_t)LIMIT_RELAY_MESSAGE;

	assert(r->sock == NULL && r->carrier == NULL);
	r->has_no_url = target_parse(&t, env->registered.url, "ws",
	    "wss") == -1;
	if (r->has_no_url || (r->sock = wsock_new(&env->dialer, &t,
	    LIMIT_RENDEZVOUS, max, &wsock_events, r)) == NULL) {
		if (env->registered.is_long)
			log_warnx("rendezvous: the registry gave a URL of "
			    "more than %d bytes", TARGET_PATH - 1);
		else
			log_warnx("rendezvous: the registry gave a URL that "
			    "cannot be used");
		rendezvous_on_end(r, 0, "not connected");
		return;
	}
	if (env->registry.kind == ANSWER_NOISE)
		wsock_set_header(r->sock, "x-execsrv-relay:", "flow");
	set_phase(r, IPC__UPLINK_PHASE__CONNECTING);
}

/* --- */

void
rendezvous_init(struct rendezvous *r, struct uplink_env *env)
{
	memset(r, 0, sizeof(*r));
	r->env = env;
	r->window = LIMIT_RENDEZVOUS_WINDOW;
	r->phase = IPC__UPLINK_PHASE__IDLE;
}

void
rendezvous_fini(struct rendezvous *r)
{
	if (r->env == NULL)
		return;
	stop_timers(r);
	carrier_free(&r->carrier);
	wsock_free(&r->sock);
}

void
rendezvous_start(struct rendezvous *r)
{
	if (r->sock != NULL || r->phase == IPC__UPLINK_PHASE__PAUSING)
		return;			/* the next attempt uses it */
	if (r->must_pause)
		pause_and_connect(r);
	else
		connect_now(r);
}
