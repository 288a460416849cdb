/* From the exec of the server to its line on standard output. */
#include <err.h>
#include <string.h>
#include <unistd.h>

#include "t/bench/bench.h"
#include "t/bench/program.h"

#define STARTS		12

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
		pid = program_start(b->argv, &out);
		await_url(out);
		samples_add(&s, now() - begin);
		program_stop(pid);
		close(out);
	}
	report(VALUE_startup, samples_at(&s, 0.5) * 1e6);
}
