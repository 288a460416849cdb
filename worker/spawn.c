#include "worker/spawn.h"

#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#endif

#include "common/fd.h"
#include "common/landlock.h"
#include "common/signals.h"
#include "worker/cgroup.h"
#include "worker/enforce.h"

#define STACK_SIZE	(64 * 1024)	/* of a child */
#define CHILD_UMASK	022

/* The child's ends, and what it tells us through the memory we share. */
struct birth {
	const struct spawn	*s;
	int			 std[3];
	int			 error;
	const char		*what;
	pid_t			 inner;		/* in the PID namespace */
};

/* Of a child and, above it, of the child that that one has in a sandbox. */
static char	*stacks;

/* --- in the child: only system calls from here on --- */

static int
child_fail(struct birth *b, const char *what)
{
	b->error = errno;
	b->what = what;
	/* Not _exit(3): a sanitizer would run its own end on this stack. */
	syscall(SYS_exit_group, 127);
	return -1;
}

/*
 * Our handlers must not run in the memory we share, and ignored signals
 * must not reach the command: all are at their default before any is let in.
 */
static void
child_signals(void)
{
	sigset_t		 none;

	signals_default();
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

static void
child_limits(const struct spawn *s)
{
	struct rlimit	 rl;

	rl.rlim_cur = rl.rlim_max = (rlim_t)s->mark;
	setrlimit(RLIMIT_LOCKS, &rl);
	setrlimit(RLIMIT_NOFILE, &s->nofile);
	umask(CHILD_UMASK);
}

int
spawn_become_user(void)
{
	uid_t	 uid = geteuid();

	/* Not setresuid(3), which would look for other threads. */
	return getuid() == uid ? 0 :
	    (int)syscall(SYS_setresuid, uid, uid, uid);
}

/* For good: nothing it executes has rights that the user does not have. */
static int
child_confine(const struct view *v)
{
	if (enforce_drop() == -1 ||
	    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == -1)
		return -1;
	if (v->fds[VIEW_RULESET] != -1 &&
	    landlock_join(v->fds[VIEW_RULESET]) == -1)
		return -1;
	if (v->no_changes && enforce_no_changes() == -1)
		return -1;
	return enforce_seccomp(v->net_off);
}

/* The command's own process, in the sandbox if there is one. */
static int
child_run(void *arg)
{
	struct birth	*b = arg;
	char		*const *p;
	int		 i, error = ENOENT;

	child_signals();
	setsid();
	if (b->s->tty && ioctl(b->std[0], TIOCSCTTY, 0) == -1)
		return child_fail(b, "controlling terminal");
	for (i = 0; i < 3; i++)
		if (dup2(b->std[i], i) == -1)
			return child_fail(b, "standard streams");
	/* All of ours are close-on-exec already: for what a library forgot. */
	syscall(SYS_close_range, 3, ~0U, 4 /* CLOSE_RANGE_CLOEXEC */);
	child_limits(b->s);
	if (b->s->view != NULL && child_confine(b->s->view) == -1)
		return child_fail(b, "sandbox");
	if (chdir(b->s->cwd) == -1)
		return child_fail(b, "working directory");
	for (p = b->s->programs; *p != NULL; p++) {
		execve(*p, b->s->argv, b->s->envp);
		/* As execvp(3): a refusal is told if nothing better comes. */
		if (errno == EACCES)
			error = EACCES;
		else if (errno != ENOENT && errno != ENOTDIR)
			return child_fail(b, "program");
	}
	errno = error;
	return child_fail(b, "program");
}

/*
 * In the sandbox's namespaces.  Of that for processes only children are
 * members: the command becomes one, and a child of our parent as if it were
 * this one, which ends when the command has been executed.
 */
static int
child_join(struct birth *b, const struct view *v)
{
	int	 i;

	for (i = 0; i < VIEW_NSES; i++)
		if (v->fds[i] != -1 && setns(v->fds[i], 0) == -1)
			return child_fail(b, "sandbox");
	if (v->fds[VIEW_PID] == -1)
		return child_run(b);
	b->inner = clone(child_run, stacks + 2 * STACK_SIZE,
	    CLONE_VM | CLONE_VFORK | CLONE_PARENT | SIGCHLD, b);
	if (b->inner == -1)
		return child_fail(b, "sandbox");
	syscall(SYS_exit_group, 0);
	return 0;
}

static int
child_main(void *arg)
{
	struct birth	*b = arg;

	if (spawn_become_user() == -1)
		return child_fail(b, "user");
	return b->s->view != NULL ? child_join(b, b->s->view) : child_run(b);
}

/* --- in the parent --- */

/* A terminal: our side to *master_out, the child's to *slave_out. */
static int
open_terminal(const struct spawn *s, int *master_out, int *slave_out)
{
	struct winsize	 size;
	const char	*name = "/dev/ptmx";
	int		 unlock = 0, dir = AT_FDCWD;

	memset(&size, 0, sizeof(size));
	size.ws_row = s->rows;
	size.ws_col = s->cols;
	if (s->view != NULL && s->view->fds[VIEW_PTS] != -1) {
		dir = s->view->fds[VIEW_PTS];
		name = "ptmx";
	}
	if ((*master_out = openat(dir, name,
	    O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK)) == -1 ||
	    ioctl(*master_out, TIOCSPTLCK, &unlock) == -1 ||
	    (*slave_out = ioctl(*master_out, TIOCGPTPEER,
	    O_RDWR | O_NOCTTY | O_CLOEXEC)) == -1 ||
	    ioctl(*master_out, TIOCSWINSZ, &size) == -1)
		return -1;
	return 0;
}

/* A pipe of which our end, ours[0] or [1], does not block. */
static int
open_pipe(int ends[2], int ours)
{
	if (pipe2(ends, O_CLOEXEC) == -1)
		return -1;
	return fd_nonblock(ends[ours], 1);
}

static int
open_streams(const struct spawn *s, struct spawned *out, int std[3])
{
	int	 ends[2], i;

	if (s->tty) {
		if (open_terminal(s, &out->output[0], &std[0]) == -1 ||
		    (out->input = fcntl(out->output[0], F_DUPFD_CLOEXEC,
		    3)) == -1)
			return -1;
		std[1] = std[2] = std[0];
		return 0;
	}
	for (i = 0; i < 2; i++) {
		ends[0] = ends[1] = -1;
		if (open_pipe(ends, 0) == -1)
			goto fail;
		out->output[i] = ends[0];
		std[1 + i] = ends[1];
	}
	if (!s->pipe_stdin) {
		std[0] = open("/dev/null", O_RDONLY | O_CLOEXEC);
		return std[0] == -1 ? -1 : 0;
	}
	ends[0] = ends[1] = -1;
	if (open_pipe(ends, 1) == -1)
		goto fail;
	std[0] = ends[0];
	out->input = ends[1];
	return 0;
 fail:
	fd_close(&ends[0]);
	fd_close(&ends[1]);
	return -1;
}

static void
close_std(const struct spawn *s, int std[3])
{
	fd_close(&std[0]);
	if (!s->tty) {
		fd_close(&std[1]);
		fd_close(&std[2]);
	}
}

pid_t
spawn_clone(int group, int (*child)(void *), void *arg)
{
	sigset_t	 all, old;
	pid_t		 pid;

	if (stacks == NULL && (stacks = mmap(NULL, 2 * STACK_SIZE,
	    PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK,
	    -1, 0)) == MAP_FAILED) {
		stacks = NULL;
		return -1;
	}
#ifdef __SANITIZE_ADDRESS__
	/* The child before never returned from its frames on this stack. */
	__asan_unpoison_memory_region(stacks, 2 * STACK_SIZE);
#endif
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &old);
	pid = cgroup_clone(group, child, stacks, STACK_SIZE, arg);
	sigprocmask(SIG_SETMASK, &old, NULL);
	return pid;
}

