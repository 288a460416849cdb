/*
 * master/ctl: requests of operators, who may do what, and the answers for each
 * state of the world.  The kernel's word on the peer, workers, their channels
 * and time are ours; there is no socket and no process.
 *
 * lint-ok: long, as one set of stand-ins serves every case.
 */
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/limit.h"
#include "config.h"
#include "master/adopt/adopt.h"
#include "master/adopt/upgrade.h"
#include "master/accept/gate.h"
#include "master/accept/listen.h"
#include "master/auth/names.h"
#include "master/auth/peer_sandbox.h"
#include "master/ctl/ctl.h"
#include "master/logs/audit.h"
#include "master/parts.h"
#include "master/reload.h"
#include "master/remote/remote.h"
#include "master/workers/child.h"
#include "master/workers/membudget.h"
#include "master/workers/pool.h"
#include "master/workers/route.h"

#define DAEMON	500		/* the daemon's uid */
#define ANN	1001
#define BOB	1002
#define CHANS	128

/* An operator's connection, or a worker's. */
struct chan {
	chan_msg_fn	*on_msg;
	chan_end_fn	*on_end;
	void		*arg;
	bool		 is_busy, is_closed, is_urgent;
	char		 columns[2048], kinds[64], row[4096];	/* the last */
	char		 text[16384];	/* rows and ends, a line each */
	size_t		 ncolumns;
	unsigned	 nrows, nends;
	unsigned	 nchannels;	/* that a worker got */
	int		 stream;		/* descriptor it got; or -1 */
};

static struct master	 m;
static struct ctl	*ctl;
static struct chan	 chans[CHANS];
static unsigned		 nchans;
static struct child	 workers[4];
static struct chan	 worker_chans[4];
static struct route	 sessions[4];
static uint64_t		 now;			/* ms */
static int		 door;			/* an eventfd: the listener */
static unsigned		 ncoming;		/* clients to be accepted */
static struct ucred	 coming;
static const char	*inside;		/* why it is in a sandbox */
static bool		 is_late;		/* timers end at once */
static bool		 is_ready;
/* The last that a worker was asked for. */
static struct {
	struct child	*child;
	uint32_t	 ticket;
	bool		 processes, follow;
	char		 process[32];
	int		 signal;
	unsigned	 n;
}			 asked;
static struct child	*killed, *violated;
/* The last event of the audit log. */
static struct {
	unsigned	 n;
	char		 result[16], why[64], command[16], process[80];
	char		 about[32];
	uint64_t	 by, session, signal, gone;
	bool		 has_session;
}			 last;
static unsigned		 ndrains, nreopened, nchecks;
static const char	*reload_why, *upgrade_why;	/* why not; or NULL */
static char		 reload_kept[64];

/* --- in the place of kernel, time, workers, logs and the rest --- */

uid_t
geteuid(void)
{
	return DAEMON;
}

int
socket(int domain, int type, int protocol)
{
	ck_assert(domain == AF_UNIX && protocol == 0);
	ck_assert_int_eq(type & 0xf, SOCK_SEQPACKET);
	return door = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
}

int
bind(int fd, __CONST_SOCKADDR_ARG addr, socklen_t len)
{
	(void)addr;
	(void)len;
	ck_assert_int_eq(fd, door);
	return 0;
}

int
listen(int fd, int n)
{
	(void)n;
	ck_assert_int_eq(fd, door);
	return 0;
}

int
lchown(const char *path, uid_t uid, gid_t gid)
{
	ck_assert_str_eq(path, "/nonexistent/control.sock");
	ck_assert(uid == (uid_t)-1 && gid == (gid_t)-1);
	return 0;
}

