#include "master/master.h"

#include <sys/prctl.h>

#include <assert.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/ev.h"
#include "common/fd.h"
#include "common/limit.h"
#include "common/log.h"
#include "common/process/sigfd.h"
#include "config.h"
#include "master/accept/child_assign.h"
#include "master/accept/gate.h"
#include "master/accept/listen.h"
#include "master/accept/policy.h"
#include "master/adopt/adopt.h"
#include "master/adopt/monitor.h"
#include "master/adopt/upgrade.h"
#include "master/auth/names.h"
#include "master/auth/penalty.h"
#include "master/auth/tokens.h"
#include "master/auth/userdb.h"
#include "master/child_msg.h"
#include "master/cmdline.h"
#include "master/ctl/ctl.h"
#include "master/ctl/gauges.h"
#include "master/logs/audit.h"
#include "master/logs/logfile.h"
#include "master/logs/logto.h"
#include "common/process/sdnotify.h"
#include "master/parts.h"
#include "master/reload.h"
#include "master/remote/remote.h"
#include "master/remote/remote_exec.h"
#include "master/rundir.h"
#include "master/workers/cgroups.h"
#include "master/workers/child.h"
#include "master/workers/membudget.h"
#include "master/workers/pool.h"
#include "master/workers/records.h"
#include "master/workers/route.h"
#include "master/workers/transcript_files.h"

#define REAP_MS		500	/* to reap what was killed */
#define STATUS_MS	1000	/* until the service manager hears */

static void	 master_on_signal(void *, int, pid_t);
static bool	 kill_rest(struct master *);
static void	 on_stop_timer(void *);
static void	 master_on_status_timer(void *);
static void	 master_on_child_gone(struct master *);
static void	 master_kill_orphans(struct master *);
static void	 master_look_for_orphans(struct master *, bool);
static void	 master_kill_range(struct master *, uint64_t);
static void	 master_on_adopted(struct master *);
static void	 master_reopen_logs(struct master *);
static bool	 master_on_exit(void *, pid_t, int);
static void	 master_on_orphan(void *);
static bool	 master_is_ours(void *, pid_t);
static bool	 master_knows_all_workers(void *);
static pid_t	 master_next_exit(void *);
static void	 master_on_no_orphans(void *);

static const struct reaper_events	 reaper_events = {
	.on_exit = master_on_exit,
	.on_orphan = master_on_orphan,
	.is_ours = master_is_ours,
	.next_exit = master_next_exit,
	.knows_all = master_knows_all_workers,
	.on_no_orphans = master_on_no_orphans
};

static size_t	 master_count_sessions(const void *);
static void	 master_on_drained(void *, size_t);

static const struct drain_events	 drain_events = {
	master_count_sessions, master_on_drained
};

/* --- beginning --- */

static bool
has_terminal(void)
{
	int	 fd;

	if ((fd = open("/dev/tty", O_RDONLY | O_NOCTTY | O_NONBLOCK |
	    O_CLOEXEC)) == -1)
		return false;
	close(fd);
	return true;
}

static int
init_events(struct master *m)
{
	static const int	 signals[] = { SIGCHLD, SIGTERM, SIGINT,
				    SIGQUIT, SIGHUP, SIGUSR1, SIGUSR2, 0 };

	if ((m->world.base = ev_base_new()) == NULL || (m->signals =
	    sigfd_new(m->world.base, signals, master_on_signal, m)) == NULL)
		return -1;
	reaper_init(&m->reaper, m->world.base, &m->world.reserve,
	    getpid() == 1 || m->payload.argv != NULL, &reaper_events, m);
	drain_init(&m->drain, m->world.base, &drain_events, m);
	timer_init(&m->stop_ev, m->world.base, on_stop_timer, m);
	timer_init(&m->status_ev, m->world.base, master_on_status_timer, m);
	return 0;
}

