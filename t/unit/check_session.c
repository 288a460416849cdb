/*
 * worker/session/session*.c: the life of a session.  Its connection, its
 * processes, the process tree, the channel to the master and what handles
 * messages are ours.
 *
 * lint-ok: long, as one set of stand-ins serves every case.
 */
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <check.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/ipc/chan.h"
#include "common/limit.h"
#include "common/linux/ptree.h"
#include "worker/conn/conn.h"
#include "worker/sandbox/holder.h"
#include "worker/session/link.h"
#include "worker/session/session.h"
#include "worker/session/transcript.h"

#define WS_FD		77
#define PASSED_FD	78
#define PID		4242
#define STRANGER	4243
#define HELPER		4244
#define GRACE		40		/* ms */
#define REQ		((struct rpc_req *)(void *)did)

struct conn {
	const struct conn_events *events;
	void		*arg;
	size_t		 allowed, behind;
	uint64_t	 pos;
	int		 fd;
	bool		 is_exact, is_paused, is_relayed, has_ended;
};

struct chan {
	bool		 is_busy;
};

static struct session	 s;
static struct link	*master;
static struct chan	 chan;
static struct event_base *base;
static Ipc__Settings	 set;
static Ipc__Assign	 assign;
static char		 did[1024];		/* each with a blank before */
static char		 ended_why[64];
static Ipc__EndReason	 ended_reason;
static uint64_t		 released_retain;
static struct conn	*last;			/* made */
static unsigned		 nconns;		/* not freed */
static bool		 conn_fails;
static bool		 attaches;		/* on a message */
static bool		 answer_ends;		/* the connection */
static bool		 was_resuming;
static struct proc	 proc;
static size_t		 alive;			/* commands */
static pid_t		 zombie;
static unsigned		 survives;		/* bits: of which passes */
static unsigned		 suspected;		/* bits: in which passes */
static unsigned		 npasses;
static unsigned		 idles;

static void	 note(const char *fmt, ...) PRINTF(1, 2);

static void
note(const char *fmt, ...)
{
	size_t	 at = strlen(did);
	va_list	 ap;
	int	 n;

	did[at] = ' ';
	va_start(ap, fmt);
	n = vsnprintf(did + at + 1, sizeof(did) - at - 1, fmt, ap);
	va_end(ap);
	ck_assert_int_gt(n, 0);
	ck_assert_uint_lt((size_t)n, sizeof(did) - at - 1);
}

/* What was done since the last time. */
#define DID(want)							\
	do {								\
		ck_assert_str_eq(did, want);				\
		did[0] = '\0';						\
	} while (0)

/* --- in the place of the connection --- */

static struct conn *
conn_make(int fd, const struct conn_events *events, void *arg)
{
	if (conn_fails)
		return NULL;
	ck_assert_ptr_nonnull(last = calloc(1, sizeof(*last)));
	last->events = events;
	last->arg = arg;
	last->fd = fd;
	nconns++;
	return last;
}

struct conn *
conn_ws_new(struct event_base *b, int fd, const struct conn_events *events,
    void *arg)
{
	ck_assert_ptr_eq(b, base);
	return conn_make(fd, events, arg);
}

struct conn *
conn_stdio_new(struct event_base *b, int in, int out,
    const struct conn_events *events, void *arg)
{
	ck_assert(b == base && out == PASSED_FD);
	return conn_make(in, events, arg);
}

void
conn_free(struct conn **cp)
{
	ck_assert_ptr_nonnull(*cp);
	free(*cp);
	*cp = NULL;
	nconns--;
}

static void
conn_over(struct conn *c, const char *why)
{
	ck_assert(!c->has_ended);
	c->has_ended = true;
	c->events->on_end(c->arg, why);
}

static void
conn_gone(struct conn *c)
{
	ck_assert(c->has_ended);
	c->events->on_gone(c->arg, c);
}

void
conn_close(struct conn *c, uint16_t code, const char *why)
{
	note("close %u (%s)", code, why);
	conn_over(c, why);
}

void
conn_abandon(struct conn *c)
{
	note("abandon");
	conn_over(c, "handed over");
}

void
conn_set_exact(struct conn *c, bool exact)
{
	c->is_exact = exact;
}

void
conn_set_relayed(struct conn *c)
{
	c->is_relayed = true;
}

void
conn_allow(struct conn *c, size_t max)
{
	c->allowed = max;
}

size_t
conn_unfinished(const struct conn *c)
{
	(void)c;
	return 0;
}

void
conn_pause(struct conn *c, bool paused)
{
	ck_assert(!c->has_ended);
	c->is_paused = paused;
}

void
conn_slow(struct conn *c, unsigned ms)
{
	ck_assert(!c->has_ended && ms > 0);
	note("slow");
}

int
conn_fd(const struct conn *c)
{
	ck_assert(c->is_exact);
	return c->fd;
}

char *
conn_begin(struct conn *c, size_t len)
{
	(void)c;
	(void)len;
	ck_abort_msg("nothing is put out");
	return NULL;
}

void
conn_commit(struct conn *c)
{
	(void)c;
	ck_abort_msg("nothing is put out");
}

int
conn_send(struct conn *c, const char *text, size_t len)
{
	note("send %.*s", (int)len, text);
	c->pos += len;
	return 0;
}

bool
conn_has_room(const struct conn *c)
{
	return c->behind < LIMIT_OUT_CHILDREN;
}

size_t
conn_piece(const struct conn *c, size_t max)
{
	ck_assert(!c->has_ended);
	return max;
}

void
conn_trim(struct conn *c)
{
	ck_assert(!c->has_ended);
	note("trim");
}