int
accept4(int fd, __SOCKADDR_ARG addr, socklen_t *len, int flags)
{
	(void)addr;
	(void)len;
	ck_assert_int_eq(fd, door);
	ck_assert_int_eq(flags, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (ncoming == 0) {
		errno = EAGAIN;
		return -1;
	}
	ncoming--;
	return open("/dev/null", O_RDONLY | O_CLOEXEC);
}

int
getsockopt(int fd, int level, int name, void *out, socklen_t *len)
{
	(void)fd;
	ck_assert(level == SOL_SOCKET && name == SO_PEERCRED &&
	    *len == sizeof(coming));
	memcpy(out, &coming, sizeof(coming));
	return 0;
}

uint64_t
clock_ms(void)
{
	return now;
}

uint64_t
clock_us(void)
{
	return now * 1000;
}

struct timeval
clock_timeval(uint64_t ms)
{
	struct timeval	 soon = { 0, 0 }, never = { 1000000, 0 };

	(void)ms;
	return is_late ? soon : never;
}

const char *
peer_sandbox_why(int fd, pid_t pid)
{
	ck_assert(fcntl(fd, F_GETFD) != -1 && pid == coming.pid);
	return inside;
}

const char *
peer_way_name(enum peer_way way)
{
	return way == PEER_WAY_TABLE ? "table" : "diag";
}

const struct group *
names_group(const char *name)
{
	ck_assert_str_eq(name, "operators");
	errno = 0;
	return NULL;
}

const char *
names_error(int error)
{
	return strerror(error);
}

void
reserve_release(struct reserve *r)
{
	(void)r;
}

void
reserve_fill(struct reserve *r)
{
	(void)r;
}

struct chan *
chan_new(struct event_base *base, int sock, enum ipc_role self,
    enum ipc_role peer, chan_msg_fn *on_msg, chan_end_fn *on_end, void *arg)
{
	struct chan	*c = &chans[nchans++];

	ck_assert(base == m.world.base && self == IPC_ROLE_MASTER &&
	    peer == IPC_ROLE_OPERATOR && nchans <= CHANS);
	close(sock);
	memset(c, 0, sizeof(*c));
	c->on_msg = on_msg;
	c->on_end = on_end;
	c->arg = arg;
	c->stream = -1;
	return c;
}

void
chan_free(struct chan **cp)
{
	(*cp)->is_closed = true;
	*cp = NULL;
}

void
chan_set_limit(struct chan *c, size_t max)
{
	ck_assert(!c->is_closed);
	ck_assert_uint_gt(max, LIMIT_CONTROL_MESSAGE);
}

void
chan_urgent(struct chan *c)
{
	ck_assert(!c->is_closed);
	c->is_urgent = true;
}

bool
chan_is_idle(const struct chan *c)
{
	return !c->is_busy;
}

/* Append cells to a line, with a | behind each. */
static void
join(char *out, size_t size, char *const *cell, size_t n)
{
	size_t	 i;

	out[0] = '\0';
	for (i = 0; i < n; i++) {
		ck_assert_uint_lt(strlen(out) + strlen(cell[i]) + 2, size);
		strcat(strcat(out, cell[i]), "|");
	}
}

void
chan_send(struct chan *c, enum ipc_kind kind, const void *body, int fd)
{
	const Ipc__CtlHead	*head = body;
	const Ipc__CtlRow	*row = body;
	const Ipc__CtlEnd	*end = body;
	size_t			 i, used = strlen(c->text);

	ck_assert(!c->is_closed && (fd == -1 || kind == IPC_ctl_stream ||
	    kind == IPC_operating));
	if (kind == IPC_operating || kind == IPC_operate_refused) {
		c->nchannels += kind == IPC_operating;
		snprintf(c->text, sizeof(c->text), "%s", kind == IPC_operating ?
		    "" : ((const Ipc__OperateRefused *)body)->why);
		return;
	}
	if (kind == IPC_ctl_head) {
		join(c->columns, sizeof(c->columns), head->column,
		    head->n_column);
		ck_assert_uint_eq(head->n_column, head->n_kind);
		for (i = 0; i < head->n_kind && i < sizeof(c->kinds); i++)
			c->kinds[i] = (char)head->kind[i];
		c->ncolumns = head->n_column;
	} else if (kind == IPC_ctl_row) {
		ck_assert_uint_ne(c->ncolumns, 0);
		ck_assert_uint_eq(row->n_cell % c->ncolumns, 0);
		for (i = 0; i < row->n_cell; i += c->ncolumns) {
			join(c->row, sizeof(c->row), row->cell + i,
			    c->ncolumns);
			used = strlen(c->text);
			snprintf(c->text + used, sizeof(c->text) - used,
			    "%s\n", c->row);
			c->nrows++;
		}
	} else if (kind == IPC_ctl_stream) {
		c->stream = fd;
	} else {
		ck_assert(kind == IPC_ctl_end);
		snprintf(c->text + used, sizeof(c->text) - used,
		    "end %u: %s\n", end->exit_code, end->error);
		c->nends++;
	}
}

static void
note_asked(struct child *c, uint32_t ticket)
{
	asked.child = c;
	asked.ticket = ticket;
	asked.n++;
	ck_assert_uint_ne(ticket, 0);
}

void
child_query(struct child *c, uint32_t ticket, bool processes)
{
	note_asked(c, ticket);
	asked.processes = processes;
}

void
child_act(struct child *c, const Ipc__Act *out)
{
	note_asked(c, out->ticket);
	asked.signal = out->signal;
	snprintf(asked.process, sizeof(asked.process), "%s", out->process);
}

void
child_tail(struct child *c, const Ipc__Tail *out, int fd)
{
	note_asked(c, out->ticket);
	asked.follow = out->follow;
	snprintf(asked.process, sizeof(asked.process), "%s", out->process);
	ck_assert_int_ne(fcntl(fd, F_GETFD), -1);
}

void
child_kill(struct child *c)
{
	killed = c;
}

void
child_violates(struct child *c, const char *what)
{
	ck_assert_str_eq(what, "report");
	violated = c;
}

struct child *
child_by_id(struct children *all, unsigned id)
{
	size_t	 i;

	ck_assert_ptr_eq(all, &m.children);
	for (i = 0; i < 4; i++)
		if (workers[i].id == id && workers[i].chan != NULL)
			return &workers[i];
	return NULL;
}

size_t
child_count_spare(const struct children *all)
{
	ck_assert_ptr_eq(all, &m.children);
	return 7;
}

size_t
route_count(const struct routes *rs)
{
	const struct route	*r;
	size_t			 n = 0;

	TAILQ_FOREACH(r, &rs->list, entry)
		n += r->owner != NULL;
	return n;
}

void
route_free(struct route **rp)
{
	TAILQ_REMOVE(&m.routes.list, *rp, entry);
	*rp = NULL;
}

void
audit(struct world *world, const struct audit_what *w)
{
	ck_assert(world == &m.world && w->event == AUDIT_control);
	ck_assert(w->by_uid.is_set && w->by_pid.is_set);
	memset(&last.result, 0, sizeof(last) - offsetof(typeof(last), result));
	last.n++;
	snprintf(last.result, sizeof(last.result), "%s", w->result);
	snprintf(last.command, sizeof(last.command), "%s", w->command);
	snprintf(last.why, sizeof(last.why), "%s", w->why ? w->why : "");
	snprintf(last.process, sizeof(last.process), "%s",
	    w->process ? w->process : "");
	snprintf(last.about, sizeof(last.about), "%s",
	    w->asked ? w->asked : "");
	last.by = w->by_uid.n;
	last.has_session = w->session.is_set;
	last.session = w->session.n;
	last.signal = w->signal.n;
	last.gone = w->gone.n;
}

char *
audit_describe(const struct world *w)
{
	ck_assert_ptr_eq(w, &m.world);
	return strdup("syslog");
}

size_t
gate_greeting(const struct gate *g)
{
	(void)g;
	return 3;
}

size_t
gate_waiting(const struct gate *g)
{
	(void)g;
	return 4;
}

uint64_t
membudget_total(const struct membudget *b)
{
	(void)b;
	return 4096;
}

unsigned
adopt_deaths(const struct adopt *a)
{
	(void)a;
	return 9;
}

const char *
pool_sandbox(const struct pool *p)
{
	(void)p;
	return "namespaces";
}

void
cgroups_print(const struct cgroups *g, char *out, size_t size)
{
	(void)g;
	snprintf(out, size, "memory");
}

const char *
remote_state_name(const struct remote *r)
{
	return r->number == 1 ? "registered" : "connecting";
}

void
remote_trouble(const struct remote *r, char *out, size_t size)
{
	snprintf(out, size, "%s", r->number == 1 ? "" : "refused");
}

enum gauge
remote_gauge(const struct remote *r)
{
	(void)r;
	return (enum gauge)0;
}

int
reload(struct master *master, struct reloaded *out, struct conf_error *e)
{
	ck_assert_ptr_eq(master, &m);
	if (reload_why != NULL)
		return conf_fail(e, "%s", reload_why);
	out->added = 2;
	out->removed = 1;
	buf_init(&out->kept, 64);
	return buf_put(&out->kept, reload_kept, strlen(reload_kept));
}

int
upgrade_begin(struct upgrade *u, bool only_check, const char **why_out)
{
	ck_assert_ptr_null(u);
	nchecks += only_check;
	*why_out = upgrade_why;
	return upgrade_why == NULL ? 0 : -1;
}

void
drain_start(struct drain *d, uint64_t timeout)
{
	ck_assert(d == &m.drain && timeout == 1234);
	d->is_on = true;
	ndrains++;
}

void
drain_undo(struct drain *d)
{
	ck_assert_ptr_eq(d, &m.drain);
	d->is_on = false;
}

static bool
world_is_ready(const struct master *master)
{
	ck_assert_ptr_eq(master, &m);
	return is_ready;
}

static void
world_reopen(struct master *master)
{
	ck_assert_ptr_eq(master, &m);
	nreopened++;
}

/* --- helpers --- */

/* Session i + 1, of a user; served by a worker unless it is a tombstone. */
static void
add_session(unsigned i, uid_t uid, bool is_served)
{
	struct route	*r = &sessions[i];
	struct child	*c = &workers[i];

	r->number = i + 1;
	r->uid = r->client_uid = uid;
	r->opened = true;
	r->born = now - 5000;
	snprintf(r->id, sizeof(r->id), "%cbcdefgh", 'a' + (int)i);
	snprintf(r->peer, sizeof(r->peer), "unix");
	snprintf(r->identity, sizeof(r->identity), "uid:%u", uid);
	TAILQ_INSERT_TAIL(&m.routes.list, r, entry);
	if (!is_served)
		return;
	c->id = 100 + i;
	c->pid = 1000 + (int)i;
	c->chan = &worker_chans[i];
	c->state = CHILD_SERVING;
	c->route = r;
	c->grace = 2000;
	r->owner = c;
	r->attached = true;
}

static void
setup(void)
{
	static const struct master_events	 events = {
		.is_ready = world_is_ready, .reopen_logs = world_reopen
	};
	static char				 dir[] = "/nonexistent";
	size_t					 i;

	memset(&m, 0, sizeof(m));
	memset(workers, 0, sizeof(workers));
	memset(worker_chans, 0, sizeof(worker_chans));
	memset(sessions, 0, sizeof(sessions));
	memset(&asked, 0, sizeof(asked));
	memset(&last, 0, sizeof(last));
	nchans = ncoming = ndrains = nreopened = nchecks = 0;
	inside = reload_why = upgrade_why = NULL;
	killed = violated = NULL;
	is_late = false;
	now = 1000000;
	TAILQ_INIT(&m.routes.list);
	TAILQ_INIT(&m.listen.list);
	TAILQ_INIT(&m.listen.metrics);
	TAILQ_INIT(&m.uplinks.list);
	for (i = 0; i < HANDOFF_KINDS; i++)
		m.handed.fd[i] = -1;
	m.world.events = &events;
	m.world.master = &m;
	m.world.start.is_root = true;
	m.world.start.idmap.has_all_users = true;
	m.world.start.idmap.has_all_groups = true;
	m.world.rundir.path = dir;
	ck_assert_int_eq(conf_init(&m.world.conf), 0);
	m.world.conf.drain_timeout = 1234;
	ck_assert_ptr_nonnull(m.world.base = event_base_new());
	ck_assert_ptr_nonnull(ctl = m.ctl = ctl_new(&m.world, &m.routes,
	    &m.children, -1));
}

static void
teardown(void)
{
	ctl_free(&m.ctl);
	conf_fini(&m.world.conf);
	event_base_free(m.world.base);
}

static void
turn(void)
{
	event_base_loop(m.world.base, EVLOOP_NONBLOCK | EVLOOP_ONCE);
}

/* A client connects.  Return its channel; NULL: it was refused. */
static struct chan *
client(uid_t uid)
{
	unsigned	 before = nchans;

	coming.uid = uid;
	coming.pid = 77;
	ncoming = 1;
	ck_assert_int_eq(eventfd_write(door, 1), 0);
	turn();
	ck_assert_uint_eq(ncoming, 0);
	ck_assert_int_eq(eventfd_read(door, &(eventfd_t){ 0 }), 0);
	ck_assert(nchans == before || chans[before].is_closed ||
	    chans[before].is_urgent);
	return nchans > before ? &chans[before] : NULL;
}

/* It sends a command with n arguments. */
static void
vcommand(struct chan *c, bool option, const char *command, size_t n,
    va_list ap)
{
	Ipc__CtlRequest	 in = IPC__CTL_REQUEST__INIT;
	struct ipc_msg	 msg = { IPC_ctl_request, &in.base, -1 };
	char		*arg[8], name[32];
	size_t		 i;

	ck_assert_uint_lt(n, 8);
	for (i = 0; i < n; i++)
		arg[i] = va_arg(ap, char *);
	snprintf(name, sizeof(name), "%s", command);
	in.command = name;
	in.arg = arg;
	in.n_arg = n;
	in.option = option;
	c->text[0] = c->row[0] = '\0';
	c->nrows = c->nends = 0;
	c->on_msg(c->arg, &msg);
}

static void
command(struct chan *c, const char *name, size_t n, ...)
{
	va_list	 ap;

	va_start(ap, n);
	vcommand(c, false, name, n, ap);
	va_end(ap);
}

/* The same with the option of its row. */
static void
command_with(struct chan *c, const char *name, size_t n, ...)
{
	va_list	 ap;

	va_start(ap, n);
	vcommand(c, true, name, n, ap);
	va_end(ap);
}

/* Return a cell of the last row, by the name of its column. */
static const char *
cell(const struct chan *c, const char *column)
{
	static char	 text[4096];
	const char	*name = c->columns, *value = c->row;
	size_t		 len;

	for (;; name += len + 1, value = strchr(value, '|') + 1) {
		ck_assert_msg(*name != '\0', "no column %s", column);
		len = strcspn(name, "|");
		if (strlen(column) == len && strncmp(name, column, len) == 0)
			break;
	}
	snprintf(text, sizeof(text), "%.*s", (int)strcspn(value, "|"), value);
	return text;
}

#define CELL(c, column, value)	ck_assert_str_eq(cell(c, column), value)
#define ANSWER(c, t)		ck_assert_str_eq((c)->text, t)

/* A worker answers what it was asked for last. */
static void
report(struct child *from, unsigned running, bool more)
{
	Ipc__Report	 r = IPC__REPORT__INIT;

	r.ticket = asked.ticket;
	r.running = running;
	r.more = more;
	ctl_on_report(ctl, from, &r);
}

static void
acted(struct child *from, Ipc__ActResult result, int pid)
{
	Ipc__Acted	 a = IPC__ACTED__INIT;

	a.ticket = asked.ticket;
	a.result = result;
	a.pid = pid;
	a.gone = 3;
	ctl_on_acted(ctl, from, &a);
}

/* A worker is gone; its session as well, or it is a tombstone then. */
static void
worker_ends(unsigned i, bool is_kept)
{
	workers[i].chan = NULL;
	sessions[i].owner = NULL;
	if (!is_kept)
		TAILQ_REMOVE(&m.routes.list, &sessions[i], entry);
	ctl_on_child_gone(ctl, &workers[i]);
}

/* --- requests --- */

static const struct {
	const char	*name;
	size_t		 min, max;
	bool		 is_owners;
	bool		 is_own;	/* for clients of sessions as well */
} rows[] = {
#define ANY	false, false
#define OWN	false, true
#define OWNER	true, false
#define CTL(name, fn, form, who, option, min, max, arguments, help)	\
	{ name, min, max, who },
#define LOCAL(name, fn, kinds, arguments, help)
#include "proto/ctl.def"
#undef CTL
#undef LOCAL
#undef ANY
#undef OWN
#undef OWNER
};

#define ROWS	((int)(sizeof(rows) / sizeof(rows[0])))

START_TEST(test_unknown)
{
	struct chan	*c = client(0);

	command(c, "statu", 0);
	ANSWER(c, "end 2: unknown command\n");
	command(c, "", 0);
	ANSWER(c, "end 2: unknown command\n");
	command(c, "run", 0);	/* one of execsrvctl alone */
	ANSWER(c, "end 2: unknown command\n");
	ck_assert_uint_eq(last.n, 0);
}
END_TEST

/* One argument too few, one too many: nothing happens, also for others. */
START_TEST(test_arguments)
{
	struct chan	*c[] = { client(0), client(ANN) };
	unsigned	 i;

	for (i = 0; i < 2; i++) {
		if (rows[_i].min > 0) {
			command(c[i], rows[_i].name, rows[_i].min - 1, "1",
			    "1");
			ANSWER(c[i], "end 2: wrong number of arguments\n");
		}
		command(c[i], rows[_i].name, rows[_i].max + 1, "1", "1", "1",
		    "1");
		ANSWER(c[i], "end 2: wrong number of arguments\n");
	}
	ck_assert_uint_eq(last.n + ndrains + nreopened + asked.n, 0);
}
END_TEST

/* What is the owner's nobody else does; the attempt is in the audit log. */
START_TEST(test_owner)
{
	const struct upgrade_result	 upgraded = { "1", "2", 0, NULL, -1 };
	bool		 is_act = strcmp(rows[_i].name, "settings") != 0;
	struct chan	*c;
	unsigned	 i;

	if (!rows[_i].is_owners)
		return;
	c = client(ANN);
	command(c, rows[_i].name, 0);
	ANSWER(c, "end 4: only for root and the daemon's user\n");
	ck_assert_str_eq(last.result, "denied");
	ck_assert_str_eq(last.command, rows[_i].name);
	ck_assert_uint_eq(last.by, ANN);
	ck_assert_uint_eq(last.n, 1);
	ck_assert_uint_eq(ndrains + nreopened, 0);
	for (i = 0; i < 2; i++) {
		c = client(i == 0 ? 0 : DAEMON);
		command(c, rows[_i].name, 0);
		ctl_on_upgraded(ctl, &upgraded);	/* for others nothing */
		ck_assert_ptr_nonnull(strstr(c->text, "end 0: \n"));
		ck_assert_uint_eq(last.n, is_act ? i + 2 : 1);
		ck_assert_str_eq(last.result, is_act ? "done" : "denied");
		ck_assert_uint_eq(last.by, is_act ? coming.uid : ANN);
	}
}
END_TEST

/* While one is not answered there is no other, and it is answered still. */
START_TEST(test_one_at_a_time)
{
	struct chan	*c = client(0);

	add_session(0, ANN, true);
	command(c, "sessions", 0);
	ANSWER(c, "");
	command(c, "status", 0);
	ANSWER(c, "end 1: only one command at a time\n");
	report(&workers[0], 1, false);
	ck_assert_uint_eq(c->nrows, 1);
	ck_assert_uint_eq(c->nends, 2);
	command(c, "status", 0);
	ck_assert_uint_eq(c->nrows, 1);
}
END_TEST

/* --- clients --- */

/* A user has a few, all others leave room for root. */
START_TEST(test_room)
{
	unsigned	 i;
	struct chan	*first = NULL;

	for (i = 0; i < 8; i++) {
		ck_assert_ptr_nonnull(client(ANN));
		if (i == 0)
			first = &chans[0];
	}
	ck_assert_ptr_null(client(ANN));
	for (i = 0; i < 40; i++)
		ck_assert_ptr_nonnull(client(BOB + i / 8));
	ck_assert_ptr_null(client(BOB + 77));
	for (i = 0; i < 16; i++)
		ck_assert_ptr_nonnull(client(i % 2 == 0 ? 0 : DAEMON));
	ck_assert_ptr_null(client(0));
	first->on_end(first->arg, 0);
	ck_assert(first->is_closed);
	ck_assert_ptr_nonnull(client(ANN));
}
END_TEST

START_TEST(test_refused)
{
	struct chan	*c;

	inside = "its root is another";
	ck_assert_ptr_null(client(ANN));
	ck_assert_ptr_null(client(0));
	inside = NULL;
	/* The overflow uid is nobody, whoever's sessions bear it. */
	m.world.start.idmap.has_all_users = false;
	m.world.start.idmap.overflow_uid = 65534;
	add_session(0, 65534, false);
	c = client(65534);
	command(c, "sessions", 0);
	ANSWER(c, "end 0: \n");
}
END_TEST

/* Who says nothing is not waited for. */
START_TEST(test_idle)
{
	struct chan	*c;

	is_late = true;
	c = client(ANN);
	turn();
	ck_assert(c->is_closed);
}
END_TEST

/* --- clients of sessions --- */

/* The client of a session asks, by its worker. */
static struct chan *
client_of(unsigned session)
{
	unsigned	 before = nchans;

	worker_chans[session].nchannels = 0;
	ctl_operate(ctl, &workers[session], 5);
	ck_assert_uint_eq(nchans, before + worker_chans[session].nchannels);
	return nchans > before ? &chans[before] : NULL;
}

/* It sees the other sessions of its identity, and no more if it is root. */
START_TEST(test_far_sees)
{
	struct chan	*c;

	add_session(0, DAEMON, true);
	add_session(1, DAEMON, false);
	add_session(2, DAEMON, false);
	add_session(3, ANN, false);
	snprintf(sessions[2].identity, sizeof(sessions[2].identity),
	    "token:x");
	c = client_of(0);
	command(c, "sessions", 0);
	ck_assert_uint_eq(c->nrows, 1);
	CELL(c, "session", "2");
	command(c, "show", 1, "2");
	CELL(c, "session", "2");
	command(c, "show", 1, "1");
	ANSWER(c, "end 1: no such session: 1\n");
	command(c, "kill", 1, "3");
	ANSWER(c, "end 1: no such session: 3\n");
	command(c, "kill", 1, "4");
	ANSWER(c, "end 1: no such session: 4\n");
	ck_assert_str_eq(last.result, "denied");
	ck_assert_uint_eq(last.by, DAEMON);
}
END_TEST

START_TEST(test_far_commands)
{
	struct chan	*c;

	add_session(0, DAEMON, true);
	c = client_of(0);
	command(c, rows[_i].name, rows[_i].min, "9", "9", "9");
	if (rows[_i].is_own)
		ck_assert_ptr_null(strstr(c->text, "machine"));
	else
		ANSWER(c, "end 4: only on the machine itself\n");
	ck_assert_uint_eq(ndrains + nreopened, 0);
}
END_TEST

/* A worker gets as many as a user, whoever the user is. */
START_TEST(test_far_room)
{
	struct chan	*c;
	unsigned	 i;

	add_session(0, 0, true);
	for (i = 0; i < 8; i++)
		ck_assert_ptr_nonnull(c = client_of(0));
	ck_assert_ptr_null(client_of(0));
	ck_assert_str_eq(worker_chans[0].text, "too many requests are waiting");
	ck_assert_ptr_nonnull(client(0));
	c->on_end(c->arg, 0);
	ck_assert_ptr_nonnull(client_of(0));
	is_late = true;
	ck_assert_ptr_null(client_of(0));
}
END_TEST

/* --- status --- */

START_TEST(test_status)
{
	struct chan	*c = client(ANN);

	is_ready = true;
	m.world.start.at = now - 61999;
	m.routes.in_state[ROUTE_ATTACHED] = 5;
	m.routes.in_state[ROUTE_DETACHED] = 6;
	m.routes.in_state[ROUTE_KEPT] = 8;
	m.world.stats[0] = 11;
	m.world.stats[STATS - 1] = 12;
	command(c, "status", 0);
	CELL(c, "version", PACKAGE_VERSION);
	CELL(c, "state", "running");
	CELL(c, "ready", "yes");
	CELL(c, "uptime", "61");
	CELL(c, "user", "500");
	CELL(c, "listen", "");
	CELL(c, "uplinks", "");
	CELL(c, "tcp_users", "");
	CELL(c, "directory", "/nonexistent");
	CELL(c, "audit", "syslog");
	CELL(c, "attached", "5");
	CELL(c, "detached", "6");
	CELL(c, "kept", "8");
	CELL(c, "spare", "7");
	CELL(c, "greeting", "3");
	CELL(c, "waiting", "4");
	CELL(c, "crashes", "9");
	CELL(c, "memory", "4096");
	CELL(c, "sandbox", "namespaces");
	CELL(c, "limits", "memory");
	ck_assert_ptr_nonnull(strstr(c->row, "|memory|11|"));
	ck_assert_str_eq(strrchr(c->text, '|'), "|\nend 0: \n");
	ck_assert_str_eq(c->row + strlen(c->row) - 4, "|12|");
	ck_assert_uint_eq(last.n, 0);
}
END_TEST

START_TEST(test_status_states)
{
	static struct listener	 l[2], metrics;
	static struct conf_uplink conf[2];
	static struct remote	 r[2];
	static char		 labels[2][4] = { "one", "two" };
	struct chan		*c = client(0);
	unsigned		 i;

	is_ready = false;
	m.drain.is_on = true;
	m.world.start.is_stdio = true;
	m.world.sockmark = 1;
	m.world.peer_way = PEER_WAY_TABLE;
	for (i = 0; i < 2; i++) {
		snprintf(l[i].url, sizeof(l[i].url), "unix:/%u", i);
		TAILQ_INSERT_TAIL(&m.listen.list, &l[i], entry);
		conf[i].label = labels[i];
		r[i].conf = &conf[i];
		r[i].number = i + 1;
		TAILQ_INSERT_TAIL(&m.uplinks.list, &r[i], entry);
	}
	snprintf(metrics.url, sizeof(metrics.url), "http://[::]:9");
	TAILQ_INSERT_TAIL(&m.listen.metrics, &metrics, entry);
	command(c, "status", 0);
	CELL(c, "state", "draining");
	CELL(c, "ready", "no");
	CELL(c, "listen", "stdio\nunix:/0\nunix:/1");
	CELL(c, "metrics", "http://[::]:9");
	CELL(c, "uplinks", "one registered\ntwo connecting");
	CELL(c, "tcp_users", "table");
	m.world.state = WORLD_STOPPING;
	command(c, "status", 0);
	CELL(c, "state", "stopping");
}
END_TEST

/* --- sessions --- */

/* Each sees his own; those who see all see all that have an id. */
START_TEST(test_sessions)
{
	struct chan	*ann = client(ANN), *root = client(0);

	add_session(0, ANN, true);
	add_session(1, BOB, true);
	add_session(2, ANN, false);
	add_session(3, ANN, true);
	sessions[3].opened = false;
	command(ann, "sessions", 0);
	ck_assert_uint_eq(asked.n, 1);
	ck_assert_ptr_eq(asked.child, &workers[0]);
	ck_assert(!asked.processes);
	sessions[0].attached = false;
	report(&workers[0], 9, false);
	CELL(ann, "session", "1");
	CELL(ann, "user", "1001");
	CELL(ann, "state", "detached");
	CELL(ann, "running", "9");
	CELL(ann, "worker", "1000");
	CELL(ann, "oom", "");
	ck_assert_uint_eq(ann->nrows, 2);
	ck_assert_ptr_eq(strstr(ann->text, "3|1001|kept|"), ann->text);
	ck_assert_uint_eq(ann->nends, 1);
	command(ann, "show", 1, "3");
	CELL(ann, "state", "kept");
	CELL(ann, "worker", "0");
	CELL(ann, "age", "5");
	CELL(ann, "id", "cbcdefgh");
	command(root, "sessions", 0);
	ck_assert_uint_eq(asked.n, 3);
	report(&workers[0], 1, false);
	report(&workers[0], 1, false);		/* again: does not count */
	ck_assert_uint_eq(root->nends, 0);
	report(&workers[1], 1, false);
	CELL(root, "state", "attached");
	CELL(root, "user", "1002");
	ck_assert_uint_eq(root->nrows, 3);
	ck_assert_uint_eq(root->nends, 1);
}
END_TEST

/* Who does not answer has a row that says so; who is gone has none. */
START_TEST(test_no_answer)
{
	struct chan	*c = client(0);
	unsigned	 i;

	for (i = 0; i < 3; i++)
		add_session(i, ANN, true);
	is_late = true;
	command(c, "sessions", 0);
	report(&workers[1], 1, false);
	worker_ends(0, false);
	ck_assert_uint_eq(c->nends, 0);
	turn();
	ck_assert_uint_eq(c->nrows, 2);
	CELL(c, "session", "3");
	CELL(c, "state", "no answer");
	ck_assert_uint_eq(c->nends, 1);
	report(&workers[2], 1, false);		/* too late */
	ck_assert_uint_eq(c->nrows, 2);
}
END_TEST

/* Answers that nobody asked for, of another, or longer than may be. */
START_TEST(test_odd_reports)
{
	struct chan	*c = client(0);
	Ipc__Report	 r = IPC__REPORT__INIT;

	add_session(0, ANN, true);
	add_session(1, BOB, true);
	report(&workers[0], 1, false);
	command(c, "show", 1, "1");
	report(&workers[1], 1, false);
	asked.ticket++;
	report(&workers[0], 1, false);
	asked.ticket--;
	ck_assert_uint_eq(c->nrows + c->nends, 0);
	ck_assert_ptr_null(violated);
	r.ticket = asked.ticket;
	r.n_process = (size_t)LIMIT_REPORT_ROWS + 1;
	ctl_on_report(ctl, &workers[0], &r);
	ck_assert_ptr_eq(violated, &workers[0]);
	ck_assert_uint_eq(c->nrows + c->nends, 0);
	worker_ends(0, false);
	ANSWER(c, "end 1: the session has ended\n");
}
END_TEST

/* By number, by the beginning of the id; the same words for none and others. */
START_TEST(test_find)
{
	struct chan	*ann = client(ANN), *root = client(0);

	add_session(0, ANN, false);
	add_session(1, BOB, false);
	add_session(2, ANN, false);
	memcpy(sessions[2].id, "abcdex", 7);
	command(ann, "show", 1, "1");
	CELL(ann, "session", "1");
	command(ann, "show", 1, "abcdex");
	CELL(ann, "session", "3");
	command(ann, "show", 1, "abcde");
	ANSWER(ann, "end 1: more than one session begins with that\n");
	command(ann, "show", 1, "abc");
	ANSWER(ann, "end 1: no such session: abc\n");
	command(ann, "show", 1, "");
	ANSWER(ann, "end 1: no such session: \n");
	command(ann, "show", 1, "2");
	ANSWER(ann, "end 1: no such session: 2\n");
	command(ann, "show", 1, "bbcdefgh");
	ANSWER(ann, "end 1: no such session: bbcdefgh\n");
	command(ann, "show", 1, "bbcdefghi");
	ANSWER(ann, "end 1: no such session: bbcdefghi\n");
	ck_assert_uint_eq(last.n, 0);
	/* To look at another's is an act. */
	command(root, "show", 1, "bbcd");
	CELL(root, "session", "2");
	ck_assert_uint_eq(last.n, 1);
	ck_assert_str_eq(last.command, "show");
	ck_assert_str_eq(last.result, "done");
	ck_assert(last.has_session && last.session == 2 && last.by == 0);
}
END_TEST

/* The processes come in parts; the row has all of them. */
START_TEST(test_show)
{
	struct chan	*c = client(ANN);
	Ipc__Report	 r = IPC__REPORT__INIT;
	Ipc__Process	 p = IPC__PROCESS__INIT, *all[] = { &p };
	static char	 sh[] = "sh", dir[] = "/var/t/1";

	add_session(0, ANN, true);
	sessions[0].transcript = dir;
	sessions[0].uplink = 2;
	command(c, "show", 1, "1");
	ck_assert(asked.processes);
	r.ticket = asked.ticket;
	r.process = all;
	r.n_process = 1;
	r.more = true;
	r.has_oom = true;
	r.oom = 6;
	p.pid = 31;
	p.state = IPC__PROCESS_STATE__RUNNING;
	p.command = sh;
	ctl_on_report(ctl, &workers[0], &r);
	ck_assert_uint_eq(c->nrows, 0);
	p.pid = 32;
	p.state = IPC__PROCESS_STATE__EXITED;
	r.more = false;
	ctl_on_report(ctl, &workers[0], &r);
	CELL(c, "processes", "31 running sh\n32 exited sh");
	CELL(c, "transcript", "/var/t/1");
	CELL(c, "uplink", "2");
	CELL(c, "oom", "6");
	ck_assert_uint_eq(c->nrows, 1);
	ck_assert_ptr_nonnull(strstr(c->text, "|\nend 0: \n"));
	/* A tombstone meanwhile has a row all the same. */
	command(c, "show", 1, "1");
	worker_ends(0, true);
	CELL(c, "state", "kept");
	CELL(c, "processes", "");
	ck_assert_uint_eq(c->nends, 1);
}
END_TEST

START_TEST(test_ps)
{
	struct chan	*c = client(0);
	Ipc__Report	 r = IPC__REPORT__INIT;
	Ipc__Process	 p[3] = { IPC__PROCESS__INIT, IPC__PROCESS__INIT,
			    IPC__PROCESS__INIT };
	Ipc__Process	*all[] = { &p[0], &p[1], &p[2] };

	add_session(0, ANN, true);
	add_session(1, BOB, true);
	add_session(2, BOB, false);
	is_late = true;
	command(c, "ps", 0);
	p[0].state = IPC__PROCESS_STATE__RUNNING;
	p[0].exit_code = 9;
	p[1].state = IPC__PROCESS_STATE__EXITED;
	p[1].exit_code = 9;
	p[1].tty = true;
	p[2].age_ms = 1999;
	r.ticket = asked.ticket;
	r.process = all;
	r.n_process = 3;
	ctl_on_report(ctl, &workers[0], &r);
	turn();
	ANSWER(c, "1|1001|0|running||no|0|0|||\n"
	    "1|1001|0|exited|9|yes|0|0|||\n"
	    "1|1001|0|unknown|0|no|1|0|||\n"
	    "2|1002||no answer|||||||\nend 0: \n");
	/* Of one: those of the tombstone are none. */
	command(c, "ps", 1, "3");
	ANSWER(c, "end 0: \n");
}
END_TEST

START_TEST(test_uplinks)
{
	static struct conf_uplink	 conf;
	static struct remote		 r;
	static char			 label[] = "box", env[] = "prod";
	struct chan			*c = client(0), *ann = client(ANN);

	conf.label = label;
	conf.environment = env;
	r.conf = &conf;
	r.number = 2;
	r.uid = BOB;
	r.since = now - 3000;
	r.restarts = 4;
	TAILQ_INSERT_TAIL(&m.uplinks.list, &r, entry);
	command(c, "uplinks", 0);
	CELL(c, "name", "box");
	CELL(c, "environment", "prod");
	CELL(c, "user", "1002");
	CELL(c, "state", "connecting");
	CELL(c, "since", "3");
	CELL(c, "restarts", "4");
	CELL(c, "trouble", "refused");
	command(ann, "uplinks", 0);
	ANSWER(ann, "end 0: \n");
	TAILQ_INIT(&m.uplinks.list);
}
END_TEST

/* --- what acts --- */

START_TEST(test_signal_words)
{
	static const struct {
		const char	*text;
		int		 n;	/* 0: no signal */
	} cases[] = {
		{ "TERM", SIGTERM }, { "sigint", SIGINT }, { "9", SIGKILL },
		{ "0", 0 }, { "-1", 0 }, { "9x", 0 }, { "", 0 },
		{ "SIG", 0 }, { "SIGSIGTERM", 0 }, { "100000", 0 },
		{ "TERMTERMTERMTERM", 0 }, { " 9", 0 },
	};
	struct chan	*c = client(ANN);
	size_t		 i;
	char		 why[64];

	add_session(0, ANN, true);
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		command(c, "signal", 3, "1", "p", cases[i].text);
		if (cases[i].n == 0) {
			snprintf(why, sizeof(why),
			    "end 2: no such signal: %s\n", cases[i].text);
			ANSWER(c, why);
			continue;
		}
		ck_assert_int_eq(asked.signal, cases[i].n);
		ck_assert_str_eq(asked.process, "p");
		acted(&workers[0], IPC__ACT_RESULT__DONE, 31);
		ANSWER(c, "1|31|\nend 0: \n");
		ck_assert_uint_eq(last.signal, (unsigned)cases[i].n);
		ck_assert_str_eq(last.result, "done");
		ck_assert_str_eq(last.process, "p");
	}
	/* An empty name would be the session to the worker. */
	command(c, "signal", 3, "1", "", "9");
	ANSWER(c, "end 1: no such process\n");
	command(c, "kill", 2, "1", "");
	ANSWER(c, "end 1: no such process\n");
}
END_TEST

