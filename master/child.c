#include "master/child.h"

#include <sys/wait.h>

#include <errno.h>
#include <signal.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/envlist.h"
#include "common/ev.h"
#include "common/fd.h"
#include "common/limit.h"
#include "common/log.h"
#include "master/admit.h"
#include "master/audit.h"
#include "master/budget.h"
#include "master/ctl.h"
#include "master/figures.h"
#include "master/gatekeep.h"
#include "master/fence.h"
#include "master/groups.h"
#include "master/policy.h"
#include "master/pool.h"
#include "master/remote.h"
#include "master/route.h"
#include "master/transcript.h"

#define BURIAL_MS	3000	/* between LEAVING and SIGKILL */

static const struct {
	const char	*name;
	unsigned	 next;		/* bits of the states that may follow */
} states[] = {
#define TO(state)	(1u << CHILD_##state)
	[CHILD_STARTING] = { "starting", TO(IDLE) | TO(GREETING) |
	    TO(LEAVING) },
	[CHILD_IDLE] = { "idle", TO(GREETING) | TO(LEAVING) },
	[CHILD_GREETING] = { "greeting", TO(HANDING) | TO(SERVING) |
	    TO(LEAVING) },
	[CHILD_HANDING] = { "handing", TO(GREETING) | TO(SERVING) |
	    TO(LEAVING) },
	[CHILD_SERVING] = { "serving", TO(LEAVING) },
	[CHILD_LEAVING] = { "leaving", 0 },
#undef TO
};

typedef void	 on_fn(struct child *c, const void *body, struct ipc_msg *m);

static on_fn	 on_handover, on_resumed, on_opened, on_attached, on_detached,
		 on_released, on_ended, on_report, on_acted, on_load,
		 on_credential, on_greeted, on_turned_away, on_unlimited,
		 on_command, on_memory_ask,
		 on_transcript_ask;

/* What a worker may say, and in which states. */
static const struct {
	on_fn		*fn;
	unsigned	 states;
} handlers[IPC_KINDS] = {
#define IN(state)	(1u << CHILD_##state)
	[IPC_handover] = { on_handover, IN(GREETING) },
	[IPC_resumed] = { on_resumed, IN(SERVING) | IN(LEAVING) },
	[IPC_opened] = { on_opened, IN(GREETING) },
	[IPC_attached] = { on_attached, IN(SERVING) },
	[IPC_detached] = { on_detached, IN(SERVING) },
	[IPC_released] = { on_released, IN(SERVING) },
	[IPC_ended] = { on_ended, IN(SERVING) },
	[IPC_report] = { on_report, IN(SERVING) | IN(LEAVING) },
	[IPC_acted] = { on_acted, IN(SERVING) | IN(LEAVING) },
	[IPC_load] = { on_load, IN(SERVING) },
	[IPC_credential] = { on_credential, IN(GREETING) },
	[IPC_greeted] = { on_greeted, IN(GREETING) },
	[IPC_turned_away] = { on_turned_away, IN(GREETING) },
	[IPC_unlimited] = { on_unlimited, IN(GREETING) },
	[IPC_command] = { on_command, IN(SERVING) },
	[IPC_transcript_ask] = { on_transcript_ask, IN(SERVING) },
	[IPC_memory_ask] = { on_memory_ask, IN(SERVING) },
#undef IN
};

const char *
child_state_name(const struct child *c)
{
	return states[c->state].name;
}

static void
child_set_state(struct child *c, enum child_state to)
{

	if (c->state == to)
		return;
	if ((states[c->state].next & (1u << to)) == 0)
		fatalx("worker %d: %s -> %s", c->pid, states[c->state].name,
		    states[to].name);
	log_debug("worker %d: %s -> %s", c->pid, states[c->state].name,
	    states[to].name);
	c->state = to;
	if (to != CHILD_GREETING && to != CHILD_HANDING)
		gate_leave(c->master->gate, c);
	if (to == CHILD_LEAVING)
		timer_set(&c->kill_ev, BURIAL_MS);
	else
		timer_stop(&c->kill_ev);
}

struct child *
child_by_id(struct master *m, unsigned id)
{
	struct child	*c;

	TAILQ_FOREACH(c, &m->children, entry)
		if (c->id == id)
			return c;
	return NULL;
}

struct child *
child_by_pid(struct master *m, pid_t pid)
{
	return map_find(&m->by_pid, &pid, sizeof(pid));
}

