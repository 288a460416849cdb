/* "execsrvctl top": on a terminal until q is pressed, or in batches. */
#pragma once

#define TOP_KEYS							\
	"Keys: c, m, a, s sort by load, memory, age, session;\n"	\
	"p shows processes or sessions; h this help; q ends.\n"

#include <stdbool.h>

struct top_options {
	const char	*dir;
	bool		 json;
	bool		 batch;
	int		 interval;	/* ms */
	unsigned long	 times;		/* 0: for ever */
};

/* Options, argv[0] is "top", into defaults.  NULL, or what is wrong. */
const char	*top_read(int argc, char **argv, struct top_options *t);

/* Show it and return the exit status. */
int	 top(const struct top_options *t);