/* Every answer of a worker, none, and its end. */
START_TEST(test_outcomes)
{
	static const struct {
		Ipc__ActResult	 result;
		const char	*text;
	} cases[] = {
		{ IPC__ACT_RESULT__NO_PROCESS, "end 1: no such process\n" },
		{ IPC__ACT_RESULT__NOT_RUNNING,
		    "end 1: the process has exited\n" },
		{ IPC__ACT_RESULT__BUSY,
		    "end 1: it is being killed already\n" },
		{ IPC__ACT_RESULT__UNABLE,
		    "end 1: the session cannot do that now\n" },
	};
	struct chan	*c = client(0);
	size_t		 i;

	add_session(0, ANN, true);
	add_session(1, ANN, true);
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		command(c, "signal", 3, "1", "p", "9");
		acted(&workers[1], cases[i].result, 31);	/* not asked */
		ANSWER(c, "");
		acted(&workers[0], cases[i].result, 31);
		ANSWER(c, cases[i].text);
		ck_assert_str_eq(last.result, "failed");
		acted(&workers[0], cases[i].result, 31);	/* again */
		ck_assert_uint_eq(c->nends, 1);
	}
	is_late = true;
	command(c, "signal", 3, "1", "p", "9");
	turn();
	ANSWER(c, "end 1: the session does not answer\n");
	is_late = false;
	command(c, "signal", 3, "1", "p", "9");
	worker_ends(0, false);
	ANSWER(c, "end 1: the session has ended\n");
}
END_TEST

