#include "worker/worker_serve.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/limit.h"
#include "common/linux/ptree.h"
#include "common/log.h"
#include "config.h"
#include "worker/conn/conn.h"
#include "worker/proc/proc.h"
#include "worker/proc/snapshot.h"
#include "worker/rpc/fsjobs.h"
#include "worker/rpc/httpjobs.h"
#include "worker/rpc/netjobs.h"
#include "worker/rpc/netrefused.h"
#include "worker/rpc/operations.h"
#include "worker/rpc/rpc.h"
#include "worker/rpc/start.h"
#include "worker/session/budget.h"
#include "worker/session/operator.h"
#include "worker/session/session_usage.h"
#include "worker/session/transcript.h"

static void
on_resume(struct session *s, const void *body, struct ipc_msg *m)
{
	const Ipc__Resume	*in = body;
	Ipc__Resumed		 out = IPC__RESUMED__INIT;
	char			*copy = NULL;

	/* Too late: the client was told to retry. */
	if (clock_ms() > in->until)
		return;
	link_flush(s->link);
	out.ticket = in->ticket;
	out.verdict = IPC__VERDICT__ATTACHED;
	if (rpc_wants_to_take(in->message.data, in->message.len))
		session_give_away(s);
	if ((copy = malloc(in->message.len + 1)) != NULL) {
		memcpy(copy, in->message.data, in->message.len);
		out.verdict = session_resume(s, m->fd,
		    in->peer, copy, in->message.len);
		if (out.verdict == IPC__VERDICT__TAKEN)
			m->fd = -1;
	}
	free(copy);
	link_resumed(s->link, &out);
}

static void
on_decided(struct session *s, const void *body, struct ipc_msg *m)
{
	const Ipc__Decided	*in = body;

	(void)m;
	/* Bytes written by earlier workers of the session. */
	s->transcripts_before = in->transcripts;
	session_decided(s, in->verdict, in->session_id, in->number,
	    in->retain_ms);
}

static void
worker_serve_on_stop(struct session *s, const void *body, struct ipc_msg *m)
{
	const Ipc__Stop	*in = body;

	(void)m;
	session_end(s, in->is_too_many ? "too many sessions" :
	    "the server is stopping", in->grace_ms);
}

static const Ipc__ProcessState	 process_states[] = {
	[PROC_RUNNING] = IPC__PROCESS_STATE__RUNNING,
	[PROC_EXITED] = IPC__PROCESS_STATE__EXITED,
	[PROC_CLOSED] = IPC__PROCESS_STATE__CLOSED
};

static void
fill_process(Ipc__Process *out, struct proc *p, uint64_t now)
{
	struct ptree_stat	 st;

	ipc__process__init(out);
	out->pid = p->pid;
	out->state = process_states[p->state];
	if (p->state == PROC_RUNNING && ptree_stat(p->pid, &st) == 0 &&
	    st.is_stopped)
		out->state = IPC__PROCESS_STATE__STOPPED;
	out->exit_code = p->exit_code;
	out->tty = p->tty;
	out->age_ms = now - p->started_at;
	out->command = p->command;
	out->bytes_out = p->bytes_out;
	out->id = p->name;
}

/* What managed networks have refused; the texts stay where they are. */
static void
fill_refused(Ipc__Report *out, const struct rpc *rpc, Ipc__NetRefused *room,
    Ipc__NetRefused **list)
{
	const struct netrefused_row	*row;
	unsigned			 n, i;

	row = netjobs_refused(rpc, &n);
	for (i = 0; i < n; i++) {
		ipc__net_refused__init(&room[i]);
		room[i].host = (char *)(uintptr_t)row[i].host;
		room[i].port = row[i].port;
		room[i].why = (char *)(uintptr_t)row[i].why;
		room[i].count = row[i].count;
		list[i] = &room[i];
	}
	out->refused = list;
	out->n_refused = n;
}

