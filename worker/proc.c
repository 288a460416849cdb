#include "worker/proc.h"

#include <sys/ioctl.h>
#include <sys/wait.h>

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/b64.h"
#include "common/clock.h"
#include "common/ev.h"
#include "common/fd.h"
#include "common/json_out.h"
#include "common/limit.h"
#include "common/log.h"
#include "common/ptree.h"
#include "worker/cgroup.h"
#include "worker/conn.h"
#include "worker/denied.h"
#include "worker/holder.h"
#include "worker/note.h"
#include "worker/operate.h"
#include "worker/replay.h"
#include "worker/rpc.h"
#include "worker/transcript.h"
#include "worker/waiter.h"

/*
 * Pacing: a producer of single lines would wake us for each of them.  After
 * PACE_STREAK short reads within PACE_US of one another the stream is left
 * alone for a moment (session_pace()), so that its pipe fills. Input in
 * between makes the next output an answer, which is never delayed.
 */
#define PACE_STREAK	8
#define PACE_US		200
#define PACE_SHORT	8192		/* bytes; reads below are short */

/*
 * A terminal gives 4095 bytes at most in one read, however much there is: as
 * many as these say that there may be more, and that nobody has to wait for it.
 */
#define TERMINAL_FULL	2048

#define BULKY		(LIMIT_READ_CHUNK / 2)
#define READ_TRIES	10	/* of a read that fails */
#define WIDE_AFTER	4		/* full reads: it will go on so */
#define SPOOL_CHUNK	4096		/* room of a chunk nobody waits for */
#define KILL_PASS_MS	2		/* between two looks for descendants */
#define KILL_PASSES	3		/* that must find nobody */
#define KILL_MS		5		/* a pass takes at most */

static const char *const state_names[] = { "running", "exited", "closed" };

static void	 stream_on_read(void *);
static void	 proc_on_timer(void *);
static void	 proc_maybe_close(struct proc *p);

const char *
proc_state_name(const struct proc *p)
{
	return state_names[p->state];
}

/* --- events to the client --- */

/* {"method":M,"params":{"processId":ID,"seq":N and the beginning of more. */
static int
put_head(const struct proc *p, char *out, size_t size, const char *method,
    uint64_t seq)
{
	return snprintf(out, size, "{\"method\":\"%s\",\"params\":"
	    "{\"processId\":%s,\"seq\":%llu", method, p->json_id,
	    (unsigned long long)seq);
}

static void
tell_event(struct proc *p, const char *method, uint64_t seq, const char *more)
{
	struct session	*s = p->session;
	size_t		 size = p->json_id_len + 128;
	char		*text;
	int		 n, m;

	if (s->conn == NULL)
		return;
	if ((text = malloc(size)) == NULL) {
		conn_close(s->conn, 1011, "out of memory for an event");
		return;
	}
	n = put_head(p, text, size, method, seq);
	m = snprintf(text + n, size - (size_t)n, "%s}}", more);
	conn_send(s->conn, text, (size_t)(n + m));
	free(text);
}

void
proc_tell_exit(struct proc *p)
{
	char	 more[64];

	snprintf(more, sizeof(more), ",\"exitCode\":%d,"
	    "\"sandboxDenied\":%s", p->exit_code,
	    p->denied ? "true" : "false");
	tell_event(p, note_EXITED, p->ring.exit_seq, more);
}

void
proc_tell_close(struct proc *p)
{
	tell_event(p, note_CLOSED, p->ring.next_seq - 1, "");
}

/* Encoded in place behind its headers. */
void
proc_tell_output(struct proc *p, struct chunk *c)
{
	struct session	*s = p->session;
	char		 head[160], tail[] = "\"}}", *out, *at;
	size_t		 b64 = B64_ENCODED_LEN(c->len), before, mid;
	int		 n;

	before = sizeof("{\"method\":\"process/output\",\"params\":"
	    "{\"processId\":") - 1;
	n = snprintf(head, sizeof(head), ",\"seq\":%llu,\"stream\":\"%s\","
	    "\"chunk\":\"", (unsigned long long)c->seq,
	    ring_stream_name(c->stream));
	mid = (size_t)n;
	if ((out = conn_begin(s->conn, before + p->json_id_len + mid + b64 +
	    sizeof(tail) - 1)) == NULL)
		return;
	at = mempcpy(out, "{\"method\":\"process/output\",\"params\":"
	    "{\"processId\":", before);
	at = mempcpy(at, p->json_id, p->json_id_len);
	at = mempcpy(at, head, mid);
	at += b64_encode(at, c->data, c->len);
	memcpy(at, tail, sizeof(tail) - 1);
	conn_commit(s->conn);
	window_sent(&s->window, c, conn_pos(s->conn));
}