/* Who has no worker, or one that does not read, is not asked. */
START_TEST(test_not_asked)
{
	struct chan	*c = client(0);

	add_session(0, ANN, false);
	add_session(1, ANN, true);
	command(c, "tail", 2, "1", "p");
	ANSWER(c, "end 1: the session has no processes\n");
	worker_chans[1].is_busy = true;
	command(c, "tail", 2, "2", "p");
	ANSWER(c, "end 1: the session does not answer\n");
	worker_chans[1].is_busy = false;
	workers[1].state = CHILD_LEAVING;
	command(c, "kill", 2, "2", "p");
	ANSWER(c, "end 1: the session does not answer\n");
	ck_assert_uint_eq(asked.n, 0);
}
END_TEST

/* Another's session: no word of it, and a line in the audit log. */
START_TEST(test_others)
{
	struct chan	*c = client(BOB);

	add_session(0, ANN, true);
	command(c, "kill", 2, "1", "p\nq");
	ANSWER(c, "end 1: no such session: 1\n");
	ck_assert_str_eq(last.result, "denied");
	ck_assert_str_eq(last.why, "it belongs to another user");
	ck_assert_str_eq(last.about, "1");
	ck_assert_uint_eq(last.session, 1);
	command(c, "tail", 2, "9", "p\nq");
	ANSWER(c, "end 1: no such session: 9\n");
	ck_assert_str_eq(last.result, "failed");
	ck_assert_str_eq(last.process, "p?q");
	ck_assert(!last.has_session);
	ck_assert_uint_eq(asked.n, 0);
}
END_TEST

