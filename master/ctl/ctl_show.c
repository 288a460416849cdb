/* The commands of proto/ctl.def that show. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/buf.h"
#include "common/clock.h"
#include "common/limit.h"
#include "common/log.h"
#include "config.h"
#include "master/accept/gate.h"
#include "master/accept/listen.h"
#include "master/adopt/adopt.h"
#include "master/ctl/ctl.h"
#include "master/ctl/ctl_priv.h"
#include "master/ctl/gauges.h"
#include "master/parts.h"
#include "master/remote/remote.h"
#include "master/workers/cgroups.h"
#include "master/workers/membudget.h"
#include "master/workers/pool.h"

#define TEXT(name)	{ name, IPC__CELL_KIND__TEXT }
#define NUMBER(name)	{ name, IPC__CELL_KIND__NUMBER }
#define LIST(name)	{ name, IPC__CELL_KIND__LIST }
#define FLAG(name)	{ name, IPC__CELL_KIND__FLAG }

/*
 * Write a uid.  execsrvctl looks up the name: the name service may block, and
 * the master must not.
 */
static void
put_user(struct ctl_row *row, uid_t uid)
{
	char	 text[24];

	snprintf(text, sizeof(text), "%lu", (unsigned long)uid);
	ctl_row_text(row, text);
}

/* Append a line to a list; left out if the buffer is full. */
static void
put_line(struct buf *b, const char *name, const char *state)
{
	size_t	 old = b->len;

	if (buf_put(b, name, strlen(name)) == -1 ||
	    buf_put(b, state, strlen(state)) == -1 ||
	    buf_put(b, "\n", 1) == -1)
		b->len = old;
}

/* Write URLs of listeners, up to max bytes. */
static void
put_listeners(struct ctl_row *row, const struct listener_list *list,
    bool is_stdio, size_t max)
{
	const struct listener	*l;
	struct buf		 b;

	buf_init(&b, max);
	if (is_stdio)
		put_line(&b, "stdio", "");
	TAILQ_FOREACH(l, list, entry)
		put_line(&b, l->url, "");
	ctl_row_list(row, &b);
}

static void
put_uplinks(struct ctl_row *row, const struct master *m, bool sees_all)
{
	const struct remote	*r;
	struct buf		 b;
	char			 state[24];

	buf_init(&b, (size_t)LIMIT_CONTROL_MESSAGE / 4);
	TAILQ_FOREACH(r, &m->uplinks.list, entry) {
		if (!sees_all)
			break;
		snprintf(state, sizeof(state), " %s", remote_state_name(r));
		put_line(&b, r->conf->label, state);
	}
	ctl_row_list(row, &b);
}

void
ctl_status(struct ctl_client *c)
{
	static const struct ctl_column	 columns[] = {
		TEXT("version"), NUMBER("pid"), TEXT("state"), FLAG("ready"),
		NUMBER("uptime"), TEXT("user"), LIST("listen"),
		LIST("metrics"), LIST("uplinks"),
		TEXT("tcp_users"), TEXT("directory"), TEXT("audit"),
		TEXT("transcripts"),
		NUMBER("attached"), NUMBER("detached"),
		NUMBER("kept"), NUMBER("spare"), NUMBER("greeting"),
		NUMBER("waiting"), NUMBER("crashes"), NUMBER("memory"),
		TEXT("sandbox"),
		TEXT("limits"),
#define STAT(name, metric, meaning)	NUMBER(#name),
#include "proto/stat.def"
#undef STAT
		END
	};
	struct master	*m = ctl_master(c->ctl);
	struct ctl_row	 row = { .n = 0 };
	char		 limits[128], *audit;
	uint64_t	 n[3];
	size_t		 i;

	gauges_sessions(m, n);
	ctl_put_head(c, columns);
	ctl_row_text(&row, PACKAGE_VERSION);
	ctl_row_number(&row, (uint64_t)getpid());
	ctl_row_text(&row, world_is_stopping(&m->world) ? "stopping" :
	    m->drain.is_on ? "draining" : "running");
	ctl_row_text(&row, m->world.events->is_ready(m) ? "yes" : "no");
	ctl_row_number(&row, (clock_ms() - m->world.start.at) / 1000);
	put_user(&row, geteuid());
	/* The whole row must fit a message. */
	put_listeners(&row, &m->listen.list, m->world.start.is_stdio,
	    (size_t)LIMIT_CONTROL_MESSAGE / 2);
	put_listeners(&row, &m->listen.metrics, false,
	    (size_t)LIMIT_CONTROL_MESSAGE / 8);
	put_uplinks(&row, m, c->who.sees_all);
	ctl_row_text(&row, m->world.sockmark == 0 ? "" :
	    peer_way_name(m->world.peer_way));
	ctl_row_text(&row, m->world.rundir.path);
	audit = audit_describe(&m->world);
	ctl_row_text(&row, audit != NULL ? audit : "");
	free(audit);
	ctl_row_text(&row, m->world.conf.transcript_dir);
	for (i = 0; i < 3; i++)
		ctl_row_number(&row, n[i]);
	ctl_row_number(&row, child_count_spare(&m->children));
	ctl_row_number(&row, gate_greeting(m->gate));
	ctl_row_number(&row, gate_waiting(m->gate));
	ctl_row_number(&row, adopt_deaths(m->adopt));
	ctl_row_number(&row, membudget_total(m->budget));
	ctl_row_text(&row, pool_sandbox(m->pool));
	cgroups_print(m->cgroups, limits, sizeof(limits));
	ctl_row_text(&row, limits);
	for (i = 0; i < STATS; i++)
		ctl_row_number(&row, m->world.stats[i]);
	ctl_put_row(c, &row);
	ctl_put_end(c, 0, NULL);
}