/* --- output --- */

static void
stream_end(struct stream *st)
{
	io_stop(&st->read_ev);
	/* Nobody must wake it any more. */
	st->held = st->paced = false;
	st->streak = 0;
	fd_close(&st->fd);
}

/* Whether more output may be read, or (held back) room was made for it. */
static bool
proc_has_room(const struct proc *p)
{
	struct session	*s = p->session;

	if (p->transcript != NULL && transcript_waits(p->transcript))
		return false;
	if (!window_has_memory(&s->window, LIMIT_READ_CHUNK) &&
	    budget_output(&s->budget))
		return false;
	if (s->conn == NULL)
		return session_has_room(s) || overflow_make_room(s);
	/* Its client may have come back, and ask for nothing. */
	return !p->is_held && session_has_room(s) &&
	    p->ring.unread_cost < s->env.set.spool + LIMIT_UNREAD;
}

void
proc_catch_up(struct proc *p)
{
	p->ring.catching_up = true;
	p->caught_up = 0;
	p->is_held = p->session->holds;
	replay_stop(p);
}

void
proc_was_read(struct proc *p)
{
	if (!p->ring.catching_up || p->caught_up != 0)
		return;
	p->caught_up = clock_ms();
	session_evict_later(p->session);
}

void
proc_hold(struct proc *p, bool is_held)
{
	p->is_held = is_held;
	if (!is_held)
		proc_unhold(p);
}

void
proc_release_unread(struct proc *p)
{
	if (p->caught_up == 0)
		proc_hold(p, false);
}

bool
proc_end_catch_up(struct proc *p)
{
	if (!p->ring.catching_up || p->caught_up == 0)
		return false;
	if (clock_ms() - p->caught_up < LIMIT_CAUGHT_UP) {
		session_evict_later(p->session);
		return false;
	}
	p->ring.catching_up = false;
	ring_evict(&p->ring);
	return true;
}

/* A chunk of n bytes that were read to data, or there already. */
static void
add_output(struct stream *st, struct chunk *c, const char *data, size_t n)
{
	struct proc	*p = st->proc;
	struct session	*s = p->session;

	p->bytes_out += n;
	s->bytes_out += n;
	if (p->transcript != NULL)
		transcript_output(p->transcript, st->stream == STREAM_STDERR,
		    c != NULL ? (const char *)c->data : data, n);
	if (c == NULL) {
		if (s->conn == NULL &&
		    ring_append(&p->ring, st->stream, data, n)) {
			tails_wake(&p->tails);
			return;
		}
		if ((c = window_chunk(&s->window, s->conn == NULL &&
		    n < SPOOL_CHUNK ? SPOOL_CHUNK : n)) == NULL) {
			/* A hole would be worse: the client waits for it. */
			fatal("no memory for output");
		}
		memcpy(c->data, data, n);
	}
	c->len = (uint32_t)n;
	ring_add(&p->ring, c, st->stream);
	if (s->conn != NULL && !p->is_replayed)
		proc_tell_output(p, c);
	waiter_wake_all(p);
	tails_wake(&p->tails);
	ring_evict(&p->ring);
}

/* Leave the stream alone for a moment if it comes in crumbs. */
static void
pace(struct stream *st, size_t n)
{
	uint64_t	 now = clock_us();
	bool		 is_near = now - st->last_read < PACE_US;

	st->last_read = now;
	st->streak = n < (st->stream == STREAM_PTY ? TERMINAL_FULL :
	    PACE_SHORT) && (is_near || st->paced) ? st->streak + 1 : 0;
	st->paced = false;
	if (st->streak >= PACE_STREAK && st->fd != -1 &&
	    session_pace(st->proc->session) == 0) {
		st->paced = true;
		io_stop(&st->read_ev);
	}
}

