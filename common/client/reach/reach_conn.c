#include "common/client/reach/reach_conn.h"

#include <assert.h>
#include <errno.h>
#include <sodium.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "common/clock.h"
#include "common/json/json_out.h"

/* The same as on libexecsrv's own websockets. */
#define HEARTBEAT_MS	5000	/* between pongs while reading is paused */
#define GOODBYE_MS	500	/* to send the last bytes */

static void	 on_silence(void *arg);

/* --- the end --- */

/* End, after the library has read what is queued. */
static void
reach_end(struct reach *r)
{
	r->is_ending = true;
	wsloop_timer_clear(&r->loop, &r->silence);
	if (!stdio_peer_is_full(&r->stdio_peer))
		wsloop_stop(&r->loop);
}

size_t
reach_put_why(const struct reach *r, char *out, size_t size)
{
	struct json_out	 o;
	struct buf	 b;
	size_t		 n = 0;

	buf_init(&b, size);
	json_out_init(&o, &b);
	json_out_open(&o, '{');
	json_out_pair(&o, "error", r->why);
	json_out_pair_bool(&o, "permanent", r->is_permanent);
	json_out_close(&o, '}');
	if (json_out_fini(&o) == 0) {
		n = b.len;
		memcpy(out, buf_data(&b), n);
	}
	buf_fini(&b);
	return n;
}

static void
fail_as(struct reach *r, bool is_permanent, const char *fmt, va_list ap)
{
	vsnprintf(r->why, sizeof(r->why), fmt, ap);
	r->is_permanent = is_permanent;
}

void
reach_fail(struct reach *r, bool is_permanent, const char *fmt, ...)
{
	char	 line[2048];
	size_t	 n;
	va_list	 ap;

	if (r->is_ending)
		return;
	va_start(ap, fmt);
	fail_as(r, is_permanent, fmt, ap);
	va_end(ap);
	n = reach_put_why(r, line, sizeof(line));
	/* Out of memory: the library gets EOF only. */
	if (n > 0 && stdio_peer_put(&r->stdio_peer, (uint8_t *)line, n) == -1)
		n = 0;
	reach_end(r);
}

/* --- before the loop --- */

static int
reach_refuse(struct reach *r, const char *fmt, ...) PRINTF(2, 3);

/* Set a permanent error.  Always -1. */
static int
reach_refuse(struct reach *r, const char *fmt, ...)
{
	va_list	 ap;

	va_start(ap, fmt);
	fail_as(r, true, fmt, ap);
	va_end(ap);
	return -1;
}

static int
reach_take_token(struct reach *r)
{
	static const char	 scheme[] = "Bearer ";
	size_t			 len;

	if (r->reach_target.token == NULL)
		return 0;
	len = strlen(r->reach_target.token);
	if ((r->authorization = sodium_malloc(sizeof(scheme) + len)) == NULL)
		return -1;
	memcpy(r->authorization, scheme, sizeof(scheme) - 1);
	memcpy(r->authorization + sizeof(scheme) - 1, r->reach_target.token,
	    len + 1);
	return 0;
}

/* The credential of a registry must not go in cleartext to other machines. */
static int
reach_take_url(struct reach *r)
{
	if (r->reach_target.environment == NULL) {
		r->ops = &reach_direct_ops;
		if (target_parse(&r->target, r->reach_target.url, "ws",
		    "wss") == -1)
			return reach_refuse(r, "expected ws://HOST:PORT[/PATH] "
			    "or wss://HOST[:PORT][/PATH]");
		return 0;
	}
	r->ops = &reach_remote_ops;
	if (target_parse(&r->target, r->reach_target.url, "http", "https") ==
	    -1)
		return reach_refuse(r, "expected https://HOST of a registry");
	if (!r->target.is_tls && !target_is_loopback(&r->target))
		return reach_refuse(r,
		    "a registry on another machine needs https://");
	if (r->reach_target.token == NULL)
		return reach_refuse(r, "a registry needs a credential");
	return 0;
}

