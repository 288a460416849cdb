#include "master/child_msg.h"

#include <assert.h>
#include <sodium.h>
#include <string.h>

#include "common/fd.h"
#include "common/limit.h"
#include "common/linux/ptree.h"
#include "common/log.h"
#include "master/accept/child_assign.h"
#include "master/accept/gate.h"
#include "master/accept/policy.h"
#include "master/accept/token_login.h"
#include "master/ctl/ctl.h"
#include "master/logs/audit.h"
#include "master/logs/logto.h"
#include "master/parts.h"
#include "master/remote/remote.h"
#include "master/workers/membudget.h"
#include "master/workers/pool.h"
#include "master/workers/route.h"
#include "master/workers/transcript_files.h"

static struct master *
master_of(const struct child *c)
{
	return c->all->world->master;
}

static void
on_handover(struct child *c, const void *body, struct ipc_msg *m)
{
	const Ipc__Handover	*in = body;

	/* A worker that was to refuse its client, or too long a message. */
	if (c->route == NULL || in->message.len > LIMIT_FIRST_MESSAGE) {
		child_violates(c, "handover");
		return;
	}
	child_set_state(c, CHILD_HANDING);
	if (m->fd == -1) {
		/* Out of descriptors: make the client try again. */
		child_decide(c, IPC__VERDICT__ATTACHED, NULL);
		return;
	}
	route_handover(&master_of(c)->routes, c, in->session_id,
	    in->message.data, in->message.len, m->fd);
}

static void
on_resumed(struct child *c, const void *body, struct ipc_msg *m)
{
	const Ipc__Resumed	*in = body;

	(void)m;
	route_resumed(c, in->ticket, in->verdict);
}

/* Write to the audit log, once: the message may come again in this state. */
static bool
turn_away_for(struct child *c, const char *why)
{
	assert(c->client != CHILD_SPARE);
	if (c->client == CHILD_TURNED_AWAY)
		return false;
	child_set_client(c, CHILD_TURNED_AWAY);
	audit_peer(c->all->world, &c->peer, (struct audit_what){
	    .event = AUDIT_session_refused, .why = why });
	return true;
}

static void
turn_away(struct child *c)
{
	turn_away_for(c, master_of(c)->drain.is_on ? "the server is draining" :
	    "too many sessions");
}

static void
on_opened(struct child *c, const void *body, struct ipc_msg *m)
{
	const Ipc__Opened	*in = body;

	(void)m;
	if (c->route == NULL) {
		child_violates(c, "opened");
		return;
	}
	child_set_state(c, CHILD_SERVING);
	assert(c->route->owner == c);
	if (route_opened(c->route, in->operates))
		return;
	STAT_INC(c->all->world, opened);
	route_audit(c->route, (struct audit_what){
	    .event = AUDIT_session_opened, .client = in->client,
	    .peer = c->peer.text, .listener = c->peer.listener });
	if (policy_exceeded(c->all->world, &master_of(c)->routes, &c->peer,
	    in->operates)) {
		turn_away(c);
		child_stop(c, true);
	}
}

static void
on_attached(struct child *c, const void *body, struct ipc_msg *m)
{
	assert(c->route == NULL || c->route->owner == c);
	(void)body;
	(void)m;
	if (c->route != NULL)
		route_attached(c->route);
}

static void
on_detached(struct child *c, const void *body, struct ipc_msg *m)
{
	assert(c->route == NULL || c->route->owner == c);
	(void)body;
	(void)m;
	if (c->route != NULL)
		route_detached(c->route);
}

static void
on_released(struct child *c, const void *body, struct ipc_msg *m)
{
	const Ipc__Released	*in = body;

	assert(c->route == NULL || c->route->owner == c);
	(void)m;
	child_leaves(c);
	if (c->route != NULL) {
		route_used(c->route, in->used);
		route_release(c->route, policy_retain(c->all->world,
		    &c->peer, in->retain_ms));
	}
}