#define SESSION_COLUMNS							\
	NUMBER("session"), TEXT("user"), TEXT("state"), TEXT("peer"),	\
	TEXT("client"), NUMBER("age"), NUMBER("worker"),		\
	NUMBER("running"), NUMBER("known"), NUMBER("in"), NUMBER("out"), \
	NUMBER("unacked"), NUMBER("backlog"), NUMBER("memory"),	\
	NUMBER("peak_kib"),						\
	NUMBER("command_kib"), NUMBER("rss"), NUMBER("cpu_ms"),		\
	NUMBER("read"),							\
	NUMBER("written"), NUMBER("started"), NUMBER("oom"), TEXT("id"), \
	TEXT("version")

/* rep NULL: the session has no worker, or it does not answer. */
static const char *
state_name(const struct route *r, const Ipc__Report *rep)
{
	assert(r->opened);
	if (r->owner == NULL)
		return "kept";
	if (r->owner->state == CHILD_AWAITED)
		return "awaited";
	return rep == NULL ? "no answer" : r->attached ? "attached" :
	    "detached";
}

static void
fill_session(struct ctl_row *row, const struct route *r,
    const Ipc__Report *rep)
{
	static const Ipc__Report	 none = IPC__REPORT__INIT;

	ctl_row_number(row, r->number);
	put_user(row, r->uid);
	ctl_row_text(row, state_name(r, rep));
	if (rep == NULL)
		rep = &none;
	ctl_row_text(row, r->peer);
	ctl_row_text(row, rep->client);
	ctl_row_number(row, (clock_ms() - r->born) / 1000);
	ctl_row_number(row, r->owner != NULL ? (uint64_t)r->owner->pid : 0);
	ctl_row_number(row, rep->running);
	ctl_row_number(row, rep->known);
	ctl_row_number(row, rep->bytes_in);
	ctl_row_number(row, rep->bytes_out);
	ctl_row_number(row, rep->unacked);
	ctl_row_number(row, rep->backlog);
	ctl_row_number(row, rep->held);
	ctl_row_number(row, rep->peak_kib);
	ctl_row_number(row, rep->command_kib);
	ctl_row_number(row, rep->rss);
	ctl_row_number(row, rep->cpu_ms);
	ctl_row_number(row, rep->read);
	ctl_row_number(row, rep->written);
	ctl_row_number(row, rep->started);
	if (rep->has_oom)
		ctl_row_number(row, rep->oom);
	else
		ctl_row_text(row, "");
	ctl_row_text(row, r->id);
	ctl_row_text(row, r->owner == NULL || r->owner->version[0] == '\0' ?
	    PACKAGE_VERSION : r->owner->version);
}

static void
put_session(struct ctl_client *c, struct route *r, const Ipc__Report *rep)
{
	struct ctl_row	 row = { .n = 0 };

	fill_session(&row, r, rep);
	ctl_put_row(c, &row);
}

