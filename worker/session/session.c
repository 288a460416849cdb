#include "worker/session/session.h"
#include "worker/session/session_priv.h"

#include <sys/wait.h>

#include <assert.h>
#include <errno.h>
#include <malloc.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/ev.h"
#include "common/fd.h"
#include "common/json/utf8.h"
#include "common/limit.h"
#include "common/linux/ptree.h"
#include "common/linux/slice.h"
#include "common/log.h"
#include "common/process/sigfd.h"
#include "worker/conn/conn.h"
#include "worker/os/idlemem.h"
#include "worker/os/proctitle.h"
#include "worker/sandbox/holder.h"
#include "worker/session/exec_audit.h"
#include "worker/session/link.h"
#include "worker/session/transcript.h"

/*
 * Request a receipt each time this part of the window was sent.  Several are in
 * flight: with a single one, a slow client would leave up to a whole window
 * queued, and a closed process would have to keep more than LIMIT_RETAINED.
 */
#define RECEIPT_PARTS	8

#define REAP_MS		1000	/* between checks for exited children */

static const struct {
	const char	*name;
	unsigned	 next;		/* bits of the states that may follow */
} states[] = {
#define TO(state)	(1u << SESSION_##state)
	[SESSION_NEW] = { "new", TO(HANDING) | TO(ATTACHED) | TO(CLOSING) },
	[SESSION_HANDING] = { "handing", TO(NEW) | TO(ATTACHED) |
	    TO(CLOSING) },
	[SESSION_ATTACHED] = { "attached", TO(DETACHED) | TO(CLOSING) },
	[SESSION_DETACHED] = { "detached", TO(ATTACHED) | TO(RELEASED) |
	    TO(CLOSING) },
	[SESSION_RELEASED] = { "released", 0 },
	[SESSION_CLOSING] = { "closing", 0 },
#undef TO
};

static void	 session_on_message(void *, char *, size_t, bool);
static void	 on_receipt(void *, uint64_t);
static void	 on_hungry(void *, size_t);
static void	 on_conn_end(void *, const char *);
static void	 on_conn_gone(void *, struct conn *);

static const struct conn_events conn_events = {
	session_on_message, on_receipt, on_hungry, on_conn_end, on_conn_gone
};

void
session_set_state(struct session *s, enum session_state to)
{
	assert((states[s->state].next & (1u << to)) != 0);
	log_debug("%s -> %s", states[s->state].name, states[to].name);
	s->state = to;
}

/* --- output: flow control --- */

bool
session_has_room(const struct session *s)
{
	uint64_t	 window = s->env.set.window;

	if (s->conn == NULL)
		return overflow_has_room(&s->overflow);
	if (window_is_stuck(&s->window))
		return false;
	if (s->receipts.by_client && window < 4 * LIMIT_RECEIPT)
		window = 4 * LIMIT_RECEIPT;
	return s->window.sent_cost < window && !window_is_full(&s->window) &&
	    conn_has_room(s->conn);
}

static bool
session_has_window_room(const void *arg)
{
	return session_has_room(arg);
}

/* Whether more output of a process may be read. */
static bool
may_read(void *arg, const struct proc *p)
{
	struct session	*s = arg;

	if (!window_has_memory(&s->window, LIMIT_READ_CHUNK) &&
	    budget_output(&s->budget))
		return false;
	if (s->conn == NULL)
		return overflow_make_room(&s->overflow);
	/* A client that has resumed may never read what it missed. */
	return !p->is_held && session_has_room(s) &&
	    p->retain.unread_cost < s->env.set.spool + LIMIT_UNREAD;
}

static size_t
read_size(void *arg)
{
	const struct session	*s = arg;

	return s->conn == NULL ? LIMIT_READ_CHUNK :
	    conn_piece(s->conn, LIMIT_READ_CHUNK);
}

/* Check again whether held-back output can continue. */
static void
session_unhold(struct session *s)
{
	s->events->on_room(s->arg);
	if (session_has_room(s))
		procs_unhold(&s->procs);
}

/* Something came of the client, if only a pong. */
static void
session_used(struct session *s)
{
	s->is_used = true;
	timer_ensure(&s->idle_ev, LIMIT_IDLE);
}

