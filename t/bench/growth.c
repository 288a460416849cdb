/*
 * What the sessions that are open cost new ones, and operators.  Idle sessions
 * are opened step by step, each step by a process of its own that answers their
 * pings; in between some others come and go.
 */
#include <sys/resource.h>
#include <sys/wait.h>

#include <dirent.h>
#include <err.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <arpa/inet.h>

#include "t/bench/client.h"
#include "t/bench/program.h"

#define TIMEOUT		600	/* seconds, of all of it */
#define NEW		200	/* sessions that are measured */
#define WARM_UP		20
#define QUIET		2.0	/* seconds, before and after these */
#define LOOKS		5	/* at all sessions */
#define STEPS_MAX	8
#define GONE		2.0	/* seconds that answers are measured for */
#define STOP		120.0	/* seconds for all sessions to end */
#define US		1e6

extern char	**environ;

/* A step: up to so many sessions; where their figures go, or VALUE_COUNT. */
struct step {
	int		 upto;
	enum value	 cpu, p50;
};

static const struct step	 steps[] = {
	{ 0, VALUE_growth_cpu0, VALUE_growth_p50 },
	{ 2000, VALUE_growth_cpu2000, VALUE_COUNT },
	{ 5000, VALUE_growth_cpu5000, VALUE_growth_p50_5000 },
	{ 6000, VALUE_COUNT, VALUE_COUNT },
	{ 10000, VALUE_growth_cpu10000, VALUE_growth_p50_10000 },
};

#define STEPS	(sizeof(steps) / sizeof(steps[0]))

/* Answer the pings of sessions until killed. */
static void
answer_pings(struct client **c, int n)
{
	struct pollfd	*p;
	struct msg	 m;

	if ((p = calloc((size_t)n, sizeof(*p))) == NULL)
		err(1, "calloc");
	for (int i = 0; i < n; i++)
		p[i] = (struct pollfd){ client_fd(c[i]), POLLIN, 0 };
	for (;;) {
		if (poll(p, (nfds_t)n, -1) <= 0)
			continue;
		for (int i = 0; i < n; i++) {
			if (p[i].revents == 0)
				continue;
			client_fill(c[i]);
			while (client_take(c[i], &m))
				continue;
		}
	}
}

/* Open n sessions in a process of their own. */
static pid_t
hold(const struct bench *b, int n)
{
	struct client	**c;
	int		  ready[2];
	pid_t		  pid;
	char		  byte = 0;

	if (pipe(ready) == -1 || (pid = fork()) == -1)
		err(1, "fork");
	if (pid != 0) {
		close(ready[1]);
		if (read(ready[0], &byte, 1) != 1)
			errx(1, "cannot open %d sessions", n);
		close(ready[0]);
		return pid;
	}
	alarm(TIMEOUT);
	close(ready[0]);
	if ((c = calloc((size_t)n, sizeof(struct client *))) == NULL)
		err(1, "calloc");
	for (int i = 0; i < n; i++) {
		c[i] = client_open(b, 0);
		client_initialized(c[i]);
	}
	if (write(ready[1], &byte, 1) != 1)
		err(1, "write");
	answer_pings(c, n);
	return -1;
}

