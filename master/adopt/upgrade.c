#include "master/adopt/upgrade.h"

#include <sys/stat.h>
#include <sys/wait.h>

#include <assert.h>
#include <errno.h>
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
#include "common/process/signals.h"
#include "config.h"
#include "master/accept/gate.h"
#include "master/accept/listen.h"
#include "master/adopt/monitor.h"
#include "master/adopt/watcher.h"
#include "common/process/sdnotify.h"
#include "master/remote/remote.h"
#include "master/workers/child.h"
#include "master/workers/records.h"
#include "master/workers/route.h"
#include "master/world.h"

#define NAME		"execsrvd "	/* before the version */
#define OUTPUT_MAX	1024	/* bytes of what it says of itself */
#define LOOK_MS		10	/* between looks at connections */

enum upgrade_state {
	UPGRADE_IDLE,
	UPGRADE_CHECKING,	/* the new program checks itself */
	UPGRADE_QUIET,		/* waiting for connections on their way: no
				   other is accepted, so none is lost */
	UPGRADE_SETTLING	/* we are the new program, until the sessions
				   are adopted */
};

struct upgrade {
	struct upgrade_parts		 of;
	const struct upgrade_events	*events;
	enum upgrade_state		 state;
	bool				 only_check;
	uint64_t			 until;		/* QUIET: clock_ms() */
	struct timer			 timer;		/* by state */
	/* CHECKING */
	pid_t				 checker;	/* 0: none */
	int				 fd;		/* its output, or -1 */
	struct io			 output_ev;
	char				 output[OUTPUT_MAX];
	size_t				 len;
	int				 status;	/* of waitpid(2) */
	/* SETTLING, and until it is reaped */
	pid_t				 watcher;	/* 0: none */
	int				 watch;		/* channel to it */
	size_t				 awaited;	/* sessions, at first */
};

static void	 upgrade_on_timer(void *);
static void	 upgrade_on_output(void *);

struct upgrade *
upgrade_new(const struct upgrade_parts *parts,
    const struct upgrade_events *events)
{
	const char	*pid = parts->handed->text[HANDOFF_WATCHER];
	struct upgrade	*u;

	if ((u = calloc(1, sizeof(*u))) == NULL)
		return NULL;
	u->of = *parts;
	u->events = events;
	u->fd = -1;
	u->watch = handoff_take(parts->handed, HANDOFF_WATCHER);
	u->watcher = pid != NULL ? (pid_t)atol(pid) : 0;
	timer_init(&u->timer, parts->world->base, upgrade_on_timer, u);
	return u;
}

void
upgrade_free(struct upgrade **up)
{
	struct upgrade	*u = *up;

	*up = NULL;
	if (u == NULL)
		return;
	if (u->checker != 0)
		kill(u->checker, SIGKILL);
	io_stop(&u->output_ev);
	timer_stop(&u->timer);
	fd_close(&u->fd);
	fd_close(&u->watch);
	free(u);
}

/* --- the end --- */

static void
upgrade_tell(struct upgrade *u, const char *to, const char *why)
{
	struct upgrade_result	 r = { .from = PACKAGE_VERSION, .to = to,
				    .why = why, .asker = -1 };

	if (why != NULL)
		log_warnx("upgrade: %s", why);
	r.sessions = u->of.children->in_state[CHILD_SERVING];
	u->events->on_result(u->of.world->master, &r);
}

static void
upgrade_fail(struct upgrade *u, const char *why)
{
	assert(u->state == UPGRADE_CHECKING || u->state == UPGRADE_QUIET);
	u->state = UPGRADE_IDLE;
	timer_stop(&u->timer);
	io_stop(&u->output_ev);
	fd_close(&u->fd);
	listen_hold(u->of.listeners, false);
	upgrade_tell(u, "", why);
}

/* --- the check --- */

static void NORETURN
checker_run(const struct upgrade *u, const char *rundir, int output)
{
	const struct handoff_program	*p = u->of.world->start.program;
	bool				 is_word;
	char				**argv;
	size_t				 n = 0, i, k = 0;

	while (p->argv[n] != NULL)
		n++;
	/* "forward" stays the first word. */
	is_word = n > 1 && p->argv[1][0] != '-';
	if ((argv = calloc(n + 3, sizeof(*argv))) == NULL ||
	    (p->dir != -1 && fchdir(p->dir) == -1) ||
	    fd_null_std(true) == -1 || dup2(output, STDOUT_FILENO) == -1 ||
	    dup2(output, STDERR_FILENO) == -1)
		_exit(1);
	for (i = 0; i < n; i++) {
		if (i == (is_word ? 2 : 1)) {
			argv[k++] = (char *)(uintptr_t)UPGRADE_CHECK;
			argv[k++] = (char *)(uintptr_t)rundir;
		}
		argv[k++] = p->argv[i];
	}
	if (k == n) {
		argv[k++] = (char *)(uintptr_t)UPGRADE_CHECK;
		argv[k++] = (char *)(uintptr_t)rundir;
	}
	signals_reset();
	execve(p->path, argv, p->env);
	dprintf(STDERR_FILENO, "%s: %s\n", p->path, strerror(errno));
	_exit(126);
}

