/* Reload of the configuration: all or nothing. */
#pragma once

#include "common/buf.h"
#include "master/world.h"

struct reloaded {
	unsigned	 added, removed;	/* listeners */
	struct buf	 kept;	/* lines: keywords that need a restart */
};

/*
 * Read the configuration again, for new sessions and listeners; logs a line.  0
 * and out, whose buffer is the caller's; or -1, the reason in e, and nothing
 * has changed.
 */
int	 reload(struct master *m, struct reloaded *out, struct conf_error *e)
	    MUST_CHECK;
void	 reload_on_signal(struct master *m);
