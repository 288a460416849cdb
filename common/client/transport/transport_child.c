/* A transport by a child: its start, its end, and what it says on the way. */
#include <sys/socket.h>

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include "common/client/transport/transport_priv.h"
#include "common/fd.h"

#define LEAVE_MS	2000	/* to end with its input, then by SIGTERM */
#define ENDED_MS	500	/* from the end of its output to its own */

/* A pipe for its standard error.  0, or -1 with errno. */
static int
open_log(struct transport *t, int *end_out)
{
	int	 pair[2];

	assert(t->log == -1);
	if (pipe2(pair, O_CLOEXEC) == -1)
		return -1;
	t->log = pair[0];
	*end_out = pair[1];
	return fd_nonblock(t->log, 1);
}

int
transport_spawn(struct transport *t, const char *const *argv, char **env,
    bool is_server)
{
	struct launch	 how = { .argv = argv, .env = env,
			    .nfds = is_server ? 3 : 2,
			    .is_server = is_server };
	int		 pair[2], fds[3] = { -1, -1, -1 }, error, r = -1;

	assert(t->state == TRANSPORT_CLOSED && t->child.pid == 0);
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == -1)
		return -1;
	t->fd = pair[0];
	fds[0] = fds[1] = pair[1];
	how.fds = fds;
	if (fd_nonblock(t->fd, 1) == 0 &&
	    (!is_server || open_log(t, &fds[2]) == 0))
		r = execsrv_launch(&how, &t->child);
	error = errno;
	fd_close(&pair[1]);
	fd_close(&fds[2]);
	if (r == -1) {
		fd_close(&t->fd);
		errno = error;
		return -1;
	}
	t->is_lines = true;
	transport_set_state(t, TRANSPORT_CONNECTING);
	return 0;
}

int
transport_child_status(const struct transport *t)
{
	return t->child.pid == 0 ? -1 :
	    execsrv_launched_ended(&t->child, ENDED_MS);
}

bool
transport_last_line(const struct transport *t, char *text, size_t size)
{
	return t->log != -1 && execsrv_last_line(t->log, text, size);
}

static void
end_child(struct transport *t, bool is_patient)
{
	if (t->child.pid == 0)
		return;
	transport_stop(t);
	loopfd_unwatch(&t->loop);
	fd_close(&t->fd);
	if (!is_patient || !execsrv_launched_ends(&t->child, LEAVE_MS)) {
		execsrv_launched_signal(&t->child, SIGTERM);
		if (!is_patient || !execsrv_launched_ends(&t->child, LEAVE_MS))
			execsrv_launched_signal(&t->child, SIGKILL);
	}
	(void)execsrv_launched_status(&t->child);
	fd_close(&t->child.pidfd);
}

void
transport_end_child(struct transport *t)
{
	end_child(t, true);
}

void
transport_kill_child(struct transport *t)
{
	end_child(t, false);
}
