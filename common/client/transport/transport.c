#include "common/client/transport/transport.h"

#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/socket.h>

#include <netinet/tcp.h>

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <sodium.h>

#include "common/client/error.h"
#include "common/client/transport/transport_priv.h"
#include "common/clock.h"
#include "common/fd.h"
#include "common/json/b64.h"
#include "common/net/tcp.h"

#define READ_MIN	16384
#define TURN_MAX	(256 * 1024)	/* bytes read before others are asked */
#define OUT_KEEP	(256 * 1024)	/* bytes of memory kept for the next */
#define HEARTBEAT_MS	5000		/* while nothing is read */
#define SILENCE_MS	35000

/* A message may wait while another of that size is being written. */
#define OUT_MAX		((size_t)2 * LIMIT_MESSAGE + LIMIT_FRAGMENT)

int
transport_init(struct transport *t, const struct transport_events *events,
    void *arg)
{
	assert(events->on_message != NULL && events->on_hello != NULL);
	assert(events->on_lost != NULL && events->on_failed != NULL);
	memset(t, 0, sizeof(*t));
	t->events = events;
	t->arg = arg;
	t->clock = clock_ms;
	t->state = TRANSPORT_CLOSED;
	t->fd = t->log = t->child.pidfd = -1;
	t->silence_ms = SILENCE_MS;
	loopfd_init(&t->loop);
	buf_init(&t->head, EXECSRV_HEAD_MAX);
	buf_init(&t->out, OUT_MAX);
	frames_init(t);
	room_init(t);
	t->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	return t->wake == -1 ? -1 : 0;
}

void
transport_fini(struct transport *t)
{
	transport_close(t);
	loopfd_fini(&t->loop);
	fd_close(&t->log);
	fd_close(&t->wake);
	buf_fini(&t->head);
	buf_fini(&t->out);
	frames_fini(t);
}

/* Which states may follow which: bits. */
static const unsigned	 transport_next[] = {
#define TO(state)	(1u << TRANSPORT_##state)
	[TRANSPORT_CLOSED] = TO(CONNECTING),
	[TRANSPORT_CONNECTING] = TO(UPGRADING) | TO(UP) | TO(DOWN) |
	    TO(CLOSED),
	[TRANSPORT_UPGRADING] = TO(UP) | TO(DOWN) | TO(CLOSED),
	[TRANSPORT_UP] = TO(DOWN) | TO(CLOSED),
	[TRANSPORT_DOWN] = TO(CLOSED),
#undef TO
};

void
transport_set_state(struct transport *t, enum transport_state to)
{
	assert((transport_next[t->state] & (1u << to)) != 0);
	t->state = to;
}

bool
transport_is_connecting(const struct transport *t)
{
	return t->state == TRANSPORT_CONNECTING;
}

bool
transport_has_child(const struct transport *t)
{
	return t->child.pid != 0;
}

bool
transport_is_up(const struct transport *t)
{
	return t->state == TRANSPORT_UP;
}

bool
transport_was_up(const struct transport *t)
{
	return t->was_up;
}

bool
transport_is_upgrading(const struct transport *t)
{
	return t->state == TRANSPORT_UPGRADING;
}

uint64_t
transport_now(const struct transport *t)
{
	return t->clock();
}

uint64_t
transport_last_received(const struct transport *t)
{
	return t->last_heard;
}

void
transport_stop(struct transport *t)
{
	if (t->state != TRANSPORT_CLOSED && t->state != TRANSPORT_DOWN)
		transport_set_state(t, TRANSPORT_DOWN);
}

int
transport_lose_as(struct transport *t, const struct execsrv_error *e)
{
	assert(t->state != TRANSPORT_CLOSED);
	if (t->state != TRANSPORT_DOWN) {
		transport_stop(t);
		t->events->on_lost(t->arg, e);
	}
	errno = EPIPE;
	return -1;
}

int
transport_lose(struct transport *t, enum execsrv_reason why, const char *fmt,
    ...)
{
	struct execsrv_error	 e;
	va_list			 ap;

	va_start(ap, fmt);
	execsrv_error_vset(&e, why, fmt, ap);
	va_end(ap);
	return transport_lose_as(t, &e);
}

int
transport_fail_as(struct transport *t, const struct execsrv_error *e)
{
	transport_stop(t);
	t->events->on_failed(t->arg, e);
	errno = EPIPE;
	return -1;
}

