/* From the exec of the server to its line on standard output. */
#include <sys/wait.h>

#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <unistd.h>

#include "t/bench/bench.h"

#define STARTS		12
#define STOP_SECONDS	5.0

extern char	**environ;

static pid_t
start(char **argv, int *out)
{
	posix_spawn_file_actions_t	fa;
	pid_t				pid;
	int				p[2], error;

	if (pipe2(p, O_CLOEXEC) == -1)
		err(1, "pipe");
	posix_spawn_file_actions_init(&fa);
	posix_spawn_file_actions_addopen(&fa, 0, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_adddup2(&fa, p[1], 1);
	error = posix_spawn(&pid, argv[0], &fa, NULL, argv, environ);
	if (error != 0) {
		errno = error;
		err(1, "%s", argv[0]);
	}
	posix_spawn_file_actions_destroy(&fa);
	close(p[1]);
	*out = p[0];
	return pid;
}

static void
await_url(int fd)
{
	char	line[256];
	size_t	have = 0;
	ssize_t	n;

	do {
		n = read(fd, line + have, sizeof(line) - 1 - have);
		if (n <= 0)
			errx(1, "the server did not print its address");
		have += (size_t)n;
		line[have] = '\0';
	} while (strchr(line, '\n') == NULL);
	if (strncmp(line, "ws://", 5) != 0)
		errx(1, "not an address: %s", line);
}

static void
stop(pid_t pid)
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

void
bench_startup(const struct bench *b)
{
	struct samples	s;
	double		begin;
	pid_t		pid;
	int		out;

	samples_init(&s, 10);
	for (int i = 0; i < STARTS; i++) {
		begin = now();
		pid = start(b->argv, &out);
		await_url(out);
		samples_add(&s, now() - begin);
		stop(pid);
		close(out);
	}
	report(VALUE_startup, samples_at(&s, 0.5) * 1e6);
}