static void
on_ended(struct child *c, const void *body, struct ipc_msg *m)
{
	const Ipc__Ended	*in = body;
	struct route		*r = c->route;

	assert(r == NULL || r->owner == c);
	(void)m;
	if (in->reason == IPC__END_REASON__EXPIRED)
		STAT_INC(c->all->world, expired);
	child_leaves(c);
	if (r != NULL) {
		route_used(r, in->used);
		route_on_owner_gone(r, in->why);
	}
}

static void
on_report(struct child *c, const void *body, struct ipc_msg *m)
{
	(void)m;
	ctl_on_report(master_of(c)->ctl, c, body);
}

static void
on_acted(struct child *c, const void *body, struct ipc_msg *m)
{
	(void)m;
	ctl_on_acted(master_of(c)->ctl, c, body);
}

/* A worker is not trusted: bound what goes into the metrics. */
static void
set_running(struct child *c, unsigned running)
{
	child_set_running(c, running < c->max_running ? running :
	    c->max_running);
}

static void
on_load(struct child *c, const void *body, struct ipc_msg *m)
{
	const Ipc__Load	*in = body;

	(void)m;
	set_running(c, in->running);
}

/* Tell it what of that much memory it may hold. */
static struct held
child_grant_memory(struct child *c, struct held want)
{
	struct held	 may = membudget_ask(c->all->budget, &c->share,
			    c->route->identity, want, c->max_held,
			    c->all->world->conf.max_held);
	Ipc__Memory	 out = IPC__MEMORY__INIT;

	assert(may.output <= want.output && may.message <= want.message);
	out.output = may.output;
	out.message = may.message;
	chan_send(c->chan, IPC_memory, &out, -1);
	return may;
}

static void
on_memory_ask(struct child *c, const void *body, struct ipc_msg *m)
{
	const Ipc__MemoryAsk	*in = body;
	struct held		 want = { in->output, in->message }, may;

	(void)m;
	if (c->route == NULL)
		return;			/* the session has ended */
	may = child_grant_memory(c, want);
	if (may.output < want.output || may.message < want.message)
		STAT_INC(c->all->world, memory_refused);
}

static void
on_operate(struct child *c, const void *body, struct ipc_msg *m)
{
	const Ipc__Operate	*in = body;

	(void)m;
	if (c->route == NULL)
		child_violates(c, "operate");
	else
		ctl_operate(master_of(c)->ctl, c, in->ticket);
}

/* Only once, so that each guess takes a connection. */
static void
on_credential(struct child *c, const void *body, struct ipc_msg *m)
{
	const Ipc__Credential	*in = body;
	Ipc__Judged		 out = IPC__JUDGED__INIT;
	char			 why[TOKEN_LOGIN_WHY_MAX] = "";

	(void)m;
	if (c->token != CHILD_TOKEN_AWAITED ||
	    in->token.len > LIMIT_CREDENTIAL) {
		child_violates(c, "credential");
		return;
	}
	out.status = token_login_judge(&master_of(c)->login, c, in->token.data,
	    in->token.len, why);
	child_set_token(c, out.status == 0 ? CHILD_TOKEN_GOOD :
	    CHILD_TOKEN_REFUSED);
	out.why = why;
	if (in->token.len > 0)
		sodium_memzero(in->token.data, in->token.len);
	chan_send(c->chan, IPC_judged, &out, -1);
}

static void
on_greeted(struct child *c, const void *body, struct ipc_msg *m)
{
	const Ipc__Greeted	*in = body;

	if (c->token != CHILD_TOKEN_GOOD ||
	    in->message.len > LIMIT_FIRST_MESSAGE) {
		child_violates(c, "greeted");
		return;
	}
	/* It has read a client's input: it must not serve another one. */
	child_leaves(c);
	if (m->fd == -1)
		return;			/* out of descriptors */
	token_login_pass_on(&master_of(c)->login, c, m->fd, in->message.data,
	    in->message.len);
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
	if (turn_away_for(c, "the limits of the session cannot be set"))
		STAT_INC(c->all->world, unlimited);
}