void
conn_sent_bulk(struct conn *c, size_t len)
{
	ck_assert(!c->has_ended);
	ck_assert_uint_gt(len, 0);
}

uint64_t
conn_pos(const struct conn *c)
{
	return c->pos;
}

void
conn_ask_receipt(struct conn *c)
{
	ck_assert(!c->has_ended);
	note("ask");
}

void
conn_probe(struct conn *c, uint64_t ms)
{
	ck_assert(!c->has_ended);
	ck_assert_uint_eq(ms, LIMIT_TAKEOVER);
	note("probe");
}

void
conn_flush(struct conn *c)
{
	ck_assert(!c->has_ended);
}

/* --- of the channel to the master --- */

struct chan *
chan_new(struct event_base *b, int sock, enum ipc_role self,
    enum ipc_role peer, chan_msg_fn *on_msg, chan_end_fn *on_end, void *arg)
{
	ck_assert(b == base && sock == -1 && on_msg != NULL && on_end != NULL);
	ck_assert(self == IPC_ROLE_WORKER && peer == IPC_ROLE_MASTER);
	(void)arg;
	return &chan;
}

void
chan_free(struct chan **cp)
{
	*cp = NULL;
}

void
chan_send(struct chan *c, enum ipc_kind kind, const void *body, int fd)
{
	const Ipc__Handover	*h = body;
	const Ipc__Ended	*e = body;
	const Ipc__Released	*r = body;

	ck_assert_ptr_eq(c, &chan);
	ck_assert_int_eq(fd, kind == IPC_handover ? WS_FD : -1);
	if (kind == IPC_handover)
		note("handover %s %.*s", h->session_id, (int)h->message.len,
		    (const char *)h->message.data);
	else
		note("%s", ipc_rows[kind].name);
	if (kind == IPC_released)
		released_retain = r->retain_ms;
	if (kind != IPC_ended)
		return;
	ended_reason = e->reason;
	snprintf(ended_why, sizeof(ended_why), "%s", e->why);
}

size_t
chan_waiting(const struct chan *c)
{
	return c->is_busy ? 1 : 0;
}

bool
chan_is_idle(const struct chan *c)
{
	return !c->is_busy;
}

bool
chan_is_lost(const struct chan *c)
{
	(void)c;
	return false;
}

bool
chan_is_read(const struct chan *c)
{
	return !c->is_busy;
}

/* --- of processes --- */

void
procs_init(struct procs *ps, const struct env *env, struct window *window,
    const struct proc_events *events, void *arg)
{
	ck_assert(env == &s.env && window == &s.window && arg == &s);
	ps->events = events;
	ps->arg = arg;
	TAILQ_INIT(&ps->all);
}

void
procs_fini(struct procs *ps)
{
	ck_assert_ptr_eq(ps, &s.procs);
}

struct proc *
procs_find_pid(const struct procs *ps, pid_t pid)
{
	struct proc	*p;

	TAILQ_FOREACH(p, &ps->all, entry)
		if (p->pid == pid && p->state == PROC_RUNNING)
			return p;
	return NULL;
}

void
procs_on_client(struct procs *ps, bool holds)
{
	ck_assert_ptr_eq(ps, &s.procs);
	note("client%s", holds ? " holds" : "");
}

void
procs_on_client_lost(struct procs *ps)
{
	ck_assert_ptr_eq(ps, &s.procs);
	note("lost");
}

void
procs_release_unread(struct procs *ps)
{
	ck_assert_ptr_eq(ps, &s.procs);
	note("release");
}

void
procs_unhold(struct procs *ps)
{
	ck_assert_ptr_eq(ps, &s.procs);
}

void
procs_on_orphan(struct procs *ps, uint64_t mark)
{
	ck_assert_ptr_eq(ps, &s.procs);
	ck_assert_uint_eq(mark, 99);
	note("orphan");
}

void
proc_on_exit(struct proc *p, int status)
{
	note("exit %d", WEXITSTATUS(status));
	p->state = PROC_EXITED;
	s.procs.running--;
}

void
proc_signal(struct proc *p, int sig)
{
	ck_assert_ptr_eq(p, &proc);
	note("%s", sig == SIGTERM ? "TERM" : sig == SIGKILL ? "KILL" :
	    sig == SIGCONT ? "CONT" : "?");
}

/* One runs. */
static void
run_process(void)
{
	memset(&proc, 0, sizeof(proc));
	proc.procs = &s.procs;
	proc.pid = PID;
	TAILQ_INSERT_TAIL(&s.procs.all, &proc, entry);
	s.procs.started = s.procs.running = s.procs.known = 1;
	alive = 1;
}

/* It is over, and nobody knows it any more. */
static void
forget_process(void)
{
	TAILQ_REMOVE(&s.procs.all, &proc, entry);
	s.procs.running = s.procs.known = 0;
	s.procs.events->on_forgotten(s.procs.arg);
}

/* --- of the process tree --- */

size_t
ptree_kill(int sig, ptree_match_fn *skip, ptree_match_fn *match, void *arg)
{
	ck_assert(sig == 0 && skip == NULL && match != NULL);
	(void)arg;
	return alive;
}

bool
ptree_purge(ptree_match_fn *skip, ptree_match_fn *match, void *arg,
    bool is_suspect, uint64_t ms, void (*reap)(void *), void *reap_arg)
{
	unsigned	 bit = npasses < 32 ? 1u << npasses : 0;

	ck_assert(skip == NULL && match == NULL && arg == NULL && ms > 0);
	npasses++;
	if (is_suspect)
		suspected |= bit;
	reap(reap_arg);
	return (survives & bit) != 0;
}