static void
on_receipt(void *arg, uint64_t pos)
{
	struct session	*s = arg;

	session_used(s);
	/* A pong may come from a relay: ignored if the client acknowledges. */
	if (!s->receipts.by_client)
		window_relay(&s->window, pos, clock_ms());
}

static void
on_hungry(void *arg, size_t want)
{
	struct session	*s = arg;

	budget_message(&s->budget, want);
}

static int
ask_memory(void *arg, uint64_t output, uint64_t message)
{
	struct session	*s = arg;

	return link_ask_memory(s->link, output, message);
}

static void
allow_message(void *arg, size_t bytes)
{
	struct session	*s = arg;

	if (s->conn != NULL && s->state != SESSION_NEW)
		conn_allow(s->conn, bytes);
}

static size_t
unfinished(const void *arg)
{
	const struct session	*s = arg;

	return s->conn != NULL ? conn_unfinished(s->conn) : 0;
}

static const struct budget_events	 budget_events = {
	ask_memory, allow_message, unfinished
};

int
session_received(struct session *s, uint64_t bytes)
{
	if (bytes > conn_pos(s->conn) - s->receipts.base)
		return -1;
	s->receipts.by_client = true;
	window_ack(&s->window, s->receipts.base + bytes);
	return 0;
}

static void
ask_receipt(struct session *s)
{
	uint64_t	 part = s->env.set.window / RECEIPT_PARTS;

	if (s->conn == NULL || s->receipts.by_client ||
	    s->window.sent_total - s->receipts.asked < part)
		return;
	s->receipts.asked = s->window.sent_total;
	conn_ask_receipt(s->conn);
}

/* --- the connection --- */

static void
session_on_message(void *arg, char *text, size_t len, bool is_utf8)
{
	struct session	*s = arg;
	unsigned	 ms = ratelimit_take(&s->bucket, clock_ms());

	s->messages++;
	busypoll_request(&s->busypoll, clock_us());
	session_used(s);
	/* Rate limit exceeded: handle this message, then pause reading. */
	if (ms > 0 && s->conn != NULL)
		conn_slow(s->conn, ms);
	s->events->on_message(s->arg, text, len, is_utf8);
}

static void
detach(struct session *s, const char *why)
{
	assert(s->state == SESSION_ATTACHED && s->conn == NULL);
	link_flush(s->link);
	session_set_state(s, SESSION_DETACHED);
	/* One line for both if it ends at once. */
	s->end.detached = why;
	session_maybe_release(s);
	s->end.detached = NULL;
	if (s->state != SESSION_DETACHED)
		return;
	log_info("detached: %s", why);
	link_detached(s->link);
	window_lost(&s->window);
	/* Without a master nobody can resume it. */
	timer_set(&s->ttl_ev, link_is_gone(s->link) ? 0 :
	    s->retain_ms != 0 ? s->retain_ms : s->env.set.detached_ttl_ms);
	session_unhold(s);
	malloc_trim(0);
}

static void
on_conn_end(void *arg, const char *why)
{
	struct session	*s = arg;

	assert(s->conn != NULL);
	s->conn = NULL;
	notifier_set_conn(&s->notifier, NULL);
	procs_on_client_lost(&s->procs);
	s->receipts.by_client = false;
	budget_on_conn_end(&s->budget);
	s->lingering++;
	s->events->on_conn(s->arg, NULL);
	if ((s->client.is_stdio || s->client.operates) &&
	    s->state != SESSION_CLOSING)
		session_end(s, why, 0);
	else if (s->state == SESSION_ATTACHED)
		detach(s, why);
	/* Else no session began: session_run() returns when lingering is 0. */
}

static void
on_conn_gone(void *arg, struct conn *c)
{
	struct session	*s = arg;

	assert(s->lingering > 0 && c != s->conn);
	s->lingering--;
	conn_free(&c);
}

/* Once after what came last, and no sooner than LIMIT_IDLE after it. */
static void
session_on_idle(void *arg)
{
	struct session	*s = arg;

	if (s->is_used) {
		s->is_used = false;
		timer_set(&s->idle_ev, LIMIT_IDLE);
		return;
	}
	s->events->on_idle(s->arg);
	if (s->conn != NULL)
		conn_trim(s->conn);
	idlemem_give_back();
}

