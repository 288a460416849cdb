#include "worker/link.h"

#include <stdlib.h>
#include <string.h>

#include "common/chan.h"
#include "common/clock.h"
#include "common/limit.h"
#include "common/log.h"
#include "worker/account.h"
#include "worker/budget.h"
#include "worker/conn.h"
#include "worker/operate.h"
#include "worker/proc.h"
#include "worker/session.h"
#include "worker/transcript.h"

#define COMMANDS_MAX	(256 * 1024)	/* bytes that wait for the master */

struct link {
	struct chan	*chan;		/* NULL: the master is gone */
	struct session	*session;
	uint32_t	 missed;	/* commands it was not told of */
};

typedef void	 on_fn(struct link *l, const void *body, struct ipc_msg *m);

static on_fn	 on_resume, on_decided, on_stop, on_query, on_act, on_tail,
		 on_transcript, on_transcript_refused, on_memory;

static on_fn *const handlers[IPC_KINDS] = {
	[IPC_resume] = on_resume,
	[IPC_decided] = on_decided,
	[IPC_stop] = on_stop,
	[IPC_query] = on_query,
	[IPC_act] = on_act,
	[IPC_tail] = on_tail,
	[IPC_transcript] = on_transcript,
	[IPC_transcript_refused] = on_transcript_refused,
	[IPC_memory] = on_memory,
};

static void
link_on_msg(void *arg, struct ipc_msg *m)
{
	struct link	*l = arg;

	/* An assignment comes once, before there is a link. */
	if (handlers[m->kind] == NULL)
		log_warnx("message %s is not for a session",
		    ipc_rows[m->kind].name);
	else
		handlers[m->kind](l, m->body, m);
}

/*
 * The master died: go on, the next one adopts us or the TTL ends us.  Where
 * there is no run directory no other can find us.
 */
static void
link_on_end(void *arg, int error)
{
	struct link	*l = arg;

	(void)error;
	chan_free(&l->chan);
	transcripts_lost(l->session);
	budget_on_master_gone(l->session);
	if (l->session->state == SESSION_RELEASED ||
	    l->session->state == SESSION_NEW ||
	    l->session->state == SESSION_HANDING)
		l->session->done = true;
	else if (l->session->env.set.run_dir[0] == '\0')
		session_end(l->session, "the server is gone",
		    l->session->env.set.grace_ms);
}

struct link *
link_new(struct event_base *base, int sock, struct session *s)
{
	struct link	*l;

	if ((l = calloc(1, sizeof(*l))) == NULL)
		return NULL;
	l->session = s;
	if ((l->chan = chan_new(base, sock, IPC_ROLE_WORKER, IPC_ROLE_MASTER,
	    link_on_msg, link_on_end, l)) == NULL)
		link_free(&l);
	return l;
}

void
link_free(struct link **lp)
{
	struct link	*l = *lp;

	*lp = NULL;
	if (l == NULL)
		return;
	chan_free(&l->chan);
	free(l);
}

/* --- what comes --- */

static void
on_resume(struct link *l, const void *body, struct ipc_msg *m)
{
	const Ipc__Resume	*in = body;
	Ipc__Resumed		 out = IPC__RESUMED__INIT;
	char			*copy = NULL;

	/* Too late: the client was told to try again. */
	if (clock_ms() > in->until)
		return;
	session_tell_master(l->session);
	out.ticket = in->ticket;
	out.verdict = IPC__VERDICT__ATTACHED;
	if ((copy = malloc(in->message.len + 1)) != NULL) {
		memcpy(copy, in->message.data, in->message.len);
		out.verdict = session_resume(l->session, m->fd,
		    in->peer, copy, in->message.len);
		if (out.verdict == IPC__VERDICT__TAKEN)
			m->fd = -1;
	}
	free(copy);
	if (l->chan != NULL)
		chan_send(l->chan, IPC_resumed, &out, -1);
}

static void
on_decided(struct link *l, const void *body, struct ipc_msg *m)
{
	const Ipc__Decided	*in = body;

	(void)m;
	/* Used by workers that it had before. */
	l->session->transcripts_before = in->transcripts;
	session_decided(l->session, in->verdict, in->session_id, in->number);
}

static void
on_stop(struct link *l, const void *body, struct ipc_msg *m)
{
	const Ipc__Stop	*in = body;

	(void)m;
	session_end(l->session, in->is_too_many ? "too many sessions" :
	    "the server stops", in->grace_ms);
}

static void
fill_process(Ipc__Process *out, struct proc *p, uint64_t now)
{
	ipc__process__init(out);
	out->pid = p->pid;
	out->state = (char *)(uintptr_t)proc_state_name(p);
	out->exit_code = p->exit_code;
	out->tty = p->tty;
	out->age_ms = now - p->born;
	out->command = p->command;
	out->bytes_out = p->bytes_out;
	out->id = p->name;
}

