/* A local end to a worker: WebSocket frames on a socket pair. */
#include "master/uplink/local_end.h"
#include "master/uplink/local_end_priv.h"

#include <sys/socket.h>
#include <sys/uio.h>

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/buf.h"
#include "common/fd.h"
#include "common/limit.h"
#include "common/net/ws.h"

#define READ_MIN	(128 * 1024)	/* bytes of room for one read */
#define TURN_MAX	256		/* frames and reads of one turn */
#define CONTROL_MAX	4096		/* bytes of pongs that wait */

struct local_end_worker {
	struct local_end		 l;
	struct wsloop		*loop;
	struct wsloop_timer	 later;
	bool			 is_deaf;	/* accepts nothing any more */
	int			 fd;
	struct wswatch		*watch;
	struct ws_reader	 reader;
	struct {
		uint8_t		 data[WS_CONTROL_MAX];
		size_t		 len;
	}			 pings[LOCAL_END_PINGS];	/* the oldest
								   first */
	unsigned		 npings;
	bool			 is_writing;	/* waits for on_writable */
	struct buf		 control;	/* frames between messages */
	/* The current frame: of the first message, from msg_at on. */
	uint8_t			 head[WS_HEADER_MAX];
	size_t			 head_len, head_at;
	size_t			 frame_len, frame_at;
	size_t			 msg_at;
	bool			 in_frame;
};

static void	 on_later(void *arg);

/* --- from the worker --- */

/* Read more.  False: nothing now, or is_over. */
static bool
local_end_worker_fill(struct local_end_worker *w)
{
	uint8_t	*room;
	size_t	 size;
	ssize_t	 n;

	if ((room = ws_reader_room(&w->reader, READ_MIN, &size)) == NULL) {
		w->l.is_over = true;
		return false;
	}
	do
		n = recv(w->fd, room, size, MSG_DONTWAIT);
	while (n == -1 && errno == EINTR);
	if (n > 0)
		ws_reader_fed(&w->reader, (size_t)n);
	else if (n == 0 || errno != EAGAIN)
		w->l.is_over = true;
	return n > 0;
}

static void
local_end_worker_on_ping(struct local_end_worker *w, const struct ws_event *ev)
{
	unsigned	 i = w->npings < LOCAL_END_PINGS ? w->npings++ :
			    LOCAL_END_PINGS - 1;

	memcpy(w->pings[i].data, ev->data, ev->len);
	w->pings[i].len = ev->len;
	w->l.events->on_ping(w->l.arg);
}

/*
 * Go to the next message, if there is one.  After TURN_MAX frames without one
 * it is other descriptors' turn; the rest waits in the socket.
 */
static void
advance(struct local_end_worker *w)
{
	struct ws_event	 ev;
	int		 turns = 0;

	assert(w->watch != NULL && w->l.output == NULL && !w->l.is_over);
	while (w->l.output == NULL && !w->l.is_over) {
		if (turns++ == TURN_MAX) {
			wsloop_timer_set(w->loop, &w->later, 0, on_later, w);
			wswatch_read(w->watch, false);
			return;
		}
		ws_reader_next(&w->reader, &ev);
		switch (ev.type) {
		case WS_EV_NONE:
			if (!local_end_worker_fill(w) && !w->l.is_over) {
				ws_reader_trim(&w->reader);
				wswatch_read(w->watch, true);
				return;
			}
			break;
		case WS_EV_MESSAGE:
			w->l.output = ev.data;
			w->l.output_len = ev.len;
			break;
		case WS_EV_PING:
			local_end_worker_on_ping(w, &ev);
			break;
		case WS_EV_PONG:
			break;
		case WS_EV_CLOSE:
		case WS_EV_ERROR:
			w->l.is_over = true;
			break;
		}
	}
	wswatch_read(w->watch, false);
	w->l.events->on_output(w->l.arg);
}

static void
on_later(void *arg)
{
	struct local_end_worker	*w = arg;

	if (w->l.output == NULL && !w->l.is_over)
		advance(w);
}

static void
local_end_worker_on_readable(void *arg)
{
	struct local_end_worker	*w = arg;

	if (w->l.output == NULL && !w->l.is_over)
		advance(w);
}

/* The last messages may still be in the socket. */
static void
local_end_worker_on_hangup(void *arg)
{
	local_end_worker_on_readable(arg);
}

/* --- to the worker --- */

/* Return the bytes written; 0: none now, or is_deaf. */
static size_t
local_end_worker_put(struct local_end_worker *w, const struct iovec *v,
    size_t n)
{
	struct msghdr	 m;
	ssize_t		 r;

	memset(&m, 0, sizeof(m));
	m.msg_iov = (struct iovec *)(uintptr_t)v;
	m.msg_iovlen = n;
	do
		r = sendmsg(w->fd, &m, MSG_NOSIGNAL | MSG_DONTWAIT);
	while (r == -1 && errno == EINTR);
	/* The end of the worker is seen when reading. */
	w->is_deaf |= r == -1 && errno != EAGAIN;
	return r == -1 ? 0 : (size_t)r;
}

