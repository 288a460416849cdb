#include "worker/os/tvfork.h"

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <linux/futex.h>

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#endif

#include "common/clock.h"
#include "common/fd.h"
#include "common/process/signals.h"
#include "worker/os/pcgroup.h"
#include "worker/os/rawsys.h"

/* CLONE_CHILD_CLEARTID clears an int and wakes a futex waiter. */
_Static_assert(sizeof(((struct tvfork *)NULL)->not_execed) == sizeof(int),
    "CLONE_CHILD_CLEARTID clears all of it, and nothing else");

#define STACK_SIZE	(64 * 1024)	/* for each of two children */
#define STACKS_SIZE	(2 * STACK_SIZE)
#define SLICE_NS	10000000	/* between checks of a slow child */
#define END_MS		100		/* for a killed child to exit */

/* Late children: they still use their memory. */
static TAILQ_HEAD(, tvfork)	 late = TAILQ_HEAD_INITIALIZER(late);
static char			*spare;		/* stacks to be reused */

void
tvfork_free(struct tvfork *b)
{
	if (b != NULL)
		explicit_bzero(b, b->size);
	free(b);
}

/* --- in the child --- */

static int
is_double_first(const struct tvfork *b)
{
	return b->is_double && b->inner == 0;
}

/*
 * Our handlers must not run in shared memory, and ignored signals must not be
 * ignored in the command: reset all before unblocking any.
 */
