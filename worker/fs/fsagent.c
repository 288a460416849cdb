#include "worker/fs/fsagent.h"

#include <sys/mman.h>
#include <sys/queue.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/fd.h"
#include "common/limit.h"
#include "common/linux/slice.h"
#include "common/trick.h"
#include "worker/fs/fsop_priv.h"
#include "worker/fs/writeback.h"
#include "worker/os/busypoll.h"
#include "worker/os/scgroup.h"

/* The part of a request or result that is sent as it is. */
#define FIXED		offsetof(struct fsop, path)
#define FIXED_RESULT	offsetof(struct fsop_result, fd)
#define QUICK_PAYLOAD	(32 * 1024)	/* fits a socket's buffer */
#define FDS		3		/* for the answer; data, file if any */
#define GRACE_MS	1000		/* for a child without a reader */
#define NICENESS	10
#define PARKED_MS	5000		/* while fork(2) fails */
#define PARKED_TRY_MS	20
#define TURN		(4 * 1024 * 1024)	/* bytes read in a turn */

/* Where to answer: on a socket that came with the request, or on the line. */
enum where { WHERE_OWN, WHERE_NEW_LINE, WHERE_LINE, WHERES };

/* Precedes the payload. */
struct head {
	unsigned char	 result[FIXED_RESULT];
	uint64_t	 payload_len;
	uint64_t	 request;	/* no answer: bytes of memory */
	uint8_t		 leaves_line;	/* not 0: the line is free again */
};

static_assert(sizeof(struct head) <=
    sizeof(((struct fsagent_answer *)NULL)->head), "room for a head");
/*
 * Both ends are of one build, but a member that holds a pointer or descriptor
 * must not slip into what is copied: add it behind path, or behind fd.
 */
static_assert(FIXED == offsetof(struct fsop, len) + sizeof(uint64_t) &&
    offsetof(struct fsop, data) > offsetof(struct fsop, to) &&
    offsetof(struct fsop, fd) > offsetof(struct fsop, to),
    "a request as it is sent");
static_assert(FIXED_RESULT == offsetof(struct fsop_result, mode) +
    sizeof(uint32_t) && offsetof(struct fsop_result, payload) > FIXED_RESULT &&
    offsetof(struct fsop_result, writeback) > FIXED_RESULT,
    "a result as it is sent");
static_assert(offsetof(struct head, payload_len) >= FIXED_RESULT &&
    offsetof(struct head, leaves_line) ==
    offsetof(struct head, payload_len) + 2 * sizeof(uint64_t),
    "a head as it is sent");
static_assert(WHERES <= UCHAR_MAX + 1, "where is sent as one byte");

/* Used by the agent, not by its children. */
static struct writeback	 writeback;
static int		 kept = -1;	/* the line, unless it is in use */
static int		 to_leave = -1;	/* out of struct scgroup */

struct request {
	struct fsop	 op;
	enum where	 where;
	int		 fds[FDS];
	void		*map;		/* of a file with the data */
};

/*
 * Where the group of TasksMax cannot be left, or another limit is reached,
 * there may be no process for a moment: park the request.
 */
struct parked {
	TAILQ_ENTRY(parked)	 entry;
	struct request		 req;
	uint64_t		 until;		/* ms */
	char			 data[];
};

static TAILQ_HEAD(, parked) parked = TAILQ_HEAD_INITIALIZER(parked);

union ctl_room {
	struct cmsghdr	 align;
	char		 room[CMSG_SPACE(sizeof(int) * FDS)];
};

static void
close_fds(int fds[FDS])
{
	size_t	 i;

	for (i = 0; i < FDS; i++)
		fd_close(&fds[i]);
}

/* --- the agent --- */

static bool
send_all(int fd, const void *data, size_t len)
{
	const char	*p = data;
	ssize_t		 n;

	while (len > 0) {
		n = send(fd, p, len, MSG_NOSIGNAL);
		if (n == -1 && errno == EINTR)
			continue;
		if (n == -1)
			return false;
		p += n;
		len -= (size_t)n;
	}
	return true;
}

