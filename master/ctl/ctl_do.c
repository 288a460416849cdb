/* The commands of proto/ctl.def that act. */
#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/fd.h"
#include "common/limit.h"
#include "common/log.h"
#include "common/process/signals.h"
#include "config.h"
#include "master/adopt/upgrade.h"
#include "master/ctl/ctl.h"
#include "master/ctl/ctl_priv.h"
#include "master/drain.h"
#include "master/parts.h"
#include "master/reload.h"

#define TEXT(name)	{ name, IPC__CELL_KIND__TEXT }
#define NUMBER(name)	{ name, IPC__CELL_KIND__NUMBER }
#define LIST(name)	{ name, IPC__CELL_KIND__LIST }

/* --- on sessions --- */

static const char *
outcome_text(enum ctl_outcome outcome, const Ipc__Acted *in)
{
	assert((outcome == CTL_ANSWERED) == (in != NULL));
	switch (outcome) {
	case CTL_GONE:
		return "the session has ended";
	case CTL_LATE:
		return "the session does not answer";
	case CTL_ANSWERED:
		break;
	}
	switch (in->result) {
	case IPC__ACT_RESULT__DONE:
		return NULL;
	case IPC__ACT_RESULT__NO_PROCESS:
		return "no such process";
	case IPC__ACT_RESULT__NOT_RUNNING:
		return "the process has exited";
	case IPC__ACT_RESULT__BUSY:
		return "it is being killed already";
	default:
		return "the session cannot do that now";
	}
}

/*
 * Return the worker of a session, or NULL: answered with an error.  A worker
 * that does not read its messages gets no more of them, since queued messages
 * hold memory and descriptors.
 */
static struct child *
find_worker(struct ctl_client *c, const struct route *r)
{
	if (r->owner == NULL) {
		ctl_put_end(c, 1, "the session has no processes");
		return NULL;
	}
	if (r->owner->state != CHILD_SERVING ||
	    !chan_is_idle(r->owner->chan)) {
		ctl_put_end(c, 1, "the session does not answer");
		return NULL;
	}
	assert(r->owner->route == r);
	return r->owner;
}

static void
on_signalled(struct ctl_client *c, struct child *child,
    enum ctl_outcome outcome, const Ipc__Acted *in)
{
	struct ctl_row	 row = { .n = 0 };
	const char	*why = outcome_text(outcome, in);

	assert(c->session != 0 && c->ticket == 0);
	(void)child;
	if (why == NULL) {
		ctl_row_number(&row, c->session);
		ctl_row_number(&row, (uint64_t)in->pid);
		ctl_put_row(c, &row);
	}
	ctl_put_end(c, why != NULL, why);
}

void
ctl_signal(struct ctl_client *c)
{
	static const struct ctl_column	 columns[] = {
		NUMBER("session"), NUMBER("pid"), END
	};
	Ipc__Act	 out = IPC__ACT__INIT;
	struct route	*r;
	struct child	*child;
	char		 name[SIGNALS_NAME], why[64];

	ctl_act(c);
	if ((out.signal = signals_read(c->in->arg[2], name)) == 0) {
		snprintf(why, sizeof(why), "no such signal: %.32s",
		    c->in->arg[2]);
		ctl_put_end(c, 2, why);
		return;
	}
	/* To the worker an empty name means the whole session. */
	if (c->in->arg[1][0] == '\0') {
		ctl_put_end(c, 1, "no such process");
		return;
	}
	c->act.signal = AUDIT_N(out.signal);
	if ((r = ctl_find(c, c->in->arg[0])) == NULL)
		return;
	ctl_act_on(c, r, c->in->arg[1]);
	if ((child = find_worker(c, r)) == NULL)
		return;
	ctl_audit(c, "sends signal %d to process %s of session %u of "
	    "uid %lu", out.signal, c->process, r->number,
	    (unsigned long)r->uid);
	c->session = r->number;
	out.process = c->in->arg[1];
	ctl_put_head(c, columns);
	if ((out.ticket = ctl_await(c, child, LIMIT_QUERY, on_signalled)) !=
	    0)
		child_act(child, &out);
}

static void
put_ended(struct ctl_client *c, int pid, uint64_t gone, uint64_t left)
{
	struct ctl_row	 row = { .n = 0 };

	assert(c->session != 0);
	ctl_row_number(&row, c->session);
	if (pid == 0)
		ctl_row_text(&row, "");
	else
		ctl_row_number(&row, (uint64_t)pid);
	ctl_row_number(&row, gone);
	ctl_row_number(&row, left);
	ctl_put_row(c, &row);
	c->act.gone = AUDIT_N(gone);
	c->act.left = AUDIT_N(left);
	ctl_put_end(c, left > 0, left > 0 ? "some processes could not be "
	    "killed" : NULL);
}

static void
on_killed(struct ctl_client *c, struct child *child, enum ctl_outcome outcome,
    const Ipc__Acted *in)
{
	const char	*why = outcome_text(outcome, in);

	assert(c->session != 0 && c->ticket == 0);
	(void)child;
	if (why == NULL) {
		ctl_audit(c, "session %u: %u processes killed, %u left",
		    c->session, in->gone, in->left);
		put_ended(c, in->pid, in->gone, in->left);
	} else {
		ctl_put_end(c, 1, why);
	}
}