static void
reap(pid_t pid)
{
	while (waitpid(pid, NULL, 0) == -1 && errno == EINTR)
		continue;
}

int
spawn(const struct spawn *s, struct spawned *out, const char **what_out)
{
	struct birth	 b;
	int		 saved;

	memset(&b, 0, sizeof(b));
	b.s = s;
	b.std[0] = b.std[1] = b.std[2] = -1;
	out->pid = -1;
	out->input = out->output[0] = out->output[1] = -1;
	*what_out = "streams";
	if (open_streams(s, out, b.std) == -1)
		goto fail;
	*what_out = "fork";
	if ((out->pid = spawn_clone(s->cgroup, child_main, &b)) == -1)
		goto fail;
	close_std(s, b.std);
	/* Rights come and go in a child that shares our memory. */
	prctl(PR_SET_DUMPABLE, 0);
	if (b.inner > 0) {
		reap(out->pid);
		out->pid = b.inner;
	}
	if (b.error == 0)
		return 0;
	/* It is a zombie of ours by now; the reaper must not meet it. */
	reap(out->pid);
	errno = b.error;
	*what_out = b.what;
 fail:
	saved = errno;
	close_std(s, b.std);
	fd_close(&out->input);
	fd_close(&out->output[0]);
	fd_close(&out->output[1]);
	errno = saved;
	return -1;
}
