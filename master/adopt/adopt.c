#include "master/adopt/adopt.h"

#include <sys/socket.h>
#include <sys/syscall.h>

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/ev.h"
#include "common/fd.h"
#include "common/linux/ptree.h"
#include "common/log.h"
#include "common/rundirs.h"
#include "master/adopt/handoff.h"
#include "master/auth/peer_sandbox.h"
#include "master/remote/remote.h"
#include "master/workers/child.h"
#include "master/workers/records.h"
#include "master/workers/route.h"
#include "master/world.h"

#define BACKLOG		4096
#define TURN_MAX	64	/* workers accepted in one turn */
#define PAUSE_MS	100	/* when descriptors run out */
#define REFUSED_LOG	10	/* log lines about refused processes */
#define LIST_STEP	256

_Static_assert(1 + CGROUP_LIMITS == RECORDS_GROUPS &&
    sizeof(((struct records_head *)0)->group) == sizeof(struct cgroups_names),
    "one is copied to the other");

struct adopt {
	struct world		*world;
	struct children		*children;
	struct routes		*routes;
	struct remotes		*remotes;
	const struct handoff	*handed;
	/* Of the former master, until adopt_load(). */
	bool			 is_former;
	struct records_head	 head;
	struct cgroups_names	 groups;
	struct record		*list;
	size_t			 n;
	bool			 is_cut;	/* out of memory */
	/* Since then. */
	unsigned		 deaths;	/* of masters */
	uint64_t		 began;		/* clock_ms() */
	size_t			 taken;		/* sessions to adopt */
	size_t			 uplinks;	/* recorded, not looked for */
	unsigned		 refused;
	int			 fd;
	char			*path;
	struct io		 accept_ev;
	struct timer		 pause_ev;
};

/* --- the records --- */

static void
on_record(void *arg, const struct record *r)
{
	struct adopt	*a = arg;
	struct record	*list;

	if (a->n % LIST_STEP == 0) {
		if ((list = reallocarray(a->list, a->n + LIST_STEP,
		    sizeof(*list))) == NULL) {
			a->is_cut = true;
			return;
		}
		a->list = list;
	}
	a->list[a->n++] = *r;
}

static void
on_damaged(void *arg, size_t position, const char *why)
{
	(void)arg;
	log_warnx("record %zu of the former daemon is not used: %s", position,
	    why);
}

static const struct records_events	 records_events = {
	on_record, on_damaged
};

struct adopt *
adopt_new(struct world *w, struct children *cs, struct routes *rs,
    struct remotes *us, const struct handoff *handed)
{
	struct adopt	*a;
	char		 why[RECORDS_WHY];

	if ((a = calloc(1, sizeof(*a))) == NULL)
		return NULL;
	a->world = w;
	a->children = cs;
	a->routes = rs;
	a->remotes = us;
	a->handed = handed;
	a->fd = -1;
	if (w->rundir.path == NULL)
		return a;
	switch (records_read(w->rundir.path, &a->head, &records_events, a,
	    why)) {
	case 1:
		a->is_former = true;
		memcpy(&a->groups, a->head.group, sizeof(a->groups));
		break;
	case -1:
		log_warnx("%s/" RECORDS_FILE " of the former daemon is not "
		    "used: %s", w->rundir.path, why);
		/* The former program is started again, and has them. */
		if (handed->text[HANDOFF_FORMER] != NULL) {
			free(a);
			errno = EPROTO;
			return NULL;
		}
		break;
	}
	if (a->is_cut)
		log_warnx("out of memory: not all sessions of the former "
		    "daemon can be adopted");
	return a;
}

const struct cgroups_names *
adopt_groups(const struct adopt *a)
{
	return a->is_former ? &a->groups : NULL;
}

/* --- its sessions --- */

/* Whether the process is the one that was recorded, and is alive. */
static bool
is_recorded(const struct record *r, pid_t *parent_out)
{
	struct ptree_stat	 st;

	if (r->pid <= 1 || ptree_stat((pid_t)r->pid, &st) == -1 ||
	    !st.is_alive || st.start > r->started)
		return false;
	*parent_out = st.parent;
	return true;
}

/*
 * Find the process of a record.  False: it is gone.  *pidfd_out: -1 if it is
 * our child, as when we were executed by the process that got the orphans.
 */
static bool
adopt_find_process(const struct record *r, int *pidfd_out)
{
	pid_t	 parent;
	int	 fd;

	*pidfd_out = -1;
	/* Look again when it is pinned: the pid may be another's by now. */
	if (!is_recorded(r, &parent) ||
	    (fd = (int)syscall(SYS_pidfd_open, (pid_t)r->pid, 0)) == -1)
		return false;
	if (!is_recorded(r, &parent)) {
		fd_close(&fd);
		return false;
	}
	if (parent == getpid())
		fd_close(&fd);
	*pidfd_out = fd;
	return true;
}

