/* Reload of the configuration: all or nothing. */
#pragma once

#include "common/buf.h"
#include "master/world.h"

/* What a reload did. */
struct reloaded {
	unsigned	 added, removed;	/* listeners */
	struct buf	 kept;	/* lines: keywords that need a restart */
};

/*
 * Read the configuration again (master/cmdline.h).  It applies to new sessions;
 * existing sessions, and listeners in both, are not affected.  0 and out, whose
 * buffer is the caller's; or -1 with the reason in e, and nothing has changed.
 * Logs a line either way.
 */
int	 reload(struct master *m, struct reloaded *out, struct conf_error *e)
	    MUST_CHECK;
void	 reload_on_signal(struct master *m);