static int
open_listeners(struct master *m)
{
	struct world		*w = &m->world;
	struct conf_error	 e;
	unsigned		 n;
	size_t			 i;

	w->start.is_stdio = cmdline_has_stdio(&w->conf);
	w->start.is_listen_given = w->start.cmdline->nlisten > 0;
	if (transcript_files_prepare(&w->conf, &e) == -1 ||
	    (w->tokens = tokens_load(&w->conf, &e)) == NULL)
		goto fail;
	for (i = 0; i < m->listen.activation.n; i++)
		if (listen_adopt(&m->listen, &m->listen.activation.fd[i],
		    m->listen.activation.name[i], &e) == -1)
			goto fail;
	if ((w->policy = policy_new(&w->conf, &e)) != NULL &&
	    listen_check(&w->conf, tokens_any(w->tokens), &e) == 0 &&
	    listen_extend(&m->listen, &w->conf, &n, &e) == 0) {
		tokens_wipe(&w->conf);
		return 0;
	}
 fail:
	log_warnx("%s", e.text);
	return -1;
}

static char *
master_unready(const struct master *m, char *why, size_t size)
{
	why[0] = '\0';
	if (world_is_stopping(&m->world))
		snprintf(why, size, "the server is stopping");
	else if (m->drain.is_on)
		snprintf(why, size, "the server is draining");
	else if (pool_is_broken(m->pool))
		snprintf(why, size, "workers cannot be started");
	else
		remote_unready(&m->uplinks, why, size);
	return why;
}

static bool
master_is_ready(const struct master *m)
{
	char	 why[READY_WHY_MAX];

	return master_unready(m, why, sizeof(why))[0] == '\0';
}

static void
master_on_status_timer(void *arg)
{
	struct master	*m = arg;
	uint64_t	 n[3];

	gauges_sessions(m, n);
	if (!world_is_stopping(&m->world))
		sdnotify_status(m->sdnotify, "%s: %llu sessions attached, %llu "
		    "detached", m->drain.is_on ? "Draining" : "Serving",
		    (unsigned long long)n[0], (unsigned long long)(n[1] +
		    n[2]));
}

/* The service manager hears of many changes at once. */
static void
master_on_sessions(struct master *m)
{
	if (m->sdnotify != NULL)
		timer_ensure(&m->status_ev, STATUS_MS);
}

static void
master_on_users(void *arg)
{
	struct master	*m = arg;

	if (m->gate != NULL)
		gate_pump(m->gate);
}

static void
master_on_listener(struct master *m, int fd, const char *spec,
    bool is_metrics)
{
	monitor_keep(m->monitor, fd, spec, is_metrics);
}

static void
master_on_listener_gone(struct master *m, const char *spec, bool is_metrics)
{
	monitor_drop(m->monitor, spec, is_metrics);
}

static bool
master_is_draining(const struct master *m)
{
	return m->drain.is_on;
}

static bool
master_has_listeners(const struct master *m)
{
	return !TAILQ_EMPTY(&m->listen.list) || !TAILQ_EMPTY(&m->uplinks.list);
}

static void
master_fail(struct master *m, const char *why)
{
	m->status = 1;
	master_stop(m, why);
}

static void
master_on_spare(struct master *m)
{
	gate_pump(m->gate);
}

static bool
master_is_watched(const struct master *m)
{
	return m->ctl != NULL && ctl_is_watched(m->ctl);
}

static void
master_on_event(struct master *m, const struct audit_what *what)
{
	if (m->ctl != NULL)
		ctl_on_event(m->ctl, what);
}

/* The first question only begins to look it up. */
static const char *
master_user_name(struct master *m, uid_t uid)
{
	const Ipc__User	*user;

	if (m->userdb == NULL)
		return NULL;
	if (!world_is_stopping(&m->world))
		(void)userdb_find(m->userdb, uid, &user);
	return userdb_name(m->userdb, uid);
}

static void
master_on_upgraded(struct master *m, const struct upgrade_result *r)
{
	ctl_on_upgraded(m->ctl, r);
}

static int
master_control(const struct master *m)
{
	return ctl_socket(m->ctl);
}

static int
master_asker(const struct master *m)
{
	return ctl_asker(m->ctl);
}

static bool
master_has_command(const struct master *m)
{
	return m->payload.argv != NULL;
}

static void
master_undo(const struct master *m)
{
	payload_undo(&m->payload, &m->world.start.nofile);
}