int
reach_init(struct reach *r)
{
	const char	*ca = r->reach_target.ca_file;

	if (reach_take_url(r) == -1)
		return -1;
	if (reach_take_token(r) == -1)
		return reach_refuse(r, "out of memory");
	if (wsloop_init(&r->loop) == -1)
		return reach_refuse(r, "libwebsockets cannot be initialized");
	if (dialer_init(&r->dialer, &r->loop, r->resolver,
	    ca != NULL ? ca : "") == -1)
		return reach_refuse(r, "%.200s: %s", ca != NULL ? ca :
		    "this system", errno != 0 ? strerror(errno) :
		    "no CA certificates");
	return 0;
}

void
reach_fini(struct reach *r)
{
	wsloop_timer_clear(&r->loop, &r->silence);
	wsloop_timer_clear(&r->loop, &r->late);
	wsock_free(&r->sock);
	reach_refusal_fini(r);
	r->ops->fini(r);
	stdio_peer_fini(&r->stdio_peer);
	resolver_free(&r->resolver);
	dialer_fini(&r->dialer);
	wsloop_fini(&r->loop);
	sodium_free(r->authorization);
}

/* --- silence --- */

static uint64_t
silent(const struct reach *r)
{
	uint64_t	 heard = wsock_last_received(r->sock);

	return clock_ms() - (heard > r->heard ? heard : r->heard);
}

/* ms of silence before a ping: leaves time for the pong. */
static uint64_t
reach_ping_ms(const struct reach *r)
{
	return r->reach_target.silence_ms * 3 / 7;
}

static void
watch_silence(struct reach *r)
{
	uint64_t	 limit = r->is_pinged ? r->reach_target.silence_ms :
	    reach_ping_ms(r);
	uint64_t	 ms = silent(r);

	if (stdio_peer_is_full(&r->stdio_peer))
		limit = ms + HEARTBEAT_MS;
	wsloop_timer_set(&r->loop, &r->silence, ms < limit ? limit - ms : 0,
	    on_silence, r);
}

/*
 * While the library does not read, neither do we: send unsolicited pongs as a
 * heartbeat (RFC 6455 section 5.5.3), since the server's pings stay unread.
 */
static void
on_silence(void *arg)
{
	struct reach	*r = arg;

	assert(r->sock != NULL);
	if (wsock_last_received(r->sock) > r->heard)
		r->is_pinged = false;
	if (stdio_peer_is_full(&r->stdio_peer)) {
		r->heard = clock_ms();
		r->is_pinged = false;
		r->must_pong = true;
		reach_want(r);
	} else if (r->is_pinged && silent(r) >= r->reach_target.silence_ms) {
		reach_fail(r, false, "the server does not answer");
		return;
	} else if (!r->is_pinged && silent(r) >= reach_ping_ms(r)) {
		/* The server's time to answer begins now. */
		r->heard = clock_ms() - reach_ping_ms(r);
		r->is_pinged = r->must_ping = true;
		reach_want(r);
	}
	watch_silence(r);
}

/* --- the websocket --- */

static void
reach_on_open(void *arg)
{
	struct reach	*r = arg;

	assert(r->sock != NULL && !r->is_ready);
	r->heard = clock_ms();
	watch_silence(r);
	r->ops->on_open(r);
}

static void
reach_on_message(void *arg, uint8_t *data, size_t len, bool is_binary)
{
	struct reach	*r = arg;

	if (!r->is_ending)
		r->ops->on_message(r, data, len, is_binary);
}

static void
reach_on_late(void *arg)
{
	struct reach	*r = arg;

	wsloop_stop(&r->loop);
}

/* The library is gone, and all its messages are sent: close. */
static void
reach_leave(struct reach *r)
{
	assert(r->sock != NULL);
	if (r->is_leaving)
		return;
	r->is_leaving = true;
	wsock_close(r->sock);
	wsloop_timer_set(&r->loop, &r->late, GOODBYE_MS, reach_on_late, r);
}

static void
reach_on_writable(void *arg)
{
	struct reach	*r = arg;

	assert(r->sock != NULL);
	/* The server reads: a sign of life while its answer may be queued. */
	if (r->was_full)
		r->heard = clock_ms();
	r->was_full = false;
	if (r->must_ping)
		wsock_ping(r->sock);
	if (r->must_pong)
		wsock_pong(r->sock);
	r->must_ping = r->must_pong = false;
	while (!r->is_ending && !wsock_is_full(r->sock)) {
		if (r->ops->send(r))
			continue;
		if (stdio_peer_is_over(&r->stdio_peer))
			reach_leave(r);
		return;
	}
	if (r->is_ending)
		return;
	r->was_full = true;
	wsock_want(r->sock);
}

