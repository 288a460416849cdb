#include "common/ev.h"
#include "master/ctl/ctl.h"
#include "master/ctl/ctl_priv.h"

#include <sys/socket.h>
#include <sys/stat.h>

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/fd.h"
#include "common/limit.h"
#include "common/log.h"
#include "common/rundirs.h"
#include "master/auth/names.h"
#include "master/auth/peer_sandbox.h"

#define IDLE_MS		10000	/* to wait for the first request */
#define TABLE_MAX	(16 * 1024 * 1024) /* bytes queued for a client */
#define PAUSE_MS	100	/* when descriptors run out */
#define PREFIX_MIN	4	/* characters of an id, to find a session */

/* An answer that an operator waits for. */
struct awaited {
	struct map_node	 node;
	unsigned	 id;			/* of the child */
};

enum who { ANY, OWN, OWNER };

static const struct {
	const char	*name;
	ctl_fn		*fn;
	enum who	 who;
	size_t		 min, max;	/* arguments */
} commands[] = {
#define CTL(name, fn, form, who, option, min, max, arguments, help)	\
	{ name, ctl_##fn, who, min, max },
#define LOCAL(name, fn, kinds, arguments, help)
#include "proto/ctl.def"
#undef CTL
#undef LOCAL
};

static void	 ctl_on_accept(void *);
static void	 drop_batch(struct ctl_client *);
static void	 ctl_on_pause(void *);

/* --- the socket --- */

/* Look up ControlGroup; (gid_t)-1: not set. */
static int
find_group(const struct conf *c, gid_t *gid_out, struct conf_error *e)
{
	const struct group	*gr;

	*gid_out = (gid_t)-1;
	if (c->control_group[0] == '\0')
		return 0;
	if ((gr = names_group(c->control_group)) == NULL) {
		conf_fail(e, "ControlGroup %.200s: %s", c->control_group,
		    errno == 0 ? "no such group" : names_error(errno));
		return conf_at(e, conf_where(c, CONF_ROW_control_group, 0));
	}
	*gid_out = gr->gr_gid;
	return 0;
}

int
ctl_check(const struct conf *c, struct conf_error *e)
{
	gid_t	 gid;

	return find_group(c, &gid, e);
}

static int
set_group(const struct ctl *c)
{
	struct conf_error	 e;
	gid_t			 gid;

	if (find_group(&c->world->conf, &gid, &e) == -1) {
		log_warnx("%s", e.text);
		return -1;
	}
	if (lchown(c->path, (uid_t)-1, gid) == -1) {
		log_warn("%s", c->path);
		return -1;
	}
	return 0;
}

static int
open_socket(struct ctl *c)
{
	bool	 for_all = c->world->start.is_root &&
		    c->world->conf.control_group[0] == '\0';

	/*
	 * A user sees and ends sessions of that user only (ctl_may_see()), and
	 * sandboxed commands are refused, so a root server needs no group.
	 */
	if (c->fd == -1 && (c->fd = rundirs_listen(c->world->rundir.path,
	    CTL_SOCKET, for_all ? 0111 : 0117, CTL_CLIENTS_MAX)) == -1)
		return -1;
	return set_group(c);
}

static int
start_accepting(struct ctl *c)
{
	struct event_base	*base = c->world->base;

	timer_init(&c->pause_ev, base, ctl_on_pause, c);
	io_init(&c->accept_ev, base, c->fd, EV_READ | EV_PERSIST, ctl_on_accept,
	    c);
	io_urgent(&c->accept_ev);
	return io_start(&c->accept_ev);
}

struct ctl *
ctl_new(struct world *w, struct routes *rs, struct children *cs, int fd)
{
	struct ctl	*c;

	if ((c = calloc(1, sizeof(*c))) == NULL) {
		fd_close(&fd);
		return NULL;
	}
	c->world = w;
	c->routes = rs;
	c->children = cs;
	c->fd = fd;
	TAILQ_INIT(&c->clients);
	if (w->rundir.path == NULL)
		return c;		/* no control socket */
	if (asprintf(&c->path, "%s/%s", w->rundir.path, CTL_SOCKET) == -1)
		c->path = NULL;
	if (c->path == NULL || open_socket(c) == -1 ||
	    start_accepting(c) == -1)
		ctl_free(&c);
	return c;
}

static void	 audit_act(struct ctl_client *c, const char *result,
		    const char *why);

static void
drop_awaited(struct ctl_client *c, struct awaited *a)
{
	map_del(&c->awaited, &a->node);
	free(a);
}

static void
drop_all_awaited(struct ctl_client *c)
{
	while (c->awaited.count > 0)
		drop_awaited(c, map_first(&c->awaited));
}

static void
client_free(struct ctl_client *cl)
{
	struct world	*w = cl->ctl->world;

	assert(cl->ctl->nclients > 0 && cl->in == NULL);
	audit_act(cl, "unknown", "execsrvctl did not wait");
	TAILQ_REMOVE(&cl->ctl->clients, cl, entry);
	cl->ctl->nclients--;
	chan_free(&cl->chan);
	timer_stop(&cl->late_ev);
	drop_all_awaited(cl);
	map_fini(&cl->awaited);
	fd_close(&cl->stream);
	buf_fini(&cl->text);
	drop_batch(cl);
	free(cl);
	reserve_fill(&w->reserve);
}

void
ctl_free(struct ctl **cp)
{
	struct ctl		*c = *cp;
	struct ctl_client	*cl;

	*cp = NULL;
	if (c == NULL)
		return;
	while ((cl = TAILQ_FIRST(&c->clients)) != NULL) {
		if (cl->waits)
			ctl_on_end(cl);
		client_free(cl);
	}
	io_stop(&c->accept_ev);
	timer_stop(&c->pause_ev);
	if (c->fd != -1)
		unlink(c->path);
	fd_close(&c->fd);
	free(c->path);
	free(c);
}

void
ctl_end_waits(struct ctl *c, const char *why)
{
	struct ctl_client	*cl;

	TAILQ_FOREACH(cl, &c->clients, entry)
		if (cl->waits) {
			cl->waits = false;
			ctl_put_end(cl, 1, why);
		}
}

struct master *
ctl_master(const struct ctl *c)
{
	return c->world->master;
}

/* --- operators --- */

static void
ctl_on_request(void *arg, struct ipc_msg *m)
{
	struct ctl_client	*cl = arg;
	const Ipc__CtlRequest	*in = (const Ipc__CtlRequest *)m->body;
	size_t			 i;

	assert(cl->in == NULL);
	if (cl->ticket != 0 || cl->waits || cl->watches || cl->upgrades) {
		ctl_put_end(cl, 1, "only one command at a time");
		return;
	}
	timer_stop(&cl->late_ev);		/* IDLE_MS */
	for (i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
		if (strcmp(commands[i].name, in->command) == 0)
			break;
	if (i == sizeof(commands) / sizeof(commands[0])) {
		ctl_put_end(cl, 2, "unknown command");
	} else if (in->n_arg < commands[i].min ||
	    in->n_arg > commands[i].max) {
		ctl_put_end(cl, 2, "wrong number of arguments");
	} else if (cl->who.session != 0 && commands[i].who != OWN) {
		ctl_put_end(cl, CTL_DENIED, "only on the machine itself");
	} else if (commands[i].who == OWNER && !cl->who.sees_all) {
		ctl_audit(cl, "may not %s", in->command);
		cl->command = commands[i].name;
		ctl_act(cl);
		ctl_put_end(cl, CTL_DENIED,
		    "only for root and the daemon's user");
	} else {
		cl->in = in;
		cl->command = commands[i].name;
		commands[i].fn(cl);
		cl->in = NULL;
	}
}

static void
on_client_end(void *arg, int error)
{
	(void)error;
	client_free(arg);
}

/* End the wait of ctl_await(), and call on_acted. */
static void
conclude(struct ctl_client *cl, struct child *child, enum ctl_outcome outcome,
    const Ipc__Acted *in)
{
	ctl_acted_fn	*fn = cl->on_acted;

	assert(cl->ticket != 0 && cl->awaited.count == 1 && fn != NULL);
	timer_stop(&cl->late_ev);
	cl->ticket = 0;
	drop_all_awaited(cl);
	cl->on_acted = NULL;
	fn(cl, child, outcome, in);
	fd_close(&cl->stream);
}

/*
 * Timeout.  Workers that did not answer get a row as well: an operator has to
 * know of them.
 */
static void
ctl_on_late(void *arg)
{
	struct ctl_client	*cl = arg;
	const struct child	*child;
	struct awaited		*a;

	assert((cl->ticket == 0) == (cl->awaited.count == 0));
	if (cl->ticket == 0) {
		client_free(cl);	/* IDLE_MS without a request */
		return;
	}
	if (cl->on_acted != NULL) {
		a = map_first(&cl->awaited);
		conclude(cl, child_by_id(cl->ctl->children, a->id), CTL_LATE,
		    NULL);
		return;
	}
	while ((a = map_first(&cl->awaited)) != NULL) {
		child = child_by_id(cl->ctl->children, a->id);
		drop_awaited(cl, a);
		if (child != NULL && child->route != NULL &&
		    ctl_may_see(cl, child->route))
			cl->on_report(cl, child->route, NULL);
	}
	cl->ticket = 0;
	ctl_put_end(cl, 0, NULL);
}

static void
ctl_on_pause(void *arg)
{
	struct ctl	*c = arg;

	assert(c->fd != -1 && !timer_is_set(&c->pause_ev));
	io_start(&c->accept_ev);
}

struct ctl_client *
ctl_add(struct ctl *c, int fd, const struct ctl_who *who)
{
	struct ctl_client	*cl;

	if ((cl = calloc(1, sizeof(*cl))) == NULL) {
		fd_close(&fd);
		return NULL;
	}
	cl->ctl = c;
	cl->stream = -1;
	cl->who = *who;
	map_init(&cl->awaited);
	TAILQ_INSERT_TAIL(&c->clients, cl, entry);
	c->nclients++;
	timer_init(&cl->late_ev, c->world->base, ctl_on_late, cl);
	if ((cl->chan = chan_new(c->world->base, fd, IPC_ROLE_MASTER,
	    IPC_ROLE_OPERATOR, ctl_on_request, on_client_end, cl)) == NULL) {
		fd_close(&fd);
		client_free(cl);
		return NULL;
	}
	cl->fd = fd;
	/* Operators are answered also while thousands of clients leave. */
	chan_urgent(cl->chan);
	chan_set_limit(cl->chan, TABLE_MAX);
	return cl;
}

void
ctl_expect(struct ctl_client *c)
{
	timer_set(&c->late_ev, IDLE_MS);
}

static void
accept_one(struct ctl *c, int lfd)
{
	struct ctl_client	*cl;
	int			 fd;

	if ((fd = accept4(lfd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK)) !=
	    -1) {
		if ((cl = ctl_admit(c, fd)) != NULL)
			ctl_expect(cl);
	} else if (errno != EAGAIN && errno != ECONNABORTED) {
		io_stop(&c->accept_ev);
		timer_set(&c->pause_ev, PAUSE_MS);
	}
}

struct ctl_client *
ctl_find_asker(const struct ctl *c)
{
	struct ctl_client	*cl;

	TAILQ_FOREACH(cl, &c->clients, entry)
		if (cl->upgrades)
			return cl;
	return NULL;
}

int
ctl_socket(const struct ctl *c)
{
	return c->fd;
}

/* When sessions use up all descriptors, operators can still connect. */
static void
ctl_on_accept(void *arg)
{
	struct ctl	*c = arg;

	assert(c->fd != -1 && !timer_is_set(&c->pause_ev));
	reserve_release(&c->world->reserve);
	accept_one(c, c->fd);
	reserve_fill(&c->world->reserve);
}

bool
ctl_may_see(const struct ctl_client *c, const struct route *r)
{
	if (c->who.session != 0)
		return r->opened && r->number != c->who.session &&
		    strcmp(c->who.identity, r->identity) == 0;
	return r->opened && (c->who.sees_all ||
	    c->who.uid == r->client_uid);
}

void
ctl_audit(const struct ctl_client *c, const char *fmt, ...)
{
	char	 text[256];
	va_list	 ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	log_info_with((struct log_member[]){
	    { "event", "control", 0 },
	    { "command", c->command != NULL ? c->command : "", 0 },
	    { "uid", NULL, c->who.uid },
	    { "client_pid", NULL, (unsigned long long)c->who.pid },
	    { NULL, NULL, 0 } }, "control: uid %lu, pid %ld: %s",
	    (unsigned long)c->who.uid, (long)c->who.pid, text);
}

void
ctl_act(struct ctl_client *c)
{
	assert(c->command != NULL);
	memset(&c->act, 0, sizeof(c->act));
	c->is_act = true;
	c->denied = NULL;
	c->act.event = AUDIT_control;
	c->act.by_uid = AUDIT_N(c->who.uid);
	c->act.by_pid = AUDIT_N(c->who.pid);
	c->act.command = c->command;
	c->process[0] = '\0';
}

void
ctl_act_on(struct ctl_client *c, const struct route *r, const char *process)
{
	assert(c->is_act && r->opened);
	c->act.session = AUDIT_N(r->number);
	c->act.uid = AUDIT_N(r->uid);
	memcpy(c->identity, r->identity, sizeof(c->identity));
	c->act.identity = c->identity;
	if (process == NULL)
		return;
	log_word(c->process, sizeof(c->process), process, strlen(process));
	c->act.process = c->process;
}

/* Log a request for a session that is not found, or another user's. */
static void
note_missed(struct ctl_client *c, const char *name, const struct route *others)
{
	char	 whose[48] = "";

	assert(c->in != NULL);
	if (!c->is_act)
		return;
	log_word(c->asked, sizeof(c->asked), name, strlen(name));
	c->act.asked = c->asked;
	if (c->in->n_arg > 1) {
		log_word(c->process, sizeof(c->process), c->in->arg[1],
		    strlen(c->in->arg[1]));
		c->act.process = c->process;
	}
	if (others != NULL) {
		ctl_act_on(c, others, NULL);
		c->denied = "it belongs to another user";
		snprintf(whose, sizeof(whose), ": it belongs to uid %lu",
		    (unsigned long)others->client_uid);
	}
	ctl_audit(c, "%s: is refused session %s%s",
	    c->command, c->asked, whose);
}

static void
audit_act(struct ctl_client *c, const char *result, const char *why)
{
	if (!c->is_act)
		return;
	c->is_act = false;
	c->act.result = result;
	c->act.why = why;
	audit(c->ctl->world, &c->act);
}

void
ctl_act_done(struct ctl_client *c)
{
	assert(c->is_act);
	audit_act(c, "done", NULL);
}

/* Whether a name is the number of a session, or a prefix of its id. */
static bool
is_named(const struct route *r, const char *name)
{
	char	 number[16];
	size_t	 len = strlen(name);

	snprintf(number, sizeof(number), "%u", r->number);
	return strcmp(number, name) == 0 || (len >= PREFIX_MIN &&
	    len <= ROUTE_ID_LEN && strncmp(r->id, name, len) == 0);
}

/* The error is the same for the sessions of others as for none. */
struct route *
ctl_find(struct ctl_client *c, const char *name)
{
	struct route	*r, *found = NULL, *others = NULL;
	char		 why[96];

	assert(c->in != NULL);
	TAILQ_FOREACH(r, &c->ctl->routes->list, entry) {
		if (!r->opened || !is_named(r, name))
			continue;
		if (!ctl_may_see(c, r)) {
			others = r;
			continue;
		}
		if (found != NULL) {
			note_missed(c, name, NULL);
			ctl_put_end(c, 1, "more than one session begins with "
			    "that");
			return NULL;
		}
		found = r;
	}
	if (found == NULL) {
		note_missed(c, name, others);
		/* The audit log has the name in "asked". */
		audit_act(c, c->denied != NULL ? "denied" : "failed",
		    c->denied != NULL ? c->denied : "no such session");
		snprintf(why, sizeof(why), "no such session: %.64s",
		    name);
		ctl_put_end(c, 1, why);
	}
	return found;
}

/* --- tables --- */

void
ctl_row_text(struct ctl_row *r, const char *text)
{
	if (r->n < CTL_CELLS_MAX)
		r->cell[r->n++] = strdup(text);
}

void
ctl_row_number(struct ctl_row *r, uint64_t n)
{
	char	 text[24];

	snprintf(text, sizeof(text), "%llu", (unsigned long long)n);
	ctl_row_text(r, text);
}

void
ctl_row_list(struct ctl_row *row, struct buf *b)
{
	if (b->len > 0)
		buf_data(b)[b->len - 1] = '\0';
	ctl_row_text(row, b->len > 0 ? (const char *)buf_data(b) : "");
	buf_fini(b);
}

void
ctl_put_head(struct ctl_client *c, const struct ctl_column *columns)
{
	Ipc__CtlHead	 out = IPC__CTL_HEAD__INIT;
	char		*names[CTL_CELLS_MAX];
	Ipc__CellKind	 kinds[CTL_CELLS_MAX];
	size_t		 n;

	for (n = 0; columns[n].name != NULL && n < CTL_CELLS_MAX; n++) {
		names[n] = (char *)(uintptr_t)columns[n].name;
		kinds[n] = columns[n].kind;
	}
	assert(columns[n].name == NULL);
	c->ncolumns = n;
	out.column = names;
	out.n_column = n;
	out.kind = kinds;
	out.n_kind = n;
	chan_send(c->chan, IPC_ctl_head, &out, -1);
}

/* Forget the rows that are collected, sent or not. */
static void
drop_batch(struct ctl_client *c)
{
	while (c->nbatch > 0)
		free(c->batch[--c->nbatch]);
	c->batch_bytes = 0;
}

static void
send_batch(struct ctl_client *c)
{
	Ipc__CtlRow	 out = IPC__CTL_ROW__INIT;

	if (c->nbatch == 0)
		return;
	out.cell = c->batch;
	out.n_cell = c->nbatch;
	chan_send(c->chan, IPC_ctl_row, &out, -1);
	drop_batch(c);
}

/* Rows of many workers go together: each message wakes the client up. */
void
ctl_put_row(struct ctl_client *c, struct ctl_row *r)
{
	size_t	 i, bytes = 0;

	assert(r->n == c->ncolumns);
	for (i = 0; i < r->n; i++) {
		if (r->cell[i] == NULL && (r->cell[i] = strdup("")) == NULL)
			goto fail;
		bytes += strlen(r->cell[i]);
	}
	if (c->nbatch + r->n > CTL_BATCH ||
	    c->batch_bytes + bytes > CTL_BATCH_BYTES)
		send_batch(c);
	memcpy(&c->batch[c->nbatch], r->cell, r->n * sizeof(r->cell[0]));
	c->nbatch += r->n;
	c->batch_bytes += bytes;
	r->n = 0;
	if (c->awaited.count == 0)
		send_batch(c);
	return;
 fail:
	/* No memory: the row is left out. */
	while (r->n > 0)
		free(r->cell[--r->n]);
}

void
ctl_put_end(struct ctl_client *c, unsigned exit_code, const char *error)
{
	Ipc__CtlEnd	 out = IPC__CTL_END__INIT;

	assert(exit_code == 0 || error != NULL);
	send_batch(c);
	out.exit_code = exit_code;
	if (error != NULL)
		out.error = (char *)(uintptr_t)error;
	chan_send(c->chan, IPC_ctl_end, &out, -1);
	audit_act(c, exit_code == 0 ? "done" : exit_code == CTL_DENIED ||
	    c->denied != NULL ? "denied" : "failed", c->denied != NULL ?
	    c->denied : error);
}

/* --- commands that ask the workers --- */

static int
ctl_add_awaited(struct ctl_client *c, const struct child *child)
{
	struct awaited	*a;

	assert(c->ticket != 0 && child->route != NULL);
	if ((a = calloc(1, sizeof(*a))) == NULL)
		return -1;
	a->id = child->id;
	if (map_add(&c->awaited, &a->node, &a->id, sizeof(a->id), a) == 0)
		return 0;
	free(a);
	return -1;
}

/*
 * No answer is due any more.  Without any, the session asked for has become a
 * tombstone meanwhile, or has ended.
 */
static void
end_table(struct ctl_client *c)
{
	struct route	*r;

	assert(c->ticket == 0 && c->awaited.count == 0 && c->on_acted == NULL);
	if (c->only == 0 || c->has_row) {
		ctl_put_end(c, 0, NULL);
		return;
	}
	TAILQ_FOREACH(r, &c->ctl->routes->list, entry)
		if (r->number == c->only && r->owner == NULL) {
			c->on_report(c, r, NULL);
			ctl_put_end(c, 0, NULL);
			return;
		}
	ctl_put_end(c, 1, "the session has ended");
}

static struct awaited *
find_awaited(const struct ctl_client *c, const struct child *child)
{
	return map_find(&c->awaited, &child->id, sizeof(child->id));
}

/* Stop waiting for a worker: it has answered, or is gone. */
static void
ctl_answered(struct ctl_client *c, struct child *child)
{
	struct awaited	*a = find_awaited(c, child);

	assert(c->ticket != 0);
	if (a == NULL)
		return;
	if (c->on_acted != NULL) {
		conclude(c, child, CTL_GONE, NULL);
		return;
	}
	drop_awaited(c, a);
	if (c->awaited.count > 0)
		return;
	timer_stop(&c->late_ev);
	c->ticket = 0;
	end_table(c);
}

static void
ctl_begin(struct ctl_client *c)
{
	assert(c->ticket == 0 && c->on_acted == NULL && !c->waits);
	if ((c->ticket = ++c->ctl->next_ticket) == 0)
		c->ticket = ++c->ctl->next_ticket;
	assert(c->awaited.count == 0);
}

void
ctl_ask(struct ctl_client *c, struct route *only, bool processes,
    void (*on_report)(struct ctl_client *, struct route *,
    const Ipc__Report *))
{
	struct route	*r;

	assert(on_report != NULL && (only == NULL || ctl_may_see(c, only)));
	ctl_begin(c);
	c->only = only != NULL ? only->number : 0;
	c->has_row = false;
	c->on_report = on_report;
	TAILQ_FOREACH(r, &c->ctl->routes->list, entry) {
		if (!ctl_may_see(c, r) || (only != NULL && r != only))
			continue;
		if (r->owner == NULL || r->owner->chan == NULL) {
			on_report(c, r, NULL);
			c->has_row = true;
		} else if (ctl_add_awaited(c, r->owner) == 0)
			child_query(r->owner, c->ticket, processes);
	}
	if (c->awaited.count == 0) {
		c->ticket = 0;
		end_table(c);
	} else {
		timer_set(&c->late_ev, LIMIT_QUERY);
	}
}

void
ctl_on_report(struct ctl *c, struct child *from, const Ipc__Report *r)
{
	struct ctl_client	*cl;

	if (r->n_process > LIMIT_REPORT_ROWS) {
		child_violates(from, "report");
		return;
	}
	TAILQ_FOREACH(cl, &c->clients, entry) {
		if (cl->ticket == 0 || cl->ticket != r->ticket ||
		    find_awaited(cl, from) == NULL)
			continue;
		if (from->route != NULL && ctl_may_see(cl, from->route)) {
			cl->on_report(cl, from->route, r);
			cl->has_row = true;
		}
		if (!r->more)
			ctl_answered(cl, from);
		return;
	}
}

uint32_t
ctl_await(struct ctl_client *c, struct child *child, uint64_t ms,
    ctl_acted_fn *on_acted)
{
	assert(child->chan != NULL && on_acted != NULL);
	ctl_begin(c);
	if (ctl_add_awaited(c, child) == -1) {
		c->ticket = 0;
		ctl_put_end(c, 1, "the daemon is out of memory");
		return 0;
	}
	c->on_acted = on_acted;
	timer_set(&c->late_ev, ms);
	return c->ticket;
}

void
ctl_on_acted(struct ctl *c, struct child *from, const Ipc__Acted *in)
{
	struct ctl_client	*cl;

	TAILQ_FOREACH(cl, &c->clients, entry)
		if (cl->ticket != 0 && cl->ticket == in->ticket &&
		    cl->on_acted != NULL &&
		    find_awaited(cl, from) != NULL) {
			conclude(cl, from, CTL_ANSWERED, in);
			return;
		}
}

void
ctl_on_child_gone(struct ctl *c, struct child *child)
{
	struct ctl_client	*cl;

	assert(child->chan == NULL);
	if (c == NULL)
		return;
	TAILQ_FOREACH(cl, &c->clients, entry)
		if (cl->ticket != 0)
			ctl_answered(cl, child);
}