static const struct upgrade_events	 upgrade_events = {
	.on_result = master_on_upgraded,
	.control = master_control,
	.asker = master_asker,
	.has_command = master_has_command,
	.undo = master_undo
};

static const struct master_events	 events = {
	.stop = master_stop,
	.fail = master_fail,
	.on_child_gone = master_on_child_gone,
	.on_sessions = master_on_sessions,
	.is_draining = master_is_draining,
	.has_listeners = master_has_listeners,
	.on_spare = master_on_spare,
	.gauges = gauges_take,
	.look_for_orphans = master_look_for_orphans,
	.kill_range = master_kill_range,
	.on_adopted = master_on_adopted,
	.on_listener = master_on_listener,
	.on_listener_gone = master_on_listener_gone,
	.reopen_logs = master_reopen_logs,
	.is_ready = master_is_ready,
	.unready = master_unready,
	.is_watched = master_is_watched,
	.on_event = master_on_event,
	.user_name = master_user_name
};

/* Give the modules what they need of each other, as far as it exists. */
static void
connect_modules(struct master *m)
{
	struct world	*w = &m->world;

	children_init(&m->children, w, &child_msg_events);
	routes_init(&m->routes, w);
	m->listen.world = m->uplinks.world = w;
	m->assigner.routes = m->login.routes = &m->routes;
	m->listen.routes = m->uplinks.routes = &m->routes;
	m->listen.children = &m->children;
	m->uplinks.listeners = &m->listen;
	m->uplinks.sdnotify = m->sdnotify;
}

static struct upgrade *
make_upgrade(struct master *m)
{
	const struct upgrade_parts	 parts = {
		.world = &m->world,
		.children = &m->children,
		.listeners = &m->listen,
		.gate = m->gate,
		.uplinks = &m->uplinks,
		.handed = &m->handed,
		.sdnotify = m->sdnotify,
		.monitor = m->monitor
	};

	return upgrade_new(&parts, &upgrade_events);
}

/* Those that admit connections. */
static int
init_admission(struct master *m)
{
	if ((m->userdb = userdb_new(m->world.base, master_on_users, m)) ==
	    NULL || (m->gate = gate_new(&m->world, m->userdb,
	    &m->assigner)) == NULL ||
	    (m->penalties = penalties_new()) == NULL ||
	    (m->budget = membudget_new()) == NULL) {
		log_warn("cannot set up connection limits");
		return -1;
	}
	m->login.gate = m->listen.gate = m->uplinks.gate = m->gate;
	m->login.penalties = m->penalties;
	m->children.budget = m->budget;
	if ((m->upgrade = make_upgrade(m)) == NULL) {
		log_warn("cannot set up upgrades");
		return -1;
	}
	return 0;
}

/* Take over the sessions of a former daemon. */
static int
init_sessions(struct master *m)
{
	if ((m->adopt = adopt_new(&m->world, &m->children, &m->routes,
	    &m->uplinks, &m->handed)) == NULL) {
		log_warn("cannot look for sessions of a former daemon");
		return -1;
	}
	if ((m->cgroups = cgroups_new(m->world.base, &m->world.conf,
	    adopt_groups(m->adopt))) == NULL) {
		log_warn("cannot set up control groups");
		return -1;
	}
	m->children.cgroups = m->cgroups;
	cgroups_warn(m->cgroups, &m->world.conf);
	adopt_load(m->adopt);
	return 0;
}

static int
init_control(struct master *m)
{
	int	 fd = handoff_take(&m->handed, HANDOFF_CONTROL);

	m->ctl = ctl_new(&m->world, &m->routes, &m->children, fd);
	return m->ctl == NULL ? -1 : 0;
}