/* Whether the whole answer was sent. */
static bool
fsagent_send_answer(int fd, const struct fsop_result *r, bool leaves_line)
{
	struct head	 h;
	struct iovec	 iov = { &h, sizeof(h) };
	struct msghdr	 m;
	union ctl_room	 room;

	memset(&h, 0, sizeof(h));
	memcpy(h.result, r, sizeof(h.result));
	h.payload_len = r->payload.len;
	h.leaves_line = leaves_line;
	memset(&m, 0, sizeof(m));
	m.msg_iov = &iov;
	m.msg_iovlen = 1;
	fd_put_rights(&m, &room, &r->fd, r->fd != -1);
	/* Fails if the reader has gone, which is fine. */
	return sendmsg(fd, &m, MSG_NOSIGNAL) == (ssize_t)sizeof(h) &&
	    send_all(fd, buf_data(&r->payload), r->payload.len);
}

/* struct fsop_how's reserve(). */
static int
request_memory(int peer, uint64_t bytes)
{
	struct head	 h;
	ssize_t		 n = -1;
	char		 go;

	memset(&h, 0, sizeof(h));
	h.request = bytes;
	if (send_all(peer, &h, sizeof(h)))
		do
			n = recv(peer, &go, 1, 0);
		while (n == -1 && errno == EINTR);
	if (n == 1)
		return 0;
	errno = ECANCELED;
	return -1;
}

static bool
fsagent_has_data(const struct fsop *op)
{
	return op->kind == FSOP_WRITE || op->kind == FSOP_PWRITE ||
	    op->kind == FSOP_CONFIG || op->kind == FSOP_ROOT;
}

/* Take the path at *p, and advance; false: it has no end. */
static bool
fsagent_take_path(const char **p, const char *end, char path[PATH_MAX])
{
	size_t	 len = strnlen(*p, (size_t)(end - *p));

	if (*p + len == end || len >= PATH_MAX)
		return false;
	memcpy(path, *p, len + 1);
	*p += len + 1;
	return true;
}

/* Decode a packet; false: malformed. */
static bool
fsagent_decode(const char *packet, size_t len, struct request *req)
{
	struct fsop	*op = &req->op;
	const char	*p = packet + FIXED, *end = packet + len;

	memset(op, 0, sizeof(*op));
	if (len < FIXED + 1)
		return false;
	memcpy(op, packet, FIXED);
	req->where = (unsigned char)*p++;
	if ((unsigned)op->kind >= FSOP_KINDS || req->where >= WHERES ||
	    !fsagent_take_path(&p, end, op->path) || !fsagent_take_path(&p, end,
	    op->to))
		return false;
	op->fd = -1;
	if (p == end)
		return true;
	op->data = p;
	return fsagent_has_data(op) && (size_t)(end - p) == op->len;
}

/* Take the line, the first descriptor; false: it has none. */
static bool
fsagent_take_line(struct request *req)
{
	size_t	 i;

	if (req->where != WHERE_LINE)
		return req->fds[0] != -1;
	fd_close(&req->fds[FDS - 1]);
	for (i = FDS - 1; i > 0; i--)
		req->fds[i] = req->fds[i - 1];
	req->fds[0] = kept;
	kept = -1;
	return req->fds[0] != -1;
}

/* Keep the line for the next answer. */
static void
fsagent_give_line(struct request *req)
{
	assert(req->fds[0] != -1 && req->where != WHERE_OWN);
	fd_close(&kept);
	kept = req->fds[0];
	req->fds[0] = -1;
}

