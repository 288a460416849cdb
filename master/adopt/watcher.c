#include "master/adopt/watcher.h"

#include <sys/socket.h>
#include <sys/syscall.h>

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/fd.h"
#include "common/limit.h"
#include "common/log.h"
#include "common/process/sdnotify.h"

/* Keep those of the lines, and these; a new program must see the others end. */
static int
watcher_close_others(const struct handoff_lines *l, const int *more, size_t n)
{
	size_t	 i;
	int	 fd, next;

	/* From one that is kept to the next one. */
	for (fd = STDERR_FILENO; fd != -1; fd = next) {
		next = -1;
		for (i = 0; i < l->n; i++)
			if (l->fd[i] > fd && (next == -1 || l->fd[i] < next))
				next = l->fd[i];
		for (i = 0; i < n; i++)
			if (more[i] > fd && (next == -1 || more[i] < next))
				next = more[i];
		if (next != fd + 1 && syscall(SYS_close_range, fd + 1,
		    next == -1 ? ~0U : (unsigned)next - 1, 0) == -1)
			return -1;
	}
	return 0;
}

/* Whether the new program serves; else it is dead, for a reason. */
static bool
watcher_wait(int master, int sock, const char **why_out)
{
	struct pollfd	 p[2] = { { .fd = master, .events = POLLIN },
			    { .fd = sock, .events = POLLIN } };
	uint64_t	 until = clock_ms() + LIMIT_UPGRADE, now;
	char		 byte;

	assert(master != -1 && sock != -1);
	*why_out = "it ended";
	for (;;) {
		now = clock_ms();
		if (poll(p, 2, now < until ? (int)(until - now) : 0) == -1 &&
		    errno != EINTR)
			return true;	/* do no harm */
		if ((p[1].revents & (POLLIN | POLLHUP)) != 0) {
			if (read(sock, &byte, 1) == 1)
				return true;
			p[1].fd = -1;
		}
		if ((p[0].revents & POLLIN) != 0)
			return false;
		if (clock_ms() < until)
			continue;
		*why_out = "it was not ready in time";
		until = UINT64_MAX / 2;
		if (syscall(SYS_pidfd_send_signal, master, SIGKILL, NULL, 0) ==
		    -1)
			return true;
	}
}

static void
watcher_roll_back(const struct watcher_task *t, int exe, const char *why)
{
	struct handoff_program	 p = *t->program;
	char			 text[128];

	assert(exe != -1 && why != NULL);
	fd_self(exe, p.path);
	snprintf(text, sizeof(text), "execsrvd %s: %s", t->version, why);
	if (handoff_put(t->lines, HANDOFF_FAILED, -1, text) == -1 ||
	    handoff_put(t->lines, HANDOFF_ASKER, t->asker, "") == -1)
		return;
	handoff_exec(&p, t->lines);
}

static void NORETURN
watcher_run(const struct watcher_task *t, int exe, int master, int sock)
{
	int		 more[5] = { exe, master, sock, -1, -1 };
	pid_t		 parent = getppid();
	const char	*why;

	more[3] = t->asker;
	more[4] = sdnotify_fd(t->sdnotify);
	if (watcher_close_others(t->lines, more, 5) == -1)
		_exit(1);
	if (watcher_wait(master, sock, &why)) {
		/* The service manager takes this from its main process only. */
		sdnotify_main_pid(t->sdnotify, parent);
		_exit(0);
	}
	watcher_roll_back(t, exe, why);
	_exit(126);
}

pid_t
watcher_start(const struct watcher_task *t, int *sock_out)
{
	int	 pair[2], exe, master;
	pid_t	 pid = -1;

	if (fd_packet_pair(pair) == -1)
		return -1;
	exe = open("/proc/self/exe", O_PATH | O_CLOEXEC);
	master = (int)syscall(SYS_pidfd_open, getpid(), 0);
	if (exe != -1 && master != -1 && (pid = fork()) == 0) {
		fd_close(&pair[0]);
		watcher_run(t, exe, master, pair[1]);
	}
	fd_close(&exe);
	fd_close(&master);
	fd_close(&pair[1]);
	if (pid == -1)
		fd_close(&pair[0]);
	else
		sdnotify_main_pid(t->sdnotify, pid);
	*sock_out = pair[0];
	return pid;
}

void
watcher_end(int *sock)
{
	if (*sock != -1 && write(*sock, "", 1) == -1)
		log_warn("the watcher of the upgrade");
	fd_close(sock);
}