int
transport_fail(struct transport *t, enum execsrv_reason why, const char *fmt,
    ...)
{
	struct execsrv_error	 e;
	va_list			 ap;

	va_start(ap, fmt);
	execsrv_error_vset(&e, why, fmt, ap);
	va_end(ap);
	return transport_fail_as(t, &e);
}

int
transport_fail_memory(struct transport *t)
{
	errno = ENOMEM;
	return transport_fail(t, EXECSRV_WHY_SYSTEM, "out of memory");
}

/* --- opening and closing --- */

/* Let the kernel notice a server that vanished. */
static void
set_keepalive(int fd, const struct sockaddr *to)
{
	int	 on = 1, idle = 15, interval = 5, count = 4;

	(void)!tcp_tune(fd, to);
	setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof(idle));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval,
	    sizeof(interval));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &count, sizeof(count));
}

int
transport_connect(struct transport *t, const struct execsrv_address *a)
{
	assert(t->state == TRANSPORT_CLOSED && t->fd == -1);
	if ((t->fd = socket(a->addr.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC |
	    SOCK_NONBLOCK, 0)) == -1)
		return -1;
	if (a->addr.any.sa_family != AF_UNIX)
		set_keepalive(t->fd, &a->addr.any);
	if (connect(t->fd, &a->addr.any, a->len) == -1 &&
	    errno != EINPROGRESS && errno != EINTR) {
		fd_close(&t->fd);
		return -1;
	}
	transport_set_state(t, TRANSPORT_CONNECTING);
	return 0;
}

int
transport_connect_error(const struct transport *t)
{
	socklen_t	 len = sizeof(int);
	int		 error = 0;

	assert(t->state == TRANSPORT_CONNECTING && t->fd != -1);
	if (getsockopt(t->fd, SOL_SOCKET, SO_ERROR, &error, &len) == -1)
		return errno;
	return error;
}

/* Before anything is read. */
static void
start_head(struct transport *t)
{
	assert(t->head.len == 0);
	buf_init(&t->head, t->is_lines ? TRANSPORT_LINE_MAX :
	    EXECSRV_HEAD_MAX);
}

int
transport_upgrade(struct transport *t, const struct execsrv_address *a,
    const char *token)
{
	uint8_t	 nonce[16];
	char	 request[EXECSRV_REQUEST_MAX];
	size_t	 n;
	bool	 is_sent;

	assert(!t->is_lines);
	start_head(t);
	transport_set_state(t, TRANSPORT_UPGRADING);
	if (getrandom(nonce, sizeof(nonce), 0) != sizeof(nonce))
		return transport_fail(t, EXECSRV_WHY_SYSTEM, "getrandom: %s",
		    strerror(errno));
	b64_encode(t->key, nonce, sizeof(nonce));
	/* The send buffer of a new socket has room for all of it. */
	n = execsrv_upgrade_request(a, t->key, token, request,
	    sizeof(request));
	is_sent = n > 0 &&
	    send(t->fd, request, n, MSG_NOSIGNAL) == (ssize_t)n;
	sodium_memzero(request, sizeof(request));
	if (!is_sent)
		return transport_lose(t, EXECSRV_WHY_LOST, "cannot send the "
		    "WebSocket upgrade: %s", strerror(errno));
	return 0;
}

int
transport_hello(struct transport *t, const void *data, size_t len)
{
	assert(t->is_lines);
	start_head(t);
	transport_set_state(t, TRANSPORT_UPGRADING);
	/* The send buffer of a new socket has room for all of it. */
	return send(t->fd, data, len, MSG_NOSIGNAL) == (ssize_t)len ? 0 : -1;
}

void
transport_up(struct transport *t)
{
	if (t->state == TRANSPORT_CONNECTING)
		start_head(t);
	transport_set_state(t, TRANSPORT_UP);
	t->was_up = true;
}

void
transport_close(struct transport *t)
{
	loopfd_unwatch(&t->loop);
	fd_close(&t->fd);
	transport_kill_child(t);
	buf_fini(&t->head);
	buf_drain(&t->out, t->out.len);
	frames_fini(t);
	frames_init(t);
	room_init(t);
	t->out_broken = t->pong.is_due = t->is_pinged = t->was_up = false;
	if (t->state != TRANSPORT_CLOSED)
		transport_set_state(t, TRANSPORT_CLOSED);
}