int
ptree_stat(pid_t pid, struct ptree_stat *out)
{
	(void)pid;
	memset(out, 0, sizeof(*out));
	return -1;
}

pid_t
ptree_peek(void)
{
	return zombie;
}

uint64_t
ptree_mark_of(pid_t pid)
{
	ck_assert_int_eq(pid, STRANGER);
	return 99;
}

bool
ptree_is_marked(pid_t pid)
{
	(void)pid;
	return true;
}

/* The C library's waitpid(2), of which Check makes use, is another one. */
pid_t
wait4(pid_t pid, int *status, int options, struct rusage *ru)
{
	if (pid <= 0 || pid != zombie)
		return (pid_t)syscall(SYS_wait4, pid, status, options, ru);
	ck_assert_int_eq(options, WNOHANG);
	memset(ru, 0, sizeof(*ru));
	*status = 3 << 8;
	zombie = 0;
	return pid;
}

/* --- of holders and transcripts --- */

struct holders *
holders_new(const struct env *env, void (*on_changed)(void *), void *arg)
{
	ck_assert(env == &s.env && on_changed != NULL && arg == &base);
	return (struct holders *)(void *)&proc;
}

void
holders_end(struct holders *hs)
{
	ck_assert_ptr_eq(hs, s.holders);
	note("holders");
}

void
holders_free(struct holders **hsp)
{
	*hsp = NULL;
}

void
transcript_start(struct transcripts **allp, const struct env *env,
    struct link *link, uint64_t before, struct proc *p, const struct spawn *sp)
{
	(void)allp, (void)env, (void)link, (void)before, (void)p, (void)sp;
	ck_abort_msg("no process is started");
}

void
transcripts_end(struct transcripts *all)
{
	ck_assert_ptr_null(all);
	note("transcripts");
}

void
transcripts_free(struct transcripts **allp)
{
	ck_assert_ptr_null(*allp);
}

uint64_t
transcripts_used(const struct transcripts *all)
{
	ck_assert_ptr_null(all);
	return 0;
}

/* --- of what handles messages --- */

static void
on_message(void *arg, char *text, size_t len, bool is_utf8)
{
	ck_assert(arg == &base && is_utf8);
	was_resuming = session_is_resuming(&s);
	note("message %.*s", (int)len, text);
	if (!attaches)
		return;
	session_attach(&s);
	conn_send(s.conn, "answer", 6);
}

static void
on_decided(void *arg, struct rpc_req *req, Ipc__Verdict v)
{
	ck_assert(arg == &base && req == REQ);
	ck_assert_ptr_nonnull(s.conn);
	was_resuming = session_is_resuming(&s);
	note("decided");
	if (answer_ends)
		conn_close(s.conn, 1000, "enough");
	else if (v == IPC__VERDICT__YOURS)
		session_attach(&s);
}

static void
on_conn(void *arg, struct conn *c)
{
	ck_assert(arg == &base && c == s.conn);
	note("%s", c != NULL ? "conn" : "no-conn");
}

static void
on_idle(void *arg)
{
	ck_assert_ptr_eq(arg, &base);
	idles++;
}

static void
on_holder(void *arg)
{
	(void)arg;
}

static void
on_written(struct rpc_req *req)
{
	(void)req;
}

static bool
is_helper(void *arg, pid_t pid)
{
	ck_assert_ptr_eq(arg, &base);
	return pid == HELPER;
}

static void
on_helper_exit(void *arg, pid_t pid, int status)
{
	ck_assert_ptr_eq(arg, &base);
	ck_assert_int_eq(pid, HELPER);
	note("helper %d", WEXITSTATUS(status));
}

static bool
is_busy(const void *arg)
{
	ck_assert_ptr_eq(arg, &base);
	return false;
}

static void
on_session_end(void *arg)
{
	ck_assert_ptr_eq(arg, &base);
	note("over");
}

static const struct session_events	 events = {
	.on_message = on_message,
	.on_decided = on_decided,
	.on_conn = on_conn,
	.on_idle = on_idle,
	.on_holder = on_holder,
	.on_written = on_written,
	.on_room = on_holder,
	.is_helper = is_helper,
	.on_helper_exit = on_helper_exit,
	.is_busy = is_busy,
	.on_end = on_session_end
};

static void
on_msg(void *arg, struct ipc_msg *m)
{
	(void)arg;
	(void)m;
	ck_abort_msg("nothing comes from the master");
}

static void
on_master_gone(void *arg)
{
	(void)arg;
	ck_abort_msg("the master is there");
}

static const struct link_events	 link_events = {
	.on_msg = on_msg, .on_gone = on_master_gone
};

/* --- */

static void
setup(void)
{
	static char	 id[] = "own-id", peer[] = "peer-1", run_dir[] = "/run";

	ipc__settings__init(&set);
	set.detached_ttl_ms = 60000;
	set.handshake_ms = 60000;
	set.grace_ms = GRACE;
	set.window = 1 << 20;
	set.spool = 1 << 20;
	set.run_dir = run_dir;
	ipc__assign__init(&assign);
	assign.number = 7;
	assign.session_id = id;
	assign.peer = peer;
	assign.settings = &set;
	attaches = true;
	ck_assert_ptr_nonnull(base = event_base_new());
}

static void
begin(void)
{
	ck_assert_ptr_nonnull(master = link_new(base, -1, "", 0,
	    &link_events, &s));
	session_init(&s, &events, &base, base, WS_FD, PASSED_FD, &assign);
	s.link = master;
	ck_assert_int_eq(s.state, SESSION_NEW);
	ck_assert_str_eq(session_id(&s), "own-id");
	ck_assert_int_eq(last->fd, WS_FD);
	DID("");
}