static void
on_query(struct session *s, const void *body, struct ipc_msg *m)
{
	const Ipc__Query	*in = body;
	Ipc__Report		 out = IPC__REPORT__INIT;
	Ipc__Process		 procs[LIMIT_REPORT_ROWS];
	Ipc__Process		*list[LIMIT_REPORT_ROWS];
	Ipc__NetRefused		 refused[LIMIT_NET_REFUSED];
	Ipc__NetRefused		*refused_list[LIMIT_NET_REFUSED];
	struct session_usage		 acc;
	struct proc		*p;
	uint64_t		 now = clock_ms();

	(void)m;
	link_flush(s->link);
	session_usage_take(s->env.cgroups, &s->env.set, true, &acc);
	out.ticket = in->ticket;
	out.running = s->procs.running;
	out.known = s->procs.known;
	out.bytes_out = s->procs.bytes_out;
	out.bytes_in = s->procs.bytes_in;
	out.unacked = s->window.sent_cost;
	out.backlog = s->window.spooled_cost;
	out.held = s->window.memory + (s->conn != NULL ?
	    conn_unfinished(s->conn) : 0);
	out.peak_kib = acc.worker_kib;
	out.cpu_ms = acc.used.cpu_ms;
	out.read = acc.used.read;
	out.written = acc.used.written;
	out.command_kib = acc.used.peak_kib;
	out.rss = acc.used.rss_kib * 1024;
	out.started = s->procs.started;
	out.has_oom = acc.has_oom;
	out.oom = acc.oom;
	if (s->client.name[0] != '\0')
		out.client = s->client.name;
	out.process = list;
	p = in->processes ? TAILQ_FIRST(&s->procs.all) : NULL;
	do {
		out.n_process = 0;
		for (; p != NULL && out.n_process < LIMIT_REPORT_ROWS;
		    p = TAILQ_NEXT(p, entry)) {
			fill_process(&procs[out.n_process], p, now);
			list[out.n_process] = &procs[out.n_process];
			out.n_process++;
		}
		out.more = p != NULL;
		if (!out.more && in->processes)
			fill_refused(&out, s->arg, refused, refused_list);
		link_report(s->link, &out);
	} while (out.more);
}

static void
on_act(struct session *s, const void *body, struct ipc_msg *m)
{
	(void)m;
	link_flush(s->link);
	operator_act(s, body);
}

static void
on_tail(struct session *s, const void *body, struct ipc_msg *m)
{
	link_flush(s->link);
	operator_tail(s, body, &m->fd);
}

static void
on_transcript(struct session *s, const void *body, struct ipc_msg *m)
{
	const Ipc__Transcript	*in = body;

	transcripts_opened(s->transcripts, in->ticket, &m->fd);
}

static void
on_transcript_refused(struct session *s, const void *body, struct ipc_msg *m)
{
	const Ipc__TranscriptRefused	*in = body;

	(void)m;
	transcripts_refused(s->transcripts, in->why);
}

/* The pipe of the log ended with the master that read it. */
static void
on_log_pipe(struct session *s, const void *body, struct ipc_msg *m)
{
	(void)s;
	(void)body;
	if (m->fd == -1 || dup2(m->fd, STDERR_FILENO) == -1)
		log_warn("the log of the next master");
}

static void
on_memory(struct session *s, const void *body, struct ipc_msg *m)
{
	const Ipc__Memory	*in = body;

	(void)m;
	budget_answered(&s->budget, in->output, in->message);
}

static void
on_operating(struct session *s, const void *body, struct ipc_msg *m)
{
	operations_on_channel(s->arg, body, m);
}

static void
on_operate_refused(struct session *s, const void *body, struct ipc_msg *m)
{
	(void)m;
	operations_on_refused(s->arg, body);
}

typedef void	 serve_fn(struct session *s, const void *body,
		    struct ipc_msg *m);

static serve_fn *const handlers[IPC_KINDS] = {
	[IPC_resume] = on_resume,
	[IPC_decided] = on_decided,
	[IPC_stop] = worker_serve_on_stop,
	[IPC_query] = on_query,
	[IPC_act] = on_act,
	[IPC_tail] = on_tail,
	[IPC_transcript] = on_transcript,
	[IPC_transcript_refused] = on_transcript_refused,
	[IPC_memory] = on_memory,
	[IPC_log_pipe] = on_log_pipe,
	[IPC_operating] = on_operating,
	[IPC_operate_refused] = on_operate_refused,
};