/* 1, or 0 at the end.  Skips malformed packets. */
static int
fsagent_receive(int sock, struct request *req)
{
	static char	 packet[FIXED + 1 + 2 * PATH_MAX + FSAGENT_INLINE];
	struct iovec	 iov = { packet, sizeof(packet) };
	struct msghdr	 m;
	union ctl_room	 room;
	ssize_t		 n;
	size_t		 i;

	for (;;) {
		memset(&m, 0, sizeof(m));
		m.msg_iov = &iov;
		m.msg_iovlen = 1;
		m.msg_control = room.room;
		m.msg_controllen = sizeof(room.room);
		n = recvmsg(sock, &m, MSG_CMSG_CLOEXEC);
		if (n == -1 && errno == EINTR)
			continue;
		if (n <= 0)
			return 0;
		for (i = 0; i < FDS; i++)
			req->fds[i] = -1;
		fd_take_rights(&m, req->fds, FDS);
		if (fsagent_decode(packet, (size_t)n, req) &&
		    fsagent_take_line(req))
			return 1;
			/* Close, so that the reader does not wait. */
		close_fds(req->fds);
		fd_close(&kept);
	}
}

/* Set up the data or open file.  Whether there is one. */
static bool
attach_data(struct request *req, struct fsop_result *r)
{
	struct fsop	*op = &req->op;
	bool		 is_file = fsagent_has_data(op) && op->data == NULL &&
			    op->len > 0;
	void		*map;

	op->fd = req->fds[is_file ? 2 : 1];
	req->map = NULL;
	if (!is_file)
		return true;
	map = mmap(NULL, op->len, PROT_READ, MAP_PRIVATE, req->fds[1], 0);
	if (map == MAP_FAILED) {
		r->error = errno;
		return false;
	}
	op->data = req->map = map;
	return true;
}

static void
detach_data(struct request *req)
{
	assert(req->map == NULL || req->op.data == req->map);
	if (req->map != NULL) {
		munmap(req->map, req->op.len);
		req->op.data = req->map = NULL;
	}
}

/* Whether the request was answered. */
static bool
fsagent_run(struct request *req, bool nonblock)
{
	struct fsop_how		 how;
	struct fsop_result	 r;
	bool			 is_done, stays;

	assert(req->fds[0] != -1 && req->where < WHERES);
	how.nonblock = nonblock;
	how.max_out = QUICK_PAYLOAD;
	how.gives_file = nonblock;
	how.cancel_fd = nonblock ? -1 : req->fds[0];
	how.reserve = nonblock ? NULL : request_memory;
	fsop_result_init(&r);
	if (attach_data(req, &r)) {
		fsop_run(&req->op, &how, &r);
		detach_data(req);
	}
	is_done = !nonblock || r.error != EAGAIN;
	stays = nonblock && req->where != WHERE_OWN && HAS_TRICK(keptline);
	if (is_done && fsagent_send_answer(req->fds[0], &r, stays) && stays)
		fsagent_give_line(req);
	if (nonblock)
		writeback_add(&writeback, &r.writeback);
	fsop_result_fini(&r);
	return is_done;
}

/*
 * Operations check now and then whether their reader is gone.  One that hangs
 * in a file system cannot: this thread exits the process, as only a fatal
 * signal gets a thread out of there.
 */
static void *
watch_peer(void *arg)
{
	struct pollfd	 p = { *(int *)arg, 0, 0 };

	while (poll(&p, 1, -1) == -1 && errno == EINTR)
		;
	poll(NULL, 0, GRACE_MS);
	_exit(0);
}

/* Leave the group of TasksMax, once.  Whether to try again. */
static bool
fsagent_leave(int error)
{
	bool	 has_left = scgroup_leave(to_leave, error);

	if (has_left)
		fd_close(&to_leave);
	return has_left;
}

/* On failure an operation that hangs is not cancelled. */
static void
start_watcher(int *peer)
{
	pthread_t	 watcher;
	int		 error;

	error = pthread_create(&watcher, NULL, watch_peer, peer);
	if (error != 0 && fsagent_leave(error))
		(void)pthread_create(&watcher, NULL, watch_peer, peer);
}

