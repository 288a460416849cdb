/*
 * Messages between two descriptors and a server, as they are: the client opens
 * the session and gives the numbers of requests.  Each direction stops when its
 * reader is slow.  A session whose connection is lost goes on with the next one
 * (carried.h); until then the client is not read.
 */
#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/buf.h"
#include "common/client/carry/carried.h"
#include "common/client/dialing.h"
#include "common/client/error.h"
#include "common/client/opening.h"
#include "common/client/recovery.h"
#include "common/client/transport/transport.h"
#include "common/json/utf8.h"
#include "common/limit.h"
#include "common/outq.h"

#define INPUT_CHUNK	(64 * 1024)
#define INPUT_KEEP	(256 * 1024)
#define HOLD_ABOVE	(1024 * 1024)	/* bytes of queued output */
#define HOLD_BELOW	(256 * 1024)
#define REACH_LAST_MAX	4096	/* bytes of what execsrv-reach says last */
#define CLOSE_MS	2000	/* for the last bytes to leave */
#define CATCH_UP_MS	10000	/* of silence while missed output is read */

struct bridge {
	struct transport	 transport;
	struct opening		 opening;
	struct carried		 carried;
	struct recovery		 recovery;
	bool			 is_lost;	/* for the loop to see */
	bool			 is_waiting;	/* for the next attempt */
	uint64_t		 deadline;	/* ms: to open; to close */
	int			 fd;		/* of the client's lines */
	struct buf		 in;		/* lines; the last is open */
	size_t			 scanned;	/* bytes without a line's end */
	bool			 has_ended;	/* the input */
	struct outq		 out;
	bool			 is_held;	/* the server, by the output */
	bool			 is_closing;	/* the server was told */
	bool			 is_over;
	struct execsrv_error	 why;		/* empty: no failure */
};

static void	 bridge_fail(struct bridge *, const char *, ...) PRINTF(2, 3);

/* Keep the first reason, and end. */
static void
bridge_fail(struct bridge *b, const char *fmt, ...)
{
	char	 why[sizeof(b->why.text)];
	va_list	 ap;

	if (b->is_over)
		return;
	va_start(ap, fmt);
	vsnprintf(why, sizeof(why), fmt, ap);
	va_end(ap);
	execsrv_error_set(&b->why, EXECSRV_WHY_LOST, "%s", why);
	b->is_over = true;
}

/* Try another connection, or end. */
static void
bridge_lose(struct bridge *b, const struct execsrv_error *why)
{
	if (b->is_closing) {
		b->is_over = true;
	} else if (!b->is_over && !b->is_lost &&
	    recovery_is_enabled(&b->recovery) &&
	    carried_can_resume(&b->carried)) {
		transport_stop(&b->transport);
		recovery_lost(&b->recovery, transport_now(&b->transport), why,
		    b->carried.state == CARRIED_BEHIND);
		b->is_lost = true;
	} else if (!b->is_over && !b->is_lost) {
		b->why = *why;
		execsrv_error_prefix(&b->why, b->opening.where);
		b->is_over = true;
	}
}

static void
bridge_on_silence(struct bridge *b)
{
	struct execsrv_error	 e;

	execsrv_error_set(&e, EXECSRV_WHY_TIMEOUT,
	    "the server does not answer");
	bridge_lose(b, &e);
}

/* --- from the server --- */

/* execsrv-reach gave up, for a reason. */
static void
bridge_on_reach_error(struct bridge *b, const char *why, bool is_permanent)
{
	struct execsrv_error	 e;

	execsrv_error_set(&e, EXECSRV_WHY_LOST, "%s", why);
	if (is_permanent || !carried_can_resume(&b->carried))
		bridge_fail(b, "%s: %s", b->opening.where, why);
	else
		bridge_lose(b, &e);
}