/* --- life and death --- */

static void	 child_settle(struct child *c);

static void
child_free(struct child *c)
{
	struct master	*m = c->master;

	if (c->pid != 0)
		map_del(&m->by_pid, &c->by_pid);
	TAILQ_REMOVE(&m->children, c, entry);
	chan_free(&c->chan);
	timer_stop(&c->kill_ev);
	groups_give_back(m->groups, c->group);
	budget_leave(m->budget, &c->share);
	free(c);
	m->events->on_child_gone(m);
}

/* Nothing more will be said, or it is dead: settle what it was about. */
static void
child_settle(struct child *c)
{
	struct route	*r = c->route;

	pool_on_child_gone(c->master->pool, c);
	ctl_on_child_gone(c->master->ctl, c);
	chan_free(&c->chan);
	child_set_state(c, CHILD_LEAVING);
	c->wanted = NULL;
	if (r != NULL)
		route_on_owner_gone(r, "its worker is gone");
	if (c->pid == 0 || c->reaped)
		child_free(c);
}

void
child_violates(struct child *c, const char *what)
{
	log_warnx("worker %d: %s while %s: killed", c->pid, what,
	    states[c->state].name);
	STAT_INC(c->master, violations);
	child_kill(c);
	/* One that follows may do the same, as soon as it is there. */
	if (c->since == 0)
		pool_on_death(c->master->pool);
}

/* Whether it should have ended, and like this. */
static void
judge_exit(struct child *c, int status)
{
	bool	 unasked = c->state == CHILD_SERVING || WIFSIGNALED(status);

	if (!unasked || c->asked_to_leave)
		return;
	STAT_INC(c->master, deaths);
	if (WIFSIGNALED(status))
		log_warnx("worker %d%s died of signal %d", c->pid,
		    c->route != NULL ? " of a session" : "",
		    WTERMSIG(status));
	else
		log_warnx("worker %d died with status %d", c->pid,
		    WEXITSTATUS(status));
	/* Its user may kill his own: only what nobody had counts. */
	if (c->since == 0)
		pool_on_death(c->master->pool);
}

static void
on_chan_end(void *arg, int error)
{
	struct child	*c = arg;

	if (c->has_left)
		judge_exit(c, c->status);
	if (error == EPROTO) {
		child_violates(c, "malformed message");
	} else if (error != 0) {
		log_warnx("worker %d: channel: %s", c->pid, strerror(error));
		child_kill(c);
	}
	child_settle(c);
}

void
child_wait_for_owner(struct child *c)
{

	if (c->state == CHILD_HANDING)
		timer_set(&c->kill_ev, LIMIT_OFFER + LIMIT_OFFER_MARGIN);
}

/*
 * It should be gone by now, but the process is not; or it waits for an answer
 * that does not come.
 */
static void
on_overdue(void *arg)
{
	struct child	*c = arg;

	if (c->state == CHILD_HANDING) {
		log_info("%s: the worker of its session does not answer",
		    c->peer.text);
		child_decide(c, IPC__VERDICT__ATTACHED, NULL);
		return;
	}
	if (!c->reaped && c->pid != 0)
		kill(c->pid, SIGKILL);
	if (c->chan != NULL)
		child_settle(c);
}

void
child_on_exit(struct child *c, int status)
{
	c->reaped = true;
	groups_give_back(c->master->groups, c->group);
	c->group = 0;
	if (c->is_fenced)
		fence_give_back(c->master->fence, c->id);
	/* What it could not kill, or did not live to. */
	if (c->since != 0 || WIFSIGNALED(status))
		c->master->events->kill_orphans(c->master);
	/* Its last words may still be in the channel: they end it. */
	if (c->chan != NULL && !WIFSIGNALED(status)) {
		c->has_left = true;
		c->status = status;
		return;
	}
	judge_exit(c, status);
	if (c->chan == NULL)
		child_free(c);
}

void
child_on_forked(struct child *c, pid_t pid, int error)
{
	struct master	*m = c->master;

	if (pid == 0) {
		log_warnx("fork: %s", strerror(error));
		child_settle(c);
		return;
	}
	c->pid = pid;
	if (map_add(&m->by_pid, &c->by_pid, &c->pid, sizeof(c->pid), c) ==
	    -1)
		fatal("worker");
	if (c->asked_to_leave)
		kill(pid, SIGKILL);	/* somebody could not wait for it */
	if (c->state == CHILD_STARTING)
		child_set_state(c, CHILD_IDLE);
}