static void
on_query(struct link *l, const void *body, struct ipc_msg *m)
{
	const Ipc__Query	*in = body;
	struct session		*s = l->session;
	Ipc__Report		 out = IPC__REPORT__INIT;
	Ipc__Process		 procs[LIMIT_REPORT_ROWS];
	Ipc__Process		*list[LIMIT_REPORT_ROWS];
	struct account		 acc;
	struct proc		*p;
	uint64_t		 now = clock_ms();

	(void)m;
	session_tell_master(s);
	account_take(s->cgroups, &s->env.set, true, &acc);
	out.ticket = in->ticket;
	out.running = s->running;
	out.known = s->known;
	out.bytes_out = s->bytes_out;
	out.bytes_in = s->bytes_in;
	out.unacked = s->window.sent_cost;
	out.backlog = s->window.spooled_cost;
	out.held = s->window.memory + (s->conn != NULL ?
	    conn_unfinished(s->conn) : 0);
	out.peak_kib = acc.worker_kib;
	out.cpu_ms = acc.used.cpu_ms;
	out.read = acc.used.read;
	out.written = acc.used.written;
	out.command_kib = acc.used.peak_kib;
	out.started = s->started;
	out.has_oom = acc.has_oom;
	out.oom = acc.oom;
	if (s->client != NULL)
		out.client = s->client;
	out.process = list;
	p = in->processes ? TAILQ_FIRST(&s->all) : NULL;
	do {
		out.n_process = 0;
		for (; p != NULL && out.n_process < LIMIT_REPORT_ROWS;
		    p = TAILQ_NEXT(p, entry)) {
			fill_process(&procs[out.n_process], p, now);
			list[out.n_process] = &procs[out.n_process];
			out.n_process++;
		}
		out.more = p != NULL;
		if (l->chan != NULL)
			chan_send(l->chan, IPC_report, &out, -1);
	} while (out.more);
}

static void
on_act(struct link *l, const void *body, struct ipc_msg *m)
{
	(void)m;
	session_tell_master(l->session);
	operate(l->session, body);
}

static void
on_tail(struct link *l, const void *body, struct ipc_msg *m)
{
	session_tell_master(l->session);
	operate_tail(l->session, body, &m->fd);
}

static void
on_transcript(struct link *l, const void *body, struct ipc_msg *m)
{
	const Ipc__Transcript	*in = body;

	transcripts_opened(l->session, in->ticket, &m->fd);
}

static void
on_transcript_refused(struct link *l, const void *body, struct ipc_msg *m)
{
	const Ipc__TranscriptRefused	*in = body;

	(void)m;
	transcripts_refused(l->session, in->why);
}

static void
on_memory(struct link *l, const void *body, struct ipc_msg *m)
{
	const Ipc__Memory	*in = body;

	(void)m;
	budget_answered(l->session, in->output, in->message);
}

/* --- what goes --- */

void
link_handover(struct link *l, const char *id, size_t id_len,
    const char *message, size_t len, int fd)
{
	Ipc__Handover	 out = IPC__HANDOVER__INIT;
	char		 text[SESSION_ID_MAX];

	if (l->chan == NULL)
		return;
	memcpy(text, id, id_len);
	text[id_len] = '\0';
	out.session_id = text;
	out.message.data = (uint8_t *)(uintptr_t)message;
	out.message.len = len;
	chan_send(l->chan, IPC_handover, &out, fd);
}

void
link_opened(struct link *l)
{
	Ipc__Opened	 out = IPC__OPENED__INIT;

	if (l->chan != NULL)
		chan_send(l->chan, IPC_opened, &out, -1);
}

void
link_attached(struct link *l)
{
	Ipc__Attached	 out = IPC__ATTACHED__INIT;

	if (l->chan != NULL)
		chan_send(l->chan, IPC_attached, &out, -1);
}

void
link_detached(struct link *l)
{
	Ipc__Detached	 out = IPC__DETACHED__INIT;

	if (l->chan != NULL)
		chan_send(l->chan, IPC_detached, &out, -1);
}

/* Released, and the master knows or never will. */
void
link_leave(struct link *l)
{
	if (l->session->state == SESSION_RELEASED &&
	    (l->chan == NULL || chan_is_idle(l->chan)))
		l->session->done = true;
}

void
link_released(struct link *l, Ipc__Used *used)
{
	Ipc__Released	 out = IPC__RELEASED__INIT;

	out.used = used;
	if (l->chan != NULL)
		chan_send(l->chan, IPC_released, &out, -1);
	link_leave(l);
}

void
link_acted(struct link *l, const Ipc__Acted *out)
{
	if (l->chan != NULL)
		chan_send(l->chan, IPC_acted, out, -1);
}

int
link_ask_transcript(struct link *l, uint32_t ticket, bool is_terminal)
{
	Ipc__TranscriptAsk	 out = IPC__TRANSCRIPT_ASK__INIT;

	if (l->chan == NULL)
		return -1;
	session_tell_master(l->session);
	out.ticket = ticket;
	out.terminal = is_terminal;
	chan_send(l->chan, IPC_transcript_ask, &out, -1);
	return 0;
}

int
link_ask_memory(struct link *l, uint64_t output, uint64_t message)
{
	Ipc__MemoryAsk	 out = IPC__MEMORY_ASK__INIT;

	if (l->chan == NULL)
		return -1;
	session_tell_master(l->session);
	out.output = output;
	out.message = message;
	chan_send(l->chan, IPC_memory_ask, &out, -1);
	return 0;
}

void
link_turned_away(struct link *l)
{
	Ipc__TurnedAway	 out = IPC__TURNED_AWAY__INIT;

	if (l->chan != NULL)
		chan_send(l->chan, IPC_turned_away, &out, -1);
}

void
link_command(struct link *l, Ipc__Command *out)
{
	if (l->chan == NULL)
		return;
	session_tell_master(l->session);
	if (chan_waiting(l->chan) > COMMANDS_MAX) {
		l->missed++;
		return;
	}
	out->missed = l->missed;
	l->missed = 0;
	chan_send(l->chan, IPC_command, out, -1);
}

void
link_load(struct link *l, unsigned running)
{
	Ipc__Load	 out = IPC__LOAD__INIT;

	out.running = running;
	if (l->chan != NULL)
		chan_send(l->chan, IPC_load, &out, -1);
}

void
link_ended(struct link *l, const char *why, Ipc__Used *used)
{
	Ipc__Ended	 out = IPC__ENDED__INIT;

	out.used = used;
	out.why = (char *)(uintptr_t)why;
	if (l->chan != NULL)
		chan_send(l->chan, IPC_ended, &out, -1);
}