int
transport_send_close(struct transport *t)
{
	static const uint8_t	 normal[2] = { 1000 >> 8, 1000 & 0xff };

	if (t->state != TRANSPORT_UP)
		return -1;
	frames_control(t, WS_CLOSE, normal, sizeof(normal));
	return t->state == TRANSPORT_UP ? 0 : -1;
}

/* --- messages --- */

int
transport_send(struct transport *t, const void *data, size_t len)
{
	int	 r;

	if (t->state != TRANSPORT_UP) {
		errno = EPIPE;
		return -1;
	}
	r = t->is_lines ? lines_put(t, data, len) :
	    frames_put(t, WS_TEXT, data, len);
	if (r == 0)
		r = transport_flush(t);
	if (r == 0)
		room_on_sent(t, len);
	t->events->on_change(t->arg);
	return r;
}

int
transport_flush(struct transport *t)
{
	ssize_t	 n;

	if (t->state != TRANSPORT_UP)
		return -1;
	while (t->out.len > 0 && t->fd != -1 && !t->out_broken) {
		n = send(t->fd, buf_data(&t->out), t->out.len, MSG_NOSIGNAL);
		if (n == -1 && errno == EINTR)
			continue;
		if (n == -1 && errno == EAGAIN)
			return 0;
		/* What the server said before it went is still to be read; one
		   that is there goes when it finds that this is the end. */
		if (n == -1) {
			t->out_broken = true;
			shutdown(t->fd, SHUT_WR);
		} else
			buf_drain(&t->out, (size_t)n);
		t->last_sent = t->clock();
		/* A server that takes what we send is alive: its answer can
		   only come after that. */
		if (n > 0 && t->out.len > 0)
			t->last_heard = t->last_sent;
	}
	if (t->out_broken)
		buf_drain(&t->out, t->out.len);
	buf_trim(&t->out, OUT_KEEP);
	return 0;
}

bool
transport_has_output(const struct transport *t)
{
	return t->out.len > 0;
}

int
transport_feed(struct transport *t, const void *data, size_t len)
{
	if (t->state != TRANSPORT_UP && t->state != TRANSPORT_UPGRADING)
		return -1;
	return t->is_lines ? lines_feed(t, data, len) :
	    frames_feed(t, data, len);
}

/* One read.  1: go on; 0: nothing there; -1: not up any more. */
static int
read_some(struct transport *t, size_t *n_out)
{
	uint8_t	*room, head[READ_MIN];
	size_t	 size = sizeof(head);
	ssize_t	 n;

	if (t->state == TRANSPORT_UPGRADING || t->is_lines)
		room = head;
	else if ((room = frames_room(t, READ_MIN, &size)) == NULL)
		return transport_fail_memory(t);
	if ((n = recv(t->fd, room, size, 0)) == -1) {
		if (errno == EAGAIN || errno == EINTR)
			return 0;
		return transport_lose(t, EXECSRV_WHY_LOST, "the connection was "
		    "lost: %s", strerror(errno));
	}
	if (n == 0)
		return transport_lose(t, EXECSRV_WHY_LOST, "the server closed "
		    "the connection");
	*n_out += (size_t)n;
	t->last_heard = t->clock();
	t->is_pinged = false;
	if (room == head)
		return transport_feed(t, head, (size_t)n) == -1 ? -1 : 1;
	return frames_fed(t, (size_t)n) == -1 ? -1 : (size_t)n == size;
}

static void
read_in(struct transport *t)
{
	size_t	 n = 0;
	int	 r;

	do
		r = read_some(t, &n);
	while (r == 1 && !t->is_paused && n < TURN_MAX);
	ws_reader_trim(&t->reader);
}

void
transport_pause(struct transport *t, bool is_paused)
{
	/* The server may have answered all the while. */
	if (t->is_paused && !is_paused) {
		t->last_heard = t->clock();
		t->is_pinged = false;
	}
	t->is_paused = is_paused;
}

/* --- for loops --- */

short
transport_poll_events(const struct transport *t)
{
	short	 events = 0;

	switch (t->state) {
	case TRANSPORT_CONNECTING:
		return POLLOUT;
	case TRANSPORT_UPGRADING:
		return POLLIN;
	case TRANSPORT_UP:
		if (!t->is_paused)
			events |= POLLIN;
		if (t->out.len > 0)
			events |= POLLOUT;
		return events;
	case TRANSPORT_CLOSED:
	case TRANSPORT_DOWN:
		break;
	}
	return 0;
}

int
transport_fd(const struct transport *t)
{
	return transport_poll_events(t) == 0 ? -1 : t->fd;
}