START_TEST(test_kill)
{
	struct chan	*c = client(0);

	add_session(0, ANN, true);
	add_session(1, ANN, false);
	command(c, "kill", 1, "1");
	ck_assert_str_eq(asked.process, "");
	ck_assert_int_eq(asked.signal, 0);
	acted(&workers[0], IPC__ACT_RESULT__DONE, 0);
	ANSWER(c, "1||3|0|\nend 0: \n");
	ck_assert_uint_eq(last.gone, 3);
	command(c, "kill", 2, "1", "p");
	ck_assert_str_eq(asked.process, "p");
	acted(&workers[0], IPC__ACT_RESULT__DONE, 31);
	ANSWER(c, "1|31|3|0|\nend 0: \n");
	/* A tombstone is gone at once. */
	command(c, "kill", 1, "2");
	ANSWER(c, "2||0|0|\nend 0: \n");
	command(c, "kill", 1, "2");
	ANSWER(c, "end 1: no such session: 2\n");
	/* One that does not answer is killed; a process is not worth that. */
	is_late = true;
	command(c, "kill", 2, "1", "p");
	turn();
	ANSWER(c, "end 1: the session does not answer\n");
	ck_assert_ptr_null(killed);
	command(c, "kill", 1, "1");
	turn();
	ck_assert_ptr_eq(killed, &workers[0]);
	ANSWER(c, "end 1: the session did not answer; its worker was killed, "
	    "its processes will be\n");
}
END_TEST