static void
begin_attached(void)
{
	begin();
	session_begin(&s, "initialize", 10);
	DID(" message initialize client send answer opened");
	ck_assert_int_eq(s.state, SESSION_ATTACHED);
}

/* With a process, which keeps it. */
static void
begin_detached(void)
{
	begin_attached();
	run_process();
	conn_over(s.conn, "reset");
	DID(" lost no-conn detached");
	ck_assert_int_eq(s.state, SESSION_DETACHED);
	conn_gone(last);
}

static void
teardown(void)
{
	if (s.lingering > 0)
		conn_gone(last);
	session_fini(&s);
	ck_assert_uint_eq(nconns, 0);
	link_free(&master);
	event_base_free(base);
}

static void
turn(void)
{
	ck_assert_int_ne(event_base_loop(base, EVLOOP_ONCE), -1);
}

#define WAIT_UNTIL(cond)	while (!(cond)) turn()

static Ipc__Verdict
resume(int fd)
{
	char	 text[] = "resume";

	return session_resume(&s, fd, "peer-2", text, sizeof(text) - 1);
}

/* --- states --- */

static const unsigned	 moves[][2] = {
	{ SESSION_NEW, SESSION_HANDING }, { SESSION_NEW, SESSION_ATTACHED },
	{ SESSION_NEW, SESSION_CLOSING }, { SESSION_HANDING, SESSION_NEW },
	{ SESSION_HANDING, SESSION_ATTACHED },
	{ SESSION_HANDING, SESSION_CLOSING },
	{ SESSION_ATTACHED, SESSION_DETACHED },
	{ SESSION_ATTACHED, SESSION_CLOSING },
	{ SESSION_DETACHED, SESSION_ATTACHED },
	{ SESSION_DETACHED, SESSION_RELEASED },
	{ SESSION_DETACHED, SESSION_CLOSING }
};
#define MOVES	(sizeof(moves) / sizeof(moves[0]))
#define STATES	(SESSION_CLOSING + 1)

static bool
is_move(unsigned from, unsigned to)
{
	size_t	 i;

	for (i = 0; i < MOVES; i++)
		if (moves[i][0] == from && moves[i][1] == to)
			return true;
	return false;
}

START_TEST(test_moves)
{
	begin();
	s.state = (enum session_state)moves[_i][0];
	session_set_state(&s, (enum session_state)moves[_i][1]);
	ck_assert_uint_eq((unsigned)s.state, moves[_i][1]);
}
END_TEST

START_TEST(test_no_moves)
{
	begin();
	s.state = (enum session_state)(_i / STATES);
	session_set_state(&s, (enum session_state)(_i % STATES));
}
END_TEST

/* --- a client comes and goes --- */

START_TEST(test_new)
{
	begin();
	ck_assert(s.conn->is_exact && !s.conn->is_relayed);
	ck_assert(timer_is_set(&s.ttl_ev));
	ck_assert(session_may_hand_over(&s));
	session_begin(&s, "initialize", 10);
	/* The master hears of it when the client has its answer. */
	DID(" message initialize client send answer opened");
	ck_assert(!was_resuming);
	ck_assert_int_eq(s.state, SESSION_ATTACHED);
	ck_assert(!timer_is_set(&s.ttl_ev));
	ck_assert(!s.conn->is_exact);
	ck_assert_uint_eq(s.conn->allowed, LIMIT_HELD_FREE);
	ck_assert_ptr_eq(s.notifier.conn, s.conn);
}
END_TEST

/* One that says nothing, or nothing that is accepted. */
START_TEST(test_no_initialize)
{
	set.handshake_ms = 10;
	attaches = false;
	begin();
	session_begin(&s, "hello", 5);
	DID(" message hello");
	WAIT_UNTIL(s.conn == NULL);
	DID(" close 1008 (no initialize in time) lost no-conn");
	ck_assert_int_eq(s.state, SESSION_NEW);
	conn_gone(last);
	session_run(&s);
	DID("");
}
END_TEST

START_TEST(test_comes_back)
{
	int	 i;

	begin_detached();
	for (i = 0; i < 2; i++) {
		ck_assert(timer_is_set(&s.ttl_ev));
		ck_assert_ptr_null(s.notifier.conn);
		ck_assert_int_eq(resume(PASSED_FD), IPC__VERDICT__TAKEN);
		link_flush(s.link);
		DID(" conn message resume client send answer attached");
		ck_assert(was_resuming && !session_is_resuming(&s));
		ck_assert_int_eq(s.state, SESSION_ATTACHED);
		ck_assert_int_eq(s.conn->fd, PASSED_FD);
		ck_assert_str_eq(s.client.peer, "peer-2");
		ck_assert(!timer_is_set(&s.ttl_ev));
		conn_over(s.conn, "reset");
		conn_gone(last);
		DID(" lost no-conn detached");
	}
	ck_assert_uint_eq(nconns, 0);
}
END_TEST

/* Nothing is left: the master is told, and the worker leaves. */
START_TEST(test_release)
{
	begin_attached();
	conn_over(s.conn, "reset");
	DID(" lost no-conn released");
	ck_assert_int_eq(s.state, SESSION_RELEASED);
	ck_assert(!timer_is_set(&s.ttl_ev));
	conn_gone(last);
	ck_assert(s.done);
	session_run(&s);
	ck_assert_int_eq(resume(PASSED_FD), IPC__VERDICT__RELEASED);
	session_end(&s, "late", 0);
	ck_assert_int_eq(s.state, SESSION_RELEASED);
	DID("");
}
END_TEST