void
child_on_template_gone(struct master *m)
{
	struct child	*c, *next;

	for (c = TAILQ_FIRST(&m->children); c != NULL; c = next) {
		next = TAILQ_NEXT(c, entry);
		if (c->pid == 0)
			child_settle(c);
	}
}

void
child_forget_all(struct master *m)
{
	struct child	*c;

	while ((c = TAILQ_FIRST(&m->children)) != NULL)
		child_free(c);
}

static void
stop(struct child *c, bool is_too_many)
{
	Ipc__Stop	 out = IPC__STOP__INIT;

	c->asked_to_leave = true;
	if (c->state != CHILD_SERVING || c->chan == NULL) {
		/* One whose number we do not know leaves when this closes. */
		child_kill(c);
		child_settle(c);
		return;
	}
	out.grace_ms = c->grace;
	out.is_too_many = is_too_many;
	chan_send(c->chan, IPC_stop, &out, -1);
}

void
child_stop(struct child *c)
{
	stop(c, false);
}

void
child_kill(struct child *c)
{
	c->asked_to_leave = true;
	if (c->pid != 0 && !c->reaped)
		kill(c->pid, SIGKILL);
	if (c->state != CHILD_SERVING)
		child_set_state(c, CHILD_LEAVING);
}

/* --- what goes --- */

/*
 * Our environment is for sessions of our own user only.  If it cannot be had,
 * such a worker ends and says so.
 */
static void
give_environment(struct child *c, const Ipc__Assign *a)
{
	Ipc__Environment	 out = IPC__ENVIRONMENT__INIT;
	struct master		*m = c->master;

	if (a->uid != geteuid() || a->refuse != 0 || a->figures != NULL ||
	    a->asking == IPC__ASKING__ALWAYS)
		return;
	if (m->environment == -1 && (m->environment = envlist_to_file()) == -1)
		log_warn("environment");
	else
		chan_send(c->chan, IPC_environment, &out, m->environment);
}

static int
assign(struct child *c, int fd, Ipc__Assign *out)
{
	struct master		*m = c->master;
	const struct conf	*conf;
	struct conf		 room;
	struct policy_settings	 settings;

	if (c->chan == NULL)
		return -1;
	/* Who has to show a token is another worker's client then. */
	if (out->refuse == 0 && out->figures == NULL && !c->peer.must_show &&
	    (c->route = route_new(c)) == NULL) {
		log_warn("session");
		return -1;
	}
	if (c->route != NULL) {
		out->number = c->route->number;
		out->session_id = c->route->id;
	}
	out->peer = c->peer.text;
	out->uid = c->peer.uid;
	out->has_gid = c->peer.has_gid;
	out->gid = c->peer.gid;
	out->unready = !m->events->is_ready(m);
	if ((conf = policy_get(m, &c->peer, &room)) == NULL)
		return -1;
	policy_settings(m, conf, c->id, &settings);
	c->is_fenced = settings.way.has_v1;
	out->settings = &settings.s;
	c->detached_ttl = settings.s.detached_ttl_ms;
	c->grace = settings.s.grace_ms;
	c->max_running = settings.s.max_processes;
	c->max_held = conf->max_held_per_user;
	c->may_record = settings.s.transcript != CONF_TRANSCRIPT_NONE;
	c->since = clock_ms();
	child_set_state(c, CHILD_GREETING);
	give_environment(c, out);
	chan_send(c->chan, IPC_assign, out, fd);
	policy_put(conf, &room);
	return 0;
}

int
child_assign(struct child *c, int fd, const struct peer *p, int refuse,
    bool full)
{
	Ipc__Assign	 out = IPC__ASSIGN__INIT;
	Ipc__Figures	 figures = IPC__FIGURES__INIT;
	uint64_t	 gauges[GAUGES];

	c->peer = *p;
	out.refuse = (uint32_t)refuse;
	if (refuse != 0 && p->why != NULL)
		out.why = (char *)(uintptr_t)p->why;
	if (p->is_metrics) {
		figures_take(c->master, gauges);
		if (gauges[GAUGE_waiting] > 0)
			gauges[GAUGE_waiting]--;	/* who asks */
		figures.stat = c->master->stats;
		figures.n_stat = STATS;
		figures.gauge = gauges;
		figures.n_gauge = GAUGES;
		out.figures = &figures;
	}
	out.full = full;
	out.draining = c->master->draining;
	out.transport = p->uplink == 0 ? IPC__TRANSPORT__WEBSOCKET :
	    IPC__TRANSPORT__STREAM;
	out.strict = p->is_strict;
	/* All tokens may be gone since it knocked: then none is good. */
	c->may_show = refuse == 0 && p->uplink == 0 &&
	    (p->must_show || tokens_any(c->master->tokens));
	out.asking = p->must_show ? IPC__ASKING__ALWAYS : c->may_show ?
	    IPC__ASKING__IF_SHOWN : IPC__ASKING__NEVER;
	return assign(c, fd, &out);
}

