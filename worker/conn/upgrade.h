/* HTTP: reads the head, no byte beyond, and answers or switches.  Blocking. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/ipc/ipc.h"

enum upgraded {
	UPGRADE_UPGRADED,	/* WebSocket frames follow */
	UPGRADE_ADMITTED,	/* for token_auth_pass() */
	UPGRADE_ANSWERED,	/* done: answered, closed, or late */
};

struct upgrade_rules {
	uint64_t	 ms;		/* for all */
	int		 refuse;	/* status for any request, or 0 */
	const char	*why;		/* its reason */
	const char	*unready;	/* why not, for /readyz; or "" */
	char *const	*hosts;		/* our other names */
	size_t		 nhosts;
	Ipc__Asking	 asking;	/* whether to ask for a token */
	int		 master;	/* socket, to verify it */
};

/* fd stays open. */
enum upgraded	 upgrade(int fd, const struct upgrade_rules *r);

/* MetricsListen: no upgrade, no token. */
void		 upgrade_metrics(int fd, const struct upgrade_rules *r,
		    const Ipc__Figures *f);