static void
reset_signals(const struct tvfork *b)
{
	sigset_t	 none;

	/* Handlers are reset; privdrop_worker() made us ignore two. */
	if (b->is_clean) {
		signal(SIGPIPE, SIG_DFL);
		signal(SIGXFSZ, SIG_DFL);
	} else {
		signals_default();
	}
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

/* pcgroup_clone() changed fsuid to enter the group. */
static int
tvfork_enter(void *arg)
{
	struct tvfork	*b = arg;
	long		 uid = rawsys(SYS_geteuid, 0, 0, 0, 0, 0);

	reset_signals(b);
	if (rawsys(SYS_getuid, 0, 0, 0, 0, 0) != uid) {
		rawsys(SYS_setfsuid, uid, 0, 0, 0, 0);
		rawsys(SYS_prctl, PR_SET_DUMPABLE, 0, 0, 0, 0);
	}
	return b->fn(b);
}

int
tvfork_give_inner(struct tvfork *b, tvfork_fn *fn)
{
	/* CLONE_PARENT_SETTID: the kernel writes the pid before it runs. */
	if (clone(fn, b->stacks + STACKS_SIZE, CLONE_VM | CLONE_PARENT |
	    CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID | SIGCHLD, b,
	    &b->inner, NULL, &b->not_execed) == -1)
		return tvfork_fail(b, errno, "fork");
	/* Not _exit(3): a sanitizer would run its exit code on this stack. */
	rawsys(SYS_exit_group, 0, 0, 0, 0, 0);
	return 0;
}

static void
tvfork_print(const char *text)
{
	rawsys(SYS_write, STDERR_FILENO, (long)text, (long)strlen(text), 0,
	    0);
}

int
tvfork_fail(struct tvfork *b, int error, const char *what)
{
	b->error = error;
	if (__atomic_load_n(&b->is_late, __ATOMIC_SEQ_CST)) {
		tvfork_print("execsrv: failed to start process: ");
		tvfork_print(what);
		tvfork_print("\n");
	}
	/* For other children the kernel does it, at exec or exit. */
	if (is_double_first(b)) {
		__atomic_store_n(&b->not_execed, 0, __ATOMIC_SEQ_CST);
		rawsys(SYS_futex, (long)&b->not_execed, FUTEX_WAKE, 1, 0, 0);
	}
	rawsys(SYS_exit_group, 127, 0, 0, 0, 0);
	return -1;
}

/* Close from first up to but, return the next one. */
static int
close_before(int first, int but)
{
	if (but < first)
		return first;
	if (but > first)
		rawsys(SYS_close_range, first, but - 1, 0, 0, 0);
	return but + 1;
}

void
tvfork_close(int one, int other)
{
	int	 next = STDERR_FILENO + 1;

	next = close_before(next, one < other ? one : other);
	next = close_before(next, one < other ? other : one);
	rawsys(SYS_close_range, next, 0xffffffff, 0, 0, 0);
}

int
tvfork_become_user(void)
{
	long	 uid = rawsys(SYS_geteuid, 0, 0, 0, 0, 0);

	if (rawsys(SYS_getuid, 0, 0, 0, 0, 0) == uid)
		return 0;
	/* setresuid(3) would signal other threads to do the same. */
	return (int)-rawsys(SYS_setresuid, uid, uid, uid, 0, 0);
}

/* --- in the parent --- */

static bool
has_execed(const struct tvfork *b)
{
	return __atomic_load_n(&b->not_execed, __ATOMIC_SEQ_CST) == 0;
}

/* Tell a sanitizer that frames on a reused stack are gone. */
static void
forget_frames(char *stacks)
{
#ifdef __SANITIZE_ADDRESS__
	__asan_unpoison_memory_region(stacks, STACKS_SIZE);
#else
	(void)stacks;
#endif
}

static int
take_stacks(struct tvfork *b)
{
	if ((b->stacks = spare) == NULL && (b->stacks = mmap(NULL,
	    STACKS_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE |
	    MAP_ANONYMOUS | MAP_STACK, -1, 0)) == MAP_FAILED)
		return -1;
	spare = NULL;
	return 0;
}

static void
give_stacks(struct tvfork *b)
{
	forget_frames(b->stacks);
	if (spare == NULL)
		spare = b->stacks;
	else
		munmap(b->stacks, STACKS_SIZE);
}

static void
sweep(void)
{
	struct tvfork	*b, *next;

	for (b = TAILQ_FIRST(&late); b != NULL; b = next) {
		next = TAILQ_NEXT(b, entry);
		if (!has_execed(b))
			continue;
		TAILQ_REMOVE(&late, b, entry);
		give_stacks(b);
		tvfork_free(b);
	}
}

/* Whether a process is running or runnable. */
static bool
runs(pid_t pid)
{
	char	 path[32], text[64], *at;
	ssize_t	 n;
	int	 fd;

	snprintf(path, sizeof(path), "/proc/%ld/stat", (long)pid);
	if ((fd = open(path, O_RDONLY | O_CLOEXEC)) == -1)
		return false;
	n = read(fd, text, sizeof(text) - 1);
	fd_close(&fd);
	text[n > 0 ? n : 0] = '\0';
	return (at = strrchr(text, ')')) != NULL &&
	    strncmp(at, ") R", 3) == 0;
}

/*
 * Return how long to wait for a child in its present state.  Continue the first
 * of two children: nothing has started until it has made the other.  In a
 * sandbox's user namespace any process of its user may signal it.
 */
static uint64_t
patience_with(const struct tvfork *b, pid_t inner)
{
	siginfo_t	 info;
	pid_t		 pid = inner > 0 ? inner : b->pid;

	info.si_pid = 0;
	if (waitid(P_PID, (id_t)pid, &info, WEXITED | WSTOPPED | WNOHANG |
	    WNOWAIT) == -1 || info.si_pid != pid)
		return runs(pid) ? TVFORK_RUNS_MS : TVFORK_SLEEPS_MS;
	if (info.si_code != CLD_STOPPED || !b->is_double || inner > 0)
		return 0;
	kill(pid, SIGCONT);
	return TVFORK_SLEEPS_MS;
}

/*
 * Wait; false: the child is late.  It may set errno at any time, so errno is
 * not used here.
 */
static bool
tvfork_await(const struct tvfork *b)
{
	static const struct timespec	 slice = { 0, SLICE_NS };
	uint64_t			 began = 0;

	for (;;) {
		/* Not FUTEX_PRIVATE_FLAG: the kernel's wake-up is shared. */
		syscall(SYS_futex, &b->not_execed, FUTEX_WAIT, 1, &slice, NULL,
		    0);
		if (has_execed(b))
			return true;
		if (began == 0)
			began = clock_ms();
		if (clock_ms() - began >= patience_with(b,
		    __atomic_load_n(&b->inner, __ATOMIC_SEQ_CST)))
			return false;
	}
}

/* Kill and reap; a child that does not exit soon is reaped by the loop. */
static void
tvfork_end(pid_t pid)
{
	struct pollfd	 p = { -1, POLLIN, 0 };
	uint64_t	 now = clock_ms(), until = now + END_MS;

	if (waitpid(pid, NULL, WNOHANG) == pid)
		return;
	kill(pid, SIGKILL);
	/* Signals interrupt it, for example SIGCHLD of others. */
	if ((p.fd = (int)syscall(SYS_pidfd_open, pid, 0)) != -1)
		while (now < until && poll(&p, 1, (int)(until - now)) == -1)
			now = clock_ms();
	fd_close(&p.fd);
	waitpid(pid, NULL, WNOHANG);
}

/* Mark a child as late, unless it has just left our memory. */
static void
mark_late(struct tvfork *b)
{
	__atomic_store_n(&b->is_late, 1, __ATOMIC_SEQ_CST);
	TAILQ_INSERT_TAIL(&late, b, entry);
	sweep();
}

/* Return the result for tvfork_give(). */
static pid_t
tvfork_finish(struct tvfork *b, bool is_late)
{
	pid_t	 pid = b->pid;

	if (b->is_double) {
		/* It has done its part, or is stuck before. */
		tvfork_end(pid);
		pid = b->inner;
	}
	if (pid > 0 && is_late && !has_execed(b)) {
		mark_late(b);
		return pid;
	}
	if (pid > 0 && b->error == 0) {
		give_stacks(b);
		tvfork_free(b);
		return pid;
	}
	if (pid > 0)
		tvfork_end(pid);
	give_stacks(b);
	errno = b->error != 0 ? b->error : ETIMEDOUT;
	return -1;
}

pid_t
tvfork_give(struct tvfork *b, int group, tvfork_fn *fn)
{
	sigset_t	 all, old;

	assert(b->size >= sizeof(*b) && b->pid == 0 && group >= -1);
	sweep();
	if (take_stacks(b) == -1)
		return -1;
	b->fn = fn;
	b->not_execed = 1;
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &old);
	b->pid = pcgroup_clone(group, tvfork_enter, b->stacks, STACK_SIZE, b,
	    b->is_double ? NULL : &b->not_execed, &b->is_clean);
	sigprocmask(SIG_SETMASK, &old, NULL);
	if (b->pid == -1) {
		give_stacks(b);
		b->pid = 0;		/* may be tried again */
		return -1;
	}
	return tvfork_finish(b, !tvfork_await(b));
}