static void
take_lost(struct adopt *a, struct record *r, const char *why)
{
	struct world	*w = a->world;
	struct route	*lost;
	bool		 is_opened = (r->flags & RECORD_OPENED) != 0;

	log_warnx("session %u is lost: %s", r->number, why);
	if (is_opened)
		STAT_INC(w, lost);
	r->kind = RECORD_LOST;
	r->until = clock_ms() + r->detached_ttl;
	r->flags &= ~(RECORD_ATTACHED | RECORD_OPENED);
	/* Its client may know it already, even if the master did not. */
	if ((lost = route_former(a->routes, r, NULL)) != NULL && is_opened)
		route_audit(lost, (struct audit_what){
		    .event = AUDIT_session_ended, .why = why });
}

/* Those of its worker are not swept. */
static void
keep_groups(struct adopt *a, struct record *r)
{
	struct cgroups_worker	 groups = { .v2 = r->group_v2,
				    .v1 = r->group_v1 };

	memcpy(groups.limit, r->limits, sizeof(groups.limit));
	cgroups_keep(a->children->cgroups, &groups);
	r->group_v2 = groups.v2;
	r->group_v1 = groups.v1;
}

static void
take_session(struct adopt *a, struct record *r)
{
	const struct world	*w = a->world;
	struct child		*c;
	int			 pidfd;

	if (!adopt_find_process(r, &pidfd)) {
		w->events->kill_range(w->master, r->marks);
		take_lost(a, r, "its worker died while there was no daemon");
		return;
	}
	if ((r->flags & RECORD_ALONE) != 0) {
		fd_close(&pidfd);
		keep_groups(a, r);
		take_lost(a, r, "its OrphanTtl is 0");
		return;
	}
	if ((c = child_former(a->children, r->child, (pid_t)r->pid, pidfd)) ==
	    NULL) {
		log_warn("session %u cannot be adopted", r->number);
		fd_close(&pidfd);
		return;
	}
	keep_groups(a, r);
	if (route_former(a->routes, r, c) == NULL) {
		log_warn("session %u cannot be adopted", r->number);
		child_kill(c);
		return;
	}
	a->taken++;
}

static void
take_tombstone(struct adopt *a, const struct record *r)
{
	if (r->until > clock_ms() && route_former(a->routes, r, NULL) == NULL)
		log_warn("session %u cannot be kept", r->number);
}

/* Keep its record until it is looked for; child: the slot. */
static void
keep_uplink(struct adopt *a, struct record *r)
{
	int	 slot = -1;

	if (a->world->records != NULL &&
	    records_put(a->world->records, &slot, r) == -1)
		log_warn("uplink %u cannot be kept", r->number);
	r->child = (uint32_t)slot;
	a->uplinks++;
}

static void
adopt_take_uplink(struct adopt *a, const struct record *r)
{
	int	 pidfd;

	if (remote_has(a->remotes, (pid_t)r->pid) ||
	    !adopt_find_process(r, &pidfd))
		return;
	if (!remote_former(a->remotes, r, &pidfd)) {
		log_info("uplink %u of the former daemon is not wanted any "
		    "more", r->number);
		ptree_signal((pid_t)r->pid, pidfd, SIGKILL);
	}
	fd_close(&pidfd);
}

void
adopt_uplinks(struct adopt *a)
{
	struct record	*r;
	size_t		 i;
	int		 slot;

	for (i = 0; i < a->n; i++) {
		r = &a->list[i];
		if (r->kind != RECORD_UPLINK)
			continue;
		slot = (int)r->child;
		adopt_take_uplink(a, r);
		if (a->world->records != NULL)
			records_drop(a->world->records, &slot);
	}
	free(a->list);
	a->list = NULL;
	a->n = a->uplinks = 0;
}

bool
adopt_is_due(const struct adopt *a)
{
	const struct remote	*r;

	if (a == NULL)
		return false;
	TAILQ_FOREACH(r, &a->remotes->list, entry)
		if (r->state == REMOTE_AWAITED)
			return true;
	return a->uplinks > 0 ||
	    a->children->in_state[CHILD_AWAITED] > 0;
}

static int
compare(const void *a, const void *b)
{
	const struct record	*ra = a, *rb = b;

	return ra->number < rb->number ? -1 : ra->number > rb->number;
}

static void
begin_records(struct adopt *a)
{
	struct world		*w = a->world;
	struct records_head	*h;

	if ((w->records = records_new(w->rundir.path)) == NULL) {
		log_warn("%s/" RECORDS_FILE ": sessions will not survive this "
		    "daemon", w->rundir.path);
		return;
	}
	h = records_head(w->records);
	h->deaths = a->deaths;
	h->next_number = a->routes->next_number;
	h->has_marks = w->sockmark != 0;
}

