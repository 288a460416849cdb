#include "worker/os/pcgroup.h"

#include <sys/fsuid.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/ev.h"
#include "common/fd.h"
#include "common/linux/cgfs.h"
#include "common/linux/usage.h"
#include "common/log.h"

#define INTO_CGROUP	0x200000000ULL	/* CLONE_INTO_CGROUP, Linux 5.7 */
#define CLEAR_SIGHAND	0x100000000ULL	/* CLONE_CLEAR_SIGHAND, Linux 5.5 */
#define FIRST		16		/* groups allocated first; grows */
#define LOOKS		4		/* groups checked for being empty */
/* Making a group is slow, so they are reused, and one is made in advance. */
#define ADVANCE_MS	20		/* after a start, make a spare group */
#define PROBE		"probe"

/* struct clone_args of clone3(2), up to the last member that is used. */
struct clone3_args {
	uint64_t	 flags, pidfd, child_tid, parent_tid, exit_signal,
			 stack, stack_size, tls, set_tid, set_tid_size,
			 cgroup;
};

enum group_state {
	GROUP_NONE,			/* no such directory */
	GROUP_FREE,
	GROUP_USED,
	GROUP_LEFT,			/* given back with processes in it */
	GROUP_KILLED,			/* killed, see discard() */
	GROUP_SPENT			/* given back after that */
};

struct pcgroups {
	int		 dir;
	const char	*events;	/* memory.events of the session */
	unsigned	 n, cap;	/* groups are numbered 1 to n */
	unsigned	 look;		/* next one to check */
	bool		 has_no_oom;	/* without the memory controller */
	uint8_t		*state;		/* enum group_state, by number - 1 */
	uint64_t	 oom;		/* count when the session began */
	struct timer		 advance_ev;
};

/* --- the template --- */

static pid_t
fork_into(int dir, uint64_t flags, int sig)
{
	struct clone3_args	 a;

	memset(&a, 0, sizeof(a));
	a.flags = flags | INTO_CGROUP;
	a.exit_signal = (uint64_t)sig;
	a.cgroup = (uint64_t)dir;
	return (pid_t)syscall(SYS_clone3, &a, sizeof(a));
}

/*
 * Whether a child born into a new group survives.  Linux 6.18 compares its kill
 * count with that of our own group: if cgroup.kill was used there before we
 * came, each child dies at once.
 */
static bool
can_live(int top)
{
	int	 dir, status = -1;
	pid_t	 pid = -1;

	if (mkdirat(top, PROBE, 0755) == -1 && errno != EEXIST)
		return false;
	if ((dir = openat(top, PROBE, O_PATH | O_DIRECTORY | O_CLOEXEC)) !=
	    -1)
		pid = fork_into(dir, 0, SIGCHLD);
	if (pid == 0)
		_exit(0);
	while (pid != -1 && waitpid(pid, &status, 0) == -1 && errno == EINTR)
		continue;
	fd_close(&dir);
	unlinkat(top, PROBE, AT_REMOVEDIR);
	if (status == 0)
		return true;
	log_debug("no control groups: %s", pid == -1 ? strerror(errno) :
	    "a child in one is killed at once");
	return false;
}

int
pcgroup_open_top(const char *path)
{
	int	 top;

	if (path[0] == '\0' ||
	    (top = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC)) == -1)
		return -1;
	if (!can_live(top))
		fd_close(&top);
	return top;
}

static pid_t
fork_plain(void)
{
	return (pid_t)syscall(SYS_clone, CLONE_PARENT | SIGCHLD, 0, 0, 0, 0);
}

