#include "master/ctl_priv.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <errno.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/fd.h"
#include "common/limit.h"
#include "common/log.h"
#include "master/inside.h"

#define CLIENTS_MAX	64	/* operators at a time */
#define TABLE_MAX	(16 * 1024 * 1024) /* bytes one may leave unread */
#define PAUSE_MS	100	/* when descriptors run out */

struct ctl {
	struct master			*master;
	int				 fd;
	char				*path;
	struct event			*accept_ev, *pause_ev;
	TAILQ_HEAD(, ctl_client)	 clients;
	unsigned			 nclients;
	uint32_t			 next_ticket;
};

static const struct {
	const char	*name;
	ctl_fn		*fn;
} commands[] = {
#define CTL(name, fn, form, help)	{ name, ctl_##fn },
#include "proto/ctl.def"
#undef CTL
};

static void	 on_accept(int, short, void *);
static void	 on_pause(int, short, void *);

/* --- the socket --- */

static int
set_group(const struct ctl *c)
{
	const char	*name = c->master->conf.control_group;
	struct group	*gr;

	if (name[0] == '\0')
		return 0;
	if ((gr = getgrnam(name)) == NULL) {
		log_warnx("ControlGroup %s: no such group", name);
		return -1;
	}
	if (lchown(c->path, (uid_t)-1, gr->gr_gid) == -1) {
		log_warn("%s", c->path);
		return -1;
	}
	return 0;
}

static int
open_socket(struct ctl *c)
{
	struct sockaddr_un	 un;
	mode_t			 mask;
	int			 r;

	memset(&un, 0, sizeof(un));
	un.sun_family = AF_UNIX;
	if (strlen(c->path) >= sizeof(un.sun_path)) {
		log_warnx("%s: too long for a socket", c->path);
		return -1;
	}
	strcpy(un.sun_path, c->path);
	/* The run directory is locked: a file in the way is stale. */
	if (unlink(c->path) == -1 && errno != ENOENT) {
		log_warn("%s", c->path);
		return -1;
	}
	if ((c->fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC |
	    SOCK_NONBLOCK, 0)) == -1) {
		log_warn("control socket");
		return -1;
	}
	mask = umask(0117);
	r = bind(c->fd, (struct sockaddr *)&un, sizeof(un));
	umask(mask);
	if (r == -1 || listen(c->fd, CLIENTS_MAX) == -1) {
		log_warn("%s", c->path);
		return -1;
	}
	return set_group(c);
}

struct ctl *
ctl_new(struct master *m)
{
	struct ctl	*c;

	if ((c = calloc(1, sizeof(*c))) == NULL)
		return NULL;
	c->master = m;
	c->fd = -1;
	TAILQ_INIT(&c->clients);
	if (asprintf(&c->path, "%s/%s", m->dir, CTL_SOCKET) == -1)
		c->path = NULL;
	if (c->path == NULL || open_socket(c) == -1 ||
	    (c->accept_ev = event_new(m->base, c->fd, EV_READ | EV_PERSIST,
	    on_accept, c)) == NULL || event_add(c->accept_ev, NULL) == -1 ||
	    (c->pause_ev = event_new(m->base, -1, 0, on_pause, c)) == NULL)
		ctl_free(&c);
	return c;
}

static void
client_free(struct ctl_client *cl)
{
	TAILQ_REMOVE(&cl->ctl->clients, cl, entry);
	cl->ctl->nclients--;
	chan_free(&cl->chan);
	if (cl->late_ev != NULL)
		event_free(cl->late_ev);
	free(cl->awaited);
	free(cl);
}

void
ctl_free(struct ctl **cp)
{
	struct ctl	*c = *cp;

	*cp = NULL;
	if (c == NULL)
		return;
	while (!TAILQ_EMPTY(&c->clients))
		client_free(TAILQ_FIRST(&c->clients));
	if (c->accept_ev != NULL)
		event_free(c->accept_ev);
	if (c->pause_ev != NULL)
		event_free(c->pause_ev);
	if (c->fd != -1)
		unlink(c->path);
	fd_close(&c->fd);
	free(c->path);
	free(c);
}

struct master *
ctl_master(const struct ctl *c)
{
	return c->master;
}

/* --- operators --- */