/* Not before the master can have heard it. */
START_TEST(test_release_waits)
{
	begin_attached();
	chan.is_busy = true;
	conn_over(s.conn, "reset");
	DID(" lost no-conn released");
	ck_assert(!s.done);
	attaches = false;
	session_begin(&s, "turn", 4);
	ck_assert(!s.done);
	chan.is_busy = false;
	session_begin(&s, "turn", 4);
	ck_assert(s.done);
}
END_TEST

/* The last process is forgotten; what it left behind keeps the session. */
START_TEST(test_release_later)
{
	begin_detached();
	forget_process();
	ck_assert_int_eq(s.state, SESSION_DETACHED);
	DID("");
	alive = 0;
	session_maybe_release(&s);
	ck_assert_int_eq(s.state, SESSION_RELEASED);
	DID(" released");
}
END_TEST

START_TEST(test_expires)
{
	set.detached_ttl_ms = 20;
	begin_detached();
	alive = 0;
	WAIT_UNTIL(s.state == SESSION_CLOSING);
	ck_assert_int_eq(resume(PASSED_FD), IPC__VERDICT__UNKNOWN);
	session_run(&s);
	DID(" holders TERM CONT load transcripts over ended");
	ck_assert_int_eq(ended_reason, IPC__END_REASON__EXPIRED);
	ck_assert_str_eq(ended_why, "expired: nobody resumed it");
}
END_TEST

/* As long as the client wants, within what the settings allow. */
START_TEST(test_retain)
{
	static const struct {
		uint64_t	 max, wish, want;
	} rows[] = {
		{ 90000, 0, 60000 }, { 90000, 80000, 80000 },
		{ 90000, 100000, 90000 }, { 90000, 1000, 1000 },
		{ 0, 80000, 60000 }, { 0, 0, 60000 },
		{ 30000, 50000, 50000 }, { 30000, 80000, 60000 }
	};
	struct timeval	 due, now;
	int64_t		 ms;

	set.detached_ttl_max_ms = rows[_i].max;
	begin_attached();
	run_process();
	ck_assert_uint_eq(session_retain(&s, rows[_i].wish), rows[_i].want);
	conn_over(s.conn, "reset");
	ck_assert(event_pending(&s.ttl_ev.ev, EV_TIMEOUT, &due));
	evutil_gettimeofday(&now, NULL);
	evutil_timersub(&due, &now, &due);
	ms = (int64_t)due.tv_sec * 1000 + due.tv_usec / 1000;
	ck_assert_int_le(ms, (int64_t)rows[_i].want + 5);
	ck_assert_int_gt(ms, (int64_t)rows[_i].want - 900);
}
END_TEST

/* On stdio nobody can come back. */
START_TEST(test_stdio)
{
	assign.transport = IPC__TRANSPORT__STDIO;
	begin();
	ck_assert(!session_may_hand_over(&s));
	ck_assert(!timer_is_set(&s.ttl_ev));
	session_begin(&s, "initialize", 10);
	run_process();
	did[0] = '\0';
	conn_over(s.conn, "end of input");
	ck_assert_int_eq(s.state, SESSION_CLOSING);
	WAIT_UNTIL(s.done);
	DID(" lost no-conn holders KILL CONT transcripts over ended");
	ck_assert_str_eq(ended_why, "end of input");
}
END_TEST

/* By way of an uplink, which is remembered for those that follow. */
START_TEST(test_relayed)
{
	assign.transport = IPC__TRANSPORT__STREAM;
	set.remote_retain = 12345;
	begin();
	ck_assert(s.conn->is_relayed);
	ck_assert_uint_eq(s.window.retain, 12345);
	session_begin(&s, "initialize", 10);
	run_process();
	conn_over(s.conn, "reset");
	conn_gone(last);
	ck_assert_int_eq(resume(PASSED_FD), IPC__VERDICT__TAKEN);
	ck_assert(s.conn->is_relayed);
}
END_TEST

/* --- who is refused --- */

START_TEST(test_refuses)
{
	static const char	*const why[] = {
		NULL, "too many sessions", "the server is draining"
	};
	int	 i;

	assign.full = _i > 0;
	assign.draining = _i > 1;
	begin();
	for (i = 0; i < 3; i++) {
		if (why[_i] == NULL)
			ck_assert_ptr_null(session_refuses(&s));
		else
			ck_assert_str_eq(session_refuses(&s), why[_i]);
	}
	DID(_i > 0 ? " turned_away" : "");
}
END_TEST

START_TEST(test_resume_attached)
{
	struct conn	*c;

	begin_attached();
	c = s.conn;
	ck_assert_int_eq(resume(PASSED_FD), IPC__VERDICT__ATTACHED);
	DID(" probe");
	ck_assert(s.conn == c && nconns == 1);
	ck_assert_str_eq(s.client.peer, "peer-1");
}
END_TEST

/* No session yet, or no more. */
START_TEST(test_resume_unknown)
{
	static const enum session_state	 from[] = {
		SESSION_NEW, SESSION_HANDING, SESSION_CLOSING
	};

	begin();
	s.state = from[_i];
	ck_assert_int_eq(resume(PASSED_FD), IPC__VERDICT__UNKNOWN);
	ck_assert_uint_eq(nconns, 1);
	DID("");
}
END_TEST

/*
 * A first message that attaches nobody ends its connection: the session stays
 * free for the next one, as long as it was.
 */