/* The operator gets the worker's descriptor, once it says yes. */
START_TEST(test_tail)
{
	struct chan	*c = client(ANN);

	add_session(0, ANN, true);
	command_with(c, "tail", 2, "1", "p");
	ck_assert(asked.follow);
	ck_assert_int_eq(c->stream, -1);
	acted(&workers[0], IPC__ACT_RESULT__DONE, 0);
	ck_assert_int_ne(c->stream, -1);
	ANSWER(c, "end 0: \n");
	ck_assert_int_eq(fcntl(c->stream, F_GETFD), -1);	/* closed */
	c->stream = -1;
	command(c, "tail", 2, "1", "p");
	ck_assert(!asked.follow);
	acted(&workers[0], IPC__ACT_RESULT__NO_PROCESS, 0);
	ck_assert_int_eq(c->stream, -1);
}
END_TEST

/* An operator who leaves before the answer: it is not known what became. */
START_TEST(test_leaves)
{
	struct chan	*c = client(ANN);

	add_session(0, ANN, true);
	command(c, "kill", 1, "1");
	c->on_end(c->arg, 0);
	ck_assert_str_eq(last.result, "unknown");
	acted(&workers[0], IPC__ACT_RESULT__DONE, 0);
	ck_assert_uint_eq(last.n, 1);
}
END_TEST

