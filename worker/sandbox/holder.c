#include "worker/sandbox/holder.h"

#include <sys/file.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/buf.h"
#include "common/clock.h"
#include "common/ev.h"
#include "common/fd.h"
#include "common/limit.h"
#include "common/log.h"
#include "common/process/signals.h"
#include "worker/fs/fsagent.h"
#include "worker/fs/fsop_priv.h"
#include "worker/fs/mounted_inodes.h"
#include "worker/os/busypoll.h"
#include "worker/os/scgroup.h"
#include "worker/sandbox/enforce.h"

#define HOLDER_SOCK	3	/* in the holder, which closes all others */
#define HOLDER_LEAVE	4	/* but that of struct scgroup, if any */
#define RETRY_MS	1000	/* a failed one is not retried before */
#define TRIM_MS		2000	/* keep an unused one with stand-ins */
#define NEXT_MS		10	/* between ending two holders */
#define PATTERNS_MS	100	/* matches of patterns are valid */
#define CLEANUP_MS	500	/* wait at the end for its processes */

struct holder {
	TAILQ_ENTRY(holder)	 entry;
	struct holders		*holders;
	struct buf		 key;	/* plan_print(); empty: no sandbox */
	enum holder_state	 state;
	pid_t			 pid;	/* 0: not known yet */
	bool			 greeted;
	bool			 confined;	/* has a plan */
	unsigned		 users;
	bool			 joined;	/* commands may be in it */
	uint64_t		 since;	/* clock_ms(), of the state; 0: a good
					   one was ended from outside */
	int			 sock;
	struct fsagent_line	 line;
	struct io		 ev;
	struct nsset		 nsset;
	char			 why[ENFORCE_WHY];
	char			*made;		/* stand-ins, struct mounted */
	size_t			 made_len;
	int			*locks;
	size_t			 nlocks;
	struct mounted_inodes	*files;		/* mounted on */
	size_t			 nfiles;
	bool			 more_files;
	bool			 single;	/* for one command */
};

/* Work left after a holder was told to end. */
struct cleanup {
	TAILQ_ENTRY(cleanup)	 entry;
	struct holders		*holders;
	int			 pidfd;
	struct io		 ev;		/* pidfd: it is dead */
	char			*made;		/* stand-ins, struct mounted */
	size_t			 made_len;
	int			*locks;
	size_t			 nlocks;
};

struct holders {
	const struct env	*env;
	void			(*on_changed)(void *);
	void			*arg;
	bool			 is_ending;
	TAILQ_HEAD(, holder)	 list;
	TAILQ_HEAD(, cleanup)	 cleanups;
	unsigned		 n;
	unsigned long		 singles;	/* made, for unique keys */
	struct timer		 trim_ev;
};

/*
 * Messages of a new holder: HELLO_NSSET, with descriptors of its namespaces, is
 * sent by the holder; HELLO_PID by the process that made it, where the holder
 * does not know its outer pid.
 */
enum hello_kind { HELLO_NSSET, HELLO_PID, HELLO_FAILED };

/* Followed by made_len bytes of paths and nfiles files. */
struct hello {
	enum hello_kind	 kind;
	pid_t		 pid;		/* 0: HELLO_PID follows */
	bool		 net_off, no_changes;
	bool		 has[NSSET_FDS];
	char		 why[ENFORCE_WHY];
	size_t		 made_len;	/* of the paths */
	size_t		 nlocks;
	bool		 more_files;
	size_t		 nfiles;	/* after the paths */
};
_Static_assert(offsetof(struct hello, has) == 2 * sizeof(int) + 2 &&
    offsetof(struct hello, why) == offsetof(struct hello, has) + NSSET_FDS &&
    offsetof(struct hello, nfiles) + sizeof(size_t) == sizeof(struct hello),
    "a hello as it is sent");
_Static_assert(sizeof(struct mounted_inodes) == 2 * sizeof(uint64_t),
    "files as they are sent");

#define FDS_MAX	(NSSET_FDS + MOUNTED_LOCKS)

union ctl_room {
	struct cmsghdr	 align;
	char		 room[CMSG_SPACE(sizeof(int) * FDS_MAX)];
};

/* --- in the holder --- */

