#include <sys/wait.h>

#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <unistd.h>

#include "t/bench/bench.h"
#include "t/bench/program.h"

#define STOP_SECONDS	5.0

extern char	**environ;

pid_t
program_start(char **argv, int *out_out)
{
	posix_spawn_file_actions_t	fa;
	pid_t				pid;
	int				p[2] = { -1, -1 }, error;

	posix_spawn_file_actions_init(&fa);
	posix_spawn_file_actions_addopen(&fa, 0, "/dev/null", O_RDONLY, 0);
	if (out_out == NULL)
		posix_spawn_file_actions_addopen(&fa, 1, "/dev/null", O_WRONLY,
		    0);
	else if (pipe2(p, O_CLOEXEC) == -1)
		err(1, "pipe");
	else
		posix_spawn_file_actions_adddup2(&fa, p[1], 1);
	error = posix_spawn(&pid, argv[0], &fa, NULL, argv, environ);
	if (error != 0) {
		errno = error;
		err(1, "%s", argv[0]);
	}
	posix_spawn_file_actions_destroy(&fa);
	if (out_out != NULL) {
		close(p[1]);
		*out_out = p[0];
	}
	return pid;
}

void
program_stop(pid_t pid)
{
	double	end = now() + STOP_SECONDS;

	kill(pid, SIGTERM);
	while (waitpid(pid, NULL, WNOHANG) == 0) {
		if (now() > end) {
			warnx("killing the server");
			kill(pid, SIGKILL);
		}
		nap(0.002);
	}
}
