/*
 * The parts of the master.  Each gets what it needs when it is made, and
 * world.h; all of them are for who puts them together, and for the commands of
 * operators: main.c, master.c, child_msg.c, reload.c and master/ctl.
 */
#pragma once

#include "common/ev.h"
#include "master/accept/child_assign.h"
#include "master/accept/listen.h"
#include "master/accept/token_login.h"
#include "master/adopt/handoff.h"
#include "master/drain.h"
#include "master/payload.h"
#include "master/reaper.h"
#include "master/remote/remote.h"
#include "master/workers/child.h"
#include "master/workers/route.h"
#include "master/world.h"

struct adopt;
struct cgroups;
struct ctl;
struct membudget;
struct sigfd;
struct upgrade;
struct userdb;

struct master {
	struct world		 world;
	struct timer		 stop_ev;
	struct timer		 status_ev;
	int			 status;
	struct drain		 drain;
	struct sigfd		*signals;
	struct reaper		 reaper;
	struct payload		 payload;
	struct sdnotify		*sdnotify;	/* NULL: no service manager */
	struct listeners	 listen;
	struct gate		*gate;
	struct assigner		 assigner;
	struct token_login	 login;
	struct userdb		*userdb;
	struct penalties	*penalties;
	struct membudget	*budget;
	struct cgroups		*cgroups;
	struct pool		*pool;
	int			 monitor;	/* its channel, or -1 */
	struct adopt		*adopt;
	struct handoff		 handed;	/* by who was here before */
	struct upgrade		*upgrade;
	struct children		 children;
	struct routes		 routes;
	struct remotes		 uplinks;
	struct ctl		*ctl;
};
