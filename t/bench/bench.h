/*
 * What the measurements share.  A benchmark that cannot measure is over: any
 * failure here ends the program with a message, and nothing is reported.
 */
#pragma once

#include <sys/types.h>

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>

/* Where to measure. */
struct bench {
	struct sockaddr_in	 sin;		/* SERVER groups */
	pid_t			 pid;
	const char		*folder;	/* USER groups */
	char			**argv;		/* of a program */
	char			 command[4096];	/* path of command.c */
};

typedef void	 bench_fn(const struct bench *);

/* bench_<group>() for every row that C code measures. */
#define BENCH_SERVER(name)	bench_fn bench_##name;
#define BENCH_USER(name)	bench_fn bench_##name;
#define BENCH_PROGRAM(name)	bench_fn bench_##name;
#define BENCH_REMOTE(name)	bench_fn bench_##name;
#define BENCH_LINE(name)	bench_fn bench_##name;
#define BENCH_REMOTE_LINE(name)	bench_fn bench_##name;
#define BENCH_QUOTA(name)	bench_fn bench_##name;
#define BENCH_HUB(name)	bench_fn bench_##name;
#define BENCH_DRIVER(name)
#define GROUP(name, kind, extra)	BENCH_##kind(name)
#define VALUE(key, unit, goal, limit, label)
#include "t/bench/metric.def"
#undef GROUP
#undef VALUE
#undef BENCH_SERVER
#undef BENCH_USER
#undef BENCH_PROGRAM
#undef BENCH_REMOTE
#undef BENCH_LINE
#undef BENCH_REMOTE_LINE
#undef BENCH_QUOTA
#undef BENCH_HUB
#undef BENCH_DRIVER

enum value {
#define GROUP(name, kind, extra)
#define VALUE(key, unit, goal, limit, label)	VALUE_##key,
#include "t/bench/metric.def"
#undef GROUP
#undef VALUE
	VALUE_COUNT
};

/* Print one result on standard output. */
void		 report(enum value, double);

/* Seconds of the monotonic clock. */
double		 now(void);

/* Sleep, whatever signals do. */
void		 nap(double seconds);

/* A bounded run of measurements: embedded, nothing to free. */
#define SAMPLES_MAX	8192
struct samples {
	double	 v[SAMPLES_MAX];
	size_t	 n, most;
	double	 until;
};

/* Begin a run that lasts so many seconds; "most" may be lowered. */
void		 samples_init(struct samples *, double seconds);

/* True while there is time and room for another one. */
bool		 samples_more(const struct samples *);

void		 samples_add(struct samples *, double);

/* The value below which this share (0 to 1) lies; sorts. */
double		 samples_at(struct samples *, double share);
