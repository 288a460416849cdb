/* A server of one's own: a command that speaks on standard input and output. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "common/client/client_priv.h"
#include "common/fd.h"
#include "common/limit.h"

#define LEAVE_MS	2000	/* to end with its input, then of SIGTERM */

/* A pipe for what it says: 0, or -1 with errno. */
static int
client_spawn_open_log(struct execsrv *x, int *end_out)
{
	int	 pair[2];

	if (pipe2(pair, O_CLOEXEC) == -1)
		return -1;
	x->log = pair[0];
	*end_out = pair[1];
	return fd_nonblock(x->log, 1);
}

int
execsrv_start_child(struct execsrv *x, const char *const *argv, char **env,
    bool is_server)
{
	struct launch	 how = { .argv = argv, .env = env,
			    .nfds = is_server ? 3 : 2,
			    .is_server = is_server };
	int		 pair[2], fds[3] = { -1, -1, -1 }, error, r = -1;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == -1)
		return -1;
	x->fd = pair[0];
	fds[0] = fds[1] = pair[1];
	how.fds = fds;
	if (fd_nonblock(x->fd, 1) == 0 &&
	    (!is_server || client_spawn_open_log(x, &fds[2]) == 0))
		r = execsrv_launch(&how, &x->child);
	error = errno;
	fd_close(&pair[1]);
	fd_close(&fds[2]);
	errno = error;
	if (r == -1)
		fd_close(&x->fd);
	return r;
}

struct execsrv *
execsrv_spawn_open(const char *const *argv, bool is_server,
    const struct execsrv_options *o, struct execsrv_error *e)
{
	struct execsrv	*x;

	if (argv == NULL || argv[0] == NULL) {
		execsrv_error_set(e, 0, "no command to start");
		return NULL;
	}
	if ((x = execsrv_prepare(o, e)) == NULL)
		return NULL;
	if (execsrv_start_child(x, argv, environ, is_server) == -1) {
		execsrv_error_set(e, 0, "%s: %s", argv[0], strerror(errno));
		execsrv_free(&x);
		return NULL;
	}
	x->is_local = x->is_lines = true;
	x->patience = 0;		/* its session ends with it */
	return execsrv_begin_open(x, argv[0], o, e);
}

struct execsrv *
execsrv_spawn_local(const char *const *argv, const struct execsrv_options *o,
    struct execsrv_error *e)
{
	return execsrv_spawn_open(argv, false, o, e);
}

void
execsrv_add_last_words(struct execsrv *x)
{
	char	 said[256];

	if (x->log != -1 && execsrv_last_words(x->log, said, sizeof(said)))
		execsrv_error_add(&x->why, said);
}

void
execsrv_end_child(struct execsrv *x, bool is_patient)
{
	if (x->child.pid == 0)
		return;
	execsrv_unwatch(x);
	fd_close(&x->fd);
	if (!is_patient || !execsrv_launched_ends(&x->child, LEAVE_MS)) {
		execsrv_launched_signal(&x->child, SIGTERM);
		if (!is_patient || !execsrv_launched_ends(&x->child, LEAVE_MS))
			execsrv_launched_signal(&x->child, SIGKILL);
	}
	(void)execsrv_launched_status(&x->child);
	fd_close(&x->child.pidfd);
}