START_TEST(test_resume_in_vain)
{
	int	 i;

	begin_detached();
	attaches = false;
	for (i = 0; i < 2; i++) {
		ck_assert_int_eq(resume(PASSED_FD), IPC__VERDICT__TAKEN);
		DID(" conn message resume close 1002 (no initialize) lost "
		    "no-conn");
		conn_gone(last);
		ck_assert_int_eq(s.state, SESSION_DETACHED);
		ck_assert(timer_is_set(&s.ttl_ev));
		ck_assert_uint_eq(nconns, 0);
	}
	attaches = true;
	ck_assert_int_eq(resume(PASSED_FD), IPC__VERDICT__TAKEN);
	ck_assert_int_eq(s.state, SESSION_ATTACHED);
}
END_TEST

/* For want of a descriptor or of memory: the client tries again. */
START_TEST(test_resume_fails)
{
	begin_detached();
	conn_fails = true;
	ck_assert_int_eq(resume(_i == 0 ? -1 : PASSED_FD),
	    IPC__VERDICT__ATTACHED);
	ck_assert_int_eq(s.state, SESSION_DETACHED);
	ck_assert_str_eq(s.client.peer, "peer-1");
	ck_assert(timer_is_set(&s.ttl_ev));
	DID("");
}
END_TEST

/* --- the session of another worker --- */

static void
hand_over(void)
{
	attaches = false;
	begin();
	session_hand_over(&s, REQ, "their-id", "raw", 3);
	DID(" handover their-id raw");
	ck_assert_int_eq(s.state, SESSION_HANDING);
	ck_assert(s.conn->is_paused);
}

START_TEST(test_taken)
{
	hand_over();
	session_decided(&s, IPC__VERDICT__TAKEN, "x", 9, 0);
	DID(" abandon lost no-conn");
	ck_assert(s.done);
	ck_assert_str_eq(session_id(&s), "own-id");
}
END_TEST

START_TEST(test_yours)
{
	hand_over();
	session_decided(&s, IPC__VERDICT__YOURS, "their-id", 9, 0);
	link_flush(s.link);
	DID(" decided client opened");
	ck_assert(was_resuming && !session_is_resuming(&s));
	ck_assert_int_eq(s.state, SESSION_ATTACHED);
	ck_assert_str_eq(session_id(&s), "their-id");
	ck_assert_uint_eq(s.env.number, 9);
	ck_assert(!s.conn->is_paused);
}
END_TEST

/* One that owns nothing: the master has to know, and a later worker. */
START_TEST(test_retain_nothing)
{
	set.detached_ttl_max_ms = 90000;
	if (_i == 0) {
		begin_attached();
		ck_assert_uint_eq(session_retain(&s, 80000), 80000);
	} else {
		hand_over();
		session_decided(&s, IPC__VERDICT__YOURS, "x", 9, 80000);
	}
	conn_over(s.conn, "reset");
	ck_assert_int_eq(s.state, SESSION_RELEASED);
	ck_assert_uint_eq(released_retain, 80000);
}
END_TEST

/* The client may ask for another, on the same connection. */
START_TEST(test_denied)
{
	static const Ipc__Verdict	 rows[] = {
		IPC__VERDICT__ATTACHED, IPC__VERDICT__UNKNOWN,
		IPC__VERDICT__RELEASED
	};
	int	 i;

	hand_over();
	for (i = 0; i < 2; i++) {
		session_decided(&s, rows[_i], "x", 9, 0);
		DID(" decided");
		ck_assert(!was_resuming);
		ck_assert_int_eq(s.state, SESSION_NEW);
		ck_assert_str_eq(session_id(&s), "own-id");
		ck_assert_uint_eq(s.env.number, 7);
		ck_assert(!s.conn->is_paused);
		session_hand_over(&s, REQ, "their-id", "again", 5);
		DID(" handover their-id again");
		ck_assert(s.conn->is_paused);
	}
}
END_TEST

/* The answer ends the connection. */
START_TEST(test_denied_for_good)
{
	hand_over();
	answer_ends = true;
	session_decided(&s, IPC__VERDICT__UNKNOWN, "x", 9, 0);
	DID(" decided close 1000 (enough) lost no-conn");
	ck_assert_int_eq(s.state, SESSION_NEW);
}
END_TEST

/* A verdict for a client that has left, and one that was not asked for. */
START_TEST(test_verdict_late)
{
	hand_over();
	session_forget_handing(&s);
	conn_over(s.conn, "reset");
	DID(" lost no-conn");
	session_decided(&s, IPC__VERDICT__YOURS, "their-id", 9, 0);
	ck_assert_int_eq(s.state, SESSION_NEW);
	ck_assert_str_eq(session_id(&s), "own-id");
	session_decided(&s, IPC__VERDICT__TAKEN, "x", 9, 0);
	ck_assert(!s.done);
	DID("");
}
END_TEST

/* No verdict comes: the connection may be another's, which hears no word. */
START_TEST(test_no_verdict)
{
	set.handshake_ms = 10;
	hand_over();
	WAIT_UNTIL(s.conn == NULL);
	DID(" abandon lost no-conn");
}
END_TEST

/* --- receipts --- */

/* Of output on its way. */
static struct retain	 retain;

static void
put_out(size_t len)
{
	struct chunk	*c = chunk_new(len);

	ck_assert_ptr_nonnull(c);
	c->len = (uint32_t)len;
	retain_add(&retain, c, STREAM_STDOUT);
	s.conn->pos += len;
	window_sent(&s.window, c, s.conn->pos);
}

START_TEST(test_receipts_asked)
{
	begin_attached();
	retain_init(&retain, &s.window);
	put_out((1 << 20) / 8 - 1000);
	session_flush(&s);
	DID("");
	put_out(1000);
	session_flush(&s);
	DID(" ask");
	session_flush(&s);
	DID("");
	s.conn->events->on_receipt(&s, s.conn->pos - 1);
	ck_assert_uint_gt(s.window.sent_cost, 0);
	ck_assert_uint_lt(s.window.sent_cost, 2000);
	s.conn->events->on_receipt(&s, s.conn->pos);
	ck_assert_uint_eq(s.window.sent_cost, 0);
	retain_fini(&retain);
}
END_TEST