int
master_init(struct master *m, const struct cred *env)
{
	struct world	*w = &m->world;

	w->events = &events;
	w->master = m;
	w->start.at = clock_ms();
	w->start.time = w->start.loaded = time(NULL);
	w->start.is_root = geteuid() == 0;
	idmap_read(&w->start.idmap);
	w->start.has_terminal = has_terminal();
	w->rundir.lock = m->assigner.environment = m->listen.diag = -1;
	reserve_init(&w->reserve);
	TAILQ_INIT(&m->listen.list);
	TAILQ_INIT(&m->listen.metrics);
	TAILQ_INIT(&m->uplinks.list);
	connect_modules(m);
	if (logto_init(&w->logs, &w->conf, w->start.is_daemon) == -1 ||
	    audit_init(w) == -1)
		return -1;
	if (fd_raise_limit(&w->start.nofile) == -1)
		log_warn("RLIMIT_NOFILE");
	/* Become the parent of orphans. */
	if (prctl(PR_SET_CHILD_SUBREAPER, 1) == -1 ||
	    prctl(PR_SET_DUMPABLE, 0) == -1) {
		log_warn("prctl");
		return -1;
	}
	if (init_events(m) == -1) {
		log_warn("cannot set up signals and the event loop");
		return -1;
	}
	if (rundir_open(w->conf.runtime_dir, &m->handed, &w->rundir.path,
	    &w->rundir.lock) == -1 || init_admission(m) == -1 ||
	    init_sessions(m) == -1 || open_listeners(m) == -1 ||
	    remote_exec_init(w, &m->uplinks.uid, &m->uplinks.gid) == -1 ||
	    remote_init(&m->uplinks, env) == -1 || init_control(m) == -1 ||
	    (m->pool = pool_new(w, &m->children)) == NULL)
		return -1;
	m->assigner.pool = m->pool;
	adopt_uplinks(m->adopt);
	if (w->logs.file != NULL && logfile_start(w->logs.file, w->base) ==
	    -1) {
		log_warn("cannot start writing the log file");
		return -1;
	}
	if (adopt_listen(m->adopt) == -1)
		return -1;
	sdnotify_start(m->sdnotify, w->base);
	names_end();
	inherited_fini(&m->listen.inherited);
	reserve_fill(&w->reserve);
	listen_publish(&m->listen);
	remote_start_all(&m->uplinks);
	return 0;
}

void
master_fini(struct master *m)
{
	sdnotify_free(&m->sdnotify);
	/* A master that could not start leaves the sessions to the next one. */
	if (m->world.state == WORLD_STARTING && adopt_is_due(m->adopt)) {
		if (m->cgroups != NULL)
			cgroups_leave(m->cgroups);
		records_free(&m->world.records, true);
	}
	upgrade_free(&m->upgrade);
	handoff_fini(&m->handed);
	adopt_free(&m->adopt);
	listen_close_all(&m->listen);
	fd_close(&m->listen.diag);
	activation_fini(&m->listen.activation);
	inherited_fini(&m->listen.inherited);
	remote_free_all(&m->uplinks);
	routes_fini(&m->routes);
	ctl_free(&m->ctl);
	gate_free(&m->gate);
	userdb_free(&m->userdb);
	penalties_free(&m->penalties);
	tokens_free(&m->world.tokens);
	child_forget_all(&m->children);
	membudget_free(&m->budget);
	pool_free(&m->pool);
	cgroups_free(&m->cgroups);
	policy_free(&m->world.policy);
	records_free(&m->world.records, false);
	rundir_close(&m->world.rundir.path, &m->world.rundir.lock);
	fd_close(&m->assigner.environment);
	reserve_fini(&m->world.reserve);
	children_fini(&m->children);
	reaper_fini(&m->reaper);
	if (m->world.state != WORLD_STARTING)
		audit(&m->world, &(struct audit_what){
		    .event = AUDIT_server_stopped });
	sigfd_free(&m->signals);
	drain_fini(&m->drain);
	timer_stop(&m->status_ev);
	timer_stop(&m->stop_ev);
	remote_stdin_fini(&m->uplinks.stdin);
	audit_free(&m->world.logs.audit);
	logfile_free(&m->world.logs.file);
	if (m->world.base != NULL)
		event_base_free(m->world.base);
	conf_fini(&m->world.conf);
}

/* --- children --- */

