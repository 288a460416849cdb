/*
 * What processes have used, by what the kernel counts (getrusage(2), proc(5)).
 */
#ifndef COMMON_LINUX_USAGE_H
#define COMMON_LINUX_USAGE_H

#include <sys/types.h>

#include <stdint.h>

struct usage {
	uint64_t	 cpu_ms;	/* user and system */
	uint64_t	 read;		/* bytes fetched from storage ... */
	uint64_t	 written;	/* ... and sent there */
	uint64_t	 peak_kib;	/* most memory of any one process */
};

/* The calling process; and, in *gone, all descendants that were reaped. */
void	 usage_self(struct usage *own, struct usage *gone);

/*
 * Add what all living descendants have used, and what they reaped.  What may
 * not be looked at (I/O of a set-user-ID program) is left out.
 */
void	 usage_add_living(struct usage *sum);

/* Add one; of the peaks the higher counts. */
void	 usage_add(struct usage *sum, const struct usage *one);

/*
 * Parts of it, from the texts of /proc/PID/stat, io and status.  Pure.  What
 * is not in there stays as it is.
 */
void	 usage_parse_stat(const char *text, long ticks, struct usage *u);
void	 usage_parse_io(const char *text, struct usage *u);
void	 usage_parse_status(const char *text, struct usage *u);

/* The number behind a key in lines of such pairs.  0, or -1: there is none. */
int	 usage_number(const char *text, const char *key, uint64_t *out)
	    __attribute__((warn_unused_result));

#endif