static void
worker_serve_on_msg(void *arg, struct ipc_msg *m)
{
	/* The assignment was received before there is a link. */
	if (handlers[m->kind] == NULL)
		log_warnx("unexpected message %s from the master",
		    ipc_rows[m->kind].name);
	else
		handlers[m->kind](arg, m->body, m);
}

/*
 * The master died: a session goes on until the next master adopts it.  A
 * connection without one ends, and its client connects again; so does standard
 * input, which is somebody else's.
 */
static bool
worker_serve_on_orphaned(void *arg)
{
	struct session	*s = arg;

	budget_on_master_gone(&s->budget);
	operations_on_orphaned(s->arg);
	return !session_is_new(s) && !s->client.is_stdio;
}

static void
worker_serve_describe(void *arg, Ipc__Orphan *out)
{
	static const char	 version[] = PACKAGE_VERSION;
	struct session		*s = arg;

	out->attached = s->state == SESSION_ATTACHED;
	out->running = s->procs.running;
	out->output = s->budget.output;
	out->message = s->budget.message;
	out->version = (char *)(uintptr_t)version;
}

static void
worker_serve_on_adopted(void *arg)
{
	struct session	*s = arg;

	transcripts_adopted(s->transcripts);
	session_adopted(s);
}

static void
worker_serve_on_gone(void *arg)
{
	struct session	*s = arg;

	transcripts_lost(s->transcripts);
	operations_on_orphaned(s->arg);
	budget_on_master_gone(&s->budget);
	if (session_is_new(s) || s->state == SESSION_RELEASED)
		s->done = true;
	else if (s->env.set.run_dir[0] == '\0' ||
	    s->env.set.orphan_ttl_ms != 0 || s->state == SESSION_DETACHED)
		session_end(s, "the server has died", s->env.set.grace_ms);
}

const struct link_events	 worker_serve_link_events = {
	.on_msg = worker_serve_on_msg,
	.on_orphaned = worker_serve_on_orphaned,
	.describe = worker_serve_describe,
	.on_adopted = worker_serve_on_adopted,
	.on_gone = worker_serve_on_gone
};

static void
worker_serve_on_conn(void *arg, struct conn *c)
{
	rpc_on_conn(arg, c);
	netjobs_on_conn(arg, c != NULL);
	if (c != NULL)
		return;
	fsjobs_on_conn_end(arg);
	httpjobs_on_conn_end(arg);
	operations_on_conn_end(arg);
}

static void
worker_serve_on_holder(void *arg)
{
	fsjobs_holder_changed(arg);
	starts_resume(arg);
}

static void
worker_serve_on_written(struct rpc_req *req)
{
	rpc_status(req, "accepted");
}

static void
worker_serve_on_room(void *arg)
{
	httpjobs_unhold(arg);
	fsjobs_unhold(arg);
}

static bool
worker_serve_is_helper(void *arg, pid_t pid)
{
	return httpjobs_has(arg, pid) || netjobs_has(arg, pid);
}

static void
worker_serve_on_helper_exit(void *arg, pid_t pid, int status)
{
	httpjobs_reaped(arg, pid, status);
	netjobs_reaped(arg, pid, status);
}

static bool
worker_serve_is_busy(const void *arg)
{
	return fsjobs_running(arg);
}

static void
worker_serve_on_end(void *arg)
{
	struct rpc	*rpc = arg;

	netjobs_flush(rpc);
	operator_on_session_end(rpc->session);
	snapshots_free(&rpc->snapshots);
}

const struct session_events	 worker_serve_session_events = {
	.on_message = rpc_on_message,
	.on_decided = rpc_on_decided,
	.on_conn = worker_serve_on_conn,
	.on_idle = rpc_on_idle,
	.on_holder = worker_serve_on_holder,
	.on_written = worker_serve_on_written,
	.on_room = worker_serve_on_room,
	.is_helper = worker_serve_is_helper,
	.on_helper_exit = worker_serve_on_helper_exit,
	.is_busy = worker_serve_is_busy,
	.on_end = worker_serve_on_end,
};

void
worker_serve_fini(struct rpc *rpc)
{
	httpjobs_free(rpc);
	netjobs_free(rpc);
	fsjobs_free(rpc);
	rpc_fini(rpc);
	operations_free(rpc);
}