/* Whether the process was known. */
static bool
master_on_exit(void *arg, pid_t pid, int status)
{
	struct master	*m = arg;
	struct child	*c;
	char		 why[PAYLOAD_WHY];

	if ((c = child_by_pid(&m->children, pid)) != NULL) {
		child_on_exit(c, status);
		return true;
	}
	if (payload_on_exit(&m->payload, pid, status, &m->status, why)) {
		if (!world_is_stopping(&m->world)) {
			master_stop(m, why);
			return true;
		}
	} else if (!userdb_on_exit(m->userdb, pid) &&
	    !upgrade_on_exit(m->upgrade, pid, status) &&
	    !pool_on_exit(m->pool, pid, status) &&
	    !remote_on_exit(&m->uplinks, pid, status)) {
		return false;
	}
	if (world_is_stopping(&m->world))
		master_on_child_gone(m);
	return true;
}

static void
master_on_orphan(void *arg)
{
	struct master	*m = arg;

	STAT_INC(&m->world, orphans);
}

static bool
master_is_ours(void *arg, pid_t pid)
{
	struct master	*m = arg;

	return userdb_has(m->userdb, pid) || pool_has(m->pool, pid) ||
	    upgrade_has(m->upgrade, pid) ||
	    pid == m->payload.pid || remote_has(&m->uplinks, pid) ||
	    child_by_pid(&m->children, pid) != NULL;
}

static pid_t
master_next_exit(void *arg)
{
	const struct master	*m = arg;

	return child_next_exit(&m->children);
}

static bool
master_knows_all_workers(void *arg)
{
	const struct master	*m = arg;

	return !child_is_forking(&m->children);
}

static void
master_on_no_orphans(void *arg)
{
	master_on_child_gone(arg);
}

static void
master_kill_orphans(struct master *m)
{
	reaper_kill_orphans(&m->reaper);
}

static void
master_look_for_orphans(struct master *m, bool is_urgent)
{
	/* The end waits for passes that find none. */
	if (world_is_stopping(&m->world))
		reaper_kill_orphans(&m->reaper);
	else
		reaper_look(&m->reaper, is_urgent);
}

static void
master_kill_range(struct master *m, uint64_t first)
{
	reaper_kill_range(&m->reaper, first);
}

static void
master_on_adopted(struct master *m)
{
	adopt_on_adopted(m->adopt);
	upgrade_on_adopted(m->upgrade);
}

/* --- the end --- */

static void
master_on_child_gone(struct master *m)
{
	if (m->world.start.is_stdio && !master_has_listeners(m) &&
	    !world_is_stopping(&m->world)) {
		const struct child	*c;

		TAILQ_FOREACH(c, &m->children.list, entry)
			if (c->route != NULL || c->state == CHILD_GREETING)
				return;
		master_stop(m, "end of input");
	}
	if (!world_is_stopping(&m->world) || !TAILQ_EMPTY(&m->children.list))
		return;
	/* After the workers, as uplinks may still relay their last output. */
	remote_stop_all(&m->uplinks);
	if (remote_is_gone(&m->uplinks) && pool_is_gone(m->pool) &&
	    m->payload.pid == 0 &&
	    reaper_has_no_orphans(&m->reaper))
		event_base_loopbreak(m->world.base);
}

void
master_stop(struct master *m, const char *why)
{
	struct child	*c, *next;

	if (world_is_stopping(&m->world)) {
		kill_rest(m);
		return;
	}
	m->world.state = WORLD_STOPPING;
	upgrade_stop(m->upgrade);
	monitor_ends(m->monitor);
	drain_stop(&m->drain);
	log_info("stopping: %s", why);
	sdnotify_stopping(m->sdnotify);
	sdnotify_status(m->sdnotify, "Stopping: %s", why);
	listen_close_all(&m->listen);
	payload_stop(&m->payload, SIGTERM);
	pool_stop(m->pool);
	for (c = TAILQ_FIRST(&m->children.list); c != NULL; c = next) {
		next = TAILQ_NEXT(c, entry);
		child_stop(c, false);
	}
	timer_set(&m->stop_ev, LIMIT_STOP);
	master_kill_orphans(m);
}

