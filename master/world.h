/* Shared by the modules of the master: data, and events for modules above. */
#pragma once

#include <sys/queue.h>
#include <sys/resource.h>
#include <sys/types.h>

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "common/conf/conf.h"
#include "common/ev.h"
#include "common/ipc/ipc.h"
#include "common/log.h"
#include "common/map.h"
#include "master/accept/activation.h"
#include "master/accept/inherited.h"
#include "master/adopt/handoff.h"
#include "master/auth/idmap.h"
#include "master/auth/peer.h"
#include "master/drain.h"
#include "master/payload.h"
#include "master/reaper.h"
#include "master/remote/remote_stdin.h"
#include "master/stats.h"
#include "master/workers/child.h"
#include "master/workers/reserve.h"

struct adopt;
struct audit;
struct cgroups;
struct ctl;
struct gate;
struct listener;
struct penalties;
struct policy;
struct logfile;
struct master;
struct sdnotify;
struct pool;
struct records;
struct remote;
struct route;
struct cmdline;
struct tokens;
struct audit_what;
struct upgrade;
struct userdb;

TAILQ_HEAD(listener_list, listener);
TAILQ_HEAD(remote_list, remote);
TAILQ_HEAD(route_list, route);

#define WORLD_ROUTE_STATES	5	/* of enum route_state */

/* Calls to the master from its modules. */
#define READY_WHY_MAX	128	/* bytes of why /readyz says no */

struct master_events {
	void	(*stop)(struct master *m, const char *why);

	/* A child process has ended: the server may be able to exit. */
	void	(*on_child_gone)(struct master *m);

	/* Spare workers are available for waiting connections. */
	void	(*on_spare)(struct master *m);
	void	(*gauges)(const struct master *m, uint64_t gauges[GAUGES]);

	/* A worker ended: kill the processes that it left behind, soon. */
	void	(*look_for_orphans)(struct master *m, bool is_urgent);

	/* Kill the commands of a worker that was not our child. */
	void	(*kill_range)(struct master *m, uint64_t first);

	/* A worker of a former master has come. */
	void	(*on_adopted)(struct master *m);

	/* A listening socket was opened, or is closed. */
	void	(*on_listener)(struct master *m, int fd, const char *spec,
		    bool is_metrics);
	void	(*on_listener_gone)(struct master *m, const char *spec,
		    bool is_metrics);

	/* Reopen log files, after a rotation. */
	void	(*reopen_logs)(struct master *m);

	/* Whether /readyz says yes; why not, or "". */
	bool	(*is_ready)(const struct master *m);
	char	*(*unready)(const struct master *m, char *why, size_t size);

	/* Whether operators watch events; one happened. */
	bool	(*is_watched)(const struct master *m);
	void	(*on_event)(struct master *m, const struct audit_what *what);

	/* If it is known by now; or NULL. */
	const char *(*user_name)(struct master *m, uid_t uid);
};

/* How the server was started; set by main() and master_init(). */
struct world_start {
	const struct cmdline	*cmdline;
	const struct handoff_program *program;	/* to be executed again */
	char		 worker[4096];
	char		 uplink[4096];
	bool		 is_root;
	bool		 is_stdio;
	bool		 is_daemon;
	bool		 is_listen_given;
	bool		 has_terminal;	/* had one at start */
	struct rlimit	 nofile;	/* before we raised it; for commands */
	struct idmap	 idmap;
	uint64_t	 at;		/* clock_ms() */
	time_t		 time;		/* the same, for people */
	time_t		 loaded;	/* the configuration in force */
	bool		 is_reload_refused;	/* the last one */
};

/* Listeners: master/accept/listen.h. */
struct world_listen {
	struct listener_list	 list;
	struct listener_list	 metrics;	/* of MetricsListen */
	struct activation	 activation;	/* until adopted */
	struct inherited	 inherited;	/* until taken */
	int			 diag;		/* for peer_identify() */
};

/* Logs: master/logs/logto.h, master/logs/audit.h. */
struct world_logs {
	char			 how[LOG_HOW_MAX];
	struct logfile		*file;		/* NULL: LogTo is none */
	struct audit		*audit;		/* NULL: AuditLog is none */
};

/* Sessions, for master/workers/route.c alone to write. */
struct world_routes {
	struct route_list	 list;		/* in the order of numbers */
	struct map		 by_id;
	struct map		 clients, users;	/* see struct tally */
	size_t			 in_state[WORLD_ROUTE_STATES];
	size_t			 operators;	/* of those that live */
	unsigned		 next_number;
};

/* Remote mode: master/remote/remote.h; the user its uplinks run as. */
struct world_uplinks {
	struct remote_list	 list;
	uid_t			 uid;
	gid_t			 gid;
};

struct world_rundir {
	char	*path;
	int	 lock;
};

/* In this order. */
enum world_state {
	WORLD_STARTING,
	WORLD_SERVING,		/* master_run() was called */
	WORLD_STOPPING,
	WORLD_KILLING		/* what did not stop in time */
};

/* What all modules of the master read. */
struct world {
	const struct master_events *events;
	struct master		*master;	/* their argument */
	struct event_base	*base;
	struct conf		 conf;
	struct policy		*policy;	/* users, groups in conf */
	struct tokens		*tokens;	/* of conf */
	struct world_start	 start;
	struct world_rundir	 rundir;
	struct world_logs	 logs;
	struct reserve		 reserve;
	struct records		*records;	/* of sessions; NULL: none */
	enum world_state	 state;
	enum peer_way		 peer_way;	/* NONE until there is TCP */
	uint64_t	 sockmark;	/* master/auth/peer_sandbox.h; or 0 */
	uint64_t		 stats[STATS];
};

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
	struct world_listen	 listen;
	struct gate		*gate;
	struct userdb		*userdb;
	struct penalties	*penalties;
	struct membudget	*budget;
	struct cgroups		*cgroups;
	struct pool		*pool;
	int			 environment;	/* a file with it, or -1 */
	int			 monitor;	/* its channel, or -1 */
	struct adopt		*adopt;
	struct handoff		 handed;	/* by who was here before */
	struct upgrade		*upgrade;
	struct children		 children;
	struct world_routes	 routes;
	struct world_uplinks	 uplinks;
	struct remote_stdin	 remote_stdin;
	struct ctl		*ctl;
};

/* Whether connections may come besides stdio. */
static inline bool
world_has_listeners(const struct master *m)
{
	return !TAILQ_EMPTY(&m->listen.list) || !TAILQ_EMPTY(&m->uplinks.list);
}

static inline bool
world_is_stopping(const struct master *m)
{
	return m->world.state >= WORLD_STOPPING;
}