/* Memory is given back some time after the last message, or pong. */
START_TEST(test_idle)
{
	begin_attached();
	s.conn->events->on_receipt(&s, s.conn->pos);
	ck_assert_uint_eq(idles, 0);
	WAIT_UNTIL(idles == 1);
	ck_assert(!timer_is_set(&s.idle_ev));
	s.conn->events->on_receipt(&s, s.conn->pos);
	WAIT_UNTIL(idles == 2);
}
END_TEST

/* Bytes count from the answer to initialize; then pongs do not any more. */
START_TEST(test_received)
{
	begin();
	s.conn->pos = 500;
	session_begin(&s, "initialize", 10);
	did[0] = '\0';
	retain_init(&retain, &s.window);
	put_out(1 << 20);
	put_out(1000);
	/* With the answer: 6 bytes. */
	ck_assert_int_eq(session_received(&s, (1 << 20) + 1007), -1);
	ck_assert(!s.receipts.by_client);
	ck_assert_int_eq(session_received(&s, (1 << 20) + 6), 0);
	ck_assert_uint_lt(s.window.sent_cost, 2000);
	session_flush(&s);
	DID("");
	s.conn->events->on_receipt(&s, s.conn->pos);
	ck_assert_uint_gt(s.window.sent_cost, 0);
	ck_assert_int_eq(session_received(&s, (1 << 20) + 1006), 0);
	ck_assert_uint_eq(s.window.sent_cost, 0);
	/* The next connection begins anew. */
	run_process();
	conn_over(s.conn, "reset");
	conn_gone(last);
	ck_assert(!s.receipts.by_client);
	retain_fini(&retain);
}
END_TEST

START_TEST(test_has_room)
{
	set.window = LIMIT_RECEIPT;
	begin_attached();
	retain_init(&retain, &s.window);
	ck_assert(session_has_room(&s));
	s.conn->behind = LIMIT_OUT_CHILDREN;
	ck_assert(!session_has_room(&s));
	s.conn->behind = 0;
	put_out(LIMIT_RECEIPT);
	ck_assert(!session_has_room(&s));
	/* Who acknowledges by himself does it now and then. */
	session_set_delivery(&s, true, false);
	ck_assert(session_has_room(&s));
	put_out(3 * (size_t)LIMIT_RECEIPT);
	ck_assert(!session_has_room(&s));
	retain_fini(&retain);
}
END_TEST

/* One that reads what it missed gets nothing new before; not for ever. */
START_TEST(test_holds)
{
	begin();
	session_set_delivery(&s, false, true);
	session_begin(&s, "initialize", 10);
	DID(" message initialize client holds send answer opened");
	ck_assert(timer_is_set(&s.hold_ev));
	timer_set(&s.hold_ev, 0);
	turn();
	DID(" release");
}
END_TEST

/* --- the end --- */

#define ENDING(why)							\
	" send {\"method\":\"session/ending\","				\
	"\"params\":{\"reason\":\"" why "\"}}"

/* Who ends in time is not killed. */
START_TEST(test_end_with_grace)
{
	begin_attached();
	run_process();
	session_end(&s, "stop", 60000);
	DID(" holders TERM CONT" ENDING("stop"));
	ck_assert(session_is_closing(&s));
	ck_assert_uint_eq(npasses, 0);
	turn();
	ck_assert_uint_eq(npasses, 0);
	session_end(&s, "again", 0);
	DID("");
	alive = 0;
	proc.state = PROC_CLOSED;
	WAIT_UNTIL(s.done);
	ck_assert_uint_eq(npasses, 3);
	DID(" close 1001 (stop) lost no-conn transcripts over ended");
	ck_assert_str_eq(ended_why, "stop");
	ck_assert_int_ne(ended_reason, IPC__END_REASON__EXPIRED);
	conn_gone(last);
}
END_TEST

/* The others are, when it is over. */
START_TEST(test_end_of_grace)
{
	begin_detached();
	session_end(&s, "stop", GRACE);
	DID(" holders TERM CONT");
	ck_assert_uint_eq(npasses, 0);
	WAIT_UNTIL(npasses > 0);
	ck_assert_uint_gt(alive, 0);
	WAIT_UNTIL(s.done);
	ck_assert_uint_eq(npasses, 3);
	DID(" transcripts over ended");
}
END_TEST

START_TEST(test_end_at_once)
{
	begin_detached();
	session_end(&s, "now", 0);
	DID(" holders KILL CONT");
	ck_assert_uint_eq(npasses, 1);
	WAIT_UNTIL(s.done);
	DID(" transcripts over ended");
}
END_TEST

/* Who wants it himself hears no more. */
START_TEST(test_close)
{
	begin_attached();
	run_process();
	alive = 0;
	session_close(&s);
	DID(" holders TERM CONT close 1000 (closed by its client) lost "
	    "no-conn");
	ck_assert_int_eq(s.state, SESSION_CLOSING);
	WAIT_UNTIL(s.done);
	DID(" transcripts over ended");
	conn_gone(last);
}
END_TEST

/* It waits for the last words, but not for long. */
START_TEST(test_last_words)
{
	begin_attached();
	run_process();
	alive = 0;
	session_end(&s, "stop", 0);
	did[0] = '\0';
	WAIT_UNTIL(npasses > 10);
	ck_assert(!s.done);
	DID("");
	if (_i == 0)
		proc.state = PROC_CLOSED;
	WAIT_UNTIL(s.done);
	ck_assert_uint_lt(clock_ms(), s.kill.deadline + LIMIT_KILL);
	ck_assert_uint_eq(proc.state, _i == 0 ? PROC_CLOSED : PROC_RUNNING);
	DID(" close 1001 (stop) lost no-conn transcripts over ended");
	conn_gone(last);
}
END_TEST

