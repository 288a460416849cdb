#include "common/client/serve/launch.h"

#include <sys/syscall.h>
#include <sys/wait.h>

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/client/error.h"
#include "common/clock.h"
#include "common/fd.h"
#include "common/process/envlist.h"
#include "common/process/program.h"
#include "config.h"

#define VARIABLE	"EXECSRVD"

/* Variables that address this process, or servers that others start. */
static const char *const	 not_passed_on[] = {
	"CODEX_EXEC_SERVER_EXIT_ON_STDIN_CLOSE", "EXECSRV_RUNTIME_DIR",
	"LISTEN_FDNAMES", "LISTEN_FDS", "LISTEN_PID", "NOTIFY_SOCKET",
	"WATCHDOG_PID", "WATCHDOG_USEC"
};

#define NOT_PASSED_ON	(sizeof(not_passed_on) / sizeof(not_passed_on[0]))

/* --- what it is started with --- */

/* Default signal handling, whatever the program has set. */
static int
set_attributes(posix_spawnattr_t *attr, bool is_server)
{
	sigset_t	 none, all;
	short		 flags = POSIX_SPAWN_SETSIGMASK |
			    POSIX_SPAWN_SETSIGDEF;

	sigemptyset(&none);
	sigfillset(&all);
	if (is_server)
		flags |= POSIX_SPAWN_SETPGROUP;
	if ((errno = posix_spawnattr_setsigmask(attr, &none)) != 0 ||
	    (errno = posix_spawnattr_setsigdefault(attr, &all)) != 0 ||
	    (errno = posix_spawnattr_setpgroup(attr, 0)) != 0 ||
	    (errno = posix_spawnattr_setflags(attr, flags)) != 0)
		return -1;
	return 0;
}

#if defined(HAVE_POSIX_SPAWN_FILE_ACTIONS_ADDCLOSEFROM_NP) && \
    !defined(LAUNCH_BY_LIST)
static int
launch_close_from(posix_spawn_file_actions_t *actions, int first)
{
	errno = posix_spawn_file_actions_addclosefrom_np(actions, first);
	return errno == 0 ? 0 : -1;
}
#else
/* Each that exec(2) leaves open, but what another thread opens meanwhile. */
static int
launch_close_from(posix_spawn_file_actions_t *actions, int first)
{
	struct dirent	*entry;
	DIR		*d;
	int		 fd, error = 0;

	if ((d = opendir("/proc/self/fd")) == NULL)
		return -1;
	while (error == 0 && (entry = readdir(d)) != NULL) {
		fd = atoi(entry->d_name);
		if (fd >= first && (fcntl(fd, F_GETFD) & FD_CLOEXEC) == 0)
			error = posix_spawn_file_actions_addclose(actions, fd);
	}
	closedir(d);
	errno = error;
	return error == 0 ? 0 : -1;
}
#endif

/* Copy to numbers above LAUNCH_FDS first, so that no dup2(2) closes another. */
static int
set_descriptors(posix_spawn_file_actions_t *actions, const struct launch *how,
    int copies[LAUNCH_FDS])
{
	size_t	 i;

	for (i = 0; i < how->nfds; i++)
		if ((copies[i] = fcntl(how->fds[i], F_DUPFD_CLOEXEC,
		    LAUNCH_FDS)) == -1 ||
		    (errno = posix_spawn_file_actions_adddup2(actions,
		    copies[i], (int)i)) != 0)
			return -1;
	return how->is_server ?
	    launch_close_from(actions, (int)how->nfds) : 0;
}

static int
launch_start(const struct launch *how,
    const posix_spawn_file_actions_t *actions, const posix_spawnattr_t *attr,
    pid_t *pid_out)
{
	char	**args, **env;

	/* posix_spawn(3) does not change it; its prototype predates const. */
	memcpy(&args, &how->argv, sizeof(args));
	if (!how->is_server) {
		errno = posix_spawnp(pid_out, args[0], actions, attr, args,
		    how->env);
		return errno == 0 ? 0 : -1;
	}
	if ((env = envlist_filter(how->env, not_passed_on, NOT_PASSED_ON,
	    false)) == NULL)
		return -1;
	errno = posix_spawn(pid_out, args[0], actions, attr, args, env);
	free(env);
	return errno == 0 ? 0 : -1;
}

/*
 * A server of ours has a process group of its own, so that signals of a
 * terminal do not reach it.  A pidfd names it even after somebody else waited
 * for it.
 */
