/*
 * The control socket: operators ask, in the commands of proto/ctl.def, and
 * get a table.  The kernel says who asks: root and the daemon's own user see
 * everything, another user sees his own sessions.
 */
#ifndef MASTER_CTL_CTL_H
#define MASTER_CTL_CTL_H

#include "master/workers/child.h"
#include "master/world.h"

#define CTL_SOCKET	"control.sock"	/* in the run directory */

struct ctl;

/* Whether its group is one.  0, or -1 with the reason in e. */
int		 ctl_check(const struct conf *c, struct conf_error *e)
		    __attribute__((warn_unused_result));

/* Listen in the run directory.  NULL after a line in the log. */
struct ctl	*ctl_new(struct master *m);
void		 ctl_free(struct ctl **cp);

/* A worker is gone: nobody waits for its answers. */
void		 ctl_on_child_gone(struct ctl *c, struct child *child);

/* A worker's answer to a query. */
void		 ctl_on_report(struct ctl *c, struct child *from,
		    const Ipc__Report *r);

/* And to what one wanted done. */
void		 ctl_on_acted(struct ctl *c, struct child *from,
		    const Ipc__Acted *in);

#endif