/* Return false if there is no child. */
static bool
run_in_child(int sock, struct request *req)
{
	struct parked	*w;
	pid_t		 pid;

	if ((pid = fork()) == -1 && fsagent_leave(errno))
		pid = fork();
	switch (pid) {
	case -1:
		return false;
	case 0:
		TAILQ_FOREACH(w, &parked, entry)
			if (&w->req != req)
				close_fds(w->req.fds);
		close(sock);
		fd_close(&kept);
		/* Many children must not delay the worker. */
		(void)setpriority(PRIO_PROCESS, 0, NICENESS);
		start_watcher(&req->fds[0]);
		fsagent_run(req, false);
		_exit(0);
	}
	return true;
}

static void
fsagent_refuse(const struct request *req)
{
	struct fsop_result	 r;

	fsop_result_init(&r);
	r.why = FSWHY_NO_PROCESS;
	(void)fsagent_send_answer(req->fds[0], &r, false);
	fsop_result_fini(&r);
}

/* Keep a request until fork(2) works.  Takes its descriptors. */
static void
park(struct request *req)
{
	size_t		 len = req->op.data != NULL ? req->op.len : 0, i;
	struct parked	*w;

	assert(req->fds[0] != -1);
	if ((w = malloc(sizeof(*w) + len)) == NULL) {
		fsagent_refuse(req);
		return;
	}
	w->req = *req;
	w->until = clock_ms() + PARKED_MS;
	if (len > 0)
		w->req.op.data = memcpy(w->data, req->op.data, len);
	for (i = 0; i < FDS; i++)
		req->fds[i] = -1;
	TAILQ_INSERT_TAIL(&parked, w, entry);
}

/* Whether it need not wait any more: cancelled, forked or refused. */
static bool
fsagent_is_over(int sock, struct parked *w)
{
	struct fsop_how	 wanted = { .cancel_fd = w->req.fds[0] };

	assert(wanted.cancel_fd != -1);
	if (fsop_cancelled(&wanted) == -1 || run_in_child(sock, &w->req))
		return true;
	if (clock_ms() < w->until)
		return false;
	fsagent_refuse(&w->req);
	return true;
}

/* Retry until the next request comes. */
static void
try_parked(int sock)
{
	struct pollfd	 p = { sock, POLLIN, 0 };
	struct parked	*w;

	while ((w = TAILQ_FIRST(&parked)) != NULL) {
		if (fsagent_is_over(sock, w)) {
			TAILQ_REMOVE(&parked, w, entry);
			close_fds(w->req.fds);
			free(w);
		} else if (poll(&p, 1, PARKED_TRY_MS) != 0) {
			return;
		}
	}
}

/* Do what can wait, between two requests. */
static void
flush_due(int sock)
{
	struct pollfd	 p = { sock, POLLIN, 0 };
	int		 ms = writeback_wait_ms(&writeback);

	if (ms == 0 || (ms > 0 && poll(&p, 1, ms) == 0))
		writeback_flush(&writeback);
}

/* Busy poll for the next request (worker/os/busypoll.h). */
static void
fsagent_busypoll(int sock, struct busypoll *a)
{
	struct pollfd	 p = { sock, POLLIN, 0 };
	uint64_t	 now, then = clock_us();

	for (; busypoll_should_poll(a, then) && poll(&p, 1, 0) == 0;
	    then = now) {
		sched_yield();
		now = clock_us();
		busypoll_yielded(a, then, now, false);
	}
}

void
fsagent_serve(int sock, int leave, bool nonblock_first, bool may_busypoll)
{
	struct fsop_how	 wanted = { .cancel_fd = -1 };
	struct request	 req;
	struct busypoll	 busypoll;

	to_leave = leave;
	slice_short();
	busypoll_init(&busypoll, may_busypoll, NULL);
	/* Reap children automatically. */
	signal(SIGCHLD, SIG_IGN);
	while (fsagent_busypoll(sock, &busypoll), flush_due(sock),
	    try_parked(sock), fsagent_receive(sock, &req) == 1) {
		busypoll_request(&busypoll, clock_us());
		wanted.cancel_fd = req.fds[0];
		if (fsop_cancelled(&wanted) == 0 &&
		    (!nonblock_first || !fsagent_run(&req, true)) &&
		    !run_in_child(sock, &req))
			park(&req);
		close_fds(req.fds);
	}
	writeback_flush(&writeback);
	_exit(0);
}