/* Kill all children; whether there were any, which the loop is to reap. */
static bool
kill_rest(struct master *m)
{
	struct child	*c;
	bool		 killed = false;

	TAILQ_FOREACH(c, &m->children.list, entry)
		if (child_has_process(c)) {
			log_warnx("worker %d did not stop in time: killed",
			    c->pid);
			child_signal(c);
			killed = true;
		}
	if (!remote_is_gone(&m->uplinks)) {
		remote_kill_all(&m->uplinks);
		killed = true;
	}
	if (!pool_is_gone(m->pool)) {
		pool_kill(m->pool);
		killed = true;
	}
	if (m->payload.pid != 0) {
		payload_stop(&m->payload, SIGKILL);
		killed = true;
	}
	master_kill_orphans(m);
	timer_set(&m->stop_ev, REAP_MS);
	return killed;
}

/* LIMIT_STOP is over: kill; the second time end the loop all the same. */
static void
on_stop_timer(void *arg)
{
	struct master	*m = arg;

	assert(world_is_stopping(&m->world));
	if (!kill_rest(m) || m->world.state == WORLD_KILLING)
		event_base_loopbreak(m->world.base);
	m->world.state = WORLD_KILLING;
}

static size_t
master_count_sessions(const void *arg)
{
	const struct master	*m = arg;

	return route_count(&m->routes);
}

static void
master_on_drained(void *arg, size_t left)
{
	assert(!world_is_stopping(&((const struct master *)arg)->world));
	if (left > 0)
		log_warnx("%zu sessions did not end in time", left);
	master_stop(arg, left > 0 ? "DrainTimeout" : "drained");
}

/* Whether SIGHUP means reload; in a terminal it means hangup. */
static bool
is_reloadable(const struct master *m)
{
	if (m->world.start.is_daemon || m->sdnotify != NULL)
		return true;
	return m->world.conf.foreground && !(m->world.start.has_terminal &&
	    !has_terminal());
}

static void
end_or_reload(struct master *m, int sig)
{
	if (m->payload.pid != 0) {
		/* While we stop, SIGHUP must not make us kill. */
		if (world_is_stopping(&m->world) ? sig == SIGHUP :
		    payload_signal(&m->payload, sig))
			return;
		master_stop(m, strsignal(sig));
	}
	if (sig == SIGHUP && is_reloadable(m))
		reload_on_signal(m);
	else
		master_stop(m, strsignal(sig));
}

static void
master_reopen_logs(struct master *m)
{
	log_reopen();
	audit_reopen(&m->world);
}

static void
master_upgrade(struct master *m)
{
	const char	*why;

	if (upgrade_begin(m->upgrade, false, &why) == -1)
		log_warnx("SIGUSR2: no upgrade: %s", why);
}

static void
master_on_signal(void *arg, int sig, pid_t from)
{
	struct master	*m = arg;

	switch (sig) {
	case SIGCHLD:
		reaper_on_signal(&m->reaper, from);
		break;
	case SIGUSR1:
		log_info("SIGUSR1: log files reopened");
		master_reopen_logs(m);
		break;
	case SIGUSR2:
		master_upgrade(m);
		break;
	default:
		end_or_reload(m, sig);
	}
}

/* Start a session on our own stdin and stdout. */
static int
start_stdio(struct master *m)
{
	struct child	*c;

	if ((c = pool_take(m->pool)) == NULL ||
	    child_assign_stdio(&m->assigner, c, STDIN_FILENO,
	    STDOUT_FILENO) == -1) {
		log_warnx("no worker for stdio");
		return -1;
	}
	/* Stdin and stdout are the worker's now. */
	return fd_null_std(false);
}

int
master_run(struct master *m)
{
	assert(m->world.state == WORLD_STARTING);
	m->world.state = WORLD_SERVING;
	upgrade_serves(m->upgrade);
	audit(&m->world, &(struct audit_what){ .event = AUDIT_server_started,
	    .version = PACKAGE_VERSION, .pid = AUDIT_N(getpid()) });
	if (m->world.logs.audit != NULL)
		(void)master_user_name(m, geteuid());
	if (m->world.start.is_stdio && start_stdio(m) == -1)
		return 1;
	reaper_schedule(&m->reaper);
	if (event_base_dispatch(m->world.base) == -1) {
		log_warn("the event loop failed");
		m->status = 1;
	}
	log_info("stopped");
	return m->status;
}