static void
on_hold(void *arg)
{
	struct session	*s = arg;

	procs_release_unread(&s->procs);
}

void
session_set_client(struct session *s, const char *name, size_t len)
{
	size_t	 i;

	if (len > SESSION_CLIENT_MAX)
		len = SESSION_CLIENT_MAX;
	for (i = 0; i < len; i++)
		s->client.name[i] = name[i] >= ' ' && name[i] < 0x7f ?
		    name[i] : '?';
	s->client.name[len] = '\0';
}

const char *
session_refuses(struct session *s)
{
	if (s->refusal != NULL && !s->was_refused) {
		link_turned_away(s->link);
		s->was_refused = true;
	}
	return s->refusal;
}

void
session_set_operates(struct session *s)
{
	s->client.operates = true;
	link_set_operator(s->link);
}

bool
session_operates(const struct session *s)
{
	return s->client.operates;
}

void
session_set_delivery(struct session *s, bool has_receipts, bool holds)
{
	s->receipts.by_client = has_receipts;
	s->holds = holds;
}

const char *
session_id(const struct session *s)
{
	return s->id;
}

bool
session_is_resuming(const struct session *s)
{
	return s->resuming;
}

bool
session_is_closing(const struct session *s)
{
	return s->state == SESSION_CLOSING;
}

bool
session_is_new(const struct session *s)
{
	return s->state == SESSION_NEW || s->state == SESSION_HANDING;
}

bool
session_may_hand_over(const struct session *s)
{
	return !s->client.is_stdio;
}

void
session_hand_over(struct session *s, struct rpc_req *req, const char *id,
    const char *message, size_t len)
{
	assert(s->handing == NULL && s->conn != NULL);
	s->handing = req;
	session_set_state(s, SESSION_HANDING);
	conn_pause(s->conn, true);
	link_handover(s->link, id, message, len, conn_fd(s->conn));
}

void
session_forget_handing(struct session *s)
{
	s->handing = NULL;
}

void
session_add_process(struct session *s, struct proc *p, const struct spawn *sp)
{
	assert(p->state == PROC_RUNNING && p->pid > 0);
	exec_audit_start(s->link, &s->env.set, p->pid, p->sandboxed, sp);
	transcript_start(&s->transcripts, &s->env, s->link,
	    s->transcripts_before, p, sp);
	if (notify_add(&s->notifier, p) == -1)
		fatal("notifications of a process");
	session_schedule_reap(s);
}

void
session_expect_request(struct session *s)
{
	busypoll_request(&s->busypoll, clock_us());
}

void
session_attach(struct session *s)
{
	bool	 is_new = s->state != SESSION_DETACHED;

	assert(s->conn != NULL);
	timer_stop(&s->ttl_ev);
	s->receipts.base = conn_pos(s->conn);
	session_set_state(s, SESSION_ATTACHED);
	if (is_new)
		lifetime_start(&s->lifetime, s->env.set.max_session_ms,
		    s->env.set.idle_ms);
	conn_set_exact(s->conn, false);
	conn_allow(s->conn, LIMIT_HELD_FREE + s->budget.message);
	/* Tell the master after the client has its answer. */
	link_client(s->link, s->client.name);
	link_soon(s->link, is_new ? link_opened : link_attached);
	if (is_new && !s->resuming)
		log_info_with((struct log_member[]){
		    { "event", "session-started", 0 },
		    { "uid", NULL, geteuid() },
		    { "peer", s->client.peer, 0 },
		    { "client", s->client.name, 0 }, { NULL, NULL, 0 } },
		    "started: uid %lu, from %s, client \"%s\"",
		    (unsigned long)geteuid(), s->client.peer,
		    s->client.name);
	else
		log_info("resumed: from %s", s->client.peer);
	/*
	 * Send held-back output to the new connection.  Until the client has
	 * read what it missed, keep also what is sent and acknowledged
	 * meanwhile, or that answer would have a gap.
	 */
	overflow_end(&s->overflow);
	notifier_set_conn(&s->notifier, s->conn);
	procs_on_client(&s->procs, s->holds);
	if (s->holds)
		timer_set(&s->hold_ev, LIMIT_HOLD);
}

