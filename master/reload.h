/* Another configuration for a server that runs: all of it or nothing. */
#ifndef MASTER_RELOAD_H
#define MASTER_RELOAD_H

#include "common/buf.h"
#include "master/world.h"

/* What a reload did. */
struct reloaded {
	unsigned	 added, removed;	/* listeners */
	struct buf	 kept;	/* keywords that need a restart, one a line */
};

/*
 * Read the configuration again (master/cmdline.h).  New sessions get what it
 * says, sessions and listeners that stay are not touched.  0 with *out, whose
 * buffer is the caller's; or -1 with the reason in e: nothing has changed.
 * Either way there is a line in the log.
 */
int	 reload(struct master *m, struct reloaded *out, struct conf_error *e)
	    __attribute__((warn_unused_result));
void	 reload_on_signal(struct master *m);

#endif
