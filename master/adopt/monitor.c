#include "master/adopt/monitor.h"

#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/fd.h"
#include "common/ipc/ipc.h"
#include "common/log.h"
#include "master/accept/inherited.h"
#include "master/adopt/handoff.h"
#include "master/logs/logto.h"

#define DEATHS_MAX	5	/* in DEATHS_MS: pause for as long */
#define DEATHS_MS	10000
#define UPGRADE_MS	20000	/* until another one serves */

struct monitor {
	const struct handoff_program *program;
	const struct conf	*log;
	struct inherited	 sockets;
	pid_t			 pid;		/* of the master; 0: none */
	int			 sock;		/* the channel to it, or -1 */
	int			 signals;
	bool			 serves;	/* it did, some time */
	bool			 ends;		/* in order */
	bool			 upgrades;	/* another one may serve */
	uint64_t		 deaths[DEATHS_MAX];
	unsigned		 ndeaths;
	uint64_t		 start;		/* clock_ms(): not before */
};

/* --- the master --- */

/* Execute the master again, with all that it needs.  Never returns. */
static void NORETURN
monitor_exec(struct monitor *m, int sock)
{
	struct inherited_one	*one;
	struct handoff_lines	 l;
	size_t			 i;
	int			 r;

	handoff_lines_init(&l);
	r = handoff_put(&l, HANDOFF_MONITOR, sock, "");
	if (r == 0)
		r = handoff_put(&l, HANDOFF_CREDENTIAL, m->program->credential,
		    "");
	for (i = 0; i < m->sockets.n && r == 0; i++) {
		one = &m->sockets.list[i];
		r = handoff_put(&l, one->is_metrics ? HANDOFF_METRICS :
		    HANDOFF_LISTEN, one->fd, one->spec);
	}
	if (r == 0)
		handoff_exec(m->program, &l);
	log_warn("%s", m->program->path);
	_exit(126);
}

static void
monitor_restart(struct monitor *m)
{
	int	 pair[2];

	assert(m->pid == 0 && !m->ends);
	m->upgrades = false;
	m->start = clock_ms() + DEATHS_MS;
	fd_close(&m->sock);
	if (fd_packet_pair(pair) == -1) {
		log_warn("cannot start the daemon again");
		return;
	}
	if ((m->pid = fork()) == 0) {
		if (setsid() == -1)
			log_warn("setsid");
		monitor_exec(m, pair[1]);
	}
	fd_close(&pair[1]);
	if (m->pid == -1) {
		m->pid = 0;
		fd_close(&pair[0]);
		log_warn("cannot start the daemon again");
		return;
	}
	m->sock = pair[0];
	log_info("the daemon is started again: pid %ld", (long)m->pid);
}

/* How long to wait after a death: not at all, unless there were many. */
static uint64_t
monitor_pause(struct monitor *m, uint64_t now)
{
	uint64_t	 first;

	m->deaths[m->ndeaths++ % DEATHS_MAX] = now;
	first = m->deaths[m->ndeaths % DEATHS_MAX];
	if (m->ndeaths < DEATHS_MAX || now - first > DEATHS_MS)
		return 0;
	log_warnx("the daemon died %d times in %d s: pausing", DEATHS_MAX,
	    DEATHS_MS / 1000);
	return DEATHS_MS;
}

/* The master has exited.  Ends us, too, if that was to be. */
static void
monitor_on_exit(struct monitor *m, int status)
{
	uint64_t	 now = clock_ms();

	assert(m->pid != 0);
	m->pid = 0;
	if (m->upgrades) {
		m->start = now + UPGRADE_MS;
		return;
	}
	fd_close(&m->sock);
	/* What it said last may not have been read before. */
	if (m->ends || !m->serves || (WIFEXITED(status) &&
	    WEXITSTATUS(status) == 0)) {
		inherited_fini(&m->sockets);
		exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
	}
	if (WIFSIGNALED(status))
		log_warnx("the daemon was killed by signal %d",
		    WTERMSIG(status));
	else
		log_warnx("the daemon exited with status %d",
		    WEXITSTATUS(status));
	m->start = now + monitor_pause(m, now);
}

/* --- what it says --- */

static void
monitor_on_stage(struct monitor *m, const Ipc__Stage *in)
{
	switch (in->kind) {
	case IPC__STAGE_KIND__ENDS:
		m->ends = true;
		break;
	case IPC__STAGE_KIND__UPGRADES:
		m->upgrades = true;
		break;
	default:
		/* Whoever started us may wait for the end of its streams. */
		if (!m->serves && fd_null_std(logto_daemon(m->log)) == -1)
			log_warn("standard streams");
		m->serves = true;
		m->upgrades = false;
		if (in->pid > 1)
			m->pid = (pid_t)in->pid;
		break;
	}
}

static void
monitor_read(struct monitor *m)
{
	struct ipc_msg	 msg;
	Ipc__Keep	*in;
	int		 r;

	assert(m->sock != -1);
	while ((r = ipc_recv(m->sock, IPC_ROLE_MASTER, IPC_ROLE_MONITOR,
	    &msg)) == 1) {
		if (msg.kind == IPC_stage) {
			monitor_on_stage(m, (Ipc__Stage *)msg.body);
		} else if (msg.kind == IPC_drop) {
			inherited_remove(&m->sockets,
			    ((Ipc__Drop *)msg.body)->spec,
			    ((Ipc__Drop *)msg.body)->metrics != 0);
		} else if (msg.fd != -1) {
			in = (Ipc__Keep *)msg.body;
			inherited_remove(&m->sockets, in->spec,
			    in->metrics != 0);
			if (inherited_add(&m->sockets, msg.fd, in->spec,
			    in->metrics != 0) == 0)
				msg.fd = -1;
		}
		ipc_msg_fini(&msg);
	}
	if (r == 0 || errno != EAGAIN) {
		fd_close(&m->sock);
		/* Nobody is left who could serve. */
		if (m->pid == 0)
			m->start = 0;
	}
}