static void
holder_send_hello(enum hello_kind kind, const struct enforced *e)
{
	struct hello	 h;
	struct iovec	 iov[3];
	struct msghdr	 m;
	union ctl_room	 room;
	int		 fds[FDS_MAX], i, n = 0;

	assert(e->mounted.nlocks <= MOUNTED_LOCKS &&
	    e->mounted.made_len <= MOUNTED_MADE);
	memset(&h, 0, sizeof(h));
	memset(&m, 0, sizeof(m));
	h.kind = kind;
	h.pid = kind == HELLO_PID ? e->outer_pid :
	    e->nsset.fds[NSSET_PID] == -1 ? getpid() : 0;
	h.net_off = e->nsset.net_off;
	h.no_changes = e->nsset.no_changes;
	memcpy(h.why, e->why, sizeof(h.why));
	for (i = 0; kind == HELLO_NSSET && i < NSSET_FDS; i++)
		if ((h.has[i] = e->nsset.fds[i] != -1))
			fds[n++] = e->nsset.fds[i];
	if (kind == HELLO_NSSET) {
		h.made_len = e->mounted.made_len;
		h.nlocks = e->mounted.nlocks;
		h.nfiles = e->mounted.nfiles;
		h.more_files = e->mounted.more_files;
		memcpy(fds + n, e->mounted.locks, h.nlocks * sizeof(int));
		n += (int)h.nlocks;
	}
	iov[0].iov_base = &h;
	iov[0].iov_len = sizeof(h);
	iov[1].iov_base = (void *)(uintptr_t)e->mounted.made;
	iov[1].iov_len = h.made_len;
	iov[2].iov_base = (void *)(uintptr_t)e->mounted.files;
	iov[2].iov_len = h.nfiles * sizeof(struct mounted_inodes);
	m.msg_iov = iov;
	m.msg_iovlen = 3;
	fd_put_rights(&m, &room, fds, (size_t)n);
	if (sendmsg(HOLDER_SOCK, &m, MSG_NOSIGNAL) == -1)
			_exit(1);		/* the worker has gone */
}

/* Return our own folder, or NULL. */
static const char *
hidden(const struct env *env)
{
	return env->set.run_dir[0] != '\0' ? env->set.run_dir : NULL;
}

/*
 * Close all descriptors but two.  *leave: the one to leave the group of
 * TasksMax, or -1.
 */
static int
holder_keep_only(int sock, int *leave)
{
	if (*leave != -1 && (*leave = fcntl(*leave, F_DUPFD_CLOEXEC,
	    HOLDER_LEAVE + 1)) == -1)
		return -1;
	if (dup2(sock, HOLDER_SOCK) == -1 ||
	    fd_cloexec(HOLDER_SOCK, 1) == -1)
		return -1;
	if (*leave != -1 && (dup2(*leave, HOLDER_LEAVE) == -1 ||
	    fd_cloexec(HOLDER_LEAVE, 1) == -1))
		return -1;
	*leave = *leave != -1 ? HOLDER_LEAVE : -1;
	return (int)syscall(SYS_close_range, *leave != -1 ?
	    HOLDER_LEAVE + 1 : HOLDER_SOCK + 1, ~0U, 0);
}

/* In the new process, which still has all of the worker. */
static void NORETURN
be_holder(const struct env *env, int sock, const struct plan *plan)
{
	/* Now: a sandbox may not show the control groups. */
	bool		 may_busypoll = env->set.busy_poll &&
			    busypoll_has_processors();
	struct enforced	 e;
	int		 leave = env->limited != NULL ? env->limited->out : -1;

	signals_reset();
	log_set_role("holder");
	if (mounted_inodes_seal() == -1)
		_exit(1);
	if (holder_keep_only(sock, &leave) == -1 || chdir("/") == -1)
		_exit(1);
	memset(&e, 0, sizeof(e));
	nsset_init(&e.nsset);
	if (plan != NULL) {
		switch (enforce(plan, hidden(env), leave, &e)) {
		case 0:
			holder_send_hello(HELLO_PID, &e);
			_exit(0);
		case -1:
			holder_send_hello(HELLO_FAILED, &e);
			_exit(1);
		}
	}
	holder_send_hello(HELLO_NSSET, &e);
	nsset_fini(&e.nsset);
	fsagent_serve(HOLDER_SOCK, leave, plan != NULL, may_busypoll);
}

/* --- in the worker --- */