START_TEST(test_drain)
{
	struct chan	*c = client(0), *waits = client(0);

	add_session(0, ANN, true);
	command(c, "drain", 0);
	ANSWER(c, "draining|1|\nend 0: \n");
	command_with(waits, "drain", 0);
	ck_assert_str_eq(last.result, "done");
	ANSWER(waits, "");
	command(waits, "status", 0);
	ANSWER(waits, "end 1: only one command at a time\n");
	waits->text[0] = '\0';
	m.world.state = WORLD_STOPPING;
	command(c, "drain", 0);
	ANSWER(c, "stopping|1|\nend 0: \n");
	ck_assert_uint_eq(ndrains, 2);
	m.drain.left = _i == 0 ? 0 : 2;
	ctl_free(&m.ctl);
	ANSWER(waits, _i == 0 ? "stopped|0|\nend 0: \n" :
	    "stopped|2|\nend 1: some sessions did not end in time\n");
}
END_TEST

/* Who asked for an upgrade is told what came of it; nobody else is. */
START_TEST(test_upgrade)
{
	struct chan		*c = client(0), *other = client(0);
	struct upgrade_result	 r = { "1.0", "1.1", 7, NULL, -1 };

	upgrade_why = "not now";
	command(c, "upgrade", 0);
	ANSWER(c, "end 1: not now\n");
	ck_assert_uint_eq(nchecks, 0);
	ck_assert_int_eq(ctl_asker(ctl), -1);
	upgrade_why = NULL;
	command_with(c, "upgrade", 0);
	ck_assert_str_eq(last.result, "done");
	ck_assert_uint_eq(nchecks, 1);
	ANSWER(c, "");
	ctl_on_upgraded(ctl, &r);
	ANSWER(c, "1.0|1.1|7|\nend 0: \n");
	CELL(c, "sessions", "7");
	/* It asked once. */
	c->text[0] = '\0';
	ctl_on_upgraded(ctl, &r);
	ANSWER(c, "");
	command(c, "upgrade", 0);
	r.why = "it died";
	ctl_on_upgraded(ctl, &r);
	ANSWER(c, "end 1: it died\n");
	ck_assert_uint_eq(nchecks, 1);
	ANSWER(other, "");
}
END_TEST