/* The event is of the worker's own session: it cannot forge another one's. */
static void
on_command(struct child *c, const void *body, struct ipc_msg *m)
{
	const Ipc__Command	*in = body;
	struct audit_what	 what = { .event = AUDIT_process_started };

	(void)m;
	if (c->route == NULL || c->all->world->logs.audit == NULL)
		return;
	audit_missed(c->all->world, in->missed);
	what.pid = AUDIT_N(in->pid);
	what.program = in->program;
	what.cwd = in->cwd;
	if (in->n_argument > 0)
		what.arguments = (struct audit_texts){ in->argument,
		    in->n_argument };
	if (in->cut)
		what.cut = AUDIT_N(true);
	what.terminal = AUDIT_N(in->terminal);
	what.sandboxed = AUDIT_N(in->sandboxed);
	route_audit(c->route, what);
}

static void
on_net_refused(struct child *c, const void *body, struct ipc_msg *m)
{
	const Ipc__NetRefused	*in = body;
	struct audit_what	 what = { .event = AUDIT_network_refused };

	(void)m;
	c->all->world->stats[STAT_net_refused] += in->count < UINT32_MAX ?
	    in->count : UINT32_MAX;
	if (c->route == NULL || c->all->world->logs.audit == NULL)
		return;
	audit_missed(c->all->world, in->missed);
	what.host = in->host;
	what.port = AUDIT_N(in->port);
	what.why = in->why;
	what.count = AUDIT_N(in->count);
	route_audit(c->route, what);
}

static void
on_command_ended(struct child *c, const void *body, struct ipc_msg *m)
{
	const Ipc__CommandEnded	*in = body;
	struct audit_what	 what = { .event = AUDIT_process_ended };

	(void)m;
	if (c->route == NULL || c->all->world->logs.audit == NULL)
		return;
	audit_missed(c->all->world, in->missed);
	what.pid = AUDIT_N(in->pid);
	if (in->signal != 0)
		what.signal = AUDIT_N(in->signal);
	else
		what.exit = AUDIT_N(in->exit_code);
	what.seconds = AUDIT_N(in->ms / 1000);
	what.cpu_ms = AUDIT_N(in->cpu_ms);
	what.peak_kib = AUDIT_N(in->peak_kib);
	route_audit(c->route, what);
}

static void
on_transcript_ask(struct child *c, const void *body, struct ipc_msg *m)
{
	const Ipc__TranscriptAsk	*in = body;
	Ipc__Transcript			 out = IPC__TRANSCRIPT__INIT;
	Ipc__TranscriptRefused		 no = IPC__TRANSCRIPT_REFUSED__INIT;
	int				 fd;

	(void)m;
	if (c->route == NULL || c->transcripts == CHILD_TRANSCRIPTS_NONE) {
		child_violates(c, "transcript");
		return;
	}
	if ((fd = transcript_files_open(c->route, in->terminal)) == -1) {
		no.why = strerror(errno);
		/* Log the first failure only: later requests may be queued. */
		if (c->transcripts != CHILD_TRANSCRIPTS_REFUSED)
			log_warn("session %u: transcript", c->route->number);
		child_set_transcripts(c, CHILD_TRANSCRIPTS_REFUSED);
		chan_send(c->chan, IPC_transcript_refused, &no, -1);
		return;
	}
	route_record(c->route);
	out.ticket = in->ticket;
	chan_send(c->chan, IPC_transcript, &out, fd);
	fd_close(&fd);
}

static void
give_log(struct child *c)
{
	Ipc__LogPipe	 out = IPC__LOG_PIPE__INIT;

	if (c->all->world->logs.file != NULL)
		chan_send(c->chan, IPC_log_pipe, &out,
		    logto_stderr(&c->all->world->logs));
}

/*
 * It tells only how its session is: which one that is stands in the record of
 * its process.
 */