/* Publish the files that must not be replaced; all, while one is starting. */
static void
publish_mounted(const struct holders *hs)
{
	const struct holder	*h;

	mounted_inodes_begin();
	TAILQ_FOREACH(h, &hs->list, entry) {
		if (h->confined && h->state == HOLDER_STARTING)
			mounted_inodes_all();
		if (h->more_files)
			mounted_inodes_all();
		assert(h->nfiles <= MOUNTED_FILES);
		mounted_inodes_add(h->files, h->nfiles);
	}
	mounted_inodes_end();
}

static void
holder_set_state(struct holder *h, enum holder_state state, const char *why)
{
	static const char *const names[] = { "starting", "ready", "failed" };

	assert(state != HOLDER_READY || h->pid != 0);
	log_debug("holder %ld: %s %s", (long)h->pid, names[state], why);
	h->state = state;
	h->since = clock_ms();
	memset(h->why, 0, sizeof(h->why));
	memcpy(h->why, why, strnlen(why, sizeof(h->why) - 1));
	publish_mounted(h->holders);
}

/*
 * Remove stand-ins that no other holder needs.  Follow no symlink: a process in
 * the sandbox could have made one.
 */
static void
holder_clean_up(struct holders *hs, struct cleanup *r, bool dead)
{
	struct fsop_how	 how = { .cancel_fd = -1 };
	const char	*path = r->made, *name;
	size_t		 i;
	int		 dir;

	for (i = 0; i < r->nlocks; i++) {
		if (dead && path < r->made + r->made_len &&
		    flock(r->locks[i], LOCK_EX | LOCK_NB) == 0 &&
		    (dir = fsop_look_parent(path, true, &how, &name)) != -1) {
			unlinkat(dir, name, AT_REMOVEDIR);
			fd_close(&dir);
		}
		fd_close(&r->locks[i]);
		path += strlen(path) + 1;
	}
	TAILQ_REMOVE(&hs->cleanups, r, entry);
	io_stop(&r->ev);
	fd_close(&r->pidfd);
	free(r->made);
	free(r->locks);
	free(r);
}

/* Pid 1 of a PID namespace is dead only after all others. */
static void
cleanup_on_dead(void *arg)
{
	struct cleanup	*r = arg;

	assert(r->pidfd != -1);
	holder_clean_up(r->holders, r, true);
}

/* End a holder; undo what it made when all its processes are dead. */
static void
holder_start_cleanup(struct holder *h)
{
	struct holders	*hs = h->holders;
	struct cleanup	*r;

	assert(h->made_len > 0);
	if ((r = calloc(1, sizeof(*r))) == NULL)
		fatal("list of placeholders");
	r->holders = hs;
	r->made = h->made;
	r->made_len = h->made_len;
	r->locks = h->locks;
	r->nlocks = h->nlocks;
	r->pidfd = -1;
	TAILQ_INSERT_TAIL(&hs->cleanups, r, entry);
	h->made = NULL;
	h->locks = NULL;
	h->made_len = h->nlocks = 0;
	if (h->pid == 0) {
		holder_clean_up(hs, r, false);
		return;
	}
	if ((r->pidfd = (int)syscall(SYS_pidfd_open, h->pid, 0)) == -1 ||
	    syscall(SYS_pidfd_send_signal, r->pidfd, SIGKILL, NULL, 0) == -1) {
		holder_clean_up(hs, r, errno == ESRCH);
		return;
	}
	io_init(&r->ev, h->holders->env->base, r->pidfd, EV_READ,
	    cleanup_on_dead, r);
	if (io_start(&r->ev) == -1)
		fatal("list of placeholders");
}

static void
holder_stop(struct holder *h)
{
	/*
	 * Before it dies: the last user of a mount namespace frees its files,
	 * perhaps a large /dev/shm.
	 */
	nsset_fini(&h->nsset);
	if (h->made_len > 0)
		holder_start_cleanup(h);
	while (h->nlocks > 0)
		fd_close(&h->locks[--h->nlocks]);
	free(h->made);
	free(h->locks);
	free(h->files);
	h->made = NULL;
	h->locks = NULL;
	h->files = NULL;
	h->nfiles = 0;
	h->more_files = false;
	io_stop(&h->ev);
	fd_close(&h->sock);
	fsagent_line_fini(&h->line);
	h->pid = 0;
	h->greeted = false;
}

static void
holder_fail(struct holder *h, const char *why)
{
	assert(h->state != HOLDER_FAILED);
	holder_stop(h);
	holder_set_state(h, HOLDER_FAILED, why);
	if (h->confined && !h->holders->is_ending)
		log_info("sandbox: %s", why);
}

