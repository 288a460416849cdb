#include "worker/template.h"

#include <sys/wait.h>

#include <errno.h>
#include <signal.h>
#include <sodium.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/ipc/ipc.h"
#include "common/log.h"
#include "common/measured.h"
#include "worker/conn/token_auth.h"
#include "worker/conn/upgrade.h"
#include "worker/http/http_link.h"
#include "worker/os/idlemem.h"
#include "worker/os/pcgroup.h"
#include "worker/os/privdrop.h"
#include "worker/os/proctitle.h"
#include "worker/os/scgroup.h"
#include "worker/proxy/proxy_link.h"
#include "worker/rpc/rpc.h"
#include "worker/sandbox/probe.h"
#include "worker/session/session.h"
#include "worker/worker_serve.h"

/* --- a worker --- */

/* No locks (there is one thread), no settings from the environment. */
static struct event_base *
new_base(const char *avoid)
{
	struct event_config	*cfg;
	struct event_base	*base = NULL;

	if ((cfg = event_config_new()) == NULL ||
	    event_config_set_flag(cfg, EVENT_BASE_FLAG_NOLOCK |
	    EVENT_BASE_FLAG_IGNORE_ENV) == -1 ||
	    (avoid != NULL && event_config_avoid_method(cfg, avoid) == -1) ||
	    (base = event_base_new_with_config(cfg)) == NULL)
		fatalx("event loop");
	event_config_free(cfg);
	return base;
}

/* Avoid epoll(7): standard streams may be regular files. */
static struct event_base *
new_base_for_files(struct event_base *base)
{
	event_base_free(base);
	return new_base("epoll");
}

/* Whether the client only gets an answer, and never a session. */
static bool
is_answer_only(const Ipc__Assign *a)
{
	return a->refuse != 0 || a->figures != NULL;
}

/*
 * Give the control group to the session's user; close it where there is no
 * session, or on failure.
 */
static void
give_group(int *group, const Ipc__Assign *a)
{
	if (is_answer_only(a) || a->asking == IPC__ASKING__ALWAYS ||
	    (geteuid() == 0 && a->uid != 0 &&
	    *group != -1 && pcgroup_give_to(*group, privdrop_real()) == -1))
		fd_close(group);
}

/*
 * Drop privileges before the first byte of the client is read: become the user
 * that the kernel names, or, for a peer that is not authenticated, confine the
 * process.
 */
static void
drop_privileges(const Ipc__Assign *a, struct event_base **base,
    struct rpc_programs *exe, int environment)
{
	if (a->asking == IPC__ASKING__ALWAYS || is_answer_only(a)) {
		event_base_free(*base);
		*base = NULL;
		fd_close(&exe->http);
		fd_close(&exe->proxy);
		privdrop_preauth();
	} else {
		privdrop_user(a, environment);
	}
}

static char	 no_limits[] = "the limits of a session cannot be set";

/* Set the limits of the session, if there is to be one.  Whether they hold. */
static bool
enter_limits(const Ipc__Assign *a, int sock, int *group, struct scgroup *g)
{
	Ipc__Unlimited	 out = IPC__UNLIMITED__INIT;

	if (is_answer_only(a) || a->asking == IPC__ASKING__ALWAYS ||
	    scgroup_enter(a->settings, group, g) == 0)
		return true;
	if (ipc_send(sock, IPC_unlimited, &out, -1) == -1)
		log_warn("%s", no_limits);
	return false;
}

/* Upgrade the connection.  Whether a session begins in this process. */
static bool
upgrade_connection(const Ipc__Assign *a, int fd, int sock, bool is_bound)
{
	struct upgrade_rules	 r = {
		.ms = a->settings->handshake_ms,
		.refuse = (int)a->refuse,
		.why = a->why,
		.unready = a->unready,
		.hosts = a->settings->host_name,
		.nhosts = a->settings->n_host_name,
		.asking = a->asking,
		.master = sock,
	};
	enum upgraded		 g;

	if (a->figures != NULL) {
		upgrade_metrics(fd, &r, a->figures);
		return false;
	}
	if (a->transport != IPC__TRANSPORT__WEBSOCKET || a->greeted)
		return is_bound;
	if (!is_bound && r.refuse == 0) {
		r.refuse = 503;
		r.why = no_limits;
	}
	if ((g = upgrade(fd, &r)) == UPGRADE_ADMITTED)
		token_auth_pass(sock, fd, r.ms);
	return g == UPGRADE_UPGRADED && a->asking != IPC__ASKING__ALWAYS;
}

/* Descriptors received before the assignment, or -1. */
struct early_fds {
	int	 out;		/* standard output */
	int	 environment;
};

static int
template_serve(struct event_base **base, int sock, struct early_fds *b,
    struct ipc_msg *m, const struct rlimit *nofile,
    struct rpc_programs *exe, int group)
{
	const Ipc__Assign	*a = (const Ipc__Assign *)m->body;
	struct session		 s;
	struct rpc		 rpc;
	struct scgroup		 limited = { -1, -1, false };
	bool			 is_bound;