/* Three passes in a row that find nobody. */
START_TEST(test_passes)
{
	begin_detached();
	survives = 0x5;
	session_end(&s, "now", 0);
	WAIT_UNTIL(s.done);
	ck_assert_uint_eq(npasses, 6);
	ck_assert_uint_eq(suspected, 0);
}
END_TEST

/* An orphan in one of them is a sign of others in the next. */
START_TEST(test_orphans)
{
	begin_detached();
	zombie = STRANGER;
	session_end(&s, "now", 0);
	DID(" holders KILL CONT orphan");
	WAIT_UNTIL(s.done);
	ck_assert_uint_eq(suspected, 0x2);
}
END_TEST

/* There was no session. */
START_TEST(test_end_of_none)
{
	begin();
	s.state = _i == 0 ? SESSION_NEW : SESSION_HANDING;
	session_end(&s, "stop", 0);
	DID("");
	ck_assert(s.done && !session_is_closing(&s));
}
END_TEST

/* --- children, and small things --- */

START_TEST(test_reap)
{
	begin_attached();
	run_process();
	zombie = PID;
	session_reap(&s);
	DID(" exit 3");
	zombie = HELPER;
	session_reap(&s);
	DID(" helper 3");
	ck_assert_uint_eq(s.kill.orphans, 0);
	zombie = STRANGER;
	session_reap(&s);
	DID(" orphan");
	ck_assert_uint_eq(s.kill.orphans, 1);
}
END_TEST

/* Nothing tells of a child: it is found all the same. */
START_TEST(test_lost_signal)
{
	begin_attached();
	run_process();
	session_schedule_reap(&s);
	zombie = PID;
	WAIT_UNTIL(zombie == 0);
	DID(" exit 3");
	/* It has looked once more, and nothing runs. */
	ck_assert(!timer_is_set(&s.reap_ev));
}
END_TEST

START_TEST(test_load)
{
	begin_attached();
	attaches = false;
	run_process();
	session_begin(&s, "turn", 4);
	DID(" message turn load");
	s.procs.running = 0;
	session_begin(&s, "turn", 4);
	DID(" message turn");
	timer_stop(&s.load.ev);
	session_begin(&s, "turn", 4);
	DID(" message turn load");
}
END_TEST

START_TEST(test_client_name)
{
	char	 name[SESSION_CLIENT_MAX + 10];

	begin();
	session_set_client(&s, "a\nb\x7f\xc3", 5);
	ck_assert_str_eq(s.client.name, "a?b??");
	memset(name, 'x', sizeof(name));
	session_set_client(&s, name, sizeof(name));
	ck_assert_uint_eq(strlen(s.client.name), SESSION_CLIENT_MAX);
}
END_TEST

int
main(void)
{
	Suite	*suite = suite_create("session");
	TCase	*t = tcase_create("session");
	SRunner	*r;
	int	 failed, i;

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_loop_test(t, test_moves, 0, (int)MOVES);
	for (i = 0; i < STATES * STATES; i++)
		if (!is_move((unsigned)i / STATES, (unsigned)i % STATES))
			tcase_add_loop_test_raise_signal(t, test_no_moves,
			    SIGABRT, i, i + 1);
	tcase_add_test(t, test_new);
	tcase_add_test(t, test_no_initialize);
	tcase_add_test(t, test_comes_back);
	tcase_add_test(t, test_release);
	tcase_add_test(t, test_release_waits);
	tcase_add_test(t, test_release_later);
	tcase_add_test(t, test_expires);
	tcase_add_loop_test(t, test_retain, 0, 8);
	tcase_add_loop_test(t, test_retain_nothing, 0, 2);
	tcase_add_test(t, test_stdio);
	tcase_add_test(t, test_relayed);
	tcase_add_loop_test(t, test_refuses, 0, 3);
	tcase_add_test(t, test_resume_attached);
	tcase_add_loop_test(t, test_resume_unknown, 0, 3);
	tcase_add_test(t, test_resume_in_vain);
	tcase_add_loop_test(t, test_resume_fails, 0, 2);
	tcase_add_test(t, test_taken);
	tcase_add_test(t, test_yours);
	tcase_add_loop_test(t, test_denied, 0, 3);
	tcase_add_test(t, test_denied_for_good);
	tcase_add_test(t, test_verdict_late);
	tcase_add_test(t, test_no_verdict);
	tcase_add_test(t, test_receipts_asked);
	tcase_add_test(t, test_idle);
	tcase_add_test(t, test_received);
	tcase_add_test(t, test_has_room);
	tcase_add_test(t, test_holds);
	tcase_add_test(t, test_end_with_grace);
	tcase_add_test(t, test_end_of_grace);
	tcase_add_test(t, test_end_at_once);
	tcase_add_test(t, test_close);
	tcase_add_loop_test(t, test_last_words, 0, 2);
	tcase_add_test(t, test_passes);
	tcase_add_test(t, test_orphans);
	tcase_add_loop_test(t, test_end_of_none, 0, 2);
	tcase_add_test(t, test_reap);
	tcase_add_test(t, test_lost_signal);
	tcase_add_test(t, test_load);
	tcase_add_test(t, test_client_name);
	suite_add_tcase(suite, t);
	r = srunner_create(suite);
	srunner_run_all(r, CK_ENV);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed != 0;
}