/* What execsrv-reach says of itself has no place in the protocol. */
static bool
is_reach_error(struct bridge *b, const char *text, size_t len)
{
	struct json	 j;
	char		 why[512], copy[REACH_LAST_MAX];
	bool		 is_permanent, r = false;

	if (!execsrv_reach_is_set(&b->opening.reach) || len > sizeof(copy) ||
	    memmem(text, len, "\"permanent\"", 11) == NULL)
		return false;
	memcpy(copy, text, len);	/* the parser works in place */
	json_init(&j);
	if (json_parse(&j, copy, len) == 0 &&
	    json_tok(&j, 0)->type == JSON_OBJECT &&
	    execsrv_reach_read_error(&j, why, sizeof(why), &is_permanent)) {
		bridge_on_reach_error(b, why, is_permanent);
		r = true;
	}
	json_fini(&j);
	return r;
}

static void
bridge_on_message(void *arg, char *text, size_t len)
{
	struct bridge		*b = arg;
	struct execsrv_error	 e;
	char			*p;

	if (is_reach_error(b, text, len))
		return;
	/* JSON has line breaks between tokens only, where a blank will do. */
	for (p = text; (p = memchr(p, '\n', len - (size_t)(p - text))) !=
	    NULL;)
		*p = ' ';
	if (b->carried.state != CARRIED_RESUMING)
		recovery_progress(&b->recovery);
	if (carried_from_server(&b->carried, text, len, &e) == 0)
		return;
	if (e.code == CARRIED_ATTACHED) {
		recovery_reset_backoff(&b->recovery);
		bridge_lose(b, &e);
	} else {
		bridge_fail(b, "%s: the connection was lost, and the session "
		    "cannot be resumed: %s", b->opening.where, e.text);
	}
}

static int
bridge_to_client(void *arg, const char *text, size_t len)
{
	struct bridge	*b = arg;

	return outq_put(&b->out, text, len) == -1 ? -1 :
	    outq_put(&b->out, "\n", 1);
}

/* That the connection is lost is heard by bridge_lose(). */
static int
bridge_to_server(void *arg, const char *text, size_t len)
{
	struct bridge	*b = arg;

	return transport_send(&b->transport, text, len) == 0 ||
	    errno == EPIPE ? 0 : -1;
}

static const struct carried_ops	 bridge_ops = {
	.to_client = bridge_to_client, .to_server = bridge_to_server
};

static void
bridge_on_hello(void *arg, char *text, size_t len)
{
	struct bridge	*b = arg;
	char		 why[512];
	bool		 is_permanent;

	switch (dialing_read_hello(&b->transport, text, len, why, sizeof(why),
	    &is_permanent)) {
	case 0:
		bridge_on_reach_error(b, why, is_permanent);
		break;
	case -1:
		bridge_fail(b, "execsrv-reach sent a malformed answer");
		break;
	}
}

static void
bridge_on_lost(void *arg, const struct execsrv_error *why)
{
	bridge_lose(arg, why);
}

static void
bridge_on_failed(void *arg, const struct execsrv_error *why)
{
	struct bridge	*b = arg;

	bridge_fail(b, "%s: %s", b->opening.where, why->text);
}

static void
bridge_on_change(void *arg)
{
	(void)arg;
}

static const struct transport_events	 bridge_events = {
	.on_message = bridge_on_message, .on_hello = bridge_on_hello,
	.on_lost = bridge_on_lost, .on_failed = bridge_on_failed,
	.on_change = bridge_on_change
};

/* --- from the client --- */

static void
send_line(struct bridge *b, const char *line, size_t len)
{
	if (len > 0 && line[len - 1] == '\r')
		len--;
	if (strspn(line, " \t\r") >= len)
		return;
	if (!utf8_is_valid(line, len))
		bridge_fail(b, "input: not UTF-8");
	else if (carried_from_client(&b->carried, line, len) == -1)
		bridge_fail(b, "%s: %s", b->opening.where, strerror(errno));
}