int
execsrv_launch(const struct launch *how, struct launched *out)
{
	posix_spawn_file_actions_t	 actions;
	posix_spawnattr_t		 attr;
	int				 copies[LAUNCH_FDS], error;
	size_t				 i;

	assert(how->argv[0] != NULL && how->nfds <= LAUNCH_FDS);
	for (i = 0; i < LAUNCH_FDS; i++)
		copies[i] = -1;
	if ((errno = posix_spawn_file_actions_init(&actions)) != 0)
		return -1;
	if ((errno = posix_spawnattr_init(&attr)) != 0) {
		posix_spawn_file_actions_destroy(&actions);
		return -1;
	}
	error = 0;
	if (set_descriptors(&actions, how, copies) == -1 ||
	    set_attributes(&attr, how->is_server) == -1 ||
	    launch_start(how, &actions, &attr, &out->pid) == -1)
		error = errno;
	else
		out->pidfd = (int)syscall(SYS_pidfd_open, out->pid, 0);
	for (i = 0; i < LAUNCH_FDS; i++)
		fd_close(&copies[i]);
	posix_spawnattr_destroy(&attr);
	posix_spawn_file_actions_destroy(&actions);
	errno = error;
	return error == 0 ? 0 : -1;
}

/* --- its end --- */

void
execsrv_launched_signal(const struct launched *l, int sig)
{
	assert(l->pid > 0);
	if (l->pidfd != -1)
		(void)syscall(SYS_pidfd_send_signal, l->pidfd, sig, NULL, 0);
	else
		(void)kill(l->pid, sig);
}

bool
execsrv_launched_ends(const struct launched *l, int ms)
{
	struct pollfd	 pfd = { .fd = l->pidfd, .events = POLLIN };
	uint64_t	 until = clock_ms() + (uint64_t)ms, now;
	int		 r;

	if (l->pidfd == -1)
		return false;
	do {
		now = clock_ms();
		r = poll(&pfd, 1, now < until ? (int)(until - now) : 0);
	} while (r == -1 && errno == EINTR);
	return r == 1;
}

int
execsrv_launched_ended(const struct launched *l, int ms)
{
	siginfo_t	 info = { .si_pid = 0 };

	if (!execsrv_launched_ends(l, ms) || waitid(P_PID, (id_t)l->pid, &info,
	    WEXITED | WNOHANG | WNOWAIT) == -1 || info.si_pid == 0)
		return -1;
	return info.si_code == CLD_EXITED ? info.si_status :
	    128 + info.si_status;
}

int
execsrv_launched_status(struct launched *l)
{
	pid_t	 pid;
	int	 status;

	/* To waitpid(2), 0 is any of our program's children. */
	if (l->pid == 0)
		return -1;
	while ((pid = waitpid(l->pid, &status, 0)) == -1 && errno == EINTR)
		continue;
	l->pid = 0;
	if (pid == -1)
		return -1;
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) :
	    WEXITSTATUS(status);
}

/* --- the server --- */

/*
 * secure_getenv(3): a set-user-ID program must not start what its caller puts
 * into the environment.
 */
int
execsrv_find_server(const char *wanted, char path[PATH_MAX],
    struct execsrv_error *e)
{
	const char	*variable = secure_getenv(VARIABLE);
	int		 n;

	if (wanted == NULL && variable != NULL && variable[0] != '\0') {
		if (variable[0] != '/') {
			execsrv_error_set(e, EXECSRV_WHY_ARGUMENT, VARIABLE " "
			    "must be an absolute path: %s", variable);
			return -1;
		}
		wanted = variable;
	}
	if (wanted == NULL) {
		program_find_server(path, PATH_MAX);
		return 0;
	}
	n = snprintf(path, PATH_MAX, "%s", wanted);
	if (n > 0 && n < PATH_MAX)
		return 0;
	execsrv_error_set(e, EXECSRV_WHY_ARGUMENT, "the path of execsrvd must "
	    "have 1 to %d bytes", PATH_MAX - 1);
	return -1;
}

bool
execsrv_last_line(int fd, char *text, size_t size)
{
	char	 room[4096], *line, *end;
	size_t	 len = 0;
	ssize_t	 n;
	bool	 is_found = false;

	/* Of a long text only the end is kept. */
	while ((n = read(fd, room + len, sizeof(room) - 1 - len)) > 0) {
		len += (size_t)n;
		if (len == sizeof(room) - 1) {
			memmove(room, room + len / 2, len - len / 2);
			len -= len / 2;
		}
	}
	room[len] = '\0';
	for (line = room; *line != '\0'; line = end) {
		end = line + strcspn(line, "\n");
		if (*end != '\0')
			*end++ = '\0';
		if (line[0] == '\0')
			continue;
		snprintf(text, size, "%s", line);
		is_found = true;
	}
	return is_found;
}
