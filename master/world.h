/* Shared by the modules of the master: data, and events for modules above. */
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "common/conf/conf.h"
#include "common/ev.h"
#include "common/log.h"
#include "master/auth/idmap.h"
#include "master/auth/peer.h"
#include "master/stats.h"
#include "master/workers/reserve.h"

struct audit;
struct audit_what;
struct cmdline;
struct handoff_program;
struct logfile;
struct master;
struct policy;
struct records;
struct tokens;

/* Calls to the master from its modules. */
#define READY_WHY_MAX	128	/* bytes of why /readyz says no */

struct master_events {
	void	(*stop)(struct master *m, const char *why);

	/* A child process has ended: the server may be able to exit. */
	void	(*on_child_gone)(struct master *m);

	/* A session has changed its state. */
	void	(*on_sessions)(struct master *m);

	/* Whether no sessions are to be opened any more. */
	bool	(*is_draining)(const struct master *m);

	/* Whether connections may come besides stdio. */
	bool	(*has_listeners)(const struct master *m);

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

	/* Stop with status 1. */
	void	(*fail)(struct master *m, const char *why);

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

/* Logs: master/logs/logto.h, master/logs/audit.h. */
struct world_logs {
	char			 how[LOG_HOW_MAX];
	struct logfile		*file;		/* NULL: LogTo is none */
	struct audit		*audit;		/* NULL: AuditLog is none */
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

static inline bool
world_is_stopping(const struct world *w)
{
	return w->state >= WORLD_STOPPING;
}