static void
take_view(struct holder *h, const struct hello *hello, struct msghdr *m)
{
	int	 fds[FDS_MAX], i, n = 0, got;

	assert(!h->greeted && h->locks == NULL && h->nlocks == 0);
	if ((got = (int)fd_take_rights(m, fds, FDS_MAX)) > FDS_MAX)
		got = FDS_MAX;
	h->nsset.net_off = hello->net_off;
	h->nsset.no_changes = hello->no_changes;
	for (i = 0; i < NSSET_FDS; i++)
		if (hello->has[i] && n < got)
			h->nsset.fds[i] = fds[n++];
	if ((h->locks = calloc((size_t)(got - n) + 1,
	    sizeof(*h->locks))) == NULL)
		fatal("list of placeholders");
	for (; n < got; n++)
		h->locks[h->nlocks++] = fds[n];
}

/* Take what follows a hello: a path for each lock; files. */
static void
take_rest(struct holder *h, const struct hello *hello, const char *made)
{
	size_t	 len = hello->made_len, size;

	assert(h->made_len == 0 && h->files == NULL);
	size = hello->nfiles * sizeof(struct mounted_inodes);
	if ((h->made = malloc(len + 1)) == NULL ||
	    (h->files = malloc(size + 1)) == NULL)
		fatal("list of placeholders");
	memcpy(h->files, made + len, size);
	h->nfiles = hello->nfiles;
	h->more_files = hello->more_files;
	memcpy(h->made, made, len);
	h->made[len] = '\0';
	h->made_len = len;
}

/* Receive a message; false: the holder has failed or ended. */
static bool
holder_recv_hello(struct holder *h)
{
	static char	 made[MOUNTED_MADE +
			    MOUNTED_FILES * sizeof(struct mounted_inodes)];
	struct hello	 hello;
	struct iovec	 iov[2] = { { &hello, sizeof(hello) },
			    { made, sizeof(made) } };
	struct msghdr	 m;
	union ctl_room	 room;
	ssize_t		 n;

	memset(&m, 0, sizeof(m));
	m.msg_iov = iov;
	m.msg_iovlen = 2;
	m.msg_control = room.room;
	m.msg_controllen = sizeof(room.room);
	n = recvmsg(h->sock, &m, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
	if (n == -1)
		return errno == EAGAIN || errno == EINTR;
	/* Another one would replace what is in use, and its lists overflow. */
	if (n < (ssize_t)sizeof(hello) || hello.made_len > MOUNTED_MADE ||
	    hello.nfiles > MOUNTED_FILES || (size_t)n - sizeof(hello) !=
	    hello.made_len + hello.nfiles * sizeof(struct mounted_inodes) ||
	    (h->greeted && (h->pid != 0 || hello.kind == HELLO_NSSET))) {
		(void)fd_take_rights(&m, NULL, 0);	/* closes them */
		return false;
	}
	if (hello.kind != HELLO_NSSET)
		(void)fd_take_rights(&m, NULL, 0);
	hello.why[sizeof(hello.why) - 1] = '\0';
	if (hello.kind == HELLO_FAILED) {
		holder_fail(h, hello.why);
		return true;
	}
	if (h->pid == 0)
		h->pid = hello.pid;
	if (hello.kind == HELLO_NSSET) {
		take_view(h, &hello, &m);
		take_rest(h, &hello, made);
		h->greeted = true;
	}
	if (h->greeted && h->pid != 0)
		holder_set_state(h, HOLDER_READY, hello.why);
	return true;
}

static void
holder_on_sock(void *arg)
{
	struct holder	*h = arg;
	struct holders	*hs = h->holders;
	bool		 was_ready = h->state == HOLDER_READY;

	assert(h->sock != -1 && h->state != HOLDER_FAILED);
	if (!holder_recv_hello(h)) {
		holder_fail(h, "its process was killed");
		/* It worked before: the next one may, so do not wait. */
		if (was_ready)
			h->since = 0;
	}
	if (h->state != HOLDER_STARTING)
		hs->on_changed(hs->arg);
}

/* Fork a holder.  0, or -1 with errno. */
static int
holder_start(struct holder *h, const struct plan *plan)
{
	int	 pair[2];
	pid_t	 pid;

	assert(h->sock == -1 && h->pid == 0 && h->made == NULL);
	assert(h->nlocks == 0 && h->nfiles == 0 && h->line.user == NULL);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == -1)
		return -1;
	h->sock = pair[0];
	h->greeted = false;
	io_init(&h->ev, h->holders->env->base, h->sock, EV_READ | EV_PERSIST,
	    holder_on_sock, h);
	if (io_start(&h->ev) == -1) {
		errno = ENOMEM;
		goto fail;
	}
	if ((pid = scgroup_fork(h->holders->env->limited)) == 0)
		be_holder(h->holders->env, pair[1], plan);
	if (pid == -1)
		goto fail;
	fd_close(&pair[1]);
	holder_set_state(h, HOLDER_STARTING, "");
	if (plan == NULL) {
			/* Without a plan it cannot fail: ready at once. */
		h->pid = pid;
		holder_set_state(h, HOLDER_READY, "");
	}
	return 0;
 fail:
	fd_close(&pair[1]);
	holder_stop(h);
	return -1;
}