void
adopt_load(struct adopt *a)
{
	struct world		*w = a->world;
	struct cgroups_names	 groups;
	struct records_head	*h;
	bool			 is_upgrade = handoff_is_upgrade(a->handed);
	size_t			 i;

	if (w->rundir.path == NULL)
		return;
	a->began = clock_ms();
	a->deaths = a->is_former ? a->head.deaths + !is_upgrade : 0;
	if (a->is_former)
		routes_number(a->routes, a->head.next_number);
	/* The same mark: it is made of the directory. */
	if (a->is_former && a->head.has_marks != 0)
		w->sockmark = peer_sandbox_brand(w->rundir.path);
	begin_records(a);
	/* The list of sessions is in the order of their numbers. */
	if (a->n > 0)
		qsort(a->list, a->n, sizeof(a->list[0]), compare);
	for (i = 0; i < a->n; i++)
		if (a->list[i].kind == RECORD_SESSION)
			take_session(a, &a->list[i]);
		else if (a->list[i].kind == RECORD_UPLINK)
			keep_uplink(a, &a->list[i]);
		else
			take_tombstone(a, &a->list[i]);
	children_number(a->children, cgroups_sweep(a->children->cgroups));
	if (a->is_former && !is_upgrade)
		log_info("a former daemon (%s) was killed here: %zu of its "
		    "sessions go on", a->head.program, a->taken);
	if (w->records == NULL)
		return;
	h = records_head(w->records);
	cgroups_names(a->children->cgroups, &groups);
	memcpy(h->group, &groups, sizeof(groups));
	if (records_publish(w->records) == -1) {
		log_warn("%s/" RECORDS_FILE ": sessions will not survive this "
		    "daemon", w->rundir.path);
		records_free(&w->records, false);
	}
}

void
adopt_on_adopted(struct adopt *a)
{
	if (a->children->in_state[CHILD_AWAITED] == 0)
		log_info("the sessions of the former daemon have been adopted, "
		    "in %llu ms",
		    (unsigned long long)(clock_ms() - a->began));
}

unsigned
adopt_deaths(const struct adopt *a)
{
	return a->deaths;
}

/* --- those who come --- */

/*
 * Return whether the process at the other end is of that user and, unless pidfd
 * is -1, the one that was pinned: its pid cannot be another's, as that was done
 * before the socket was made, and it is alive.  Our own child keeps its pid
 * until it is reaped.
 */
static bool
is_process(const struct ucred *cred, uid_t uid, int pidfd)
{
	return cred->uid == uid && (pidfd == -1 || ptree_is_alive(pidfd));
}

/* Take over the channel of one of the former master's: 0, 1: of nobody; -1. */
static int
judge(struct adopt *a, int fd)
{
	struct ucred	 cred;
	socklen_t	 len = sizeof(cred);
	struct child	*c;
	struct remote	*r;

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) == -1 ||
	    cred.pid <= 1)
		return 1;
	if ((c = child_by_pid(a->children, cred.pid)) != NULL)
		return c->state == CHILD_AWAITED && c->chan == NULL &&
		    c->route != NULL && is_process(&cred, c->route->uid,
		    c->pidfd) ? child_come(c, fd) : 1;
	if ((r = remote_find_awaited(a->remotes, cred.pid)) != NULL)
		return is_process(&cred, r->pid_uid, r->pidfd) ?
		    remote_come(r, fd) : 1;
	return 1;
}

static void
refuse(struct adopt *a)
{
	STAT_INC(a->world, not_adopted);
	if (a->refused++ < REFUSED_LOG)
		log_info("a process that is no session of a former daemon was "
		    "refused");
}

static void
adopt_on_accept(void *arg)
{
	struct adopt	*a = arg;
	int		 fd, i, r;

	for (i = 0; i < TURN_MAX; i++) {
		if ((fd = accept4(a->fd, NULL, NULL, SOCK_CLOEXEC |
		    SOCK_NONBLOCK)) == -1) {
			if (errno == EAGAIN || errno == ECONNABORTED)
				return;
			io_stop(&a->accept_ev);
			timer_set(&a->pause_ev, PAUSE_MS);
			return;
		}
		if ((r = judge(a, fd)) == 1)
			refuse(a);
		if (r != 0)
			fd_close(&fd);	/* -1: it comes again */
	}
}

static void
adopt_on_pause(void *arg)
{
	struct adopt	*a = arg;

	if (io_start(&a->accept_ev) == -1)
		timer_set(&a->pause_ev, PAUSE_MS);
}

/* All users may connect: workers are theirs. */
int
adopt_listen(struct adopt *a)
{
	struct world	*w = a->world;

	if (w->rundir.path == NULL)
		return 0;
	if ((a->fd = rundirs_listen(w->rundir.path, RUNDIRS_ADOPT,
	    w->start.is_root ? 0111 : 0177, BACKLOG)) == -1)
		return -1;
	timer_init(&a->pause_ev, w->base, adopt_on_pause, a);
	io_init(&a->accept_ev, w->base, a->fd, EV_READ | EV_PERSIST,
	    adopt_on_accept, a);
	if (asprintf(&a->path, "%s/" RUNDIRS_ADOPT, w->rundir.path) != -1 &&
	    io_start(&a->accept_ev) == 0)
		return 0;
	log_warn("%s/" RUNDIRS_ADOPT, w->rundir.path);
	return -1;
}

void
adopt_free(struct adopt **ap)
{
	struct adopt	*a = *ap;

	*ap = NULL;
	if (a == NULL)
		return;
	io_stop(&a->accept_ev);
	timer_stop(&a->pause_ev);
	if (a->path != NULL)
		unlink(a->path);
	fd_close(&a->fd);
	free(a->path);
	free(a->list);
	free(a);
}