/* --- the client side --- */

int
fsagent_data(const struct fsop *op)
{
	int	 fd;

	if ((fd = memfd_create("data", MFD_CLOEXEC)) != -1 &&
	    fsop_write_all(fd, op->data, op->len, 0) == -1)
		fd_close(&fd);
	return fd;
}

static int
send_request(int sock, const struct fsop *op, enum where where,
    const int *fds, size_t n)
{
	unsigned char	 to = (unsigned char)where;
	struct iovec	 iov[5];
	struct msghdr	 m;
	union ctl_room	 room;

	assert(where < WHERES && n <= FDS);
	iov[0].iov_base = (void *)(uintptr_t)op;
	iov[0].iov_len = FIXED;
	iov[1].iov_base = &to;
	iov[1].iov_len = sizeof(to);
	iov[2].iov_base = (void *)(uintptr_t)op->path;
	iov[2].iov_len = strlen(op->path) + 1;
	iov[3].iov_base = (void *)(uintptr_t)op->to;
	iov[3].iov_len = strlen(op->to) + 1;
	iov[4].iov_base = (void *)(uintptr_t)op->data;
	iov[4].iov_len = op->data != NULL ? op->len : 0;
	memset(&m, 0, sizeof(m));
	m.msg_iov = iov;
	m.msg_iovlen = 5;
	fd_put_rights(&m, &room, fds, n);
	return sendmsg(sock, &m, MSG_NOSIGNAL | MSG_DONTWAIT) == -1 ? -1 : 0;
}

void
fsagent_line_init(struct fsagent_line *line)
{
	line->fd = -1;
	line->user = NULL;
	line->since = 0;
}

void
fsagent_line_fini(struct fsagent_line *line)
{
	fd_close(&line->fd);
	line->user = NULL;
}

/*
 * A line saves making, passing and closing a socket for each request.  One in
 * use for long belongs to a child, which will not return it.
 */
static enum where
fsagent_choose(const struct fsagent_line *line)
{
	assert(line->user == NULL || line->fd == -1);
	if (line->user != NULL)
		return clock_ms() < line->since + FSAGENT_LINE_MS ? WHERE_OWN :
		    WHERE_NEW_LINE;
	return line->fd == -1 ? WHERE_NEW_LINE : WHERE_LINE;
}

int
fsagent_ask(int sock, const struct fsop *op, int data,
    struct fsagent_line *line, const struct fsagent_answer *a)
{
	enum where	 where = fsagent_choose(line);
	int		 fds[FDS] = { -1, -1, -1 }, pair[2] = { -1, -1 };
	int		 rv;
	size_t		 n = 0;

	if (where == WHERE_LINE) {
		pair[0] = line->fd;
	} else {
		if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0,
		    pair) == -1)
			return -1;
		fds[n++] = pair[1];
	}
	if (data != -1)
		fds[n++] = data;
	if (op->kind == FSOP_PREAD || op->kind == FSOP_PWRITE)
		fds[n++] = op->fd;
	rv = send_request(sock, op, where, fds, n);
	fd_close(&pair[1]);
	if (rv == -1) {
		if (where != WHERE_LINE)
			fd_close(&pair[0]);
		return -1;
	}
	if (where != WHERE_OWN) {
		line->fd = -1;
		line->user = a;
		line->since = clock_ms();
	}
	return pair[0];
}