void
ctl_sessions(struct ctl_client *c)
{
	static const struct ctl_column	 columns[] = {
		SESSION_COLUMNS, END
	};

	ctl_put_head(c, columns);
	ctl_ask(c, NULL, false, put_session);
}

static const char *
process_state(const Ipc__Process *p)
{
	switch (p->state) {
	case IPC__PROCESS_STATE__RUNNING:
		return "running";
	case IPC__PROCESS_STATE__STOPPED:
		return "stopped";
	case IPC__PROCESS_STATE__EXITED:
		return "exited";
	case IPC__PROCESS_STATE__CLOSED:
		return "closed";
	default:
		return "unknown";
	}
}

/*
 * Collect the processes in a report, which may come in several parts, and write
 * the row with the last part.
 */
static void
collect_session(struct ctl_client *c, struct route *r, const Ipc__Report *rep)
{
	struct ctl_row	 row = { .n = 0 };
	struct buf	 refused;
	size_t		 i;
	char		 text[512];

	assert(rep == NULL || r->owner != NULL);
	for (i = 0; rep != NULL && i < rep->n_process; i++) {
		const Ipc__Process	*p = rep->process[i];

		snprintf(text, sizeof(text), "%d %s %.56s", p->pid,
		    process_state(p), p->command);
		put_line(&c->text, text, "");
	}
	if (rep != NULL && rep->more)
		return;
	fill_session(&row, r, rep);
	ctl_row_number(&row, r->uplink);
	ctl_row_text(&row, r->transcript != NULL ? r->transcript : "");
	ctl_row_list(&row, &c->text);
	buf_init(&refused, (size_t)LIMIT_CONTROL_MESSAGE / 4);
	for (i = 0; rep != NULL && i < rep->n_refused; i++) {
		const Ipc__NetRefused	*n = rep->refused[i];

		snprintf(text, sizeof(text), "%llu %.260s:%u %.64s",
		    (unsigned long long)n->count, n->host, n->port, n->why);
		put_line(&refused, text, "");
	}
	ctl_row_list(&row, &refused);
	ctl_put_row(c, &row);
	buf_fini(&refused);
}

void
ctl_show(struct ctl_client *c)
{
	static const struct ctl_column	 columns[] = {
		SESSION_COLUMNS, NUMBER("uplink"), TEXT("transcript"),
		LIST("processes"), LIST("refused"), END
	};
	struct route			*r;

	if ((r = ctl_find(c, c->in->arg[0])) == NULL)
		return;
	if (r->client_uid != c->who.uid) {
		ctl_act(c);
		ctl_act_on(c, r, NULL);
	}
	/* Half of a message; put_line() leaves out what does not fit. */
	buf_fini(&c->text);
	buf_init(&c->text, (size_t)LIMIT_CONTROL_MESSAGE / 2);
	ctl_put_head(c, columns);
	ctl_ask(c, r, true, collect_session);
}

static const struct ctl_column	 ps_columns[] = {
	NUMBER("session"), TEXT("user"), NUMBER("pid"), TEXT("state"),
	NUMBER("exit"), FLAG("tty"), NUMBER("age"), NUMBER("out"),
	TEXT("command"), TEXT("process"), END
};

#define PS_COLUMNS	(sizeof(ps_columns) / sizeof(ps_columns[0]) - 1)

/* A row for a session whose worker does not answer. */
static void
put_unknown(struct ctl_client *c, const struct route *r)
{
	struct ctl_row	 row = { .n = 0 };

	ctl_row_number(&row, r->number);
	put_user(&row, r->uid);
	ctl_row_text(&row, "");
	ctl_row_text(&row, state_name(r, NULL));
	while (row.n < PS_COLUMNS)
		ctl_row_text(&row, "");
	ctl_put_row(c, &row);
}

