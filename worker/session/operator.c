#include "worker/session/operator.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "common/linux/ptree.h"
#include "worker/proc/descendants.h"
#include "worker/proc/proc.h"
#include "worker/proc/tail.h"
#include "worker/session/link.h"
#include "worker/session/session.h"

/*
 * A process that an operator ends; answered when it and its descendants are
 * gone.
 */
struct ending {
	struct sink		 sink;
	struct session		*session;
	struct proc		*proc;
	struct acting		 acting;
};

static void
operator_answer(struct session *s, uint32_t ticket, Ipc__ActResult result,
    const struct proc *p)
{
	Ipc__Acted	 out = IPC__ACTED__INIT;

	out.ticket = ticket;
	out.result = result;
	out.pid = p != NULL ? p->pid : 0;
	link_acted(s->link, &out);
}

/* Pids are reused: return the newest process with one. */
static struct proc *
operator_find(struct session *s, const char *name)
{
	struct proc	*p;
	char		*end;
	long		 pid;

	pid = strtol(name, &end, 10);
	if (*end == '\0' && pid > 0)
		TAILQ_FOREACH_REVERSE(p, &s->procs.all, proc_list, entry)
			if (p->pid == pid)
				return p;
	return procs_find(&s->procs, name, strlen(name));
}

/* --- ending --- */

/* Answer with the number of processes killed, and of those left. */
static void
answer_ended(struct session *s, const struct acting *a, pid_t pid,
    size_t left)
{
	Ipc__Acted	 out = IPC__ACTED__INIT;

	out.ticket = a->ticket;
	out.result = IPC__ACT_RESULT__DONE;
	out.pid = pid;
	out.left = (uint32_t)left;
	out.gone = (uint32_t)(a->count > left ? a->count - left : 0);
	link_acted(s->link, &out);
}

static void
ending_on_gone(struct sink *k)
{
	free((struct ending *)k);
}

static void
ending_on_killed(struct sink *k)
{
	struct ending	*e = (struct ending *)k;
	struct proc	*p = e->proc;

	answer_ended(e->session, &e->acting, p->pid,
	    ptree_kill(0, NULL, descendants_has, &p->descendants));
	sink_remove(k);
	free(e);
}

static const struct sink_ops	 ending_ops = {
	.on_killed = ending_on_killed,
	.on_gone = ending_on_gone,
};

void
operator_on_session_end(struct session *s)
{
	if (s->operator.ending.ticket != 0)
		answer_ended(s, &s->operator.ending, 0, session_kill_count());
}

static void
end_process(struct session *s, struct proc *p, uint32_t ticket)
{
	struct ending	*e;

	if (sinks_find(&p->sinks, &ending_ops) != NULL) {
		operator_answer(s, ticket, IPC__ACT_RESULT__BUSY, p);
	} else if (p->state != PROC_RUNNING) {
		operator_answer(s, ticket, IPC__ACT_RESULT__NOT_RUNNING, p);
	} else if ((e = calloc(1, sizeof(*e))) == NULL) {
		operator_answer(s, ticket, IPC__ACT_RESULT__UNABLE, p);
	} else {
		e->session = s;
		e->proc = p;
		e->acting.ticket = ticket;
		e->acting.count = ptree_kill(0, NULL, descendants_has,
		    &p->descendants);
		sink_add(&p->sinks, &e->sink, &ending_ops);
		(void)proc_terminate(p, 0);	/* on_killed answers */
	}
}

static void
operator_end_session(struct session *s, uint32_t ticket)
{
	if (s->operator.ending.ticket != 0) {
		operator_answer(s, ticket, IPC__ACT_RESULT__BUSY, NULL);
		return;
	}
	if (s->state == SESSION_RELEASED) {
		operator_answer(s, ticket, IPC__ACT_RESULT__DONE, NULL);
		return;
	}
	/* A session that is already closing has counted nothing. */
	s->operator.ending.ticket = ticket;
	s->operator.ending.count = session_kill_count();
	session_end(s, "killed by an operator", s->env.set.grace_ms);
}

void
operator_act(struct session *s, const Ipc__Act *in)
{
	struct proc	*p;

	if (in->process[0] == '\0') {
		operator_end_session(s, in->ticket);
		return;
	}
	if ((p = operator_find(s, in->process)) == NULL) {
		operator_answer(s, in->ticket, IPC__ACT_RESULT__NO_PROCESS,
		    NULL);
	} else if (in->signal == 0) {
		end_process(s, p, in->ticket);
	} else if (p->state != PROC_RUNNING) {
		operator_answer(s, in->ticket, IPC__ACT_RESULT__NOT_RUNNING, p);
	} else {
		operator_answer(s, in->ticket, kill(-p->pid, in->signal) == 0 ?
		    IPC__ACT_RESULT__DONE : IPC__ACT_RESULT__UNABLE, p);
	}
}

void
operator_tail(struct session *s, const Ipc__Tail *in, int *fdp)
{
	Ipc__ActResult	 result = IPC__ACT_RESULT__DONE;
	struct proc	*p;

	if ((p = operator_find(s, in->process)) == NULL)
		result = IPC__ACT_RESULT__NO_PROCESS;
	else if (*fdp == -1 || tail_add(p, &s->operator.tails, *fdp,
	    in->follow) == -1)
		result = IPC__ACT_RESULT__UNABLE;
	else
		*fdp = -1;
	operator_answer(s, in->ticket, result, p);
}