void
fsagent_end(struct fsagent_line *line, const struct fsagent_answer *a, int *fd)
{
	if (line->user == a) {
		line->user = NULL;
		if (a->leaves_line) {
			assert(line->fd == -1 && *fd != -1);
			line->fd = *fd;
			*fd = -1;
		}
	}
	fd_close(fd);
}

void
fsagent_answer_init(struct fsagent_answer *a)
{
	memset(a, 0, sizeof(*a));
	fsop_result_init(&a->r);
}

void
fsagent_answer_fini(struct fsagent_answer *a)
{
	fsop_result_fini(&a->r);
}

static int
broken(struct fsagent_answer *a)
{
	fsop_result_fini(&a->r);
	fsop_result_init(&a->r);
	a->r.why = FSWHY_DIED;
	return -1;
}

/* Decode the complete head.  Whether it is valid. */
static bool
fsagent_read_head(struct fsagent_answer *a)
{
	struct head	 h;

	memcpy(&h, a->head, sizeof(h));
	memcpy(&a->r, h.result, sizeof(h.result));
	a->payload_len = (size_t)h.payload_len;
	a->request = h.request;
	return h.payload_len <= LIMIT_MESSAGE && h.request <= LIMIT_MESSAGE &&
	    (unsigned)a->r.why < FSWHYS;
}

int
fsagent_grant(struct fsagent_answer *a, int fd)
{
	static const char	 go = 1;

	assert(a->request > 0 && a->r.payload.len == 0);
	a->request = 0;
	a->head_len = 0;
	return send(fd, &go, 1, MSG_NOSIGNAL | MSG_DONTWAIT) == 1 ? 0 : -1;
}

/* Receive a part; an opened file comes with the head. */
static ssize_t
receive_part(struct fsagent_answer *a, int fd, void *to, size_t len)
{
	struct iovec	 iov = { to, len };
	struct msghdr	 m;
	union ctl_room	 room;
	ssize_t		 n;
	int		 got;

	memset(&m, 0, sizeof(m));
	m.msg_iov = &iov;
	m.msg_iovlen = 1;
	m.msg_control = room.room;
	m.msg_controllen = sizeof(room.room);
	do
		n = recvmsg(fd, &m, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
	while (n == -1 && errno == EINTR);
	if (n > 0 && fd_take_rights(&m, &got, 1) == 1) {
		fd_close(&a->r.fd);
		a->r.fd = got;
	}
	return n;
}

static bool
is_complete(const struct fsagent_answer *a)
{
	return a->head_len == sizeof(struct head) &&
	    a->r.payload.len == a->payload_len;
}

int
fsagent_answer_read(struct fsagent_answer *a, int fd)
{
	struct head	 h;
	ssize_t		 n;
	size_t		 want, taken = 0;
	void		*to;

	/* Until it may hold as much, only its end can come. */
	if (a->request > 0)
		return broken(a);
	while (!is_complete(a)) {
		if (taken >= TURN)
			return 0;
		if (a->head_len < sizeof(struct head)) {
			to = a->head + a->head_len;
			want = sizeof(struct head) - a->head_len;
		} else {
			assert(a->r.payload.len < a->payload_len);
			want = a->payload_len - a->r.payload.len;
			if ((to = buf_reserve(&a->r.payload, want)) == NULL)
				return broken(a);
		}
		if ((n = receive_part(a, fd, to, want)) == -1)
			return errno == EAGAIN ? 0 : broken(a);
		if (n == 0)
			return broken(a);
		if (a->head_len == sizeof(struct head)) {
			buf_commit(&a->r.payload, (size_t)n);
			taken += (size_t)n;
			continue;
		}
		a->head_len += (size_t)n;
		if (a->head_len < sizeof(struct head))
			continue;
		if (!fsagent_read_head(a))
			return broken(a);
		if (a->request > 0 || a->payload_len > LIMIT_FILE_QUICK)
			return 0;
	}
	memcpy(&h, a->head, sizeof(h));
	a->leaves_line = h.leaves_line != 0;
	return 1;
}