/* Kill a worker that does not answer; its orphans follow when it is reaped. */
static void
kill_worker(struct ctl_client *c, struct child *child)
{
	ctl_audit(c, "session %u did not end in time: its worker is "
	    "killed", c->session);
	if (child != NULL)
		child_kill(child);
	ctl_put_end(c, 1, "the session did not answer; its worker was "
	    "killed, its processes will be");
}

/* The same for a whole session. */
static void
on_session_killed(struct ctl_client *c, struct child *child,
    enum ctl_outcome outcome, const Ipc__Acted *in)
{
	if (outcome == CTL_LATE)
		kill_worker(c, child);
	else
		on_killed(c, child, outcome, in);
}

static void
kill_session(struct ctl_client *c, struct route *r)
{
	Ipc__Act	 out = IPC__ACT__INIT;
	struct child	*child = r->owner;

	assert(r->opened && (child == NULL || child->route == r));
	if (child == NULL) {
		r->why = "killed by an operator";
		route_free(&r);
		put_ended(c, 0, 0, 0);
		return;
	}
	/* Of a former daemon, and not here yet: nobody could answer. */
	if (child->chan == NULL) {
		kill_worker(c, child);
		return;
	}
	if ((out.ticket = ctl_await(c, child,
	    child->grace + LIMIT_KILL + LIMIT_QUERY,
	    on_session_killed)) != 0)
		child_act(child, &out);
}

void
ctl_kill(struct ctl_client *c)
{
	static const struct ctl_column	 columns[] = {
		NUMBER("session"), NUMBER("pid"), NUMBER("gone"),
		NUMBER("left"), END
	};
	Ipc__Act	 out = IPC__ACT__INIT;
	bool		 is_process = c->in->n_arg > 1;
	struct child	*child = NULL;
	struct route	*r;

	ctl_act(c);
	if (is_process && c->in->arg[1][0] == '\0') {
		ctl_put_end(c, 1, "no such process");
		return;
	}
	if ((r = ctl_find(c, c->in->arg[0])) == NULL)
		return;
	ctl_act_on(c, r, is_process ? c->in->arg[1] : NULL);
	if (is_process && (child = find_worker(c, r)) == NULL)
		return;
	ctl_audit(c, "kills %s%s%ssession %u of uid %lu", is_process ?
	    "process " : "", c->process, is_process ? " of " : "", r->number,
	    (unsigned long)r->uid);
	c->session = r->number;
	/* After the head of the table the client waits without a timeout. */
	ctl_put_head(c, columns);
	if (!is_process) {
		kill_session(c, r);
		return;
	}
	out.process = c->in->arg[1];
	if ((out.ticket = ctl_await(c, child, LIMIT_KILL + LIMIT_QUERY,
	    on_killed)) != 0)
		child_act(child, &out);
}

static void
on_tailed(struct ctl_client *c, struct child *child, enum ctl_outcome outcome,
    const Ipc__Acted *in)
{
	Ipc__CtlStream	 out = IPC__CTL_STREAM__INIT;
	const char	*why = outcome_text(outcome, in);

	assert(c->stream != -1 && c->ticket == 0);
	(void)child;
	if (why == NULL)
		chan_send(c->chan, IPC_ctl_stream, &out, c->stream);
	ctl_put_end(c, why != NULL, why);
}

/*
 * Output is data of a client, which the master must not read: the worker writes
 * it to a socket that the operator gets.
 */
void
ctl_tail(struct ctl_client *c)
{
	Ipc__Tail	 out = IPC__TAIL__INIT;
	struct route	*r;
	struct child	*child;
	int		 pair[2];

	ctl_act(c);
	if ((r = ctl_find(c, c->in->arg[0])) == NULL)
		return;
	ctl_act_on(c, r, c->in->arg[1]);
	if ((child = find_worker(c, r)) == NULL)
		return;
	ctl_audit(c, "reads the output of process %s of session %u of "
	    "uid %lu", c->process, r->number, (unsigned long)r->uid);
	if (fd_packet_pair(pair) == -1) {
		ctl_put_end(c, 1, strerror(errno));
		return;
	}
	assert(c->stream == -1);
	c->stream = pair[0];
	out.process = c->in->arg[1];
	out.follow = c->in->option;
	if ((out.ticket = ctl_await(c, child, LIMIT_QUERY, on_tailed)) != 0)
		child_tail(child, &out, pair[1]);
	else
		fd_close(&c->stream);
	fd_close(&pair[1]);
}

/* --- on the server --- */

