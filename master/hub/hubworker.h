/* The process of a hub that is on the network. */
#pragma once

#include "master/hub/admit/site.h"

/* A listening socket. */
struct hublistener {
	int	 fd;
	bool	 is_tls, is_proxied, is_metrics;
	char	 url[128];		/* for the log */
};

struct hubworker_start {
	struct site		*site;		/* becomes its own */
	struct hublistener	*listener;
	size_t			 nlistener;
	int			 control;	/* socket, listening */
	int			 audit;		/* or -1 */
	int			 link;		/* hublink.h */
};

/* Become it.  The exit status. */
int	 hubworker_run(struct hubworker_start *start) MUST_CHECK;