pid_t
pcgroup_fork(int top, uint32_t number, int *dir_out)
{
	char	 name[16];
	pid_t	 pid = -1;

	*dir_out = -1;
	if (top == -1 || number == 0)
		return fork_plain();
	snprintf(name, sizeof(name), "w%lu", (unsigned long)number);
	if ((mkdirat(top, name, 0755) == 0 || errno == EEXIST) &&
	    (*dir_out = openat(top, name, O_PATH | O_DIRECTORY | O_CLOEXEC |
	    O_NOFOLLOW)) != -1)
		/* With CLONE_PARENT the exit signal is the caller's. */
		pid = fork_into(*dir_out, CLONE_PARENT, 0);
	if (pid == 0)
		return 0;
	fd_close(dir_out);
	return pid != -1 ? pid : fork_plain();
}

/* --- the worker --- */

int
pcgroup_give_to(int dir, uid_t uid)
{
	assert(dir != -1);
	if (fchownat(dir, "", uid, (gid_t)-1, AT_EMPTY_PATH) == -1)
		return -1;
	return fchownat(dir, "cgroup.procs", uid, (gid_t)-1,
	    AT_SYMLINK_NOFOLLOW);
}

/*
 * The groups belong to our real uid, which no command has, while files are
 * accessed with the effective one: switch fsuid.  If both are the same (a
 * session of root, a master without root) a command could move itself, and us.
 */
static void
as_owner(void)
{
	if (getuid() != geteuid())
		setfsuid(getuid());
}

static void
as_user(void)
{
	int	 error = errno;

	if (getuid() != geteuid()) {
		setfsuid(geteuid());
		/* setfsuid(2) may reset it, see /proc/sys/fs/suid_dumpable. */
		prctl(PR_SET_DUMPABLE, 0);
	}
	errno = error;
}

static int
pcgroup_make_dir(int dir, const char *name)
{
	int	 r;

	as_owner();
	r = mkdirat(dir, name, 0755);
	as_user();
	return r;
}

static int
remove_dir(int dir, const char *name)
{
	int	 r;

	as_owner();
	r = unlinkat(dir, name, AT_REMOVEDIR);
	as_user();
	return r;
}

static void	 on_advance(void *);

static void
advance_soon(struct pcgroups *c)
{

	timer_ensure(&c->advance_ev, ADVANCE_MS);
}

/* Read the OOM kills of a session; needs the memory controller. */
static int
read_oom(const struct pcgroups *c, uint64_t *n_out)
{
	char	 text[512];

	if (fd_read_file(c->dir, c->events, text, sizeof(text)) == -1)
		return -1;
	return usage_number(text, "oom_kill ", n_out);
}

int
pcgroups_oom(const struct pcgroups *c, uint64_t *n_out)
{
	/* A controller is not added to a group later. */
	if (c == NULL || c->has_no_oom || read_oom(c, n_out) == -1)
		return -1;
	*n_out = *n_out > c->oom ? *n_out - c->oom : 0;
	return 0;
}

struct pcgroups *
pcgroups_new(struct event_base *base, int dir, bool is_below)
{
	struct pcgroups	*c;

	if (dir == -1)
		return NULL;
	if ((c = calloc(1, sizeof(*c))) == NULL) {
		close(dir);
		return NULL;
	}
	timer_init(&c->advance_ev, base, on_advance, c);
	c->dir = dir;
	c->events = is_below ? "../memory.events" : "memory.events";
	/* The group may have been used by another worker before. */
	errno = 0;
	if (read_oom(c, &c->oom) == -1) {
		c->oom = 0;
		c->has_no_oom = errno == ENOENT;
	}
	return c;
}

static void
pcgroup_name_of(unsigned number, char name[16])
{
	assert(number > 0);
	snprintf(name, 16, "p%u", number);
}

void
pcgroups_free(struct pcgroups **cp)
{
	struct pcgroups	*c = *cp;
	char		 name[16];
	unsigned	 i;

	*cp = NULL;
	if (c == NULL)
		return;
	assert(c->dir != -1);
	for (i = 1; i <= c->n; i++) {
		pcgroup_name_of(i, name);
		remove_dir(c->dir, name);
	}
	timer_stop(&c->advance_ev);
	close(c->dir);
	free(c->state);
	free(c);
}