/* As read(2), but all that a terminal has.  Its end is found by the next. */
static ssize_t
take(const struct stream *st, void *to, size_t size)
{
	ssize_t	 n, len;

	len = n = read(st->fd, to, size);
	while (st->stream == STREAM_PTY && n >= TERMINAL_FULL &&
	    (size_t)len < size && (n = read(st->fd, (char *)to + len,
	    size - (size_t)len)) > 0)
		len += n;
	return len;
}

/* Say so where the rest should be, as ring_close_gap() does. */
static void
lose_rest(struct stream *st, int error)
{
	struct proc	*p = st->proc;
	const char	*line = st->stream == STREAM_PTY ? "\r\n" : "\n";
	char		 text[200];
	int		 n;

	p->lost = error;
	log_warnx("process %d: reading its %s: %s", p->pid,
	    ring_stream_name(st->stream), strerror(error));
	n = snprintf(text, sizeof(text), "%s[execsrv: the rest of this output "
	    "could not be read: %s]%s", line, strerror(error), line);
	add_output(st, NULL, text, (size_t)n);
}

/* What read(2) could not do: try again, or give up.  As read_some(). */
static ssize_t
on_failure(struct stream *st)
{

	if (errno == EAGAIN || errno == EINTR)
		return -1;
	if (st->stream == STREAM_PTY && errno == EIO)
		return 0;		/* so a terminal ends */
	if (++st->failed < READ_TRIES)
		return -1;
	lose_rest(st, errno);
	return 0;
}

/*
 * What is there.  Large reads go straight into their chunk, small ones over a
 * common buffer, so that a chunk is never larger than what is in it.
 * Bytes, 0 at the end, or -1 when there is nothing now.
 */
static ssize_t
read_some(struct stream *st)
{
	static char	 common[LIMIT_READ_CHUNK];
	struct window	*w = &st->proc->session->window;
	struct chunk	*c = NULL;
	ssize_t		 n;

	if (st->bulky && window_has_memory(w, LIMIT_READ_CHUNK) &&
	    (c = chunk_new(LIMIT_READ_CHUNK)) != NULL)
		n = take(st, c->data, LIMIT_READ_CHUNK);
	else
		n = take(st, common, sizeof(common));
	if (n <= 0) {
		free(c);
		return n == 0 ? 0 : on_failure(st);
	}
	st->failed = 0;
	st->bulky = n >= BULKY;
	st->full = n == LIMIT_READ_CHUNK ? st->full + 1 : 0;
	if (st->full == WIDE_AFTER)
		fd_widen(st->fd);
	if (c != NULL && !st->bulky) {
		memcpy(common, c->data, (size_t)n);
		free(c);
		c = NULL;
	}
	add_output(st, c, common, (size_t)n);
	return n;
}

static void
stream_on_read(void *arg)
{
	struct stream	*st = arg;
	struct proc	*p = st->proc;
	ssize_t		 n;

	if (!proc_has_room(p)) {
		st->held = true;
		p->session->held = true;
		io_stop(&st->read_ev);
		return;
	}
	if ((n = read_some(st)) == 0) {
		stream_end(st);
		proc_maybe_close(p);
	} else if (n > 0) {
		pace(st, (size_t)n);
	}
}

void
proc_unhold(struct proc *p)
{
	int	 i;

	for (i = 0; i < 2; i++) {
		if (!p->streams[i].held)
			continue;
		if (!proc_has_room(p)) {
			p->session->held = true;
			return;
		}
		p->streams[i].held = false;
		io_start(&p->streams[i].read_ev);
	}
}

void
proc_unpace(struct proc *p)
{
	int	 i;

	/* "paced" stays: the next read belongs to the same streak. */
	for (i = 0; i < 2; i++)
		if (p->streams[i].paced && !p->streams[i].held)
			io_start(&p->streams[i].read_ev);
}

void
proc_on_input(struct proc *p)
{
	int	 i;

	for (i = 0; i < 2; i++) {
		p->streams[i].streak = 0;
		if (!p->streams[i].paced)
			continue;
		p->streams[i].paced = false;
		if (!p->streams[i].held)
			io_start(&p->streams[i].read_ev);
	}
}

/* --- birth --- */