int
child_assign_greeted(struct child *c, int fd, const struct peer *p,
    bool full, const void *message, size_t len)
{
	Ipc__Assign	 out = IPC__ASSIGN__INIT;

	c->peer = *p;
	out.full = full;
	out.draining = c->master->draining;
	out.transport = IPC__TRANSPORT__WEBSOCKET;
	out.greeted = true;
	out.message.data = (uint8_t *)(uintptr_t)message;
	out.message.len = len;
	return assign(c, fd, &out);
}

int
child_assign_stdio(struct child *c, int in, int out_fd)
{
	Ipc__Assign	 out = IPC__ASSIGN__INIT;
	Ipc__StdioOut	 second = IPC__STDIO_OUT__INIT;

	c->peer.known = true;
	c->peer.uid = geteuid();
	strcpy(c->peer.text, "stdio");
	strcpy(c->peer.address, "stdio");
	strcpy(c->peer.listener, "stdio");
	peer_is_user(&c->peer);
	out.transport = IPC__TRANSPORT__STDIO;
	chan_send(c->chan, IPC_stdio_out, &second, out_fd);
	return assign(c, in, &out);
}

void
child_decide(struct child *c, Ipc__Verdict v, struct route *r)
{
	struct master	*m = c->master;
	Ipc__Decided	 out = IPC__DECIDED__INIT;

	c->wanted = NULL;
	if (c->state != CHILD_HANDING || c->chan == NULL)
		return;
	out.verdict = v;
	if (v == IPC__VERDICT__TAKEN) {
		STAT_INC(m, resumed);
		c->asked_to_leave = true;
		child_set_state(c, CHILD_LEAVING);
	} else {
		child_set_state(c, CHILD_GREETING);
	}
	if (v == IPC__VERDICT__TAKEN || v == IPC__VERDICT__YOURS)
		audit_session(r, (struct audit_what){
		    .event = AUDIT_session_resumed, .peer = c->peer.text,
		    .listener = c->peer.listener });
	if (v == IPC__VERDICT__YOURS) {
		STAT_INC(m, resumed);
		route_free(&c->route);	/* the id made for it, never told */
		route_revive(r, c);
		memcpy(r->peer, c->peer.text, sizeof(r->peer));
		out.session_id = r->id;
		out.number = r->number;
		out.transcripts = r->used.transcripts;
	}
	chan_send(c->chan, IPC_decided, &out, -1);
}

void
child_query(struct child *c, uint32_t ticket, bool processes)
{
	Ipc__Query	 out = IPC__QUERY__INIT;

	out.ticket = ticket;
	out.processes = processes;
	if (c->chan != NULL)
		chan_send(c->chan, IPC_query, &out, -1);
}

void
child_act(struct child *c, const Ipc__Act *out)
{
	if (c->chan != NULL)
		chan_send(c->chan, IPC_act, out, -1);
}

void
child_tail(struct child *c, const Ipc__Tail *out, int fd)
{
	if (c->chan != NULL)
		chan_send(c->chan, IPC_tail, out, fd);
}

/* --- what comes --- */

static void
on_msg(void *arg, struct ipc_msg *m)
{
	struct child	*c = arg;

	if (handlers[m->kind].fn == NULL ||
	    (handlers[m->kind].states & (1u << c->state)) == 0) {
		if (c->state == CHILD_LEAVING)
			return;		/* said before it knew */
		child_violates(c, ipc_rows[m->kind].name);
		return;
	}
	handlers[m->kind].fn(c, m->body, m);
}