/* Whether a group has no process. */
static bool
pcgroup_is_empty(const struct pcgroups *c, unsigned number)
{
	char	 name[16];

	pcgroup_name_of(number, name);
	return cgfs_is_empty(c->dir, name);
}

static int
pcgroup_grow(struct pcgroups *c)
{
	uint8_t	*state;

	assert(c->n <= c->cap);
	if (c->n == c->cap) {
		if ((state = realloc(c->state, c->cap + c->cap / 2 +
		    FIRST)) == NULL)
			return -1;
		c->state = state;
		c->cap += c->cap / 2 + FIRST;
	}
	c->state[c->n++] = GROUP_NONE;
	return 0;
}

/*
 * Remove a group that was killed.  Linux 6.18 also kills what is born into it
 * later: it compares its kill count with that of the parent's group.
 */
static bool
discard(struct pcgroups *c, unsigned number)
{
	char	 name[16];

	assert(number >= 1 && number <= c->n);
	assert(c->state[number - 1] == GROUP_KILLED ||
	    c->state[number - 1] == GROUP_SPENT);
	pcgroup_name_of(number, name);
	if (remove_dir(c->dir, name) == -1 && errno != ENOENT) {
		c->state[number - 1] = GROUP_SPENT;
		return false;
	}
	c->state[number - 1] = GROUP_NONE;
	return true;
}

/* Make another group; return its number or 0. */
static unsigned
pcgroup_make(struct pcgroups *c)
{
	char		 name[16];
	unsigned	 i;

	for (i = 0; i < c->n && c->state[i] != GROUP_NONE; i++)
		if (c->state[i] == GROUP_SPENT && discard(c, i + 1))
			break;
	if (i == c->n && pcgroup_grow(c) == -1)
		return 0;
	assert(c->state[i] == GROUP_NONE);
	pcgroup_name_of(i + 1, name);
	if (pcgroup_make_dir(c->dir, name) == -1) {
		/* Left over from another worker: it may become usable. */
		if (errno == EEXIST)
			c->state[i] = GROUP_LEFT;
		return 0;
	}
	c->state[i] = GROUP_FREE;
	return i + 1;
}

/* Find a free group, also one that became empty; 0: none. */
static unsigned
pcgroup_find(struct pcgroups *c)
{
	unsigned	 i, looks = 0;

	assert(c->n <= c->cap && (c->n == 0 || c->look < c->n));
	for (i = 0; i < c->n; i++)
		if (c->state[i] == GROUP_FREE)
			return i + 1;
	for (i = 0; i < c->n && looks < LOOKS; i++) {
		c->look = c->look + 1 < c->n ? c->look + 1 : 0;
		if (c->state[c->look] != GROUP_LEFT)
			continue;
		looks++;
		if (pcgroup_is_empty(c, c->look + 1)) {
			c->state[c->look] = GROUP_FREE;
			return c->look + 1;
		}
	}
	return 0;
}

static void
on_advance(void *arg)
{
	struct pcgroups	*c = arg;

	if (pcgroup_find(c) == 0)
		pcgroup_make(c);
}

unsigned
pcgroups_take(struct pcgroups *c, int *dir_out)
{
	char		 name[16];
	unsigned	 number;

	*dir_out = -1;
	if (c == NULL)
		return 0;
	advance_soon(c);
	if ((number = pcgroup_find(c)) == 0 && (number = pcgroup_make(c)) == 0)
		return 0;
	pcgroup_name_of(number, name);
	if ((*dir_out = openat(c->dir, name, O_PATH | O_DIRECTORY |
	    O_CLOEXEC | O_NOFOLLOW)) == -1) {
		/* Removed from outside. */
		if (errno == ENOENT)
			c->state[number - 1] = GROUP_NONE;
		return 0;
	}
	c->state[number - 1] = GROUP_USED;
	return number;
}