void
ctl_drain(struct ctl_client *c)
{
	static const struct ctl_column	 columns[] = {
		TEXT("state"), NUMBER("sessions"), END
	};
	struct master	*m = ctl_master(c->ctl);
	struct ctl_row	 row = { .n = 0 };

	ctl_act(c);
	ctl_audit(c, "drains the server");
	if (!world_is_stopping(&m->world))
		drain_start(&m->drain, m->world.conf.drain_timeout);
	ctl_put_head(c, columns);
	if (c->in->option) {
		ctl_act_done(c);
		c->waits = true;	/* ctl_on_end() goes on */
	} else {
		ctl_row_text(&row, world_is_stopping(&m->world) ? "stopping" :
		    "draining");
		ctl_row_number(&row, route_count(&m->routes));
		ctl_put_row(c, &row);
		ctl_put_end(c, 0, NULL);
	}
}

/* Those that wait for the end wait in vain. */
void
ctl_undrain(struct ctl_client *c)
{
	static const struct ctl_column	 columns[] = { TEXT("state"), END };
	struct master	*m = ctl_master(c->ctl);
	struct ctl_row	 row = { .n = 0 };

	ctl_act(c);
	ctl_audit(c, "lets the server admit sessions again");
	if (world_is_stopping(&m->world)) {
		ctl_put_end(c, 1, "the server is stopping");
		return;
	}
	drain_undo(&m->drain);
	ctl_end_waits(c->ctl, "the drain was undone");
	ctl_put_head(c, columns);
	ctl_row_text(&row, "running");
	ctl_put_row(c, &row);
	ctl_put_end(c, 0, NULL);
}

void
ctl_on_end(struct ctl_client *c)
{
	struct master	*m = ctl_master(c->ctl);
	struct ctl_row	 row = { .n = 0 };

	assert(c->waits);
	ctl_row_text(&row, "stopped");
	ctl_row_number(&row, m->drain.left);
	ctl_put_row(c, &row);
	ctl_put_end(c, m->drain.left > 0, m->drain.left > 0 ?
	    "some sessions did not end in time" : NULL);
}

void
ctl_reopen_logs(struct ctl_client *c)
{
	static const struct ctl_column	 columns[] = { TEXT("logs"), END };
	struct ctl_row	 row = { .n = 0 };
	struct master	*m = ctl_master(c->ctl);

	ctl_act(c);
	ctl_audit(c, "reopens the log files");
	m->world.events->reopen_logs(m);
	ctl_put_head(c, columns);
	ctl_row_text(&row, "reopened");
	ctl_put_row(c, &row);
	ctl_put_end(c, 0, NULL);
}

void
ctl_reload(struct ctl_client *c)
{
	static const struct ctl_column	 columns[] = {
		NUMBER("added"), NUMBER("removed"), LIST("restart"), END
	};
	struct master		*m = ctl_master(c->ctl);
	struct ctl_row		 row = { .n = 0 };
	struct conf_error	 e;
	struct reloaded		 done;

	ctl_act(c);
	if (!c->who.sees_all) {
		ctl_put_end(c, CTL_DENIED, "only root and the user who runs "
		    "the daemon may do that");
		return;
	}
	ctl_audit(c, "reload");
	if (world_is_stopping(&m->world)) {
		ctl_put_end(c, 1, "the server is stopping");
		return;
	}
	if (reload(m, &done, &e) == -1) {
		ctl_put_end(c, 1, e.text);
		return;
	}
	ctl_put_head(c, columns);
	ctl_row_number(&row, done.added);
	ctl_row_number(&row, done.removed);
	ctl_row_list(&row, &done.kept);
	ctl_put_row(c, &row);
	ctl_put_end(c, 0, NULL);
}

/* --- upgrade --- */

static const struct ctl_column	 upgrade_columns[] = {
	TEXT("from"), TEXT("to"), NUMBER("sessions"), END
};

void
ctl_upgrade(struct ctl_client *c)
{
	struct master	*m = ctl_master(c->ctl);
	const char	*why;

	ctl_act(c);
	ctl_audit(c, c->in->option ? "checks whether the server can be "
	    "upgraded" : "upgrades the server");
	if (upgrade_begin(m->upgrade, c->in->option, &why) == -1) {
		ctl_put_end(c, 1, why);
		return;
	}
	/* With the head of the table the client waits without a timeout. */
	ctl_put_head(c, upgrade_columns);
	ctl_act_done(c);
	c->upgrades = true;
}

int
ctl_asker(const struct ctl *c)
{
	const struct ctl_client	*cl = ctl_find_asker(c);

	return cl == NULL ? -1 : cl->fd;
}

void
ctl_on_upgraded(struct ctl *c, const struct upgrade_result *r)
{
	struct ctl_row		 row = { .n = 0 };
	struct ctl_client	*cl;

	if (r->asker == -1) {
		cl = ctl_find_asker(c);
	} else if ((cl = ctl_admit(c, r->asker)) != NULL) {
		/* The former program has sent the head. */
		for (cl->ncolumns = 0; upgrade_columns[cl->ncolumns].name !=
		    NULL; cl->ncolumns++)
			;
	}
	if (cl == NULL)
		return;
	cl->upgrades = false;
	if (r->why == NULL) {
		ctl_row_text(&row, r->from);
		ctl_row_text(&row, r->to);
		ctl_row_number(&row, r->sessions);
		ctl_put_row(cl, &row);
	}
	ctl_put_end(cl, r->why != NULL, r->why);
}
