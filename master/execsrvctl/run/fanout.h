/* "execsrvctl run" on several servers: lines with their names, a summary. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "master/execsrvctl/run/run.h"
#include "master/execsrvctl/servers.h"

/* Exit statuses beside EXIT_OK and EXIT_RUN, as pssh(1) has them. */
enum {
	EXIT_NOT_ALL = 3,	/* somewhere it did not run to its end */
	EXIT_SOME_FAILED = 4	/* everywhere, but it failed somewhere */
};

struct fanout_target {
	char		*name;		/* printable */
	struct server	 server;
};

struct fanout_options {
	struct fanout_target	*targets;
	size_t			 n;
	size_t			 parallel;	/* at a time; 1 or more */
	size_t			 max_fail;	/* begin no more after that */
	/* Its server, session, tty and detach do not count. */
	const struct run_options *run;
};

/* Its environment, URL or name, for output.  malloc'd or NULL. */
char	*fanout_name(const char *text) MUST_CHECK;

void	 fanout_free_targets(struct fanout_options *o);

/* Run it everywhere; an exit status.  Blocks signals, as run_command(). */
int	 fanout_command(const struct fanout_options *o);