void
pcgroups_give_back(struct pcgroups *c, unsigned *number)
{
	if (c == NULL || *number == 0)
		return;
	assert(*number <= c->n && (c->state[*number - 1] == GROUP_USED ||
	    c->state[*number - 1] == GROUP_KILLED));
	if (c->state[*number - 1] == GROUP_KILLED)
		discard(c, *number);
	else
		c->state[*number - 1] = pcgroup_is_empty(c, *number) ?
		    GROUP_FREE : GROUP_LEFT;
	*number = 0;
}

void
pcgroups_kill(struct pcgroups *c, unsigned number)
{
	char	 name[16];

	if (c == NULL || number == 0)
		return;
	assert(number <= c->n && c->state[number - 1] != GROUP_NONE &&
	    c->state[number - 1] != GROUP_FREE);
	c->state[number - 1] = GROUP_KILLED;
	pcgroup_name_of(number, name);
	as_owner();
	if (cgfs_kill(c->dir, name) == -1)
		log_debug("control group %s: %s", name, strerror(errno));
	as_user();
}

void
pcgroups_kill_all(struct pcgroups *c)
{
	unsigned	 i;

	for (i = 1; c != NULL && i <= c->n; i++)
		if (c->state[i - 1] != GROUP_NONE &&
		    c->state[i - 1] != GROUP_FREE)
			pcgroups_kill(c, i);
}

/* --- a child --- */

#ifdef __x86_64__
/* The child returns on another stack: only registers are preserved. */
static pid_t
clone_into(int dir, int (*fn)(void *), void *stack, size_t size, void *arg,
    uint32_t *clear)
{
	struct clone3_args	 a;
	register void		*r12 __asm__("r12") = arg;
	long			 r = SYS_clone3;

	memset(&a, 0, sizeof(a));
	a.flags = CLONE_VM | CLEAR_SIGHAND |
	    (clear != NULL ? CLONE_CHILD_CLEARTID : 0);
	a.child_tid = (uint64_t)(uintptr_t)clear;
	a.exit_signal = SIGCHLD;
	a.stack = (uint64_t)(uintptr_t)stack;
	a.stack_size = size;
	if (dir != -1) {
		a.flags |= INTO_CGROUP;
		a.cgroup = (uint64_t)dir;
	}
	__asm__ volatile(
	    "syscall\n\t"
	    "test %%rax, %%rax\n\t"
	    "jnz 1f\n\t"
	    "xor %%ebp, %%ebp\n\t"	/* the outermost frame */
	    "mov %%r12, %%rdi\n\t"
	    "call *%%rbx\n\t"
	    "mov %%eax, %%edi\n\t"
	    "mov %[exit], %%eax\n\t"
	    "syscall\n\t"
	    "hlt\n"
	    "1:"
	    : "+a"(r)
	    : "D"(&a), "S"(sizeof(a)), "b"(fn), "r"(r12),
	      [exit] "i"(SYS_exit_group)
	    : "rcx", "r11", "cc", "memory");
	if (r < 0) {
		errno = (int)-r;
		return -1;
	}
	return (pid_t)r;
}
#else
static pid_t
clone_into(int dir, int (*fn)(void *), void *stack, size_t size, void *arg,
    uint32_t *clear)
{
	(void)dir;
	(void)fn;
	(void)stack;
	(void)size;
	(void)arg;
	(void)clear;
	errno = ENOSYS;
	return -1;
}
#endif

pid_t
pcgroup_clone(int dir, int (*fn)(void *), void *stack, size_t size, void *arg,
    uint32_t *clear, bool *clean)
{
	pid_t	 pid;

	*clean = true;
	/* Born in its group: a write to cgroup.procs waits for RCU. */
	if (dir != -1)
		as_owner();
	pid = clone_into(dir, fn, stack, size, arg, clear);
	if (dir != -1)
		as_user();
	if (pid == -1)
		*clean = false;
	return pid != -1 ? pid : clone(fn, (char *)stack + size, CLONE_VM |
	    (clear != NULL ? CLONE_CHILD_CLEARTID : 0) | SIGCHLD, arg, NULL,
	    NULL, clear);
}
