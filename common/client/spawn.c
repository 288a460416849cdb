/* A server of one's own: a command that speaks on standard input and output. */
#include <sys/syscall.h>
#include <sys/wait.h>

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/client/client_priv.h"
#include "common/clock.h"
#include "common/fd.h"
#include "common/limit.h"

#define LEAVE_MS	2000	/* to end with its input, then of SIGTERM */

/* What the child begins with: signals as if we had touched none. */
static int
set_signals(posix_spawnattr_t *attr)
{
	sigset_t	 none, all;

	sigemptyset(&none);
	sigfillset(&all);
	if ((errno = posix_spawnattr_setsigmask(attr, &none)) != 0 ||
	    (errno = posix_spawnattr_setsigdefault(attr, &all)) != 0 ||
	    (errno = posix_spawnattr_setflags(attr, POSIX_SPAWN_SETSIGMASK |
	    POSIX_SPAWN_SETSIGDEF)) != 0)
		return -1;
	return 0;
}

/* Start it with one socket as both.  0, or -1 with errno. */
static int
start(const char *const *argv, char **env, int fd, pid_t *pid_out)
{
	posix_spawn_file_actions_t	 actions;
	posix_spawnattr_t		 attr;
	char				**args;
	int				 r = -1;

	if ((errno = posix_spawn_file_actions_init(&actions)) != 0)
		return -1;
	if ((errno = posix_spawnattr_init(&attr)) != 0) {
		posix_spawn_file_actions_destroy(&actions);
		return -1;
	}
	/* It is not changed: the prototype is older than const. */
	memcpy(&args, &argv, sizeof(args));
	if ((errno = posix_spawn_file_actions_adddup2(&actions, fd, 0)) == 0 &&
	    (errno = posix_spawn_file_actions_adddup2(&actions, fd, 1)) == 0 &&
	    set_signals(&attr) == 0 && (errno = posix_spawnp(pid_out, argv[0],
	    &actions, &attr, args, env)) == 0)
		r = 0;
	posix_spawnattr_destroy(&attr);
	posix_spawn_file_actions_destroy(&actions);
	return r;
}

int
execsrv_spawn(struct execsrv *x, const char *const *argv, char **env)
{
	int	 pair[2], error, r;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == -1)
		return -1;
	x->fd = pair[0];
	r = fd_nonblock(x->fd, 1) == -1 ? -1 : start(argv, env, pair[1],
	    &x->child);
	error = errno;
	close(pair[1]);
	errno = error;
	if (r == -1) {
		fd_close(&x->fd);
		return -1;
	}
	/* By this it is known even if somebody else has waited for it. */
	x->pidfd = (int)syscall(SYS_pidfd_open, x->child, 0);
	return 0;
}

struct execsrv *
execsrv_spawn_local(const char *const *argv, const struct execsrv_options *o,
    struct execsrv_error *e)
{
	struct execsrv	*x;

	if ((x = execsrv_prepare(o, e)) == NULL)
		return NULL;
	if (execsrv_spawn(x, argv, environ) == -1) {
		execsrv_error_set(e, 0, "%s: %s", argv[0], strerror(errno));
		execsrv_free(&x);
		return NULL;
	}
	x->is_local = x->is_lines = true;
	x->patience = 0;		/* its session ends with it */
	return execsrv_begin_open(x, argv[0], o, e);
}

static void
signal_child(const struct execsrv *x, int sig)
{
	if (x->pidfd != -1)
		(void)syscall(SYS_pidfd_send_signal, x->pidfd, sig, NULL, 0);
	else
		(void)kill(x->child, sig);
}

static bool
has_ended(const struct execsrv *x, int ms)
{
	struct pollfd	 pfd = { .fd = x->pidfd, .events = POLLIN };
	uint64_t	 until = clock_ms() + (uint64_t)ms, now = 0;
	int		 r = 0;

	while (x->pidfd != -1 && (now = clock_ms()) < until &&
	    (r = poll(&pfd, 1, (int)(until - now))) == -1 && errno == EINTR)
		continue;
	return r == 1;
}

void
execsrv_end_child(struct execsrv *x, bool is_patient)
{
	if (x->child == 0)
		return;
	execsrv_unwatch(x);
	fd_close(&x->fd);
	if (!is_patient || !has_ended(x, LEAVE_MS)) {
		signal_child(x, SIGTERM);
		if (!is_patient || !has_ended(x, LEAVE_MS))
			signal_child(x, SIGKILL);
	}
	while (waitpid(x->child, NULL, 0) == -1 && errno == EINTR)
		continue;
	x->child = 0;
	fd_close(&x->pidfd);
}