static void
on_handover(struct child *c, const void *body, struct ipc_msg *m)
{
	const Ipc__Handover	*in = body;

	/* One that refuses its client, or an oversized first message. */
	if (c->route == NULL || in->message.len > LIMIT_FIRST_MESSAGE) {
		child_violates(c, "handover");
		return;
	}
	child_set_state(c, CHILD_HANDING);
	if (m->fd == -1) {
		/* No descriptors left: its client tries again. */
		child_decide(c, IPC__VERDICT__ATTACHED, NULL);
		return;
	}
	route_handover(c, in->session_id, in->message.data, in->message.len,
	    m->fd);
}

static void
on_resumed(struct child *c, const void *body, struct ipc_msg *m)
{
	const Ipc__Resumed	*in = body;

	(void)m;
	route_resumed(c, in->ticket, in->verdict);
}

/* The state that it is in goes on, so it may be said only once. */
static bool
turn_away_for(struct child *c, const char *why)
{
	if (c->was_turned_away)
		return false;
	c->was_turned_away = true;
	audit_peer(c->master, &c->peer, (struct audit_what){
	    .event = AUDIT_session_refused, .why = why });
	return true;
}

static void
turn_away(struct child *c)
{
	turn_away_for(c, c->master->draining ? "the server drains" :
	    "too many sessions");
}

static void
on_opened(struct child *c, const void *body, struct ipc_msg *m)
{
	(void)body;
	(void)m;
	if (c->route == NULL) {
		child_violates(c, "opened");
		return;
	}
	child_set_state(c, CHILD_SERVING);
	c->route->attached = true;
	if (c->route->opened)
		return;
	c->route->opened = true;
	STAT_INC(c->master, opened);
	audit_session(c->route, (struct audit_what){
	    .event = AUDIT_session_opened, .peer = c->peer.text,
	    .listener = c->peer.listener });
	if (policy_exceeded(c->master, &c->peer)) {
		turn_away(c);
		stop(c, true);
	}
}

static void
on_attached(struct child *c, const void *body, struct ipc_msg *m)
{
	(void)body;
	(void)m;
	if (c->route != NULL)
		c->route->attached = true;
}

static void
on_detached(struct child *c, const void *body, struct ipc_msg *m)
{
	(void)body;
	(void)m;
	if (c->route != NULL)
		route_detached(c->route);
}

static void
on_released(struct child *c, const void *body, struct ipc_msg *m)
{
	const Ipc__Released	*in = body;

	(void)m;
	c->asked_to_leave = true;
	child_set_state(c, CHILD_LEAVING);
	if (c->route != NULL) {
		route_used(c->route, in->used);
		route_release(c->route);
	}
}

static void
on_ended(struct child *c, const void *body, struct ipc_msg *m)
{
	const Ipc__Ended	*in = body;
	struct route		*r = c->route;

	(void)m;
	c->asked_to_leave = true;
	if (strncmp(in->why, "expired", 7) == 0)
		STAT_INC(c->master, expired);
	child_set_state(c, CHILD_LEAVING);
	if (r != NULL) {
		route_used(r, in->used);
		route_on_owner_gone(r, in->why);
	}
}

static void
on_report(struct child *c, const void *body, struct ipc_msg *m)
{
	(void)m;
	ctl_on_report(c->master->ctl, c, body);
}

static void
on_acted(struct child *c, const void *body, struct ipc_msg *m)
{
	(void)m;
	ctl_on_acted(c->master->ctl, c, body);
}

static void
on_load(struct child *c, const void *body, struct ipc_msg *m)
{
	const Ipc__Load	*in = body;

	(void)m;
	/* It is told in figures: of a worker that lies, too. */
	c->running = in->running < c->max_running ? in->running :
	    c->max_running;
}

static void
on_memory_ask(struct child *c, const void *body, struct ipc_msg *m)
{
	const Ipc__MemoryAsk	*in = body;
	struct held		 want = { in->output, in->message }, may;
	Ipc__Memory		 out = IPC__MEMORY__INIT;

	(void)m;
	if (c->route == NULL)
		return;			/* its end is known already */
	may = budget_ask(c->master->budget, &c->share, c->route->identity,
	    want, c->max_held, c->master->conf.max_held);
	if (may.output < want.output || may.message < want.message)
		STAT_INC(c->master, memory_refused);
	out.output = may.output;
	out.message = may.message;
	chan_send(c->chan, IPC_memory, &out, -1);
}

