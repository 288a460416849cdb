#include "master/auth/userdb.h"

#include <sys/prctl.h>
#include <sys/queue.h>
#include <sys/syscall.h>

#include <assert.h>
#include <errno.h>
#include <grp.h>
#include <limits.h>
#include <pwd.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/ev.h"
#include "common/fd.h"
#include "common/ipc/chan.h"
#include "common/limit.h"
#include "common/log.h"
#include "common/map.h"

#define SOCK		3	/* the process's, and its only one */
#define GROUPS_FIRST	64	/* doubled up to what the kernel takes */

/* A process that looks up, from its fork until it is reaped. */
struct lookup {
	TAILQ_ENTRY(lookup)	 entry;
	pid_t			 pid;
};

struct user {
	struct map_node		 node;
	TAILQ_ENTRY(user)	 entry;
	struct userdb		*db;
	uid_t			 uid;
	enum userdb_state	 state;
	struct chan		*chan;		/* ASKED; else NULL */
	pid_t			 pid;		/* ASKED */
	Ipc__User		*info;		/* KNOWN */
	struct timer		 late_ev;	/* ASKED, FAILED */
};

struct userdb {
	struct event_base	*base;
	void			(*on_news)(void *);
	void			*arg;
	struct map		 by_uid;
	TAILQ_HEAD(, user)	 users;		/* oldest first */
	TAILQ_HEAD(, lookup)	 lookups;
	unsigned		 nlookups;
	bool			 is_held_up;	/* one waits for a process */
};

/* --- the process --- */

/* Errors that say nothing of the user; with others there is none. */
static bool
is_failure(int error)
{
	return error == ENOMEM || error == EMFILE || error == ENFILE;
}

/* The groups of a user: malloc'd; NULL with errno. */
static gid_t *
groups_of(const struct passwd *pw, int *n_out)
{
	gid_t	*list = NULL, *more;
	int	 n = GROUPS_FIRST, max;

	for (;;) {
		if ((more = reallocarray(list, (size_t)n, sizeof(*list))) ==
		    NULL)
			break;
		list = more;
		*n_out = max = n;
		if (getgrouplist(pw->pw_name, pw->pw_gid, list, n_out) != -1)
			return list;
		n = *n_out > max ? *n_out : 2 * max;
		if (n > NGROUPS_MAX) {
			errno = EINVAL;
			break;
		}
	}
	free(list);
	return NULL;
}

static int
userdb_answer(const struct passwd *pw, const gid_t *list, int n)
{
	Ipc__User	 out = IPC__USER__INIT;
	uint32_t	*group;
	int		 i, r;

	if ((group = calloc((size_t)n + 1, sizeof(*group))) == NULL)
		return -1;
	for (i = 0; i < n; i++)
		group[i] = (uint32_t)list[i];
	if (pw != NULL) {
		out.found = true;
		out.name = pw->pw_name;
		out.home = pw->pw_dir;
		out.shell = pw->pw_shell;
		out.gid = (uint32_t)pw->pw_gid;
		out.group = group;
		out.n_group = (size_t)n;
	}
	r = ipc_send(SOCK, IPC_user, &out, -1);
	free(group);
	return r;
}

static void NORETURN
userdb_look_up(int sock, uid_t uid, pid_t parent)
{
	const struct passwd	*pw;
	gid_t			*list = NULL;
	int			 n = 0;

	/* Keep no descriptor of the master. */
	if ((sock != SOCK && dup2(sock, SOCK) == -1) ||
	    syscall(SYS_close_range, SOCK + 1, ~0U, 0) == -1 ||
	    prctl(PR_SET_DUMPABLE, 0) == -1 ||
	    prctl(PR_SET_PDEATHSIG, SIGKILL) == -1 || getppid() != parent)
		_exit(1);
	errno = 0;
	if ((pw = getpwuid(uid)) == NULL && is_failure(errno))
		_exit(1);
	if (pw != NULL && (list = groups_of(pw, &n)) == NULL)
		_exit(1);
	_exit(userdb_answer(pw, list, n) == -1);
}

/* --- who asks --- */

static struct lookup *
find_lookup(const struct userdb *d, pid_t pid)
{
	struct lookup	*l;

	TAILQ_FOREACH(l, &d->lookups, entry)
		if (l->pid == pid)
			return l;
	return NULL;
}

/* Kill the process of a user, unless its pid may be another one's by now. */
static void
kill_lookup(const struct user *u)
{
	if (find_lookup(u->db, u->pid) != NULL)
		kill(u->pid, SIGKILL);
}

static void
user_forget(struct user **up)
{
	struct user	*u = *up;

	*up = NULL;
	if (u->chan != NULL)
		kill_lookup(u);
	chan_free(&u->chan);
	timer_stop(&u->late_ev);
	if (u->info != NULL)
		ipc__user__free_unpacked(u->info, NULL);
	TAILQ_REMOVE(&u->db->users, u, entry);
	map_del(&u->db->by_uid, &u->node);
	free(u);
}

/* It failed: the next connection may ask again, but not at once. */
static void
user_fail(struct user *u, const char *why)
{
	assert(u->state == USERDB_ASKED && u->chan != NULL);
	log_warnx("looking up uid %lu: %s", (unsigned long)u->uid, why);
	chan_free(&u->chan);
	u->state = USERDB_FAILED;
	timer_set(&u->late_ev, LIMIT_USER_AGAIN);
	u->db->on_news(u->db->arg);
}

static void
user_on_msg(void *arg, struct ipc_msg *m)
{
	struct user	*u = arg;

	assert(u->state == USERDB_ASKED && m->kind == IPC_user);
	u->info = (Ipc__User *)m->body;
	m->body = NULL;
	u->state = USERDB_KNOWN;
	chan_free(&u->chan);
	timer_stop(&u->late_ev);
	u->db->on_news(u->db->arg);
}

