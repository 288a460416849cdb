/*
 * Listening sockets from before an execve(2), or that the monitor kept, for the
 * Listen or MetricsListen setting of the same text.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define INHERITED_MAX	128

struct inherited {
	struct inherited_one {
		int	 fd;		/* -1: taken */
		char	*spec;
		bool	 is_metrics;
	}		 list[INHERITED_MAX];
	size_t		 n;
};

/* Add one (fd is taken).  0, or -1 with errno. */
int	 inherited_add(struct inherited *in, int fd, const char *spec,
	    bool is_metrics) MUST_CHECK;

/* A descriptor, the caller's now; or -1. */
int	 inherited_take(struct inherited *in, const char *spec,
	    bool is_metrics) MUST_CHECK;

/* Remove the one of that text, and close it. */
void	 inherited_remove(struct inherited *in, const char *spec,
	    bool is_metrics);

/* Close those that nobody took; the file of a Unix socket goes as well. */
void	 inherited_fini(struct inherited *in);