static void
on_orphan(struct child *c, const void *body, struct ipc_msg *m)
{
	const Ipc__Orphan	*in = body;
	Ipc__Adopted		 out = IPC__ADOPTED__INIT;
	struct route		*r = c->route;

	assert(r != NULL && r->owner == c);
	(void)m;
	child_set_state(c, CHILD_SERVING);
	log_word(c->version, sizeof(c->version), in->version,
	    strlen(in->version));
	out.operates = true;
	chan_send(c->chan, IPC_adopted, &out, -1);
	give_log(c);
	if (!r->opened) {
		/* Its client had the answer, the master did not know. */
		route_opened(r, false);
		STAT_INC(c->all->world, opened);
		route_audit(r, (struct audit_what){
		    .event = AUDIT_session_opened, .peer = r->peer });
	}
	if (in->attached && !r->attached)
		route_attached(r);
	else if (!in->attached)
		route_detached(r);
	set_running(c, in->running);
	/* What it holds counts again, whether or not there is room. */
	if (in->output > 0 || in->message > 0)
		child_grant_memory(c, (struct held){ in->output, in->message });
	STAT_INC(c->all->world, adopted);
	log_debug("session %u: adopted", r->number);
	if (c->end == CHILD_STOPS)
		child_stop(c, false);
	c->all->world->events->on_adopted(master_of(c));
}

typedef void	 on_fn(struct child *c, const void *body, struct ipc_msg *m);

/* The messages from workers, and in which states they are legal. */
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
	[IPC_operate] = { on_operate, IN(SERVING) },
	[IPC_credential] = { on_credential, IN(GREETING) },
	[IPC_greeted] = { on_greeted, IN(GREETING) },
	[IPC_turned_away] = { on_turned_away, IN(GREETING) },
	[IPC_unlimited] = { on_unlimited, IN(GREETING) },
	[IPC_command] = { on_command, IN(SERVING) },
	[IPC_command_ended] = { on_command_ended, IN(SERVING) },
	[IPC_net_refused] = { on_net_refused, IN(SERVING) },
	[IPC_transcript_ask] = { on_transcript_ask, IN(SERVING) },
	[IPC_memory_ask] = { on_memory_ask, IN(SERVING) },
	[IPC_orphan] = { on_orphan, IN(AWAITED) },
#undef IN
};

static void
child_on_msg(struct child *c, struct ipc_msg *m)
{
	assert(c->chan != NULL && (unsigned)m->kind < IPC_KINDS);
	if (handlers[m->kind].fn == NULL ||
	    (handlers[m->kind].states & (1u << c->state)) == 0) {
		if (c->state == CHILD_LEAVING)
			return;		/* may have been sent before */
		child_violates(c, ipc_rows[m->kind].name);
		return;
	}
	handlers[m->kind].fn(c, m->body, m);
}

static void
child_on_state(struct child *c)
{
	if (c->state != CHILD_GREETING && c->state != CHILD_HANDING)
		gate_leave(master_of(c)->gate, c);
}

static void
child_on_settled(struct child *c)
{
	struct master	*m = master_of(c);

	assert(c->state == CHILD_LEAVING && c->chan == NULL);
	pool_on_child_gone(m->pool, c);
	ctl_on_child_gone(m->ctl, c);
	if (c->route != NULL)
		route_lose(c->route);
}

/* The time tells the process from a later one of its pid. */
static void
child_on_pid(struct child *c)
{
	c->started = ptree_now();
	if (c->route != NULL)
		route_record(c->route);
}

static void
child_on_early_death(struct child *c)
{
	assert(c->client == CHILD_SPARE);
	pool_on_death(master_of(c)->pool);
}

const struct child_events	 child_msg_events = {
	.on_msg = child_on_msg,
	.on_state = child_on_state,
	.on_pid = child_on_pid,
	.on_settled = child_on_settled,
	.on_early_death = child_on_early_death,
	.decide = child_decide
};