Ipc__Verdict
session_resume(struct session *s, int fd, const char *peer, char *message,
    size_t len)
{
	if (s->state == SESSION_ATTACHED) {
		conn_probe(s->conn, LIMIT_TAKEOVER);
		return IPC__VERDICT__ATTACHED;
	}
	if (s->state == SESSION_RELEASED)
		return IPC__VERDICT__RELEASED;
	if (s->state != SESSION_DETACHED)
		return IPC__VERDICT__UNKNOWN;
	/* For example no descriptor or memory: the client tries again. */
	if (fd == -1 || (s->conn = conn_ws_new(s->env.base, fd, &conn_events,
	    s)) == NULL)
		return IPC__VERDICT__ATTACHED;
	if (s->client.is_relayed)
		conn_set_relayed(s->conn);
	s->events->on_conn(s->arg, s->conn);
	snprintf(s->client.peer, sizeof(s->client.peer), "%s", peer);
	s->resuming = true;
	s->events->on_message(s->arg, message, len, true);
	s->resuming = false;
	/* No initialize after all, or no memory to read it. */
	if (s->state == SESSION_DETACHED && s->conn != NULL)
		conn_close(s->conn, 1002, "no initialize");
	return IPC__VERDICT__TAKEN;
}

void
session_decided(struct session *s, Ipc__Verdict v, const char *id,
    unsigned number, uint64_t retain_ms)
{
	struct rpc_req	*req = s->handing;

	if (s->state != SESSION_HANDING)
		return;
	if (v == IPC__VERDICT__TAKEN) {
		/* Another worker serves the client: send nothing. */
		if (s->conn != NULL)
			conn_abandon(s->conn);
		s->done = true;
		return;
	}
	session_set_state(s, SESSION_NEW);
	if (req == NULL || s->conn == NULL)
		return;			/* the client left meanwhile */
	s->handing = NULL;
	if (v == IPC__VERDICT__YOURS) {
		snprintf(s->id, sizeof(s->id), "%s", id);
		s->env.number = number;
		s->retain_ms = retain_ms;
		log_set_session(number);
		proctitle_session(geteuid(), number);
	}
	s->resuming = v == IPC__VERDICT__YOURS;
	s->events->on_decided(s->arg, req, v);
	s->resuming = false;
	if (s->conn != NULL)		/* the answer may have ended it */
		conn_pause(s->conn, false);
}

/* --- children --- */

/*
 * A SIGCHLD may get lost: the pipe that wakes us, or a failed waitid(2).
 *
 * Reap by wait4(2) and not by a pidfd for each process: the worker is a
 * subreaper, so that it must reap orphans anyway, and a single way to reap
 * cannot lose a status to another.
 */
void
session_schedule_reap(struct session *s)
{
	if (s->procs.running > 0)
		timer_ensure(&s->reap_ev, REAP_MS);
}

static void
session_reap_some(struct session *s, unsigned max)
{
	struct rusage	 ru;
	struct proc	*p;
	pid_t		 pid;
	int		 status;
	bool		 is_helper;

	while (max-- > 0) {
		/* Peek first: the mark tells whose orphan it is. */
		if ((pid = ptree_peek()) == 0) {
			session_schedule_reap(s);
			return;
		}
		if (pid == -1)
			continue;
		p = procs_find_pid(&s->procs, pid);
		is_helper = p == NULL && s->events->is_helper(s->arg, pid);
		if (p == NULL && !is_helper) {
			session_kill_on_orphan(&s->kill);
			procs_on_orphan(&s->procs, ptree_mark_of(pid));
		}
		if (wait4(pid, &status, WNOHANG, &ru) != pid)
			continue;
		if (p != NULL) {
			exec_audit_end(s->link, &s->env.set, pid, status,
			    clock_ms() - p->started_at, &ru);
			proc_on_exit(p, status);
		}
		else if (is_helper)
			s->events->on_helper_exit(s->arg, pid, status);
	}
	timer_set(&s->reap_ev, 0);
}

/* Reap more at once: a kill pass visits every zombie. */
void
session_reap(void *arg)
{
	session_reap_some(arg, LIMIT_REAPED * 8);
}

static void
session_on_reap(void *arg)
{
	struct session	*s = arg;

	session_reap_some(arg, LIMIT_REAPED);
	window_look_again(&s->window);
}