/* Who waits for the end is told that there will be none. */
START_TEST(test_undrain)
{
	struct chan	*c = client(0), *waits = client(0);

	command_with(waits, "drain", 0);
	command(c, "undrain", 0);
	ANSWER(c, "running|\nend 0: \n");
	ANSWER(waits, "end 1: the drain was undone\n");
	ck_assert(!m.drain.is_on);
	command(waits, "undrain", 0);
	ANSWER(waits, "running|\nend 0: \n");
	m.world.state = WORLD_STOPPING;
	command(c, "undrain", 0);
	ANSWER(c, "end 1: the server is stopping\n");
	ck_assert_str_eq(last.result, "failed");
}
END_TEST

/* A row for each setting that has a value, and what it is. */
START_TEST(test_settings)
{
	struct chan	*c = client(DAEMON);

	command(c, "settings", 0);
	ck_assert_ptr_nonnull(strstr(c->text, "DrainTimeout|1"));
	ck_assert_uint_gt(c->nrows, 20);
	ck_assert_uint_eq(c->nends, 1);
}
END_TEST

START_TEST(test_reload)
{
	struct chan	*c = client(0);

	snprintf(reload_kept, sizeof(reload_kept), "RunDirectory\nUser\n");
	command(c, "reload", 0);
	ANSWER(c, "2|1|RunDirectory\nUser|\nend 0: \n");
	ck_assert_str_eq(last.result, "done");
	reload_why = "conf:3: no such keyword";
	command(c, "reload", 0);
	ANSWER(c, "end 1: conf:3: no such keyword\n");
	ck_assert_str_eq(last.result, "failed");
	reload_why = NULL;
	m.world.state = WORLD_STOPPING;
	command(c, "reload", 0);
	ANSWER(c, "end 1: the server is stopping\n");
	command(c, "reopen-logs", 0);
	ANSWER(c, "reopened|\nend 0: \n");
	ck_assert_uint_eq(nreopened, 1);
}
END_TEST

/* A group that is not there: an error that names the setting. */
START_TEST(test_group)
{
	struct conf_error	 e;
	struct conf		 c;
	static char		 group[] = "operators", none[] = "";

	memset(&c, 0, sizeof(c));
	c.control_group = none;
	ck_assert_int_eq(ctl_check(&c, &e), 0);
	c.control_group = group;
	ck_assert_int_eq(ctl_check(&c, &e), -1);
	ck_assert_ptr_nonnull(strstr(e.text,
	    "ControlGroup operators: no such group"));
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("ctl");
	TCase	*t = tcase_create("ctl");
	SRunner	*r;
	int	 failed;

	tcase_set_timeout(t, 30);
	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, test_unknown);
	tcase_add_loop_test(t, test_arguments, 0, ROWS);
	tcase_add_loop_test(t, test_owner, 0, ROWS);
	tcase_add_test(t, test_one_at_a_time);
	tcase_add_test(t, test_room);
	tcase_add_test(t, test_refused);
	tcase_add_test(t, test_idle);
	tcase_add_test(t, test_far_sees);
	tcase_add_loop_test(t, test_far_commands, 0, ROWS);
	tcase_add_test(t, test_far_room);
	tcase_add_test(t, test_status);
	tcase_add_test(t, test_status_states);
	tcase_add_test(t, test_sessions);
	tcase_add_test(t, test_no_answer);
	tcase_add_test(t, test_odd_reports);
	tcase_add_test(t, test_find);
	tcase_add_test(t, test_show);
	tcase_add_test(t, test_ps);
	tcase_add_test(t, test_uplinks);
	tcase_add_test(t, test_signal_words);
	tcase_add_test(t, test_outcomes);
	tcase_add_test(t, test_not_asked);
	tcase_add_test(t, test_others);
	tcase_add_test(t, test_kill);
	tcase_add_test(t, test_tail);
	tcase_add_test(t, test_leaves);
	tcase_add_loop_test(t, test_drain, 0, 2);
	tcase_add_test(t, test_undrain);
	tcase_add_test(t, test_upgrade);
	tcase_add_test(t, test_settings);
	tcase_add_test(t, test_reload);
	tcase_add_test(t, test_group);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed != 0;
}