static void
reach_on_pong(void *arg)
{
	(void)arg;
}

static void
reach_on_close(void *arg, unsigned code, const char *words, size_t len)
{
	struct reach	*r = arg;

	reach_fail(r, false, "the server closed the connection (%u%s%.*s)",
	    code, len > 0 ? ": " : "", (int)len, words);
}

/*
 * Whether another attempt would fail as well: not trusted, or refused by an
 * HTTP status that is not temporary.
 */
static bool
is_final(const struct reach *r, unsigned status)
{
	return wsock_is_distrusted(r->sock) || (status != 0 && status < 500 &&
	    status != 408 && status != 429);
}

static void
reach_on_end(void *arg, unsigned status, const char *why)
{
	struct reach	*r = arg;

	wsloop_timer_clear(&r->loop, &r->silence);
	if (r->is_leaving)
		reach_end(r);
	else if (!r->is_ending && r->ops->on_end(r, status, why))
		return;
	else if (r->is_ready)
		reach_fail(r, false, "%s", why);
	else if (status == 403 && r->ops == &reach_direct_ops &&
	    reach_ask_why(r) == 0)
		;
	else if (status != 0)
		reach_fail(r, is_final(r, status),
		    "the server refused: HTTP %u%s", status, status != 401 ?
		    "" : r->authorization == NULL ? ": a token is missing" :
		    ": the token is not accepted");
	else
		reach_fail(r, is_final(r, status), "%s", why);
	reach_disconnect(r);
}

static const struct wsock_events	 wsock_events = {
	reach_on_open, reach_on_message, reach_on_writable, reach_on_pong,
	    reach_on_close, reach_on_end
};

void
reach_disconnect(struct reach *r)
{
	wsloop_timer_clear(&r->loop, &r->silence);
	wsock_free(&r->sock);
	r->is_pinged = r->must_ping = r->must_pong = r->was_full = false;
}

int
reach_connect(struct reach *r, const struct target *t, uint64_t ms, size_t max)
{
	const char	*why = dialer_trouble(&r->dialer, t);

	assert(r->sock == NULL && !r->is_leaving);
	r->sock = wsock_new(&r->dialer, t, ms, max, &wsock_events, r);
	if (r->sock != NULL)
		return 0;
	reach_fail(r, true, "%s: %s", t->host, why != NULL ? why :
	    "cannot be connected to");
	return -1;
}

void
reach_want(struct reach *r)
{
	if (r->sock != NULL)
		wsock_want(r->sock);
}

/* --- the library --- */

void
reach_ready(struct reach *r)
{
	char	 ready[] = "{\"ready\":true}";

	r->is_ready = true;
	if (stdio_peer_put(&r->stdio_peer, (uint8_t *)ready, strlen(ready)) ==
	    -1)
		reach_fail(r, false, "out of memory");
	reach_want(r);
}

void
reach_deliver(struct reach *r, uint8_t *data, size_t len)
{
	if (stdio_peer_put(&r->stdio_peer, data, len) == -1)
		reach_fail(r, false, "out of memory");
	if (r->sock == NULL || !stdio_peer_is_full(&r->stdio_peer))
		return;
	wsock_read(r->sock, false);
	watch_silence(r);
}

static void
reach_on_line(void *arg)
{
	struct reach	*r = arg;

	if (stdio_peer_is_over(&r->stdio_peer) && (!r->is_ready || r->sock ==
	    NULL))
		wsloop_stop(&r->loop);
	reach_want(r);
}

static void
reach_on_room(void *arg)
{
	struct reach	*r = arg;

	if (r->is_ending) {
		wsloop_stop(&r->loop);
	} else if (r->sock != NULL) {
		r->heard = clock_ms();
		wsock_read(r->sock, true);
		watch_silence(r);
		r->ops->on_room(r);
	}
}

static const struct stdio_peer_events	 stdio_peer_events = { reach_on_line,
    reach_on_room };

void
reach_run(struct reach *r, int fd)
{
	if (stdio_peer_init(&r->stdio_peer, fd, &r->loop, &stdio_peer_events,
	    r) == 0 && r->ops->start(r) == 0)
		wsloop_run(&r->loop);
}
