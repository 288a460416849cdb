#include "worker/proc/spawn.h"

#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/linux/landlock.h"
#include "worker/os/dropcaps.h"
#include "worker/os/rawsys.h"
#include "worker/os/tvfork.h"
#include "worker/sandbox/enforce.h"
#include "worker/sandbox/sockmark.h"

/*
 * All that the child uses, in one allocation, since it may outlive the request
 * (worker/os/tvfork.h).  Pointers are into it, or to literals.
 */
struct command {
	struct tvfork	 tvfork;		/* the first member */
	char		**programs, **argv, **envp;
	char		*cwd;
	bool		 tty, confined, refused;
	struct nsset	 nsset;		/* of its sandbox */
	int	 sockmark;	/* worker/sandbox/sockmark.h, or -1 */
	uint64_t	 mark;
	struct rlimit	 nofile;
	struct rlimits	 rlimits;
	int		 std[3];	/* the child's ends */
	const char	*what;		/* the step that failed */
};

/* --- in the child: system calls only --- */

static int
child_fail(struct command *c, const char *what, int error)
{
	c->what = what;
	return tvfork_fail(&c->tvfork, error, what);
}

static void
child_limits(const struct command *c)
{
	struct rlimit	 rl;

	rl.rlim_cur = rl.rlim_max = (rlim_t)c->mark;
	setrlimit(RLIMIT_LOCKS, &rl);
	setrlimit(RLIMIT_NOFILE, &c->nofile);
	rlimits_apply(&c->rlimits);
}

/* no_new_privs and filters, for good.  0, or the errno. */
static int
child_confine(const struct command *c)
{
	const struct nsset	*v = &c->nsset;

	if (dropcaps() == -1 ||
	    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == -1)
		return errno;
	if (v->fds[NSSET_RULESET] != -1 &&
	    landlock_join(v->fds[NSSET_RULESET]) == -1)
		return errno;
	if ((v->no_changes && enforce_no_changes() == -1) ||
	    (v->fds[NSSET_PID] == -1 && enforce_self_only() == -1))
		return errno;
	if ((v->is_managed ? enforce_seccomp_managed() :
	    enforce_seccomp(v->net_off)) == -1)
		return errno;
	return c->sockmark != -1 ? sockmark_join(c->sockmark) : 0;
}

/*
 * From here on processes of the user may signal us, and execve(2) may wait for
 * a file system: we may be late.
 */
static int
child_execute(struct command *c)
{
	char	**p;
	int	 error, best = ENOENT;

	if ((error = (int)-rawsys(SYS_chdir, (long)c->cwd, 0, 0, 0, 0)) != 0)
		return child_fail(c, "working directory", error);
	if ((error = tvfork_become_user()) != 0)
		return child_fail(c, "user", error);
	if ((error = rlimits_apply_tasks(&c->rlimits)) != 0)
		return child_fail(c, "TasksMax", error);
	for (p = c->programs; *p != NULL; p++) {
		error = (int)-rawsys(SYS_execve, (long)*p, (long)c->argv,
		    (long)c->envp, 0, 0);
		/* As execvp(3): report EACCES if no later path works. */
		if (error == EACCES)
			best = EACCES;
		else if (error != ENOENT && error != ENOTDIR)
			return child_fail(c, "program", error);
	}
	return child_fail(c, "program", best);
}

/* End as a command that was not permitted to begin. */
static int
child_refuse(void)
{
	static const char	 why[] = "execsrv: a managed network without a "
	    "proxy: Operation not permitted\n";

	rawsys(SYS_write, STDERR_FILENO, (long)why, sizeof(why) - 1, 0, 0);
	rawsys(SYS_exit_group, SPAWN_REFUSED, 0, 0, 0, 0);
	return -1;
}

/* The process that becomes the command. */
static int
child_run(void *arg)
{
	struct command	*c = arg;
	int		 i, error;

	setsid();
	if (c->tty && ioctl(c->std[0], TIOCSCTTY, 0) == -1)
		return child_fail(c, "controlling terminal", errno);
	for (i = 0; i < 3; i++)
		if (dup2(c->std[i], i) == -1)
			return child_fail(c, "standard streams", errno);
	tvfork_close(c->nsset.fds[NSSET_RULESET], c->sockmark);
	child_limits(c);
	if (c->confined && (error = child_confine(c)) != 0)
		return child_fail(c, "sandbox", error);
	tvfork_close(-1, -1);
	return c->refused ? child_refuse() : child_execute(c);
}

/*
 * Join the sandbox's namespaces.  setns(2) into a PID namespace applies to
 * children only: clone the command as a sibling, with our parent, and exit.
 */