/* Whether there is a connection, and the client may use it. */
static bool
bridge_is_ready(const struct bridge *b)
{
	return transport_is_up(&b->transport) && carried_is_ready(&b->carried);
}

/* Send the lines that are whole. */
static void
send_lines(struct bridge *b)
{
	char	*line, *end;
	size_t	 n;

	assert(b->scanned <= b->in.len);
	while (!b->is_over && bridge_is_ready(b) &&
	    !transport_has_output(&b->transport)) {
		line = (char *)buf_data(&b->in);
		end = b->in.len == b->scanned ? NULL : memchr(line +
		    b->scanned, '\n', b->in.len - b->scanned);
		if (end == NULL) {
			b->scanned = b->in.len;
			break;
		}
		*end = '\0';
		n = (size_t)(end - line);
		send_line(b, line, n);
		buf_drain(&b->in, n + 1);
		b->scanned = 0;
	}
	buf_trim(&b->in, INPUT_KEEP);
}

static void
bridge_on_input(struct bridge *b)
{
	uint8_t	*room;
	ssize_t	 n;

	assert(!b->has_ended);
	if ((room = buf_reserve(&b->in, INPUT_CHUNK)) == NULL) {
		bridge_fail(b, "input: %s", errno == EFBIG ?
		    "a line is too long" : strerror(errno));
		return;
	}
	if ((n = read(b->fd, room, INPUT_CHUNK)) == -1) {
		if (errno != EINTR && errno != EAGAIN)
			bridge_fail(b, "input: %s", strerror(errno));
		return;
	}
	buf_commit(&b->in, (size_t)n);
	b->has_ended = n == 0;
}

/* All input is sent: say so, and wait for the server's last answers. */
static void
check_end(struct bridge *b)
{
	if (!b->has_ended || b->is_closing || b->is_over ||
	    !bridge_is_ready(b) || b->scanned < b->in.len ||
	    transport_has_output(&b->transport))
		return;
	if (b->in.len > 0) {
		bridge_fail(b, "input: the last line has no end");
		return;
	}
	b->is_closing = true;
	b->deadline = transport_now(&b->transport) + CLOSE_MS;
	/* execsrv-reach takes the end of its input for that. */
	if (transport_has_child(&b->transport) ||
	    transport_send_close(&b->transport) == -1)
		b->is_over = true;
}

/* --- the loop --- */

enum { FD_SERVER, FD_INPUT, FD_OUTPUT, FDS };

/* A message of the client waits until the one before it has left. */
static bool
wants_line(const struct bridge *b)
{
	return bridge_is_ready(b) && !b->has_ended &&
	    b->scanned == b->in.len && !transport_has_output(&b->transport);
}

/* Of a connection after the first one: what is awaited on the way to it. */
static bool
is_recovering(const struct bridge *b)
{
	return b->is_waiting || b->carried.state == CARRIED_LOST ||
	    b->carried.state == CARRIED_RESUMING;
}

/* When to stop to wait for the server, ms. */
static uint64_t
bridge_deadline(const struct bridge *b)
{
	return b->carried.state == CARRIED_BEHIND && !b->is_closing ?
	    transport_last_received(&b->transport) + CATCH_UP_MS : b->deadline;
}

static int
bridge_wait_ms(const struct bridge *b)
{
	uint64_t	 now = transport_now(&b->transport);

	if (b->is_over || b->is_lost)
		return 0;
	if (is_recovering(b))
		return recovery_wait_ms(&b->recovery, now);
	if (bridge_is_ready(b) && !b->is_closing)
		return transport_wait_ms(&b->transport);
	return now < bridge_deadline(b) ? (int)(bridge_deadline(b) - now) : 0;
}

