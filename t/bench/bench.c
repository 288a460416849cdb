/*
 * bench list
 * bench GROUP ws://127.0.0.1:PORT PID	(a running server)
 * bench GROUP ws://127.0.0.1:PORT PID FOLDER	(of whose owner it runs)
 * bench GROUP PROGRAM ARGUMENT...	(startup, remote mode, hubs)
 *
 * Measures one group of metric.def and prints "key value" lines.
 */
#include <sys/stat.h>

#include <arpa/inet.h>

#include <assert.h>
#include <err.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "t/bench/bench.h"

/* Longer than any group needs: a hang becomes a failure. */
#define BENCH_TIMEOUT	90
#define HUB_TIMEOUT	300		/* 10,000 connections */

enum kind { KIND_SERVER, KIND_USER, KIND_PROGRAM, KIND_REMOTE,
	    KIND_LINE, KIND_REMOTE_LINE, KIND_QUOTA, KIND_HUB,
	    KIND_DRIVER };

static const struct group {
	const char	*name;
	enum kind	 kind;
	bench_fn	*fn;
} groups[] = {
#define FN_SERVER(name)		bench_##name
#define FN_USER(name)		bench_##name
#define FN_PROGRAM(name)	bench_##name
#define FN_REMOTE(name)		bench_##name
#define FN_LINE(name)		bench_##name
#define FN_REMOTE_LINE(name)	bench_##name
#define FN_QUOTA(name)		bench_##name
#define FN_HUB(name)		bench_##name
#define FN_DRIVER(name)		NULL
#define GROUP(name, kind, extra)	{ #name, KIND_##kind, FN_##kind(name) },
#define VALUE(key, unit, goal, limit, label)
#include "t/bench/metric.def"
#undef GROUP
#undef VALUE
};

static const char *const keys[] = {
#define GROUP(name, kind, extra)
#define VALUE(key, unit, goal, limit, label)	#key,
#include "t/bench/metric.def"
#undef GROUP
#undef VALUE
};

void
report(enum value value, double v)
{
	assert(value < VALUE_COUNT);
	printf("%s %.8g\n", keys[value], v);
	fflush(stdout);
}

double
now(void)
{
	struct timespec	ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

void
nap(double seconds)
{
	struct timespec	ts = { (time_t)seconds,
			    (long)(seconds * 1e9) % 1000000000 };

	while (nanosleep(&ts, &ts) == -1)
		continue;
}

void
samples_init(struct samples *s, double seconds)
{
	s->n = 0;
	s->most = SAMPLES_MAX;
	s->until = now() + seconds;
}

bool
samples_more(const struct samples *s)
{
	return s->n < s->most && (s->n == 0 || now() < s->until);
}

void
samples_add(struct samples *s, double v)
{
	assert(s->n < SAMPLES_MAX);
	s->v[s->n++] = v;
}

static int
compare(const void *a, const void *b)
{
	double	x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

double
samples_at(struct samples *s, double share)
{
	if (s->n == 0)
		errx(1, "nothing was measured");
	qsort(s->v, s->n, sizeof(s->v[0]), compare);
	return s->v[(size_t)(share * (double)(s->n - 1) + 0.5)];
}

/* The rows for bench.py, one per line, fields separated by tabs. */
static int
list(void)
{
#define GROUP(name, kind, extra) \
	printf("group\t%s\t%s\t%d\n", #name, #kind, extra);
#define VALUE(key, unit, goal, limit, label) \
	printf("value\t%s\t%s\t%s\t%g\t%s\n", #key, unit, #goal, \
	    (double)limit, label);
#include "t/bench/metric.def"
#undef GROUP
#undef VALUE
	return 0;
}

static void
parse_url(struct bench *b, const char *url)
{
	char		 host[64];
	unsigned short	 port;

	if (sscanf(url, "ws://%63[0-9.]:%hu", host, &port) != 2 ||
	    inet_pton(AF_INET, host, &b->sin.sin_addr) != 1)
		errx(2, "%s: not ws://IPV4:PORT", url);
	b->sin.sin_family = AF_INET;
	b->sin.sin_port = htons(port);
}

/* The command lies beside this program. */
static void
find_command(struct bench *b)
{
	const size_t	 room = sizeof(b->command) - sizeof("command");
	ssize_t		 n;
	char		*slash;

	if ((n = readlink("/proc/self/exe", b->command, room)) == -1)
		err(1, "/proc/self/exe");
	b->command[n] = '\0';
	if ((slash = strrchr(b->command, '/')) == NULL)
		errx(1, "%s: no folder", b->command);
	strcpy(slash + 1, "command");
}

/* Act for the owner of the folder: execsrvd serves its own user only. */
static void
take_folder(struct bench *b, const char *folder)
{
	struct stat	st;

	b->folder = folder;
	if (stat(folder, &st) == -1)
		err(1, "%s", folder);
	if (st.st_uid != geteuid() && seteuid(st.st_uid) == -1)
		err(1, "user %u", (unsigned)st.st_uid);
}

static const struct group *
find_group(const char *name)
{
	for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++)
		if (strcmp(groups[i].name, name) == 0)
			return &groups[i];
	errx(2, "%s: no such group", name);
}

int
main(int argc, char **argv)
{
	struct bench		 b = { 0 };
	const struct group	*g;

	if (argc == 2 && strcmp(argv[1], "list") == 0)
		return list();
	if (argc < 3)
		errx(2, "usage: bench list | GROUP URL PID [FOLDER] | "
		    "GROUP PROGRAM...");
	g = find_group(argv[1]);
	if (g->fn == NULL || (argc != 4 &&
	    (g->kind == KIND_SERVER || g->kind == KIND_LINE)) ||
	    (g->kind == KIND_USER && argc != 5))
		errx(2, "%s: not measured like this", g->name);
	if (g->kind == KIND_PROGRAM || g->kind == KIND_REMOTE ||
	    g->kind == KIND_REMOTE_LINE || g->kind == KIND_HUB)
		b.argv = argv + 2;
	else {
		parse_url(&b, argv[2]);
		b.pid = atoi(argv[3]);
	}
	find_command(&b);
	if (g->kind == KIND_USER)
		take_folder(&b, argv[4]);
	signal(SIGPIPE, SIG_IGN);
	alarm(g->kind == KIND_HUB ? HUB_TIMEOUT : BENCH_TIMEOUT);
	g->fn(&b);
	return 0;
}