static void
user_on_end(void *arg, int error)
{
	user_fail(arg, error == EPROTO ? "a malformed answer" :
	    "the name service died");
}

static void
user_on_late(void *arg)
{
	struct user	*u = arg;

	assert(u->state == USERDB_ASKED || u->state == USERDB_FAILED);
	if (u->state == USERDB_FAILED) {
		user_forget(&u);
		return;
	}
	kill_lookup(u);
	user_fail(u, "no answer from the name service");
}

/*
 * Start a process that looks a user up.  0, or -1 with errno.  A module of
 * nsswitch.conf(5) may wait, and may end its process.
 */
static int
user_ask(struct user *u)
{
	struct userdb	*d = u->db;
	struct lookup	*l;
	pid_t		 parent = getpid();
	int		 pair[2];

	assert(u->state == USERDB_ASKED && u->chan == NULL);
	if ((l = calloc(1, sizeof(*l))) == NULL)
		return -1;
	if (fd_packet_pair(pair) == -1) {
		free(l);
		return -1;
	}
	if ((l->pid = fork()) == 0)
		userdb_look_up(pair[1], u->uid, parent);
	fd_close(&pair[1]);
	if (l->pid == -1) {
		fd_close(&pair[0]);
		free(l);
		return -1;
	}
	TAILQ_INSERT_TAIL(&d->lookups, l, entry);
	d->nlookups++;
	u->pid = l->pid;
	if ((u->chan = chan_new(d->base, pair[0], IPC_ROLE_MASTER,
	    IPC_ROLE_NAMES, user_on_msg, user_on_end, u)) == NULL) {
		fd_close(&pair[0]);
		return -1;
	}
	timer_set(&u->late_ev, LIMIT_USER_LOOKUP);
	return 0;
}

/* Make room for one: forget the oldest of those that are known. */
static void
userdb_make_room(struct userdb *d)
{
	struct user	*u;

	if (d->by_uid.count < LIMIT_USERS_KNOWN)
		return;
	TAILQ_FOREACH(u, &d->users, entry)
		if (u->state == USERDB_KNOWN) {
			user_forget(&u);
			return;
		}
}

static struct user *
user_new(struct userdb *d, uid_t uid)
{
	struct user	*u;

	assert(d->nlookups < LIMIT_USER_LOOKUPS);
	userdb_make_room(d);
	if ((u = calloc(1, sizeof(*u))) == NULL)
		return NULL;
	u->db = d;
	u->uid = uid;
	u->state = USERDB_ASKED;
	if (map_add(&d->by_uid, &u->node, &u->uid, sizeof(u->uid), u) == -1) {
		free(u);
		return NULL;
	}
	timer_init(&u->late_ev, d->base, user_on_late, u);
	TAILQ_INSERT_TAIL(&d->users, u, entry);
	if (user_ask(u) == 0)
		return u;
	log_warn("looking up uid %lu", (unsigned long)uid);
	user_forget(&u);
	return NULL;
}

enum userdb_state
userdb_find(struct userdb *d, uid_t uid, const Ipc__User **out)
{
	struct user	*u = map_find(&d->by_uid, &uid, sizeof(uid));

	*out = NULL;
	if (u == NULL && d->nlookups >= LIMIT_USER_LOOKUPS) {
		d->is_held_up = true;
		return USERDB_ASKED;
	}
	if (u == NULL && (u = user_new(d, uid)) == NULL)
		return USERDB_FAILED;
	assert((u->state == USERDB_KNOWN) == (u->info != NULL));
	*out = u->info;
	return u->state;
}

const char *
userdb_name(const struct userdb *d, uid_t uid)
{
	const struct user	*u = map_find(&d->by_uid, &uid, sizeof(uid));

	return u != NULL && u->info != NULL && u->info->found ?
	    u->info->name : NULL;
}

struct userdb *
userdb_new(struct event_base *base, void (*on_news)(void *), void *arg)
{
	struct userdb	*d;

	assert(base != NULL && on_news != NULL);
	if ((d = calloc(1, sizeof(*d))) == NULL)
		return NULL;
	d->base = base;
	d->on_news = on_news;
	d->arg = arg;
	map_init(&d->by_uid);
	TAILQ_INIT(&d->users);
	TAILQ_INIT(&d->lookups);
	return d;
}

static void
forget_all(struct userdb *d)
{
	struct user	*u;

	while ((u = TAILQ_FIRST(&d->users)) != NULL)
		user_forget(&u);
}

void
userdb_flush(struct userdb *d)
{
	forget_all(d);
	d->on_news(d->arg);
}

void
userdb_free(struct userdb **dp)
{
	struct userdb	*d = *dp;
	struct lookup	*l;

	*dp = NULL;
	if (d == NULL)
		return;
	forget_all(d);
	while ((l = TAILQ_FIRST(&d->lookups)) != NULL) {
		TAILQ_REMOVE(&d->lookups, l, entry);
		free(l);
	}
	assert(d->by_uid.count == 0);
	map_fini(&d->by_uid);
	free(d);
}

bool
userdb_has(const struct userdb *d, pid_t pid)
{
	return d != NULL && find_lookup(d, pid) != NULL;
}

bool
userdb_on_exit(struct userdb *d, pid_t pid)
{
	struct lookup	*l = d != NULL ? find_lookup(d, pid) : NULL;

	if (l == NULL)
		return false;
	assert(d->nlookups > 0);
	TAILQ_REMOVE(&d->lookups, l, entry);
	d->nlookups--;
	free(l);
	if (d->is_held_up) {
		d->is_held_up = false;
		d->on_news(d->arg);
	}
	return true;
}