/* The server's time is up, or it was silent for too long. */
static void
check_time(struct bridge *b)
{
	bool	 is_late = transport_now(&b->transport) >= bridge_deadline(b);

	if (b->is_closing) {
		b->is_over |= is_late;
	} else if (b->is_lost || is_recovering(b)) {
		return;
	} else if (b->carried.state == CARRIED_BEHIND) {
		if (is_late)
			bridge_on_silence(b);
	} else if (!transport_is_up(&b->transport)) {
		if (is_late)
			bridge_fail(b, "%s: %s", b->opening.where,
			    strerror(ETIMEDOUT));
	} else if (!b->is_held) {
		transport_check_silence(&b->transport);
	}
}

/* Tell the server who we are, or try "localhost" by IPv6. */
static void
bridge_on_connected(struct bridge *b)
{
	struct transport	*t = &b->transport;
	struct execsrv_error	 e;
	int			 error = transport_connect_error(t);

	if (error == ECONNREFUSED && b->opening.address.is_name) {
		execsrv_address_v6(&b->opening.address);
		transport_close(t);
		error = dialing_start(&b->opening, t) == 0 ? 0 : errno;
	} else if (error == 0 && dialing_greet(&b->opening, t) == -1 &&
	    errno != EPIPE) {
		error = errno;
	}
	errno = error;
	if (error != 0) {
		execsrv_error_set(&e, EXECSRV_WHY_CONNECT, "%s",
		    strerror(error));
		bridge_lose(b, &e);
	}
}

/* --- the next connection --- */

static void
recovery_give_up(struct bridge *b)
{
	bridge_fail(b, "%s: the connection was lost: %s; the session is %s",
	    b->opening.where, recovery_why(&b->recovery)->text,
	    opening_session(&b->opening));
}

static void
recovery_attempt(struct bridge *b)
{
	struct execsrv_error	 e;
	uint64_t		 now = transport_now(&b->transport);

	if (dialing_start(&b->opening, &b->transport) == 0) {
		b->is_waiting = false;
		recovery_allow(&b->recovery, now, b->opening.connect_ms, false);
		return;
	}
	execsrv_error_set(&e, EXECSRV_WHY_CONNECT, "cannot connect: %s",
	    strerror(errno));
	recovery_failed(&b->recovery, now, &e);
}

static void
recovery_step(struct bridge *b)
{
	uint64_t	 now = transport_now(&b->transport);

	if (b->is_lost) {
		b->is_lost = false;
		b->is_waiting = true;
		transport_close(&b->transport);
		if (carried_lose(&b->carried) == -1)
			bridge_fail(b, "%s", strerror(errno));
	}
	if (!is_recovering(b))
		return;
	if (recovery_is_over(&b->recovery, now)) {
		recovery_give_up(b);
	} else if (b->is_waiting) {
		if (recovery_is_due(&b->recovery, now))
			recovery_attempt(b);
	} else if (recovery_is_due(&b->recovery, now)) {
		bridge_on_silence(b);
	} else if (transport_is_up(&b->transport) &&
	    b->carried.state == CARRIED_LOST) {
		recovery_allow(&b->recovery, now, b->opening.initialize_ms,
		    false);
		if (carried_resume(&b->carried, recovery_read_max(
		    &b->recovery)) == -1)
			bridge_fail(b, "%s", strerror(errno));
	}
}

/* --- a turn --- */

static void
on_server(struct bridge *b, short revents)
{
	if (!transport_is_connecting(&b->transport))
		transport_handle(&b->transport, revents);
	else if (revents != 0)
		bridge_on_connected(b);
	(void)transport_flush(&b->transport);
}

static void
bridge_check_output(struct bridge *b)
{
	size_t	 held = outq_held(&b->out);

	if (b->out.error != 0)
		bridge_fail(b, "output: %s", strerror(b->out.error));
	if (held <= HOLD_BELOW)
		b->is_held = false;
	else if (held > HOLD_ABOVE)
		b->is_held = true;
	/* What was missed is read anyway: the client waits for it. */
	transport_pause(&b->transport, b->is_held &&
	    bridge_is_ready(b));
}