/* Once: who guesses needs a connection for each guess. */
static void
on_credential(struct child *c, const void *body, struct ipc_msg *m)
{
	const Ipc__Credential	*in = body;
	Ipc__Judged		 out = IPC__JUDGED__INIT;
	char			 why[ADMIT_WHY_MAX] = "";

	(void)m;
	if (!c->may_show || in->token.len > LIMIT_CREDENTIAL) {
		child_violates(c, "credential");
		return;
	}
	c->may_show = false;
	out.status = admit_judge(c, in->token.data, in->token.len, why);
	out.why = why;
	if (in->token.len > 0)
		sodium_memzero(in->token.data, in->token.len);
	chan_send(c->chan, IPC_judged, &out, -1);
}

static void
on_greeted(struct child *c, const void *body, struct ipc_msg *m)
{
	const Ipc__Greeted	*in = body;

	if (!c->admitted || in->message.len > LIMIT_FIRST_MESSAGE) {
		child_violates(c, "greeted");
		return;
	}
	/* This one has read what a client sent and serves nobody else. */
	c->asked_to_leave = true;
	child_set_state(c, CHILD_LEAVING);
	if (m->fd == -1)
		return;			/* no descriptors left */
	admit_pass_on(c, m->fd, in->message.data, in->message.len);
	m->fd = -1;
}

static void
on_turned_away(struct child *c, const void *body, struct ipc_msg *m)
{
	(void)body;
	(void)m;
	turn_away(c);
}

static void
on_unlimited(struct child *c, const void *body, struct ipc_msg *m)
{
	(void)body;
	(void)m;
	if (turn_away_for(c, "limits cannot be set"))
		STAT_INC(c->master, unlimited);
}

/* Of its own session: what it makes up is about nobody else. */
static void
on_command(struct child *c, const void *body, struct ipc_msg *m)
{
	const Ipc__Command	*in = body;
	struct audit_what	 what = { .event = AUDIT_process_started };

	(void)m;
	if (c->route == NULL || c->master->audit == NULL)
		return;
	audit_missed(c->master, in->missed);
	what.pid = AUDIT_N(in->pid);
	what.program = in->program;
	if (in->n_argument > 0)
		what.arguments = (struct audit_texts){ in->argument,
		    in->n_argument };
	if (in->cut)
		what.cut = AUDIT_N(true);
	what.terminal = AUDIT_N(in->terminal);
	what.sandboxed = AUDIT_N(in->sandboxed);
	audit_session(c->route, what);
}

static void
on_transcript_ask(struct child *c, const void *body, struct ipc_msg *m)
{
	const Ipc__TranscriptAsk	*in = body;
	Ipc__Transcript			 out = IPC__TRANSCRIPT__INIT;
	Ipc__TranscriptRefused		 no = IPC__TRANSCRIPT_REFUSED__INIT;
	int				 fd;

	(void)m;
	if (c->route == NULL || !c->may_record) {
		child_violates(c, "transcript");
		return;
	}
	if ((fd = transcript_open(c->route, in->terminal)) == -1) {
		no.why = strerror(errno);
		/* Who asks again knows, or had it under way already. */
		if (!c->was_refused_file)
			log_warn("session %u: transcript", c->route->number);
		c->was_refused_file = true;
		chan_send(c->chan, IPC_transcript_refused, &no, -1);
		return;
	}
	out.ticket = in->ticket;
	chan_send(c->chan, IPC_transcript, &out, fd);
	fd_close(&fd);
}

struct child *
child_new(struct master *m)
{
	struct child	*c;
	int		 pair[2];

	if ((c = calloc(1, sizeof(*c))) == NULL)
		return NULL;
	c->master = m;
	c->id = ++m->next_id;
	if (fd_packet_pair(pair) == -1) {
		free(c);
		return NULL;
	}
	timer_init(&c->kill_ev, m->base, on_overdue, c);
	if ((c->chan = chan_new(m->base, pair[0], IPC_ROLE_MASTER,
	    IPC_ROLE_WORKER, on_msg, on_chan_end, c)) == NULL) {
		fd_close(&pair[0]);
		fd_close(&pair[1]);
		free(c);
		return NULL;
	}
	TAILQ_INSERT_TAIL(&m->children, c, entry);
	STAT_INC(m, workers);
	c->group = groups_take(m->groups);
	pool_ask_fork(m->pool, c->id, c->group, pair[1]);
	fd_close(&pair[1]);
	return c;
}