static void	 on_trim(void *);

struct holders *
holders_new(const struct env *env, void (*on_changed)(void *), void *arg)
{
	struct holders	*hs;

	if ((hs = calloc(1, sizeof(*hs))) == NULL)
		return NULL;
	hs->env = env;
	hs->on_changed = on_changed;
	hs->arg = arg;
	timer_init(&hs->trim_ev, env->base, on_trim, hs);
	TAILQ_INIT(&hs->list);
	TAILQ_INIT(&hs->cleanups);
	return hs;
}

static void
holder_free(struct holder *h)
{
	struct holders	*hs = h->holders;

	assert(hs->n > 0);
	TAILQ_REMOVE(&hs->list, h, entry);
	hs->n--;
	holder_stop(h);
	publish_mounted(hs);
	buf_fini(&h->key);
	free(h);
}

/* Whether processes left behind by a command are in it. */
static bool
is_inhabited(const struct holder *h)
{
	char	 path[64], c;
	bool	 found;
	int	 fd;

	snprintf(path, sizeof(path), "/proc/%ld/task/%ld/children",
	    (long)h->pid, (long)h->pid);
	if ((fd = open(path, O_RDONLY | O_CLOEXEC)) == -1)
		return errno != ENOENT;
	found = read(fd, &c, 1) != 0;
	fd_close(&fd);
	return found;
}

/*
 * End unused holders, so that stand-ins are not visible for longer than needed.
 * One at a time, as ending one is expensive.
 */
static void
on_trim(void *arg)
{
	struct holders	*hs = arg;
	struct holder	*h;
	uint64_t	 again = 0;

	TAILQ_FOREACH(h, &hs->list, entry) {
		if (h->users > 0 || h->made_len == 0)
			continue;
		if (is_inhabited(h)) {
			again = TRIM_MS;
			continue;
		}
		holder_free(h);
		again = NEXT_MS;
		break;
	}
	if (again != 0)
		timer_set(&hs->trim_ev, again);
}

/* Make room by ending the least recently used one. */
static bool
make_room(struct holders *hs)
{
	struct holder	*h;

	if (hs->n < LIMIT_POLICIES)
		return true;
	TAILQ_FOREACH(h, &hs->list, entry)
		if (h->users == 0 && (!h->joined || !is_inhabited(h))) {
			holder_free(h);
			return true;
		}
	errno = EUSERS;
	return false;
}

static struct holder *
holder_find(struct holders *hs, const struct buf *key)
{
	struct holder	*h;

	TAILQ_FOREACH(h, &hs->list, entry)
		if (h->key.len == key->len && (key->len == 0 ||
		    memcmp(buf_data(&h->key), buf_data(key), key->len) == 0))
			return h;
	return NULL;
}

static struct holder *
holder_new(struct holders *hs, struct buf *key, bool confined)
{
	struct holder	*h;

	if (mounted_inodes_init() == -1 || !make_room(hs) ||
	    (h = calloc(1, sizeof(*h))) == NULL)
		return NULL;
	h->holders = hs;
	h->key = *key;
	buf_init(key, 0);
	h->confined = confined;
	h->sock = -1;
	fsagent_line_init(&h->line);
	nsset_init(&h->nsset);
	TAILQ_INSERT_TAIL(&hs->list, h, entry);
	assert(hs->n < LIMIT_POLICIES);
	hs->n++;
	return h;
}

/* Patterns are matched when a command starts. */
static bool
has_patterns(const struct plan *plan)
{
	size_t	 i;

	for (i = 0; plan != NULL && i < plan->n; i++)
		if (plan->rules[i].kind == PLAN_HIDE)
			return true;
	return false;
}