static char *
json_string(const char *text, size_t len, size_t *len_out)
{
	struct json_out	 o;
	struct buf	 b;
	char		*s = NULL;

	buf_init(&b, 8 * (size_t)LIMIT_MESSAGE);
	json_out_init(&o, &b);
	json_out_text(&o, text, len);
	if (json_out_fini(&o) == 0 && (s = malloc(b.len + 1)) != NULL) {
		memcpy(s, buf_data(&b), b.len);
		s[b.len] = '\0';
		*len_out = b.len;
	}
	buf_fini(&b);
	return s;
}

static int
stream_init(struct stream *st, struct proc *p, int fd, uint8_t stream)
{
	st->proc = p;
	st->stream = stream;
	st->fd = fd;
	if (fd == -1)
		return 0;
	io_init(&st->read_ev, p->session->env.base, fd, EV_READ | EV_PERSIST,
	    stream_on_read, st);
	return io_start(&st->read_ev);
}

static void
on_room(struct rpc_req *req)
{
	rpc_status(req, "accepted");
}

static void
set_name(char name[PROC_NAME_MAX], const char *text, size_t len)
{
	size_t	 i;

	for (i = 0; i < PROC_NAME_MAX - 1 && i < len; i++)
		name[i] = text[i] > ' ' && text[i] < 0x7f ? text[i] : '?';
}

static bool
others_have_mark(const void *arg, uint64_t mark)
{
	const struct proc	*p = arg, *q;

	TAILQ_FOREACH(q, &p->session->all, entry)
		if (q != p && q->kin.mark == mark)
			return true;
	return false;
}

static bool
others_have_pid(const void *arg, pid_t pid)
{
	const struct proc	*p = arg, *q;

	q = map_find(&p->session->pids, &pid, sizeof(pid));
	return q != NULL && q != p;
}

static const struct kin_others	 others = {
	others_have_mark, others_have_pid
};

/* Everything that may fail for want of memory, before there is a child. */
static struct proc *
proc_alloc(struct session *s, const char *id, size_t id_len)
{
	struct proc	*p;

	if ((p = calloc(1, sizeof(*p))) == NULL)
		return NULL;
	p->session = s;
	kin_init(&p->kin, &others, p);
	p->streams[0].fd = p->streams[1].fd = -1;
	TAILQ_INIT(&p->waiters);
	tails_init(&p->tails, s->env.base, &p->ring, &s->tails);
	ring_init(&p->ring, &s->window);
	timer_init(&p->timer_ev, s->env.base, proc_on_timer, p);
	input_init(&p->input, s->env.base, -1, false, &s->parked, on_room);
	if ((p->id = malloc(id_len + 1)) == NULL ||
	    (p->json_id = json_string(id, id_len, &p->json_id_len)) == NULL)
		goto fail;
	memcpy(p->id, id, id_len);
	p->id_len = id_len;
	if (map_add(&s->procs, &p->node, p->id, id_len, p) == -1)
		goto fail;
	TAILQ_INSERT_TAIL(&s->all, p, entry);
	s->known++;
	return p;
 fail:
	free(p->id);
	free(p->json_id);
	free(p);
	return NULL;
}

struct proc *
proc_new(struct session *s, const char *id, size_t id_len, struct spawn *sp,
    const char **what_out)
{
	struct spawned	 child;
	struct proc	*p;
	int		 r;

	*what_out = "memory";
	if ((p = proc_alloc(s, id, id_len)) == NULL)
		return NULL;
	p->tty = sp->tty;
	p->has_input = sp->tty || sp->pipe_stdin;
	sp->mark = ptree_new_mark();
	p->born = clock_ms();
	p->state = PROC_CLOSED;		/* until there is a child */
	set_name(p->name, id, id_len);
	if (sp->argv[0] != NULL)
		set_name(p->command, sp->argv[0], strlen(sp->argv[0]));
	p->cgroup = cgroups_take(s->cgroups, &sp->cgroup);
	r = spawn(sp, &child, what_out);
	fd_close(&sp->cgroup);
	if (r == -1) {
		proc_free(&p);
		return NULL;
	}
	p->pid = child.pid;
	p->state = PROC_RUNNING;
	kin_born(&p->kin, child.pid, sp->mark);
	s->running++;
	s->started++;
	input_init(&p->input, s->env.base, child.input, sp->tty, &s->parked,
	    on_room);
	if (stream_init(&p->streams[0], p, child.output[0],
	    sp->tty ? STREAM_PTY : STREAM_STDOUT) == -1 ||
	    stream_init(&p->streams[1], p, child.output[1],
	    STREAM_STDERR) == -1 ||
	    map_add(&s->pids, &p->pid_node, &p->pid, sizeof(p->pid), p) == -1)
		fatal("no memory for a process that runs");
	session_look_later(s);
	return p;
}