static int
checker_start(struct upgrade *u)
{
	struct world	*w = u->of.world;
	int		 pair[2];

	assert(u->checker == 0 && u->fd == -1);
	if (pipe2(pair, O_CLOEXEC | O_NONBLOCK) == -1)
		return -1;
	u->len = 0;
	if ((u->checker = fork()) == 0) {
		if (fd_nonblock(pair[1], 0) == -1)
			_exit(1);
		checker_run(u, w->rundir.path, pair[1]);
	}
	fd_close(&pair[1]);
	u->fd = pair[0];
	io_init(&u->output_ev, w->base, u->fd, EV_READ | EV_PERSIST,
	    upgrade_on_output, u);
	if (u->checker != -1 && io_start(&u->output_ev) == 0)
		return 0;
	if (u->checker != -1)
		kill(u->checker, SIGKILL);
	else
		u->checker = 0;
	fd_close(&u->fd);
	return -1;
}

/* Its version, or NULL. */
static const char *
checker_version(const struct upgrade *u)
{
	return strncmp(u->output, NAME, sizeof(NAME) - 1) == 0 &&
	    strlen(u->output) > sizeof(NAME) - 1 ?
	    u->output + sizeof(NAME) - 1 : NULL;
}

/* Its end, and the end of what it says, have come. */
static void
upgrade_on_checked(struct upgrade *u)
{
	const char	*version;
	char		*line, why[OUTPUT_MAX + 64];

	assert(u->state == UPGRADE_CHECKING);
	assert(u->checker == 0 && u->fd == -1);
	u->output[u->len] = '\0';
	while (u->len > 0 && u->output[u->len - 1] == '\n')
		u->output[--u->len] = '\0';
	for (line = u->output; (line = strchr(line, '\n')) != NULL;)
		*line = ' ';
	version = checker_version(u);
	if (!WIFEXITED(u->status) || WEXITSTATUS(u->status) != 0 ||
	    version == NULL) {
		snprintf(why, sizeof(why), "the new program cannot be used: %s",
		    u->len > 0 ? u->output : "it says nothing");
		upgrade_fail(u, why);
		return;
	}
	if (u->only_check) {
		u->state = UPGRADE_IDLE;
		timer_stop(&u->timer);
		upgrade_tell(u, version, NULL);
		return;
	}
	log_info("upgrade: to execsrvd %s", version);
	u->state = UPGRADE_QUIET;
	u->until = clock_ms() + LIMIT_UPGRADE_QUIET;
	listen_hold(u->of.listeners, true);
	timer_set(&u->timer, 0);
}

static void
upgrade_on_output(void *arg)
{
	struct upgrade	*u = arg;
	char		 rest[256];
	bool		 is_full = u->len == sizeof(u->output) - 1;
	ssize_t		 n;

	assert(u->fd != -1 && u->len < sizeof(u->output));
	n = is_full ? read(u->fd, rest, sizeof(rest)) : read(u->fd, u->output +
	    u->len, sizeof(u->output) - 1 - u->len);
	if (n > 0)
		u->len += is_full ? 0 : (size_t)n;
	if (n > 0 || (n == -1 && errno == EAGAIN))
		return;
	io_stop(&u->output_ev);
	fd_close(&u->fd);
	if (u->checker == 0 && u->state == UPGRADE_CHECKING)
		upgrade_on_checked(u);
}

static void
skip_record(void *arg, const struct record *r)
{
	(void)arg;
	(void)r;
}

static void
skip_damaged(void *arg, size_t position, const char *why)
{
	(void)arg;
	(void)position;
	(void)why;
}

int
upgrade_check(const char *rundir)
{
	static const struct records_events	 none = {
		skip_record, skip_damaged
	};
	struct records_head			 head;
	char					 why[RECORDS_WHY];

	if (records_read(rundir, &head, &none, NULL, why) == -1) {
		fprintf(stderr, "execsrvd: %s/" RECORDS_FILE ": %s\n", rundir,
		    why);
		return EXIT_FAILURE;
	}
	puts(NAME PACKAGE_VERSION);
	return EXIT_SUCCESS;
}