static int
child_join(struct command *c)
{
	const struct nsset	*v = &c->nsset;
	int			 i;

	for (i = 0; i < NSSET_NSES; i++)
		if (v->fds[i] != -1 && setns(v->fds[i], 0) == -1)
			return child_fail(c, "sandbox", errno);
	/* Set by joining a user namespace: our memory is the worker's. */
	prctl(PR_SET_DUMPABLE, 0);
	return c->tvfork.is_double ? tvfork_give_inner(&c->tvfork, child_run) :
	    child_run(c);
}

static int
spawn_child_main(void *arg)
{
	struct command	*c = arg;

	return c->confined ? child_join(c) : child_run(c);
}

/* --- in the parent --- */

/* Open a terminal: our end, and the child's. */
static int
open_terminal(const struct spawn *s, int *master_out, int *slave_out)
{
	struct winsize	 size;
	const char	*name = "/dev/ptmx";
	int		 unlock = 0, dir = AT_FDCWD;

	memset(&size, 0, sizeof(size));
	size.ws_row = s->rows;
	size.ws_col = s->cols;
	if (s->nsset != NULL && s->nsset->fds[NSSET_PTS] != -1) {
		dir = s->nsset->fds[NSSET_PTS];
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

/* Open a pipe; our end, ends[ours], does not block. */
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

/* Return the bytes of a list of strings with its pointers; *n_out: how many. */
static size_t
size_of(char *const *list, size_t *n_out)
{
	size_t	 i, size = sizeof(*list);

	for (i = 0; list[i] != NULL; i++)
		size += sizeof(*list) + strlen(list[i]) + 1;
	*n_out = i;
	return size;
}

/* Copy n strings to *at and advance it: pointers, then text. */
static char **
spawn_put_list(char **at, char *const *list, size_t n)
{
	char	**copy = (char **)(void *)*at, *text;
	size_t	  i, len;

	text = *at + (n + 1) * sizeof(*copy);
	for (i = 0; i < n; i++) {
		len = strlen(list[i]) + 1;
		copy[i] = memcpy(text, list[i], len);
		text += len;
	}
	copy[n] = NULL;
	*at = text;
	return copy;
}

/* Align for a pointer. */
static size_t
aligned(size_t size)
{
	return (size + sizeof(void *) - 1) & ~(sizeof(void *) - 1);
}

static struct command *
command_new(const struct spawn *s)
{
	char *const	*const lists[3] = { s->programs, s->argv, s->envp };
	struct command	*c;
	char		*at, **copies[3];
	size_t		 n[3], size = aligned(sizeof(*c)), sizes[3], i;

	for (i = 0; i < 3; i++)
		size += sizes[i] = aligned(size_of(lists[i], &n[i]));
	size += strlen(s->cwd) + 1;
	if ((c = malloc(size)) == NULL)
		return NULL;
	memset(c, 0, sizeof(*c));
	c->tvfork.size = size;
	at = (char *)c + aligned(sizeof(*c));
	for (i = 0; i < 3; i++) {
		copies[i] = spawn_put_list(&at, lists[i], n[i]);
		at = (char *)copies[i] + sizes[i];
	}
	c->programs = copies[0];
	c->argv = copies[1];
	c->envp = copies[2];
	c->cwd = strcpy(at, s->cwd);
	c->tty = s->tty;
	c->refused = s->refused;
	c->mark = s->mark;
	c->nofile = s->nofile;
	c->rlimits = *s->rlimits;
	c->std[0] = c->std[1] = c->std[2] = -1;
	c->sockmark = s->sockmark;
	nsset_init(&c->nsset);
	if ((c->confined = s->nsset != NULL))
		c->nsset = *s->nsset;
	c->tvfork.is_double = c->nsset.fds[NSSET_PID] != -1;
	return c;
}

int
spawn(const struct spawn *s, struct spawned *out, const char **what_out)
{
	struct command	*c;
	int		 std[3] = { -1, -1, -1 }, saved;

	out->pid = -1;
	out->input = out->output[0] = out->output[1] = -1;
	*what_out = "memory";
	if ((c = command_new(s)) == NULL)
		goto fail;
	*what_out = "TasksMax";
	if (rlimits_count(&c->rlimits) == -1)
		goto fail;
	*what_out = "streams";
	if (open_streams(s, out, std) == -1)
		goto fail;
	memcpy(c->std, std, sizeof(std));
	c->what = "fork";
	out->pid = tvfork_give(&c->tvfork, s->cgroup, spawn_child_main);
	/* Credentials changed in a child that shares our memory. */
	prctl(PR_SET_DUMPABLE, 0);
	if (out->pid != -1) {
		close_std(s, std);
		return 0;
	}
	*what_out = c->what;
 fail:
	saved = errno;
	tvfork_free((struct tvfork *)c);
	close_std(s, std);
	fd_close(&out->input);
	fd_close(&out->output[0]);
	fd_close(&out->output[1]);
	errno = saved;
	return -1;
}
