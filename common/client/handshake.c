/* Step by step to a session: for the first time, and to the same one again. */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "common/client/client_priv.h"
#include "common/clock.h"
#include "common/fd.h"
#include "common/limit.h"

#define FULL_MS		10	/* a Unix socket's queue is full */
#define PAUSE_MIN	100
#define PAUSE_MAX	1000
#define READ_MIN	(16 * 1024)
#define ATTACHED	(-32010) /* the server has not missed the old one yet */

static void
drop_connection(struct execsrv *x)
{
	execsrv_unwatch(x);
	fd_close(&x->fd);
	execsrv_end_child(x, false);
	buf_fini(&x->head);
	buf_drain(&x->out, x->out.len);
	ws_reader_fini(&x->reader);
	ws_reader_init(&x->reader, false, LIMIT_MESSAGE, LIMIT_MESSAGE);
	x->out_broken = x->has_pong = x->is_asked = x->is_pinged = false;
	x->received = x->acknowledged = 0;
}

/* The pause before the next attempt, at random a little shorter. */
static void
wait_a_moment(struct execsrv *x, uint64_t now)
{
	x->attempt_at = now + x->pause - x->pause * (now % 8) / 32;
	x->pause = x->pause * 2 < PAUSE_MAX ? x->pause * 2 : PAUSE_MAX;
}

void
execsrv_recover(struct execsrv *x)
{
	uint64_t	 now = x->clock();
	bool		 was_good = x->deadline == 0 || x->has_moved;

	drop_connection(x);
	/* One that is lost again before anything came is none. */
	if (was_good) {
		x->deadline = now + (uint64_t)x->patience;
		x->pause = PAUSE_MIN;
		x->attempt_at = now;
		/* One that has not caught up may hold for no longer. */
		if (x->state != EXECSRV_CATCHING_UP)
			x->read_max = x->read_max * 4 < EXECSRV_READ_MAX ?
			    x->read_max * 4 : EXECSRV_READ_MAX;
	} else {
		/* Perhaps the line holds for so long only. */
		if (x->state == EXECSRV_CATCHING_UP && x->read_max > READ_MIN)
			x->read_max /= 4;
		wait_a_moment(x, now);
	}
	execsrv_set_state(x, EXECSRV_WAITING);
	x->is_lost = x->has_moved = false;
	execsrv_settle(x);
	execsrv_http_lost(x);
	execsrv_watch_lost(x);
}

static void
recover_give_up(struct execsrv *x)
{
	if (!x->is_opening)
		execsrv_fail(x, "the connection was lost; %s", x->lost.text);
	else if (x->state == EXECSRV_INITIALIZING)
		execsrv_fail(x, "the server does not answer initialize");
	else if (x->state == EXECSRV_UPGRADING)
		execsrv_fail(x, "the server does not answer");
	else
		execsrv_fail(x, "%s: %s", x->where, strerror(ETIMEDOUT));
}

/* The first connection: not now, not there, or not at all. */
static void
on_no_first(struct execsrv *x, int error)
{
	if (error == EAGAIN) {
		x->attempt_at = x->clock() + FULL_MS;
	} else if (error == ECONNREFUSED && x->url.is_name) {
		/* It may be served on its IPv6 address only. */
		execsrv_url_v6(&x->url);
		x->url.is_name = false;
		drop_connection(x);
		x->attempt_at = x->clock();
		if (x->state != EXECSRV_WAITING)
			execsrv_set_state(x, EXECSRV_WAITING);
	} else {
		execsrv_fail(x, "%s: %s", x->reach.url != NULL ?
		    x->reach.program : x->where, strerror(error));
	}
}

/* 0, or -1 with errno. */
static int
recover_begin(struct execsrv *x)
{
	if (x->reach.url != NULL)
		return execsrv_reach_start(x);
	x->fd = execsrv_socket(&x->url);
	return x->fd == -1 ? -1 : 0;
}

static void
attempt(struct execsrv *x)
{
	uint64_t	 now = x->clock();

	if (recover_begin(x) == 0) {
		x->attempt_at = now + (uint64_t)x->connect_ms;
		execsrv_set_state(x, EXECSRV_CONNECTING);
	} else if (x->is_opening) {
		on_no_first(x, errno);
	} else {
		execsrv_error_set(&x->lost, 0, "no connection: %s",
		    strerror(errno));
		wait_a_moment(x, now);
	}
}