/* --- the change --- */

static int
put_sockets(struct handoff_lines *l, const struct listener_list *list,
    enum handoff_kind kind)
{
	const struct listener	*one;

	TAILQ_FOREACH(one, list, entry)
		if (handoff_put(l, one->is_passed ? HANDOFF_PASSED : kind,
		    one->fd, one->is_passed ? one->url : one->spec) == -1)
			return -1;
	return 0;
}

/* What this program or the next one needs. */
static int
upgrade_put_all(const struct upgrade *u, struct handoff_lines *l)
{
	const struct world	*w = u->of.world;
	int			 control = u->events->control(w->master);

	if (put_sockets(l, &u->of.listeners->list, HANDOFF_LISTEN) == -1 ||
	    put_sockets(l, &u->of.listeners->metrics, HANDOFF_METRICS) == -1 ||
	    handoff_put(l, HANDOFF_CONTROL, control, "") == -1 ||
	    handoff_put(l, HANDOFF_MONITOR, u->of.monitor, "") == -1 ||
	    handoff_put(l, HANDOFF_CREDENTIAL, w->start.program->credential,
	    "") == -1)
		return -1;
	return handoff_put(l, HANDOFF_PROGRAM, -1, w->start.program->path) ==
	    -1 ? -1 : handoff_put(l, HANDOFF_LOCK, w->rundir.lock,
	    w->rundir.path);
}

static void
redo_settings(void)
{
	umask(022);
	if (fd_raise_limit(NULL) == -1)
		log_warn("RLIMIT_NOFILE");
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
}

/* Execute the new program; this returns only if that fails. */
static int
upgrade_exec(struct upgrade *u, struct handoff_lines *l)
{
	struct world		*w = u->of.world;
	int			 asker = u->events->asker(w->master);
	struct watcher_task	 t = { w->start.program, l, u->of.sdnotify,
				    asker, checker_version(u) };
	char			 text[24];
	int			 error;

	if (upgrade_put_all(u, l) == -1 ||
	    (u->watcher = watcher_start(&t, &u->watch)) == -1) {
		u->watcher = 0;
		return -1;
	}
	snprintf(text, sizeof(text), "%ld", (long)u->watcher);
	if (handoff_put(l, HANDOFF_WATCHER, u->watch, text) == 0 &&
	    handoff_put(l, HANDOFF_FORMER, -1, PACKAGE_VERSION) == 0 &&
	    handoff_put(l, HANDOFF_ASKER, asker, "") == 0) {
		monitor_upgrades(u->of.monitor);
		u->events->undo(w->master);
		signals_default();
		handoff_exec(w->start.program, l);
		error = errno;
		redo_settings();
		monitor_serves(u->of.monitor);
		errno = error;
	}
	error = errno;
	watcher_end(&u->watch);
	errno = error;
	return -1;
}

static void
upgrade_change(struct upgrade *u)
{
	struct handoff_lines	 l;
	char			 why[256];

	assert(u->state == UPGRADE_QUIET);
	handoff_lines_init(&l);
	if (upgrade_exec(u, &l) == -1) {
		snprintf(why, sizeof(why), "the new program cannot be "
		    "executed: %s", strerror(errno));
		handoff_lines_fini(&l);
		upgrade_fail(u, why);
	}
}

/* --- afterwards --- */

/* The new program goes on, or the former one after a rollback. */
static void
upgrade_settled(struct upgrade *u)
{
	assert(u->state == UPGRADE_SETTLING);
	struct world		*w = u->of.world;
	struct upgrade_result	 r = {
		.from = u->of.handed->text[HANDOFF_FORMER],
		.to = PACKAGE_VERSION,
		.sessions = u->of.children->in_state[CHILD_SERVING],
		.why = u->of.handed->text[HANDOFF_FAILED],
		.asker = handoff_take(u->of.handed, HANDOFF_ASKER)
	};
	char			 why[256];

	u->state = UPGRADE_IDLE;
	timer_stop(&u->timer);
	monitor_serves(u->of.monitor);
	watcher_end(&u->watch);
	if (r.why != NULL) {
		snprintf(why, sizeof(why), "%s; execsrvd " PACKAGE_VERSION
		    " goes on", r.why);
		log_warnx("upgrade: rolled back: %s", why);
		r.why = why;
	} else {
		log_info("upgrade: execsrvd %s was replaced by %s: %zu "
		    "sessions go on", r.from, r.to, r.sessions);
	}
	u->events->on_result(w->master, &r);
}

