/*
 * The control socket: operators send commands of proto/ctl.def and get tables.
 * By SO_PEERCRED (unix(7)) root and the daemon's user see all sessions, other
 * users their own.
 */
#pragma once

#include "master/workers/child.h"

#define CTL_SOCKET	"control.sock"	/* in the run directory */

struct audit_what;
struct conf;
struct conf_error;
struct ctl;
struct routes;
struct world;

/* Check ControlGroup.  0, or -1 with the reason in e. */
int		 ctl_check(const struct conf *c, struct conf_error *e)
		    MUST_CHECK;

/*
 * Listen in the run directory; fd (taken): the socket is open already, or -1.
 * NULL after a line in the log.
 */
struct ctl	*ctl_new(struct world *w, struct routes *rs,
		    struct children *cs, int fd);
void		 ctl_free(struct ctl **cp);

struct upgrade_result;

/* For an upgrade: the socket; that of who asked, or -1; the answer there. */
int		 ctl_socket(const struct ctl *c);
int		 ctl_asker(const struct ctl *c);
void		 ctl_on_upgraded(struct ctl *c,
		    const struct upgrade_result *r);

/*
 * A worker asks for an operator's channel, for its client: send it, or why not.
 */
void		 ctl_operate(struct ctl *c, struct child *from,
		    uint32_t ticket);

/* A worker is gone; its answer to a query, to an action. */
void		 ctl_on_child_gone(struct ctl *c, struct child *child);
void		 ctl_on_report(struct ctl *c, struct child *from,
		    const Ipc__Report *r);
void		 ctl_on_acted(struct ctl *c, struct child *from,
		    const Ipc__Acted *in);

/* Whether operators watch events; an event happens, for these. */
bool		 ctl_is_watched(const struct ctl *c);
void		 ctl_on_event(struct ctl *c, const struct audit_what *what);