struct holder *
holder_for_command(struct holders *hs, const struct plan *plan)
{
	struct holder	*h;
	struct buf	 key;
	char		 number[32];

	if (!has_patterns(plan))
		return holder_get(hs, plan);
	buf_init(&key, sizeof(number));
	snprintf(number, sizeof(number), "single %lu", hs->singles++);
	if (buf_put(&key, number, strlen(number)) == -1 ||
	    (h = holder_new(hs, &key, true)) == NULL) {
		buf_fini(&key);
		return NULL;
	}
	if (holder_start(h, plan) == -1) {
		holder_free(h);
		return NULL;
	}
	h->single = true;
	return h;
}

struct holder *
holder_get(struct holders *hs, const struct plan *plan)
{
	struct holder	*h = NULL;
	struct buf	 key;

	buf_init(&key, LIMIT_FRAME);
	if (plan != NULL && plan_print(plan, &key) == -1)
		goto out;
	if ((h = holder_find(hs, &key)) == NULL) {
		if ((h = holder_new(hs, &key, plan != NULL)) == NULL)
			goto out;
	} else if (h->state == HOLDER_READY && h->users == 0 &&
	    has_patterns(plan) && clock_ms() - h->since > PATTERNS_MS) {
			holder_stop(h);		/* match again */
	} else if (h->state != HOLDER_FAILED || (h->confined &&
	    h->since != 0 && (h->users > 0 ||
	    clock_ms() - h->since < RETRY_MS))) {
		goto out;
	}
	if (holder_start(h, plan) == -1) {
		/* Processes left in an older one may stay for long. */
		if (h->users == 0)
			holder_free(h);
		else
			holder_set_state(h, HOLDER_FAILED,
			    "its process cannot be started");
		h = NULL;
	}
 out:
	buf_fini(&key);
	return h;
}

enum holder_state
holder_state(const struct holder *h)
{
	return h->state;
}

const char *
holder_why(const struct holder *h)
{
	return h->why;
}

int
holder_sock(const struct holder *h)
{
	assert(h->state == HOLDER_READY && h->sock != -1);
	return h->sock;
}

struct fsagent_line *
holder_line(struct holder *h)
{
	return &h->line;
}

const struct nsset *
holder_nsset(struct holder *h)
{
	assert(h->state == HOLDER_READY);
	h->joined = true;
	return &h->nsset;
}

void
holder_use(struct holder *h, bool more)
{
	assert(more || h->users > 0);
	h->users += more ? 1U : -1U;
	if (h->users == 0 && h->single)
		holder_free(h);
	else if (h->users == 0 && h->made_len > 0)
		timer_set(&h->holders->trim_ev, TRIM_MS);
}

/* Whether a path is one of a list (NUL after each), or below. */
static bool
is_in(const char *made, size_t made_len, const char *path, size_t len)
{
	const char	*p;
	size_t		 n;

	for (p = made; p < made + made_len; p += n + 1) {
		n = strlen(p);
		if (len >= n && memcmp(p, path, n) == 0 &&
		    (len == n || path[n] == '/'))
			return true;
	}
	return false;
}

bool
holders_made(const struct holders *hs, const char *path, size_t len)
{
	const struct holder	*h;
	const struct cleanup	*r;

	TAILQ_FOREACH(h, &hs->list, entry)
		if (is_in(h->made, h->made_len, path, len))
			return true;
	TAILQ_FOREACH(r, &hs->cleanups, entry)
		if (is_in(r->made, r->made_len, path, len))
			return true;
	return false;
}

void
holders_end(struct holders *hs)
{
	hs->is_ending = true;
}

void
holders_free(struct holders **hsp)
{
	struct holders	*hs = *hsp;
	struct holder	*h;
	struct cleanup	*r;
	struct pollfd	 p = { .events = POLLIN };
	uint64_t	 now, until;

	*hsp = NULL;
	if (hs == NULL)
		return;
	while ((h = TAILQ_FIRST(&hs->list)) != NULL)
		holder_free(h);
	until = clock_ms() + CLEANUP_MS;
	while ((r = TAILQ_FIRST(&hs->cleanups)) != NULL) {
		assert(r->pidfd != -1);
		p.fd = r->pidfd;
		now = clock_ms();
		holder_clean_up(hs, r, poll(&p, 1,
		    now < until ? (int)(until - now) : 0) == 1);
	}
	timer_stop(&hs->trim_ev);
	free(hs);
}