static void
put_processes(struct ctl_client *c, struct route *r, const Ipc__Report *rep)
{
	struct ctl_row	 row = { .n = 0 };
	size_t		 i;

	if (rep == NULL && r->owner != NULL)
		put_unknown(c, r);
	for (i = 0; rep != NULL && i < rep->n_process; i++) {
		const Ipc__Process	*p = rep->process[i];

		ctl_row_number(&row, r->number);
		put_user(&row, r->uid);
		ctl_row_number(&row, (uint64_t)p->pid);
		ctl_row_text(&row, process_state(p));
		if (p->state == IPC__PROCESS_STATE__RUNNING ||
		    p->state == IPC__PROCESS_STATE__STOPPED)
			ctl_row_text(&row, "");
		else
			ctl_row_number(&row, (uint64_t)p->exit_code);
		ctl_row_text(&row, p->tty ? "yes" : "no");
		ctl_row_number(&row, p->age_ms / 1000);
		ctl_row_number(&row, p->bytes_out);
		ctl_row_text(&row, p->command);
		ctl_row_text(&row, p->id);
		ctl_put_row(c, &row);
	}
}

void
ctl_ps(struct ctl_client *c)
{
	struct route	*only = NULL;

	if (c->in->n_arg > 0 && (only = ctl_find(c, c->in->arg[0])) == NULL)
		return;
	ctl_put_head(c, ps_columns);
	ctl_ask(c, only, true, put_processes);
}

static void
put_uplink(struct ctl_client *c, const struct remote *r)
{
	struct ctl_row	 row = { .n = 0 };
	char		 trouble[REMOTE_TROUBLE];

	remote_trouble(r, trouble, sizeof(trouble));
	ctl_row_number(&row, r->number);
	ctl_row_text(&row, r->conf->label);
	ctl_row_text(&row, r->conf->environment);
	put_user(&row, r->uid);
	ctl_row_text(&row, remote_state_name(r));
	ctl_row_text(&row, conf_word("transport", r->conf->transport));
	ctl_row_number(&row, (clock_ms() - r->since) / 1000);
	ctl_row_number(&row, r->attempts);
	ctl_row_number(&row, r->restarts);
	ctl_row_number(&row, (uint64_t)r->pid);
	ctl_row_number(&row, r->streams);
	ctl_row_number(&row, r->bytes_in);
	ctl_row_number(&row, r->bytes_out);
	ctl_row_text(&row, trouble);
	ctl_put_row(c, &row);
}

/* Only for operators that may see all sessions; others get no rows. */
void
ctl_uplinks(struct ctl_client *c)
{
	static const struct ctl_column	 columns[] = {
		NUMBER("uplink"), TEXT("name"), TEXT("environment"),
		TEXT("user"), TEXT("state"), TEXT("transport"),
		NUMBER("since"), NUMBER("attempts"), NUMBER("restarts"),
		NUMBER("pid"), NUMBER("streams"), NUMBER("in"),
		NUMBER("out"), TEXT("trouble"), END
	};
	const struct remote		*r;

	ctl_put_head(c, columns);
	if (c->who.sees_all)
		TAILQ_FOREACH(r, &ctl_master(c->ctl)->uplinks.list, entry)
			put_uplink(c, r);
	ctl_put_end(c, 0, NULL);
}

/* A line of conf_print() as a row: a keyword, or "#" and one, and its value. */
static void
put_setting(struct ctl_client *c, const char *line, size_t len)
{
	struct ctl_row	 row = { .n = 0 };
	char		*copy, *value;

	if ((copy = strndup(line, len)) == NULL)
		return;
	line = copy + strspn(copy, "\t");
	value = copy + (line - copy) + (*line == '#' ? 2 : 0);
	value += strcspn(value, " ");
	if (*value != '\0')
		*value++ = '\0';
	ctl_row_text(&row, line);
	ctl_row_text(&row, value);
	ctl_put_row(c, &row);
	free(copy);
}

void
ctl_settings(struct ctl_client *c)
{
	static const struct ctl_column	 columns[] = {
		TEXT("keyword"), TEXT("value"), END
	};
	char				*text = NULL, *line;
	size_t				 len, n;
	FILE				*f;

	if ((f = open_memstream(&text, &len)) == NULL) {
		ctl_put_end(c, 1, "the daemon is out of memory");
		return;
	}
	conf_print(&ctl_master(c->ctl)->world.conf, f);
	if (fclose(f) == EOF) {
		free(text);
		ctl_put_end(c, 1, "the daemon is out of memory");
		return;
	}
	ctl_put_head(c, columns);
	for (line = text; *line != '\0'; line += n + (line[n] == '\n')) {
		n = strcspn(line, "\n");
		put_setting(c, line, n);
	}
	free(text);
	ctl_put_end(c, 0, NULL);
}