short
transport_poll(const struct transport *t, int ms)
{
	struct pollfd	 pfd[2] = {
		{ .fd = transport_fd(t), .events = transport_poll_events(t) },
		{ .fd = t->wake, .events = POLLIN }
	};
	uint64_t	 wakes;

	if (poll(pfd, 2, ms) <= 0)
		return 0;
	if (pfd[1].revents != 0)
		(void)!read(t->wake, &wakes, sizeof(wakes));
	return pfd[0].revents;
}

void
transport_wake(const struct transport *t)
{
	static const uint64_t	 one = 1;
	int			 error = errno;

	/* EAGAIN: it has been woken a lot, and not read yet. */
	(void)!write(t->wake, &one, sizeof(one));
	errno = error;
}

/* ms of silence after which a ping is sent: time is left for its answer. */
static uint64_t
ping_ms(const struct transport *t)
{
	return (uint64_t)t->silence_ms * 3 / 7;
}

/* ms until the server has been silent for too long, or -1. */
static int
ms_to_silence(const struct transport *t)
{
	uint64_t	 silent = t->clock() - t->last_heard;
	uint64_t	 limit = t->is_pinged ? (uint64_t)t->silence_ms :
			    ping_ms(t);

	if (t->is_lines)
		return -1;
	return silent < limit ? (int)(limit - silent) : 0;
}

int
transport_wait_ms(const struct transport *t)
{
	uint64_t	 silent;

	if (!t->is_paused)
		return ms_to_silence(t);
	silent = t->clock() - t->last_sent;
	return silent < HEARTBEAT_MS ? (int)(HEARTBEAT_MS - silent) :
	    t->out.len > 0 ? HEARTBEAT_MS : 0;
}

/* Pings lie unread while it is paused: an unsolicited pong is a sign of life,
   too (RFC 6455 section 5.5.3). */
static void
send_heartbeat(struct transport *t)
{
	if (t->is_paused && t->out.len == 0 &&
	    t->clock() - t->last_sent >= HEARTBEAT_MS) {
		frames_control(t, WS_PONG, NULL, 0);
		t->last_sent = t->clock();	/* even if it was not sent */
	}
}

void
transport_check_silence(struct transport *t)
{
	assert(!t->is_paused);
	if (t->state != TRANSPORT_UP || ms_to_silence(t) != 0)
		return;
	if (t->is_pinged) {
		transport_lose(t, EXECSRV_WHY_LOST, "the server does not "
		    "answer a ping");
		return;
	}
	/* We may be late ourselves: its time to answer begins now. */
	t->last_heard = t->clock() - ping_ms(t);
	t->is_pinged = true;
	frames_control(t, WS_PING, NULL, 0);
}

void
transport_handle(struct transport *t, short revents)
{
	if (t->state != TRANSPORT_UP && t->state != TRANSPORT_UPGRADING)
		return;
	if ((revents & (POLLIN | POLLHUP | POLLERR)) != 0 && !t->is_paused)
		read_in(t);
	if (t->state != TRANSPORT_UP)
		return;
	send_heartbeat(t);
	frames_send_pong(t);
}

void
transport_set_silence(struct transport *t, int ms)
{
	assert(ms > 0);
	t->silence_ms = ms;
}

int
transport_silence(const struct transport *t)
{
	return t->silence_ms;
}

int
transport_loop_fd(struct transport *t)
{
	if (t->loop.epoll == -1) {
		if (loopfd_open(&t->loop, t->wake) == -1)
			return -1;
		t->events->on_change(t->arg);
	}
	return t->loop.epoll;
}

bool
transport_has_loop_fd(const struct transport *t)
{
	return t->loop.epoll != -1;
}

void
transport_watch(struct transport *t, int ms)
{
	if (loopfd_watch(&t->loop, t->fd, transport_poll_events(t)) == -1)
		transport_fail(t, EXECSRV_WHY_SYSTEM, "the connection cannot "
		    "be watched by epoll: %s", strerror(errno));
	else
		loopfd_arm(&t->loop, t->clock(), ms);
}

void
transport_loop_began(struct transport *t)
{
	loopfd_take_timer(&t->loop);
}

void
transport_loop_again(struct transport *t)
{
	/* A loop that waits for changes only (EPOLLET) would not hear of it
	   from the socket. */
	if (t->loop.epoll != -1)
		loopfd_fire(&t->loop, t->clock());
}
