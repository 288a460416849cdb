/* A hub's audit log: JSON lines.  Never a token, a ticket, or stream data. */
#pragma once

#include "master/hub/hub.h"

/* Members of an event, until one without a key; text NULL: a number. */
struct hubaudit_item {
	const char	*key;
	const char	*text;
	uint64_t	 n;
};

void	 hubaudit(struct hub *h, const char *event,
	    const struct hubaudit_item *items);

/* A request was refused: who may be NULL. */
void	 hubaudit_refused(struct hub *h, const char *what, const char *who,
	    const char *environment, const char *address, const char *why);