static void
on_connected(struct execsrv *x)
{
	socklen_t	 len = sizeof(int);
	int		 error = 0;

	if (getsockopt(x->fd, SOL_SOCKET, SO_ERROR, &error, &len) == -1)
		error = errno;
	if (error != 0 && x->is_opening) {
		on_no_first(x, error);
		return;
	}
	if (error != 0) {
		execsrv_lose(x, "no connection: %s", strerror(error));
		return;
	}
	execsrv_set_state(x, EXECSRV_UPGRADING);
	buf_init(&x->head, x->is_lines ? EXECSRV_LINE_MAX : EXECSRV_HEAD_MAX);
	if (x->reach.url != NULL)
		(void)execsrv_reach_ask(x);
	else if (x->is_lines)
		execsrv_set_state(x, EXECSRV_INITIALIZING);
	else
		(void)execsrv_start_upgrade(x);
}

static void
recover_finish(struct execsrv *x)
{
	execsrv_set_state(x, EXECSRV_OPEN);
	execsrv_process_restart_wait(x);
	execsrv_send_kept(x);
}

static void
on_session(void *arg, const struct execsrv_answer *a)
{
	struct execsrv	*x = arg;

	if (a->error != NULL && a->error->code == 0)
		return;			/* lost again: settled */
	if (a->error != NULL && x->is_opening) {
		execsrv_fail_as(x, a->error);
		return;
	}
	if (a->error != NULL && a->error->code == ATTACHED) {
		x->pause = PAUSE_MIN;
		execsrv_lose(x, "%s", a->error->text);
		return;
	}
	if (a->error != NULL) {
		execsrv_fail(x, "the connection was lost, and the session "
		    "cannot be resumed: %s", a->error->text);
		return;
	}
	if (x->is_opening) {
		execsrv_take_session(x, a);
		if (x->state == EXECSRV_GONE)
			return;
		x->is_opening = false;
		x->deadline = 0;
	}
	x->attempt_at = x->clock() + EXECSRV_CATCH_UP_MS;
	execsrv_set_state(x, EXECSRV_CATCHING_UP);
	if (execsrv_send_initialized(x) == 0)
		execsrv_process_catch_up(x);
}

/* Ask for the session, as soon as there are frames. */
static void
initialize(struct execsrv *x)
{
	uint64_t		 until;
	struct execsrv_call	*c;
	struct json_out		 o;
	struct buf		 b;

	if (execsrv_put_initialize(x, &b) == 0 &&
	    (c = execsrv_begin(x, "initialize", &o)) != NULL) {
		until = x->clock() + (uint64_t)x->initialize_ms;
		x->attempt_at = until;
		if (x->is_opening)
			x->deadline = until;
		c->is_ours = true;
		c->fn = on_session;
		c->arg = x;
		json_out_raw(&o, (char *)buf_data(&b), b.len);
		(void)execsrv_end(x, c, &o);
	} else if (x->state != EXECSRV_GONE) {
		execsrv_fail(x, "out of memory");
	}
	buf_fini(&b);
}

void
execsrv_recover_step(struct execsrv *x, short revents)
{
	uint64_t	 now = x->clock();

	if (x->is_lost)
		return;
	if (now >= x->deadline && x->state != EXECSRV_CATCHING_UP) {
		recover_give_up(x);
		return;
	}
	if (x->state == EXECSRV_WAITING) {
		if (now >= x->attempt_at)
			attempt(x);
	} else if (now >= x->attempt_at) {
		execsrv_lose(x, "the server does not answer");
	} else if (x->state == EXECSRV_CONNECTING && revents != 0) {
		on_connected(x);
	}
}

void
execsrv_recover_check(struct execsrv *x)
{
	if (x->is_lost)
		return;
	if (x->state == EXECSRV_INITIALIZING && !x->is_asked) {
		x->is_asked = true;
		initialize(x);
	}
	if (x->state == EXECSRV_CATCHING_UP && x->behind == 0 && !x->is_lost)
		recover_finish(x);
}

short
execsrv_recover_events(const struct execsrv *x)
{
	if (x->is_lost || x->state == EXECSRV_WAITING)
		return 0;
	return x->state == EXECSRV_CONNECTING ? POLLOUT : POLLIN;
}

int
execsrv_recover_wait_ms(const struct execsrv *x)
{
	uint64_t	 now = x->clock(), until = x->attempt_at;

	if (x->is_lost)
		return 0;
	if (x->deadline < until && x->state != EXECSRV_CATCHING_UP)
		until = x->deadline;
	return until <= now ? 0 : until - now > 60000 ? 60000 :
	    (int)(until - now);
}
