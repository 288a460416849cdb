/*
 * What the modules of the master share: data only.  Whoever needs it includes
 * this; what the master does is in master.h, for those above it.
 */
#ifndef MASTER_WORLD_H
#define MASTER_WORLD_H

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
#include "master/auth/idmap.h"
#include "master/auth/peer.h"
#include "master/drain.h"
#include "master/payload.h"
#include "master/reaper.h"
#include "master/remote/remote_stdin.h"
#include "master/workers/reserve.h"

struct audit;
struct cgroups;
struct child;
struct child_events;
struct ctl;
struct gate;
struct listener;
struct penalties;
struct policy;
struct logfile;
struct master;
struct sdnotify;
struct pool;
struct remote;
struct route;
struct cmdline;
struct tokens;

TAILQ_HEAD(listener_list, listener);
TAILQ_HEAD(child_list, child);
TAILQ_HEAD(remote_list, remote);
TAILQ_HEAD(route_list, route);

/* Counters: the rows of proto/stat.def. */
enum master_stat {
#define STAT(name, metric, meaning)	STAT_##name,
#include "proto/stat.def"
#undef STAT
	STATS
};

/* The rows of proto/gauge.def. */
enum gauge {
#define GAUGE(name, family, state, help)	GAUGE_##name,
#include "proto/gauge.def"
#undef GAUGE
	GAUGES
};

/* What only the whole can do, for modules that are parts of it. */
struct master_events {
	/* Stop in order; again: at once. */
	void	(*stop)(struct master *m, const char *why);

	/* A worker is gone: look for what it left, and whether we are done. */
	void	(*on_child_gone)(struct master *m);

	/* A worker may be had again for who waits for one. */
	void	(*on_spare)(struct master *m);

	/* What /metrics tells, as it is now. */
	void	(*gauges)(const struct master *m, uint64_t gauges[GAUGES]);

	/* What a worker left alive is killed until none is left. */
	void	(*kill_orphans)(struct master *m);

	/* Open the logs anew: their files were moved away. */
	void	(*reopen_logs)(struct master *m);

	/* What /readyz says. */
	bool	(*is_ready)(const struct master *m);
};

struct master {
	const struct master_events *events;
	const struct child_events *child_events;
	struct event_base	*base;
	struct conf		 conf;
	const struct cmdline	*cmdline;	/* where that comes from */
	struct policy		*policy;	/* the names in conf */
	uint64_t	 sockmark;	/* master/auth/peer_sandbox.h; or 0 */
	char			*dir;		/* run directory */
	int			 dir_lock;
	int			 environment;	/* as a file; -1: not yet */
	char			 worker[4096];	/* path of execsrv-worker */
	char			 uplink[4096];	/* and of execsrv-uplink */
	struct rlimit		 nofile;	/* as we were started with */
	struct idmap		 idmap;
	struct reserve		 reserve;
	enum peer_way		 peer_way;	/* NONE until there is TCP */
	bool			 is_root;
	bool			 is_stdio;
	bool			 is_listen_given;	/* by --listen */
	bool			 is_daemon;	/* in the background */
	bool			 has_terminal;	/* that may hang up */
	bool			 is_serving;	/* or did */
	bool			 stopping;
	struct drain		 drain;
	int			 status;	/* to exit with */
	uint64_t		 born;		/* clock_ms() */
	time_t			 began;		/* the same, for others */
	struct listener_list	 listeners;
	struct listener_list	 metrics;	/* of MetricsListen */
	struct activation		 activation;	/* until adopted */
	char			 log_how[LOG_HOW_MAX];	/* for children */
	struct logfile		*logfile;	/* NULL: LogTo is none */
	struct audit		*audit;		/* NULL: AuditLog is none */
	struct payload		 payload;
	struct sdnotify		*sdnotify;	/* NULL: nobody wants to know */
	struct remote_list	 remotes;
	uid_t			 uplink_uid;
	gid_t			 uplink_gid;
	struct remote_stdin	 remote_stdin;
	struct tokens		*tokens;
	struct penalties	*penalties;	/* for wrong ones */
	struct membudget		*budget;	/* memory of sessions */
	struct gate		*gate;
	struct cgroups		*cgroups;	/* of workers */
	struct pool		*pool;
	struct child_list	 children;
	struct map		 by_pid;
	struct map		 routes;	/* by session id */
	struct route_list	 all_routes;
	unsigned		 next_id;	/* of children */
	unsigned		 next_number;	/* of sessions */
	uint64_t		 released;	/* sessions, ever */
	struct ctl		*ctl;
	struct sigfd		*signals;
	struct reaper		 reaper;
	struct timer		 stop_ev;
	unsigned		 stop_rounds;	/* of killing */
	uint64_t		 stats[STATS];
};

/* Whether connections may come: more than one on standard input. */
static inline bool
world_has_doors(const struct master *m)
{
	return !TAILQ_EMPTY(&m->listeners) || !TAILQ_EMPTY(&m->remotes);
}

#define STAT_INC(m, name)	((m)->stats[STAT_##name]++)

#endif