static void
end_of(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* Time on a processor of all threads of one process, in seconds. */
static double
cpu_of(pid_t pid)
{
	struct dirent		*e;
	unsigned long long	 ns, sum = 0;
	char			 path[64];
	DIR			*d;
	FILE			*f;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	if ((d = opendir(path)) == NULL)
		err(1, "%s", path);
	while ((e = readdir(d)) != NULL) {
		snprintf(path, sizeof(path), "/proc/%d/task/%.20s/schedstat",
		    (int)pid, e->d_name);
		if (e->d_name[0] == '.' || (f = fopen(path, "re")) == NULL)
			continue;
		if (fscanf(f, "%llu", &ns) == 1)
			sum += ns;
		fclose(f);
	}
	closedir(d);
	return (double)sum / 1e9;
}

static void
come_and_go(const struct bench *b, struct samples *s, int n)
{
	struct client	*c;
	double		 begin;

	for (int i = 0; i < n; i++) {
		begin = now();
		c = client_open(b, 0);
		samples_add(s, now() - begin);
		client_initialized(c);
		client_close(&c);
	}
}

/* Some sessions come and go beside those that are open; their p50. */
static double
measure_new(const struct bench *b, const struct step *step)
{
	static struct samples	 s;
	double			 before, p50;

	nap(QUIET);
	samples_init(&s, TIMEOUT);
	come_and_go(b, &s, WARM_UP);
	nap(QUIET / 4);
	samples_init(&s, TIMEOUT);
	before = cpu_of(b->pid);
	come_and_go(b, &s, NEW);
	nap(QUIET / 4);
	if (step->cpu != VALUE_COUNT)
		report(step->cpu, (cpu_of(b->pid) - before) / NEW * US);
	p50 = samples_at(&s, 0.5);
	if (step->p50 != VALUE_COUNT)
		report(step->p50, p50 * US);
	return p50;
}

/* --- an operator --- */

/* Seconds that a command of execsrvctl takes; it lies beside the server. */
static double
operate(const struct bench *b, const char *command)
{
	posix_spawn_file_actions_t	 fa;
	char				 path[4096], *slash;
	char				*argv[] = { path,
					    (char *)(uintptr_t)command, NULL };
	double				 begin = now();
	pid_t				 pid;
	int				 status;

	snprintf(path, sizeof(path), "%s", b->argv[0]);
	if ((slash = strrchr(path, '/')) == NULL ||
	    (size_t)(slash - path) + sizeof("/execsrvctl") > sizeof(path))
		errx(1, "%s: no folder", path);
	strcpy(slash, "/execsrvctl");
	if (access(path, X_OK) == -1)
		return -1;		/* another program */
	posix_spawn_file_actions_init(&fa);
	posix_spawn_file_actions_addopen(&fa, 1, "/dev/null", O_WRONLY, 0);
	if (posix_spawn(&pid, path, &fa, NULL, argv, environ) != 0)
		errx(1, "%s", path);
	posix_spawn_file_actions_destroy(&fa);
	if (waitpid(pid, &status, 0) != pid || status != 0)
		errx(1, "execsrvctl %s: status %d", command, status);
	return now() - begin;
}

/* See all sessions. */
static void
measure_look(const struct bench *b)
{
	struct samples	 s;
	double		 t;

	samples_init(&s, TIMEOUT);
	for (int i = 0; i < LOOKS; i++) {
		if ((t = operate(b, "sessions")) < 0)
			return;
		samples_add(&s, t);
		nap(QUIET / 4);
	}
	report(VALUE_growth_look, samples_at(&s, 0.5) * US);
}

/* Many clients leave at once: the slowest answer in the time after that. */
static void
measure_leave(const struct bench *b, pid_t clients)
{
	double	until, worst = 0, t;

	kill(clients, SIGKILL);
	until = now() + GONE;
	while (now() < until || worst == 0) {
		if ((t = operate(b, "status")) < 0)
			return;
		worst = t > worst ? t : worst;
		nap(0.01);
	}
	waitpid(clients, NULL, 0);
	report(VALUE_growth_leave, worst * US);
}

/* --- */

/* Stop the server, which has thousands of processes, in order. */
static void
stop(pid_t pid)
{
	double	until = now() + STOP;
	int	status;

	kill(pid, SIGTERM);
	while (waitpid(pid, &status, WNOHANG) == 0) {
		if (now() > until)
			errx(1, "the server does not stop");
		nap(0.05);
	}
}

static void
await_address(struct bench *b, int fd)
{
	char		 line[256], host[64];
	unsigned short	 port;
	size_t		 have = 0;
	ssize_t		 n;

	do {
		n = read(fd, line + have, sizeof(line) - 1 - have);
		if (n <= 0)
			errx(1, "the server did not print its address");
		have += (size_t)n;
		line[have] = '\0';
	} while (strchr(line, '\n') == NULL);
	if (sscanf(line, "ws://%63[0-9.]:%hu", host, &port) != 2 ||
	    inet_pton(AF_INET, host, &b->sin.sin_addr) != 1)
		errx(1, "not an address: %s", line);
	b->sin.sin_family = AF_INET;
	b->sin.sin_port = htons(port);
}

void
bench_growth(const struct bench *given)
{
	struct bench	 b = *given;
	struct rlimit	 files;
	pid_t		 holder[STEPS_MAX] = { 0 };
	double		 p50, first = 0;
	int		 out, have = 0;

	_Static_assert(STEPS <= STEPS_MAX, "steps");
	alarm(TIMEOUT);
	getrlimit(RLIMIT_NOFILE, &files);
	files.rlim_cur = files.rlim_max;
	setrlimit(RLIMIT_NOFILE, &files);
	b.pid = program_start(b.argv, &out);
	await_address(&b, out);
	for (size_t i = 0; i < STEPS; i++) {
		if (steps[i].upto > have)
			holder[i] = hold(&b, steps[i].upto - have);
		have = steps[i].upto;
		if (steps[i].cpu == VALUE_COUNT)
			continue;
		p50 = measure_new(&b, &steps[i]);
		if (have == 0)
			first = p50;
		if (steps[i].p50 == VALUE_growth_p50_5000) {
			report(VALUE_growth_x, p50 / first);
			measure_look(&b);
		}
	}
	measure_leave(&b, holder[STEPS - 1]);
	for (size_t i = 0; i < STEPS - 1; i++)
		if (holder[i] != 0)
			end_of(holder[i]);
	nap(QUIET);
	stop(b.pid);
	close(out);
}