/* --- the loop --- */

static void
monitor_reap(struct monitor *m)
{
	pid_t	 pid;
	int	 status;

	/* Orphans of a dead master as well. */
	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		if (pid != m->pid)
			continue;
		if (m->sock != -1)
			monitor_read(m);
		monitor_on_exit(m, status);
	}
}

static void
monitor_on_signal(struct monitor *m)
{
	struct signalfd_siginfo	 si;

	while (read(m->signals, &si, sizeof(si)) == sizeof(si)) {
		if (si.ssi_signo == SIGCHLD)
			continue;
		/* Also if it has died and is not reaped yet. */
		if (si.ssi_signo == SIGTERM || si.ssi_signo == SIGINT)
			m->ends = true;
		if (m->pid != 0)
			kill(m->pid, (int)si.ssi_signo);
	}
}

static int
monitor_timeout(const struct monitor *m)
{
	uint64_t	 now = clock_ms();

	if (m->pid != 0)
		return -1;
	return m->start > now ? (int)(m->start - now) : 0;
}

static void NORETURN
monitor_run(struct monitor *m)
{
	struct pollfd	 p[2];

	for (;;) {
		monitor_reap(m);
		if (m->pid == 0 && m->ends) {
			inherited_fini(&m->sockets);
			exit(0);
		}
		if (m->pid == 0 && clock_ms() >= m->start)
			monitor_restart(m);
		p[0].fd = m->signals;
		p[1].fd = m->sock;
		p[0].events = p[1].events = POLLIN;
		p[0].revents = p[1].revents = 0;
		if (poll(p, 2, monitor_timeout(m)) == -1 && errno != EINTR)
			fatal("monitor: poll");
		if ((p[0].revents & POLLIN) != 0)
			monitor_on_signal(m);
		if (m->sock != -1 && p[1].revents != 0)
			monitor_read(m);
	}
}

int
monitor_start(const struct handoff_program *program, const struct conf *log,
    int unused)
{
	struct monitor	 m = { .program = program, .log = log, .sock = -1,
			    .signals = -1 };
	sigset_t	 set, old;
	int		 pair[2] = { -1, -1 };

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGUSR1);
	sigaddset(&set, SIGUSR2);
	if (sigprocmask(SIG_BLOCK, &set, &old) == -1) {
		log_warn("cannot start the monitor");
		return -1;
	}
	if (fd_packet_pair(pair) == -1 ||
	    (m.signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK)) ==
	    -1 || (m.pid = fork()) == -1) {
		log_warn("cannot start the monitor");
		sigprocmask(SIG_SETMASK, &old, NULL);
		fd_close(&pair[0]);
		fd_close(&pair[1]);
		fd_close(&m.signals);
		return -1;
	}
	if (m.pid == 0) {
		sigprocmask(SIG_SETMASK, &old, NULL);
		if (setsid() == -1)
			log_warn("setsid");
		fd_close(&pair[0]);
		fd_close(&m.signals);
		return pair[1];
	}
	/* Workers whose master died become our children. */
	if (prctl(PR_SET_CHILD_SUBREAPER, 1) == -1 ||
	    prctl(PR_SET_DUMPABLE, 0) == -1)
		log_warn("monitor: prctl");
	log_set_role("monitor");
	fd_close(&pair[1]);
	fd_close(&unused);
	m.sock = pair[0];
	monitor_run(&m);
}

/* --- in the master --- */

/* It reads all the time; if it is gone there is nobody to tell. */
static void
monitor_tell(int sock, enum ipc_kind kind, const void *body, int fd)
{
	if (sock != -1 && ipc_send(sock, kind, body, fd) == -1 &&
	    errno != EPIPE)
		log_warn("cannot tell the monitor");
}

void
monitor_keep(int sock, int fd, const char *spec, bool is_metrics)
{
	Ipc__Keep	 out = IPC__KEEP__INIT;

	out.spec = (char *)(uintptr_t)spec;
	out.metrics = is_metrics;
	monitor_tell(sock, IPC_keep, &out, fd);
}

void
monitor_drop(int sock, const char *spec, bool is_metrics)
{
	Ipc__Drop	 out = IPC__DROP__INIT;

	out.spec = (char *)(uintptr_t)spec;
	out.metrics = is_metrics;
	monitor_tell(sock, IPC_drop, &out, -1);
}

static void
tell_stage(int sock, Ipc__StageKind kind)
{
	Ipc__Stage	 out = IPC__STAGE__INIT;

	out.kind = kind;
	out.pid = getpid();
	monitor_tell(sock, IPC_stage, &out, -1);
}

void
monitor_serves(int sock)
{
	tell_stage(sock, IPC__STAGE_KIND__SERVES);
}

void
monitor_upgrades(int sock)
{
	tell_stage(sock, IPC__STAGE_KIND__UPGRADES);
}

void
monitor_ends(int sock)
{
	tell_stage(sock, IPC__STAGE_KIND__ENDS);
}
