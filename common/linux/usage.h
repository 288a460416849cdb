/* Resource usage of processes (getrusage(2), proc(5)). */
#pragma once

#include <sys/types.h>

#include <stdint.h>

struct usage {
	uint64_t	 cpu_ms;	/* user and system */
	uint64_t	 read;		/* bytes of storage I/O */
	uint64_t	 written;
	uint64_t	 peak_kib;	/* largest of any one process */
	uint64_t	 rss_kib;	/* now, of living descendants */
};

/* Of the calling process and, in gone, its reaped descendants. */
void	 usage_self(struct usage *own, struct usage *gone);

/* Add living descendants and what they reaped; unreadable I/O counts 0. */
void	 usage_add_living(struct usage *sum);

/* Of peaks the higher counts. */
void	 usage_add(struct usage *sum, const struct usage *one);

/* Texts of /proc/PID/stat, io, status.  Pure.  Missing: unchanged. */
void	 usage_parse_stat(const char *text, long ticks, struct usage *u);
void	 usage_parse_io(const char *text, struct usage *u);
void	 usage_parse_status(const char *text, struct usage *u);

/* The number after a key at the start of a line.  -1: not there. */
int	 usage_number(const char *text, const char *key, uint64_t *out)
	    MUST_CHECK;