static void
bridge_turn(struct bridge *b)
{
	struct pollfd	 fds[FDS] = {
		[FD_SERVER] = { .events = transport_poll_events(
		    &b->transport) },
		[FD_INPUT] = { .events = POLLIN },
		[FD_OUTPUT] = { .events = POLLOUT }
	};

	fds[FD_SERVER].fd = transport_fd(&b->transport);
	fds[FD_INPUT].fd = wants_line(b) ? b->fd : -1;
	fds[FD_OUTPUT].fd = outq_held(&b->out) > 0 ? b->out.fd : -1;
	if (poll(fds, FDS, bridge_wait_ms(b)) == -1)
		return;
	if (fds[FD_OUTPUT].revents != 0)
		outq_on_room(&b->out);
	on_server(b, fds[FD_SERVER].revents);
	if (fds[FD_INPUT].revents != 0)
		bridge_on_input(b);
	send_lines(b);
	bridge_check_output(b);
	check_end(b);
	check_time(b);
	recovery_step(b);
}

/* Let the last bytes leave, in both directions. */
static void
bridge_drain(struct bridge *b)
{
	uint64_t	 now, deadline = transport_now(&b->transport) +
			    CLOSE_MS;
	struct pollfd	 fds[2] = { { .fd = -1 } };

	transport_pause(&b->transport, true);
	while ((transport_has_output(&b->transport) ||
	    outq_held(&b->out) > 0) &&
	    (now = transport_now(&b->transport)) < deadline) {
		fds[0].fd = transport_has_output(&b->transport) ?
		    transport_fd(&b->transport) : -1;
		fds[1].fd = outq_held(&b->out) > 0 ? b->out.fd : -1;
		fds[0].events = fds[1].events = POLLOUT;
		if (poll(fds, 2, (int)(deadline - now)) <= 0)
			continue;
		outq_on_room(&b->out);
		if (transport_flush(&b->transport) == -1)
			transport_close(&b->transport);
	}
	transport_end_child(&b->transport);
}

/* --- the beginning --- */

static int
bridge_begin(struct bridge *b, const char *url,
    const struct execsrv_options *o)
{
	if (opening_take_options(&b->opening, o, &b->why) == -1 ||
	    opening_set_url(&b->opening, url, o, &b->why) == -1)
		return -1;
	if (o->silence_ms > 0)
		transport_set_silence(&b->transport, o->silence_ms);
	if (o->recover_ms != 0)
		recovery_set_limit(&b->recovery,
		    o->recover_ms > 0 ? o->recover_ms : 0);
	b->deadline = transport_now(&b->transport) +
	    (uint64_t)b->opening.connect_ms;
	if (dialing_start(&b->opening, &b->transport) == 0)
		return 0;
	execsrv_error_set(&b->why, EXECSRV_WHY_CONNECT, "%s: %s", url,
	    strerror(errno));
	return -1;
}

int
execsrv_carry(const char *url, const struct execsrv_options *o, int in,
    int out, struct execsrv_error *e)
{
	static const struct execsrv_options	 none;
	struct bridge				 b = { .fd = in };

	if (transport_init(&b.transport, &bridge_events, &b) == -1) {
		execsrv_error_set(e, EXECSRV_WHY_SYSTEM, "%s", strerror(errno));
		return -1;
	}
	opening_init(&b.opening);
	recovery_init(&b.recovery);
	carried_init(&b.carried, &b.opening, &bridge_ops, &b);
	buf_init(&b.in, (size_t)LIMIT_MESSAGE + 2 * INPUT_CHUNK);
	outq_init(&b.out, out);
	if (bridge_begin(&b, url, o != NULL ? o : &none) == 0) {
		while (!b.is_over)
			bridge_turn(&b);
		bridge_drain(&b);
	}
	outq_fini(&b.out);
	buf_fini(&b.in);
	carried_fini(&b.carried);
	opening_fini(&b.opening);
	transport_fini(&b.transport);
	*e = b.why;
	return b.why.text[0] == '\0' ? 0 : -1;
}