static bool
local_end_worker_put_control(struct local_end_worker *w)
{
	struct iovec	 v = { buf_data(&w->control), w->control.len };

	if (w->control.len > 0)
		buf_drain(&w->control, local_end_worker_put(w, &v, 1));
	return w->control.len == 0;
}

/* A client must mask its frames; a mask of zeros changes nothing. */
static void
begin_frame(struct local_end_worker *w, size_t len)
{
	static const uint8_t	 mask[4];
	size_t			 rest = len - w->msg_at;

	assert(!w->in_frame && w->msg_at <= len);
	w->frame_len = rest < LIMIT_FRAGMENT ? rest : LIMIT_FRAGMENT;
	w->frame_at = w->head_at = 0;
	w->head_len = ws_header(w->head, w->frame_len == rest,
	    w->msg_at == 0 ? WS_TEXT : WS_CONTINUATION, w->frame_len, mask);
	w->in_frame = true;
}

/* Send more of the frame; false: no room. */
static bool
local_end_worker_put_frame(struct local_end_worker *w, uint8_t *data)
{
	struct iovec	 v[2];
	size_t		 n, head = w->head_len - w->head_at;

	assert(w->in_frame && w->head_at <= w->head_len &&
	    w->frame_at <= w->frame_len);
	v[0].iov_base = w->head + w->head_at;
	v[0].iov_len = head;
	v[1].iov_base = data + w->msg_at + w->frame_at;
	v[1].iov_len = w->frame_len - w->frame_at;
	if ((n = local_end_worker_put(w, v, 2)) == 0)
		return false;
	w->head_at += n < head ? n : head;
	w->frame_at += n < head ? 0 : n - head;
	if (w->head_at == w->head_len && w->frame_at == w->frame_len) {
		w->msg_at += w->frame_len;
		w->in_frame = false;
	}
	return true;
}

static void
local_end_worker_push(struct local_end *l)
{
	struct local_end_worker	*w = (struct local_end_worker *)l;
	uint8_t			*data;
	size_t			 len;

	if (w->is_writing || w->is_deaf)
		return;
	for (;;) {
		if (!w->in_frame && !local_end_worker_put_control(w))
			break;
		if (!l->events->first(l->arg, &data, &len))
			return;
		if (!w->in_frame)
			begin_frame(w, len);
		if (!local_end_worker_put_frame(w, data))
			break;
		if (!w->in_frame && w->msg_at == len) {
			w->msg_at = 0;
			l->events->drop(l->arg);
		}
	}
	if (w->is_deaf)
		return;
	w->is_writing = true;
	wswatch_write(w->watch);
}

static void
local_end_worker_on_writable(void *arg)
{
	struct local_end_worker	*w = arg;

	assert(w->is_writing);
	w->is_writing = false;
	local_end_push(&w->l);
}

static void
local_end_worker_take(struct local_end *l)
{
	if (!l->is_over)
		advance((struct local_end_worker *)l);
}

static void
local_end_worker_pong(struct local_end *l)
{
	struct local_end_worker	*w = (struct local_end_worker *)l;
	static const uint8_t	 mask[4];
	uint8_t			 frame[WS_HEADER_MAX + WS_CONTROL_MAX];
	size_t			 n, len = w->pings[0].len;

	if (w->npings == 0)
		return;
	assert(w->npings <= LOCAL_END_PINGS);
	n = ws_header(frame, true, WS_PONG, len, mask);
	memcpy(frame + n, w->pings[0].data, len);
	w->npings--;
	memmove(w->pings, w->pings + 1, w->npings * sizeof(w->pings[0]));
	/* A full buffer: the worker has not read the last ones, drop this. */
	if (buf_put(&w->control, frame, n + len) == 0)
		local_end_worker_push(l);
}

static void
local_end_worker_fini(struct local_end *l)
{
	struct local_end_worker	*w = (struct local_end_worker *)l;

	wsloop_timer_clear(w->loop, &w->later);
	wswatch_free(&w->watch);
	fd_close(&w->fd);
	ws_reader_fini(&w->reader);
	buf_fini(&w->control);
}

static const struct wswatch_events wswatch_events = {
	local_end_worker_on_readable, local_end_worker_on_writable,
	local_end_worker_on_hangup
};

static const struct local_end_ops ops = { local_end_worker_push,
    local_end_worker_take, local_end_worker_pong, local_end_worker_fini };

struct local_end *
local_end_to_worker(struct wsloop *loop, const struct local_end_events *events,
    void *arg, int *fd_out)
{
	struct local_end_worker	*w;
	struct local_end		*l;
	int			 pair[2];

	if ((w = calloc(1, sizeof(*w))) == NULL)
		return NULL;
	l = &w->l;
	l->ops = &ops;
	l->events = events;
	l->arg = arg;
	w->loop = loop;
	w->fd = -1;
	ws_reader_init(&w->reader, false, LIMIT_MESSAGE, LIMIT_MESSAGE);
	buf_init(&w->control, CONTROL_MAX);
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == -1) {
		local_end_free(&l);
		return NULL;
	}
	w->fd = pair[0];
	*fd_out = pair[1];
	if ((w->watch = wswatch_new(loop, w->fd, &wswatch_events, w)) == NULL) {
		fd_close(fd_out);
		local_end_free(&l);
	}
	return l;
}