void
upgrade_serves(struct upgrade *u)
{
	assert(u->state == UPGRADE_IDLE);
	if (!handoff_is_upgrade(u->of.handed))
		return;
	u->state = UPGRADE_SETTLING;
	u->awaited = u->of.children->in_state[CHILD_AWAITED];
	timer_set(&u->timer, LIMIT_UPGRADE * 3 / 4);
	upgrade_on_adopted(u);
}

void
upgrade_on_adopted(struct upgrade *u)
{
	if (u->state == UPGRADE_SETTLING &&
	    u->of.children->in_state[CHILD_AWAITED] == 0)
		upgrade_settled(u);
}

/* Whether no connection is on its way to a session. */
static bool
upgrade_is_quiet(const struct upgrade *u)
{
	const struct gate	*g = u->of.gate;

	return gate_waiting(g) == 0 && gate_greeting(g) == 0 &&
	    u->of.children->in_state[CHILD_HANDING] == 0;
}

static void
upgrade_on_timer(void *arg)
{
	struct upgrade	*u = arg;

	switch (u->state) {
	case UPGRADE_CHECKING:
		if (u->checker != 0)
			kill(u->checker, SIGKILL);
		upgrade_fail(u, "the new program did not check itself in time");
		break;
	case UPGRADE_QUIET:
		if (upgrade_is_quiet(u) || clock_ms() >= u->until)
			upgrade_change(u);
		else
			timer_set(&u->timer, LOOK_MS);
		break;
	case UPGRADE_SETTLING:
		/* A session that is stopped comes later. */
		if (u->watch == -1 || u->awaited == 0 ||
		    u->of.children->in_state[CHILD_AWAITED] < u->awaited) {
			upgrade_settled(u);
			break;
		}
		log_warnx("upgrade: no session could be adopted");
		_exit(EXIT_FAILURE);
	case UPGRADE_IDLE:
		break;
	}
}

void
upgrade_stop(struct upgrade *u)
{
	if (u->state == UPGRADE_SETTLING)
		upgrade_settled(u);
	else if (u->state != UPGRADE_IDLE)
		upgrade_fail(u, "the server is stopping");
}

/* --- the beginning --- */

/* Whether a session would not come back. */
static bool
has_alone(const struct children *cs)
{
	const struct child	*c;

	TAILQ_FOREACH(c, &cs->list, entry)
		if (c->is_alone && c->route != NULL && c->route->opened)
			return true;
	return false;
}

/* Why it cannot be done here; NULL: it can. */
static const char *
upgrade_hindrance(const struct upgrade *u)
{
	const struct world	*w = u->of.world;

	if (u->state != UPGRADE_IDLE || u->checker != 0)
		return "an upgrade is under way";
	if (world_is_stopping(w))
		return "the server is stopping";
	if (w->records == NULL)
		return "there is no run directory: sessions would be lost";
	if (has_alone(u->of.children))
		return "OrphanTtl is 0: sessions would be lost";
	/* Nobody could start the former program again. */
	if (getpid() == 1)
		return "process 1 of a container cannot be replaced";
	if (u->events->has_command(w->master) || w->start.is_stdio)
		return "the server ends with its command or its standard input";
	if (remote_reads_stdin(u->of.uplinks))
		return "credentials come by standard input";
	if (sdnotify_is_given(u->of.sdnotify))
		return "the server belongs to another program (--notify-fd)";
	if (w->start.program->path[0] == '\0')
		return "the path of the program is not known";
	return NULL;
}

int
upgrade_begin(struct upgrade *u, bool only_check, const char **why_out)
{
	if ((*why_out = upgrade_hindrance(u)) != NULL)
		return -1;
	if (checker_start(u) == -1) {
		*why_out = strerror(errno);
		return -1;
	}
	u->state = UPGRADE_CHECKING;
	u->only_check = only_check;
	timer_set(&u->timer, LIMIT_UPGRADE);
	return 0;
}

/* --- processes --- */

bool
upgrade_has(const struct upgrade *u, pid_t pid)
{
	return u != NULL && pid != 0 && (pid == u->checker ||
	    pid == u->watcher);
}

bool
upgrade_on_exit(struct upgrade *u, pid_t pid, int status)
{
	if (!upgrade_has(u, pid))
		return false;
	if (pid == u->watcher) {
		u->watcher = 0;
		return true;
	}
	u->checker = 0;
	u->status = status;
	if (u->fd == -1 && u->state == UPGRADE_CHECKING)
		upgrade_on_checked(u);
	return true;
}