static void
on_request(void *arg, struct ipc_msg *m)
{
	struct ctl_client	*cl = arg;
	const Ipc__CtlRequest	*in = (const Ipc__CtlRequest *)m->body;
	size_t			 i;

	if (cl->ticket != 0) {
		ctl_put_end(cl, 1, "one command at a time");
		return;
	}
	for (i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
		if (strcmp(commands[i].name, in->command) == 0) {
			commands[i].fn(cl);
			return;
		}
	ctl_put_end(cl, 2, "unknown command");
}

static void
on_client_end(void *arg, int error)
{
	(void)error;
	client_free(arg);
}

/* The workers had their time. */
static void
on_late(int fd, short what, void *arg)
{
	struct ctl_client	*cl = arg;

	(void)fd;
	(void)what;
	cl->ticket = 0;
	cl->nawaited = 0;
	ctl_put_end(cl, 1, "some sessions do not answer");
}

static void
on_pause(int fd, short what, void *arg)
{
	struct ctl	*c = arg;

	(void)fd;
	(void)what;
	event_add(c->accept_ev, NULL);
}

/* Who is in a sandbox that does not hide our folder has no business here. */
static bool
is_inside(int fd, pid_t pid)
{
	const char	*why = inside_why(fd, pid);

	if (why != NULL)
		log_info("control: pid %ld: refused: %s", (long)pid, why);
	return why != NULL;
}

static void
on_accept(int lfd, short what, void *arg)
{
	struct ctl		*c = arg;
	struct ctl_client	*cl;
	struct ucred		 cred;
	socklen_t		 len = sizeof(cred);
	struct timeval		 pause = clock_timeval(PAUSE_MS);
	int			 fd;

	(void)what;
	if ((fd = accept4(lfd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK)) ==
	    -1) {
		if (errno != EAGAIN && errno != ECONNABORTED) {
			event_del(c->accept_ev);
			event_add(c->pause_ev, &pause);
		}
		return;
	}
	if (c->nclients >= CLIENTS_MAX || getsockopt(fd, SOL_SOCKET,
	    SO_PEERCRED, &cred, &len) == -1 || is_inside(fd, cred.pid) ||
	    (cl = calloc(1, sizeof(*cl))) == NULL) {
		fd_close(&fd);
		return;
	}
	cl->ctl = c;
	cl->uid = cred.uid;
	cl->sees_all = cred.uid == 0 || cred.uid == geteuid();
	TAILQ_INSERT_TAIL(&c->clients, cl, entry);
	c->nclients++;
	if ((cl->late_ev = event_new(c->master->base, -1, 0, on_late,
	    cl)) == NULL || (cl->chan = chan_new(c->master->base, fd,
	    IPC_ROLE_MASTER, IPC_ROLE_OPERATOR, on_request, on_client_end,
	    cl)) == NULL) {
		fd_close(&fd);
		client_free(cl);
		return;
	}
	chan_set_limit(cl->chan, TABLE_MAX);
}

bool
ctl_may_see(const struct ctl_client *c, const struct route *r)
{
	return r->opened && (c->sees_all || c->uid == r->client_uid);
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
	out.column = names;
	out.n_column = n;
	out.kind = kinds;
	out.n_kind = n;
	chan_send(c->chan, IPC_ctl_head, &out, -1);
}

void
ctl_put_row(struct ctl_client *c, struct ctl_row *r)
{
	Ipc__CtlRow	 out = IPC__CTL_ROW__INIT;
	static char	 none[] = "";
	size_t		 i;

	for (i = 0; i < r->n; i++)
		if (r->cell[i] == NULL)
			r->cell[i] = none;
	out.cell = r->cell;
	out.n_cell = r->n;
	chan_send(c->chan, IPC_ctl_row, &out, -1);
	for (i = 0; i < r->n; i++)
		if (r->cell[i] != none)
			free(r->cell[i]);
	r->n = 0;
}

void
ctl_put_end(struct ctl_client *c, unsigned exit_code, const char *error)
{
	Ipc__CtlEnd	 out = IPC__CTL_END__INIT;

	out.exit_code = exit_code;
	if (error != NULL)
		out.error = (char *)(uintptr_t)error;
	chan_send(c->chan, IPC_ctl_end, &out, -1);
}

/* --- commands that ask the workers --- */

static int
await(struct ctl_client *c, const struct child *child)
{
	unsigned	*list;

	if ((list = reallocarray(c->awaited, c->nawaited + 1,
	    sizeof(*list))) == NULL)
		return -1;
	c->awaited = list;
	list[c->nawaited++] = child->id;
	return 0;
}

/* That child has answered, or never will. */
static void
answered(struct ctl_client *c, const struct child *child)
{
	size_t	 i;

	for (i = 0; i < c->nawaited; i++)
		if (c->awaited[i] == child->id) {
			c->awaited[i] = c->awaited[--c->nawaited];
			if (c->nawaited > 0)
				return;
			event_del(c->late_ev);
			c->ticket = 0;
			ctl_put_end(c, 0, NULL);
			return;
		}
}

static bool
is_awaited(const struct ctl_client *c, const struct child *child)
{
	size_t	 i;

	for (i = 0; i < c->nawaited; i++)
		if (c->awaited[i] == child->id)
			return true;
	return false;
}

void
ctl_ask(struct ctl_client *c, bool processes,
    void (*on_report)(struct ctl_client *, struct route *,
    const Ipc__Report *))
{
	struct timeval	 tv = clock_timeval(LIMIT_QUERY);
	struct route	*r;

	if ((c->ticket = ++c->ctl->next_ticket) == 0)
		c->ticket = ++c->ctl->next_ticket;
	c->nawaited = 0;
	c->on_report = on_report;
	TAILQ_FOREACH(r, &c->ctl->master->all_routes, entry) {
		if (!ctl_may_see(c, r))
			continue;
		if (r->owner == NULL)
			on_report(c, r, NULL);
		else if (await(c, r->owner) == 0)
			child_query(r->owner, c->ticket, processes);
	}
	if (c->nawaited == 0) {
		c->ticket = 0;
		ctl_put_end(c, 0, NULL);
	} else {
		event_add(c->late_ev, &tv);
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
		    !is_awaited(cl, from))
			continue;
		if (from->route != NULL && ctl_may_see(cl, from->route))
			cl->on_report(cl, from->route, r);
		if (!r->more)
			answered(cl, from);
		return;
	}
}

void
ctl_on_child_gone(struct ctl *c, struct child *child)
{
	struct ctl_client	*cl;

	if (c == NULL)
		return;
	TAILQ_FOREACH(cl, &c->clients, entry)
		if (cl->ticket != 0)
			answered(cl, child);
}