void
proc_free(struct proc **pp)
{
	struct proc	*p = *pp;
	struct session	*s;

	*pp = NULL;
	if (p == NULL)
		return;
	s = p->session;
	if (p->holder != NULL)
		holder_use(p->holder, false);
	replay_stop(p);
	waiter_fail_all(p);
	tails_fini(&p->tails);
	transcript_end(&p->transcript);
	input_fini(&p->input);
	stream_end(&p->streams[0]);
	stream_end(&p->streams[1]);
	ring_fini(&p->ring);
	timer_stop(&p->timer_ev);
	map_del(&s->procs, &p->node);
	if (p->state == PROC_RUNNING)
		map_del(&s->pids, &p->pid_node);
	TAILQ_REMOVE(&s->all, p, entry);
	s->known--;
	cgroups_give_back(s->cgroups, &p->cgroup);
	kin_fini(&p->kin);
	free(p->id);
	free(p->json_id);
	free(p);
}

/* --- death --- */

/* It needs its sandbox no more: what it left behind may. */
static void
leave_holder(struct proc *p)
{
	struct holder	*h = p->holder;

	p->holder = NULL;
	if (h != NULL)
		holder_use(h, false);
}

/* Old closed processes make room for new ones. */
static void
bound_closed(struct session *s, struct proc *newest)
{
	struct proc	*p, *next;

	for (p = TAILQ_FIRST(&s->all); p != NULL; p = next) {
		if (s->closed_bytes <= LIMIT_RETAINED_CLOSED &&
		    s->known - s->running <= LIMIT_CLOSED_PROCESSES)
			break;
		next = TAILQ_NEXT(p, entry);
		/* What the client has not read yet stays. */
		if (p->state == PROC_CLOSED && p != newest &&
		    p->ring.unread_cost == 0 &&
		    p->ring.relayed_count == 0 && (!p->terminated ||
		    p->empty_passes >= KILL_PASSES))
			proc_free(&p);
	}
}

static void
proc_close(struct proc *p)
{
	struct session	*s = p->session;

	stream_end(&p->streams[0]);
	stream_end(&p->streams[1]);
	input_lose(&p->input);
	p->state = PROC_CLOSED;
	p->unheard = s->conn == NULL;
	transcript_end(&p->transcript);
	leave_holder(p);
	ring_count(&p->ring, &s->closed_bytes);
	p->ring.next_seq++;		/* a close has a number, too */
	if (!p->is_replayed)
		proc_tell_close(p);
	waiter_wake_all(p);
	tails_end(&p->tails);
	if (!p->terminated) {
		cgroups_give_back(s->cgroups, &p->cgroup);
		timer_set(&p->timer_ev, s->env.set.closed_ttl_ms);
	}
	bound_closed(s, p);
}

static void
proc_maybe_close(struct proc *p)
{
	if (p->state != PROC_EXITED)
		return;
	if (p->terminated ||
	    (p->streams[0].fd == -1 && p->streams[1].fd == -1))
		proc_close(p);
}

/* What is in the pipes of a terminated process: what they hold, no more. */
static void
drain(struct proc *p)
{
	int	 i, reads;

	for (i = 0; i < 2; i++)
		for (reads = 0; reads < 2 && p->streams[i].fd != -1; reads++)
			if (read_some(&p->streams[i]) <= 0)
				break;
}