static void
on_child(void *arg, int sig, pid_t from)
{
	struct session	*s = arg;

	(void)sig;
	(void)from;
	timer_set(&s->reap_ev, 0);
}

/* --- time --- */

uint64_t
session_retain(struct session *s, uint64_t ms)
{
	uint64_t	 max = s->env.set.detached_ttl_max_ms;

	if (max < s->env.set.detached_ttl_ms)
		max = s->env.set.detached_ttl_ms;
	s->retain_ms = ms < max ? ms : max;
	return s->retain_ms != 0 ? s->retain_ms : s->env.set.detached_ttl_ms;
}

static void
on_ttl(void *arg)
{
	struct session	*s = arg;

	if (s->state == SESSION_HANDING && s->conn != NULL)
		conn_abandon(s->conn);	/* another worker may have it */
	else if (s->state == SESSION_DETACHED) {
		s->end.reason = IPC__END_REASON__EXPIRED;
		session_end(s, "expired: nobody resumed it",
		    s->env.set.grace_ms);
	} else if (s->state != SESSION_ATTACHED && s->conn != NULL)
		conn_close(s->conn, 1008, "no initialize in time");
}

static uint64_t
session_activity(const void *arg)
{
	const struct session	*s = arg;

	return s->messages + s->procs.bytes_in + s->procs.bytes_out;
}

static void
on_time_over(void *arg, const char *why)
{
	struct session	*s = arg;

	session_end(s, why, s->env.set.grace_ms);
}

static const struct lifetime_events lifetime_events = {
	session_activity, on_time_over
};

static void
session_on_written(void *arg, struct rpc_req *req)
{
	struct session	*s = arg;

	s->events->on_written(req);
}

static void
on_forgotten(void *arg)
{
	session_maybe_release(arg);
}

static const struct proc_events	 proc_events = {
	may_read, read_size, session_reap, session_on_written, on_forgotten
};

/* Only wake the loop: end_turn() does what is due. */
static void
on_turn(void *arg)
{
	(void)arg;
}

/*
 * Report the number of running processes, for metrics.  Not at each change:
 * many short commands would wake the master twice each.
 */
static void
report_load(struct session *s)
{
	if (s->procs.running == s->load.told ||
	    timer_is_set(&s->load.ev))
		return;
	s->load.told = s->procs.running;
	link_load(s->link, s->procs.running);
	timer_set(&s->load.ev, LIMIT_LOAD_PAUSE);
}

void
session_init(struct session *s, const struct session_events *events, void *arg,
    struct event_base *base, int fd, int out, const Ipc__Assign *a)
{
	static const int	 signals[] = { SIGCHLD, 0 };

	memset(s, 0, sizeof(*s));
	s->events = events;
	s->arg = arg;
	s->env.base = base;
	s->env.number = a->number;
	s->env.set = *a->settings;
	s->env.marks = a->marks;
	rlimits_init(&s->env.rlimits, a->settings);
	ratelimit_init(&s->bucket, a->settings->message_rate, clock_ms());
	busypoll_init(&s->busypoll, a->settings->busy_poll,
	    busypoll_has_processors);
	s->client.is_stdio = a->transport == IPC__TRANSPORT__STDIO;
	if (a->full)
		s->refusal = a->draining ? "the server is draining" :
		    "too many sessions";
	s->client.is_relayed = a->transport == IPC__TRANSPORT__STREAM;
	s->end.why = "";
	snprintf(s->id, sizeof(s->id), "%s", a->session_id);
	snprintf(s->client.peer, sizeof(s->client.peer), "%s", a->peer);
	window_init(&s->window);
	if (s->client.is_relayed)
		s->window.retain = s->env.set.remote_retain;
	procs_init(&s->procs, &s->env, &s->window, &proc_events, s);
	notifier_init(&s->notifier, session_has_window_room, s);
	overflow_init(&s->overflow, &s->env, &s->procs, &s->window);
	budget_init(&s->budget, base, &s->window, &budget_events, s);
	s->holders = holders_new(&s->env, events->on_holder, arg);
	if (s->holders == NULL)
		fatal("cannot set up sandboxes");
	timer_init(&s->hold_ev, base, on_hold, s);
	timer_init(&s->ttl_ev, base, on_ttl, s);
	timer_init(&s->idle_ev, base, session_on_idle, s);
	timer_init(&s->end.leave_ev, base, session_on_leave, s);
	lifetime_init(&s->lifetime, base, &lifetime_events, s);
	session_kill_init(&s->kill, base, &session_kill_events, s);
	timer_init(&s->load.ev, base, on_turn, s);
	timer_init(&s->relayed_ev, base, on_turn, s);
	timer_init(&s->reap_ev, base, session_on_reap, s);
	if ((s->signals = sigfd_new(s->env.base, signals, on_child, s)) == NULL)
		fatal("SIGCHLD");
	if (s->client.is_stdio) {
		s->conn = conn_stdio_new(base, fd, out, &conn_events, s);
	} else if ((s->conn = conn_ws_new(base, fd, &conn_events,
	    s)) != NULL) {
		conn_set_exact(s->conn, true);
		if (s->client.is_relayed)
			conn_set_relayed(s->conn);
		timer_set(&s->ttl_ev, s->env.set.handshake_ms);
	}
	if (s->conn == NULL)
		fatal("cannot set up the connection");
}