	if (a->settings == NULL || m->fd == -1)
		return 1;
	log_set_level((enum log_level)a->settings->log_level);
	log_set_session(a->number);
	is_bound = enter_limits(a, sock, &group, &limited);
	give_group(&group, a);
	drop_privileges(a, base, exe, b->environment);
	fd_close(&b->environment);
	if (!upgrade_connection(a, m->fd, sock, is_bound))
		return 0;
	proctitle_session((uid_t)a->uid, a->number);
	if (a->transport == IPC__TRANSPORT__STDIO)
		*base = new_base_for_files(*base);
	session_init(&s, &worker_serve_session_events, &rpc, *base, m->fd,
	    b->out, a);
	m->fd = -1;
	s.env.nofile = *nofile;
	s.env.limited = limited.out != -1 ? &limited : NULL;
	s.env.cgroups = pcgroups_new(*base, group, limited.is_below);
	if ((s.link = link_new(*base, sock, s.env.set.run_dir,
	    s.env.set.orphan_ttl_ms, &worker_serve_link_events, &s)) == NULL)
		fatal("cannot set up the channel to the master");
	link_set_operates(s.link, a->operates);
	rpc_init(&rpc, &s, a->strict, exe);
	if (a->greeted)
		session_begin(&s, a->message.data, a->message.len);
	session_run(&s);
	pcgroups_free(&s.env.cgroups);
#ifdef __SANITIZE_ADDRESS__		/* else left to exit */
	link_free(&s.link);
	session_fini(&s);
	worker_serve_fini(&rpc);
#endif
	return 0;
}

/* Wait for the assignment and serve it. */
static int
wait_and_serve(struct event_base **base, int sock,
    const struct rlimit *nofile,
    struct rpc_programs *exe, int group)
{
	struct early_fds	 b = { -1, -1 };
	struct ipc_msg	 m;
	int		 r, *fd;

	while ((r = ipc_wait(sock, IPC_ROLE_MASTER, IPC_ROLE_WORKER,
	    &m)) == 1) {
		if (m.kind == IPC_stdio_out || m.kind == IPC_environment) {
			fd = m.kind == IPC_stdio_out ? &b.out :
			    &b.environment;
			fd_close(fd);
			*fd = m.fd;
			m.fd = -1;
			ipc_msg_fini(&m);
			continue;
		}
		r = m.kind != IPC_assign ? 0 :	/* IPC_stop */
		    template_serve(base, sock, &b, &m, nofile, exe, group);
		ipc_msg_fini(&m);
		return r;
	}
	return r == 0 ? 0 : 1;
}

/*
 * Run a worker: wait on sock for an assignment, serve the session, return the
 * exit status.  exe: programs for helpers, taken; group: its control group,
 * taken, or -1.
 */
static int
worker_run(int sock, const struct rlimit *nofile, struct rpc_programs *exe,
    int group)
{
	struct event_base	*base;
	int			 r;

	/* Prepare before there is a client. */
	base = new_base(NULL);
	r = wait_and_serve(&base, sock, nofile, exe, group);
#ifdef __SANITIZE_ADDRESS__
	if (base != NULL)
		event_base_free(base);
#endif
	return r;
}

/*
 * Exit without cleaning up, which the kernel does faster, unless measured: then
 * atexit(3) handlers must write the results.
 */
static void NORETURN
template_leave(int status)
{
	if (!is_measured())
		_exit(status);
	exit(status);
}

/* --- the template --- */

/* Initialize once for all workers, which share the pages. */
static void
warm_up(void)
{
	unsigned char	 byte[1];

	if (sodium_init() == -1)
		fatalx("sodium_init");
	randombytes_buf(byte, sizeof(byte));
	tzset();
}

static void
template_answer(int sock, uint32_t id, pid_t pid)
{
	Ipc__Forked	 out = IPC__FORKED__INIT;

	out.id = id;
	out.pid = pid == -1 ? 0 : pid;
	out.error = pid == -1 ? errno : 0;
	if (ipc_send(sock, IPC_forked, &out, -1) == -1 && errno != EPIPE)
		log_warn("template: answer");
}

int
template_run(int sock, const struct rlimit *nofile, const char *groups)
{
	const Ipc__Fork	*in;
	struct ipc_msg	 m;
	pid_t		 pid;
	int		 r, fd, top, group;
	struct rpc_programs	 exe;

	top = pcgroup_open_top(groups);
	privdrop_worker();
	/* Now: the session's user may lack access to its directory. */
	exe.http = http_link_program();
	exe.proxy = proxy_link_program();
	idlemem_keep();
	warm_up();
	/* Let the kernel reap the probe. */
	signal(SIGCHLD, SIG_IGN);
	while ((r = ipc_wait(sock, IPC_ROLE_MASTER, IPC_ROLE_TEMPLATE,
	    &m)) == 1) {
		if (m.kind == IPC_probe) {
			probe_start(sock);
			ipc_msg_fini(&m);
			continue;
		}
		in = (const Ipc__Fork *)m.body;
		fd = m.fd;
		m.fd = -1;
		errno = EMFILE;
		pid = fd == -1 ? -1 : pcgroup_fork(top, in->group, &group);
		if (pid == 0) {
			signal(SIGCHLD, SIG_DFL);
			close(sock);
			fd_close(&top);
			ipc_msg_fini(&m);
			log_set_role("worker");
			proctitle_set("execsrv-worker: spare");
			template_leave(worker_run(fd, nofile, &exe, group));
		}
		template_answer(sock, in->id, pid);
		fd_close(&fd);
		ipc_msg_fini(&m);
	}
	return r == 0 ? 0 : 1;
}