void
proc_on_exit(struct proc *p, int status)
{
	struct session	*s = p->session;

	assert(p->state == PROC_RUNNING);
	p->exit_code = WIFEXITED(status) ? WEXITSTATUS(status) :
	    WIFSIGNALED(status) ? 128 + WTERMSIG(status) : -1;
	if (p->terminated || (p->sandboxed && p->exit_code != 0))
		drain(p);
	p->denied = p->sandboxed && denied(&p->ring, p->exit_code);
	if (p->transcript != NULL)
		transcript_exit(p->transcript, p->exit_code);
	map_del(&s->pids, &p->pid_node);
	p->state = PROC_EXITED;
	s->running--;
	if (!p->has_input)
		input_lose(&p->input);
	ring_exit(&p->ring);
	if (!p->is_replayed)
		proc_tell_exit(p);
	waiter_wake_all(p);
	proc_maybe_close(p);
}

/*
 * Somebody may fork faster than we look, so that every look finds nobody:
 * the orphans it leaves to us show that it is there (proc_on_orphan()).
 */
static void
kill_pass(struct proc *p)
{
	unsigned	 orphans = p->orphans;
	uint64_t	 next = KILL_PASS_MS;

	p->orphans = 0;
	cgroups_kill(p->session->cgroups, p->cgroup);
	p->empty_passes = ptree_purge(kin_skips, kin_has, &p->kin, orphans > 0,
	    KILL_MS, session_reap, p->session) ? 0 : p->empty_passes + 1;
	if (p->kill_until == 0)
		p->kill_until = clock_ms() + LIMIT_KILL;
	else if (clock_ms() > p->kill_until && p->empty_passes <
	    KILL_PASSES && p->state == PROC_CLOSED) {
		/* Not ours to kill: a set-user-ID program, say. */
		log_warnx("a descendant of process %d cannot be killed",
		    p->pid);
		p->empty_passes = KILL_PASSES;
	}
	if (p->empty_passes >= KILL_PASSES && p->state == PROC_CLOSED) {
		cgroups_give_back(p->session->cgroups, &p->cgroup);
		next = p->session->env.set.closed_ttl_ms;
		operate_on_end(p);
	}
	timer_set(&p->timer_ev, next);
}

void
proc_on_orphan(struct session *s, uint64_t mark)
{
	struct proc	*p;

	TAILQ_FOREACH(p, &s->all, entry)
		if (p->kin.mark == mark)
			p->orphans++;
}

/* The grace is over, another pass is due, or it was known long enough. */
static void
proc_on_timer(void *arg)
{
	struct proc	*p = arg;
	struct session	*s = p->session;

	if (p->terminated && (p->empty_passes < KILL_PASSES ||
	    p->state != PROC_CLOSED)) {
		if (p->state == PROC_RUNNING) {
			kin_look(&p->kin);
			kill(p->pid, SIGKILL);
		}
		kill_pass(p);
		return;
	}
	if (p->state != PROC_CLOSED)
		return;
	/* Whoever comes back in time finds what he has not read, or heard. */
	if (s->state == SESSION_DETACHED &&
	    (p->ring.unread_cost > 0 || p->ring.relayed_count > 0 ||
	    p->unheard)) {
		timer_set(&p->timer_ev, s->env.set.closed_ttl_ms);
		return;
	}
	proc_free(&p);
	session_maybe_release(s);
}

bool
proc_terminate(struct proc *p, uint64_t grace)
{
	if (p->state != PROC_RUNNING)
		return false;
	p->terminated = true;
	p->empty_passes = p->orphans = 0;
	p->kill_until = 0;
	if (grace > 0) {
		kill(-p->pid, SIGTERM);
		kill(-p->pid, SIGCONT);
		timer_set(&p->timer_ev, grace);
		return true;
	}
	kin_look(&p->kin);
	kill(p->pid, SIGKILL);
	kill_pass(p);
	return true;
}

void
proc_signal(struct proc *p, int sig)
{
	if (p->state == PROC_RUNNING)
		kill(-p->pid, sig);
}

int
proc_resize(struct proc *p, uint16_t rows, uint16_t cols)
{
	struct winsize	 size;

	memset(&size, 0, sizeof(size));
	size.ws_row = rows;
	size.ws_col = cols;
	if (!p->tty) {
		errno = ENOTTY;
		return -1;
	}
	if (p->streams[0].fd == -1)
		return 0;		/* it has ended: no harm */
	if (ioctl(p->streams[0].fd, TIOCSWINSZ, &size) == -1)
		return -1;
	if (p->transcript != NULL)
		transcript_resize(p->transcript, rows, cols);
	return 0;
}
