/* The process of a hub that is on the network.  The exit status. */
#pragma once

#include "master/hub/admit/site.h"

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

int	 hubworker_run(struct hubworker_start *start) MUST_CHECK;