void
session_fini(struct session *s)
{
	notifier_set_conn(&s->notifier, NULL);
	if (s->conn != NULL)
		conn_free(&s->conn);
	procs_fini(&s->procs);
	transcripts_free(&s->transcripts);
	holders_free(&s->holders);
	window_fini(&s->window);
	timer_stop(&s->hold_ev);
	timer_stop(&s->ttl_ev);
	timer_stop(&s->idle_ev);
	timer_stop(&s->end.leave_ev);
	lifetime_stop(&s->lifetime);
	session_kill_fini(&s->kill);
	timer_stop(&s->load.ev);
	timer_stop(&s->relayed_ev);
	sigfd_free(&s->signals);
	budget_fini(&s->budget);
	timer_stop(&s->reap_ev);
}

/* Whether the worker has nothing left to do. */
static bool
session_is_over(const struct session *s)
{
	if (s->lingering > 0)
		return false;
	return s->done || (s->conn == NULL && (s->state == SESSION_NEW ||
	    s->state == SESSION_HANDING));
}

/* Drop output that was RELAYED for long enough; a timer wakes the next turn. */
static void
expire_relayed(struct session *s)
{
	uint64_t	 now, due = window_due(&s->window);

	if (due == 0)
		return;
	now = clock_ms();
	window_expire(&s->window, now);
	if ((due = window_due(&s->window)) != 0)
		timer_ensure(&s->relayed_ev, due > now ? due - now : 1);
}

void
session_flush(struct session *s)
{
	ask_receipt(s);
	expire_relayed(s);
	if (s->conn != NULL)
		conn_flush(s->conn);
}

static void
end_turn(struct session *s)
{
	session_flush(s);
	while (notifier_continue(&s->notifier))
		session_flush(s);
	session_unhold(s);
	link_flush(s->link);
	report_load(s);
	session_leave(s);
}

void
session_begin(struct session *s, const void *message, size_t len)
{
	char	*copy;

	if ((copy = malloc(len + 1)) == NULL)
		fatal("cannot copy the first message");
	if (len > 0)
		memcpy(copy, message, len);
	/* Check again: the worker that read the message is not trusted. */
	s->events->on_message(s->arg, copy, len, utf8_is_valid(copy, len));
	free(copy);
	end_turn(s);
}

/* Return the flags for the next turn: block, or poll. */
static int
next_turn(struct session *s)
{
	uint64_t	 now = clock_us();

	if (!busypoll_should_poll(&s->busypoll, now))
		return EVLOOP_ONCE;
	sched_yield();
	busypoll_yielded(&s->busypoll, now, clock_us(),
	    s->events->is_busy(s->arg));
	/* EVLOOP_NONBLOCK alone loops while events come and delays answers. */
	return EVLOOP_ONCE | EVLOOP_NONBLOCK;
}

void
session_run(struct session *s)
{
	slice_short();
	while (!session_is_over(s)) {
		if (event_base_loop(s->env.base, next_turn(s)) == -1)
			fatal("event loop");
		end_turn(s);
	}
	/* Holders may have to undo something outside of this process. */
	holders_free(&s->holders);
}
