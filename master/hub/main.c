/*
 * execsrv-hub: a registry and rendezvous for executors and harnesses.  This is
 * its master, which binds sockets and reads files; hubworker.c does the rest.
 */
#include <sys/socket.h>
#include <sys/wait.h>

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/fd.h"
#include "common/linux/confine.h"
#include "common/log.h"
#include "common/process/sdnotify.h"
#include "common/process/sigfd.h"
#include "config.h"
#include "master/hub/admit/keymem.h"
#include "master/hub/hubaudit.h"
#include "master/hub/hubconfine.h"
#include "master/hub/hubfleet.h"
#include "master/hub/hublink.h"
#include "master/hub/hublisten.h"
#include "master/hub/hubworker.h"

#define EXIT_USAGE	2
#define EXIT_CONFIG	78	/* EX_CONFIG of sysexits.h(3) */
#define CONF_FILE	EXECSRV_SYSCONFDIR "/execsrv-hub.conf"
#define AGAIN_MS	1000	/* between the starts of workers */

static const char usage[] =
"usage: execsrv-hub [-tT] [-f FILE] [-o KEYWORD=VALUE]...\n\n"
"A registry and rendezvous for executors; see execsrv-hub(8).\n\n"
"  -f FILE           read this configuration file, or none\n"
"  -o KEYWORD=VALUE  set a keyword of the configuration\n"
"  -t                test the configuration, then exit\n"
"  -T                print the settings in effect, then exit\n"
"  --help            print this help\n"
"  --version         print the version\n";

struct hubmaster {
	struct event_base		*base;
	struct site_cmdline		 how;
	struct hubworker_start		 start;
	struct sigfd			*signals;
	struct io			 io;		/* of the channel */
	struct timer			 again;
	pid_t				 pid;		/* -1: none */
	uint64_t			 since;		/* ms: it began */
	int				 lock;
	bool				 has_served;	/* a worker was ready */
	bool				 is_stopping;
	struct sdnotify			*sdnotify;	/* or NULL */
	int				 status;	/* to exit with */
};

static void	 hubmaster_on_link(void *arg);

/* --- the configuration --- */

static void NORETURN
hubmaster_complain(const struct conf_error *e)
{
	const char	*at = e->text, *line;
	size_t		 len;

	while ((line = conf_error_line(&at, &len)) != NULL)
		fprintf(stderr, "execsrv-hub: %.*s\n", (int)len, line);
	exit(EXIT_CONFIG);
}

/* Read all files and make a site of them, or NULL with e. */
static struct site *
hubmaster_read(const struct site_cmdline *how, struct site_files *f,
    struct conf_error *e)
{
	struct site	*s;

	if (site_read(f, how, e) == -1)
		return NULL;
	if ((s = site_new(f, e)) != NULL &&
	    (hublisten_check(&s->conf, e) == -1 ||
	    hubconfine_check(s->conf.hub_user, e) == -1 ||
	    hubfleet_check(s, e) == -1))
		site_free(&s);
	if (s == NULL)
		site_files_fini(f);
	return s;
}

static int
hubmaster_open_audit(const struct hubconf *c)
{
	int	 fd;

	if (strcmp(c->audit_log, "none") == 0)
		return -1;
	if ((fd = open(c->audit_log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC |
	    O_NOFOLLOW, 0640)) == -1)
		log_warn("AuditLog %s", c->audit_log);
	return fd;
}

/* It has to be right for a restart as well as for what stays until then. */
static struct site *
hubmaster_read_again(const struct hubmaster *m, struct site_files *f,
    struct conf_error *e)
{
	struct site_cmdline	 anew = m->how;
	struct site_files	 others;
	struct site		*s, *next;

	if ((s = hubmaster_read(&m->how, f, e)) == NULL || !f->is_kept)
		return s;
	anew.began = NULL;
	if ((next = hubmaster_read(&anew, &others, e)) == NULL) {
		site_free(&s);
		site_files_fini(f);
		return NULL;
	}
	site_free(&next);
	site_files_fini(&others);
	return s;
}

/* All of it or nothing: what the worker gets is known to be right. */
static void
hubmaster_reload(struct hubmaster *m)
{
	struct site_files	 f;
	struct conf_error	 e = { "" };
	struct site		*s;
	int			 fd = -1, r;

	assert(m->pid > 0 && m->start.link != -1);
	sdnotify_reloading(m->sdnotify);
	if ((s = hubmaster_read_again(m, &f, &e)) == NULL) {
		log_warnx("reload: %.900s", e.text);
		r = hublink_send(m->start.link, HUBLINK_FAILED, e.text, -1);
	} else {
		site_free(&m->start.site);
		m->start.site = s;
		fd = site_pack(&f);
		site_files_fini(&f);
		r = fd == -1 ? hublink_send(m->start.link, HUBLINK_FAILED,
		    strerror(errno), -1) :
		    hublink_send(m->start.link, HUBLINK_SITE, "", fd);
	}
	if (r == -1)
		log_warn("reload");
	fd_close(&fd);
	fd_close(&m->start.audit);
	if ((m->start.audit = hubmaster_open_audit(&m->start.site->conf)) !=
	    -1 && hublink_send(m->start.link, HUBLINK_AUDIT, "",
	    m->start.audit) == -1)
		log_warn("AuditLog");
	sdnotify_ready(m->sdnotify);
}

/* --- the worker --- */

static void
hubmaster_start(void *arg)
{
	struct hubmaster	*m = arg;
	int			 pair[2];

	assert(m->pid == -1 && m->start.link == -1);
	if (fd_packet_pair(pair) == -1) {
		log_warn("worker");
		timer_set(&m->again, AGAIN_MS);
		return;
	}
	if ((m->pid = fork()) == 0) {
		fd_close(&pair[0]);
		fd_close(&m->lock);
		/* What is left of our loop is not ours. */
		if (event_reinit(m->base) == -1)
			_exit(1);
		m->start.link = pair[1];
		exit(hubworker_run(&m->start));
	}
	fd_close(&pair[1]);
	m->since = clock_ms();
	if (m->pid == -1) {
		log_warn("worker");
		fd_close(&pair[0]);
		timer_set(&m->again, AGAIN_MS);
		return;
	}
	m->start.link = pair[0];
	io_init(&m->io, m->base, pair[0], EV_READ | EV_PERSIST,
	    hubmaster_on_link, m);
	if (io_start(&m->io) == -1)
		log_warn("worker");
}

/* It serves: the first one, or another after the first has died. */
static void
hubmaster_on_ready(struct hubmaster *m)
{
	size_t	 i;

	m->has_served = true;
	for (i = 0; i < m->start.nlistener; i++)
		log_info("listening on %s", m->start.listener[i].url);
	sdnotify_status(m->sdnotify, "Serving");
	sdnotify_ready(m->sdnotify);
}

/* Only numbers of what it says are passed on. */
static void
hubmaster_on_counts(struct hubmaster *m, const char *text)
{
	unsigned long long	 executors, harnesses;

	if (!m->is_stopping && sscanf(text, "%llu %llu", &executors,
	    &harnesses) == 2)
		sdnotify_status(m->sdnotify, "%llu executors, %llu harnesses",
		    executors, harnesses);
}

static void
hubmaster_on_link(void *arg)
{
	struct hubmaster	*m = arg;
	struct hublink_message	 msg;
	int			 r;

	while ((r = hublink_recv(m->start.link, &msg)) == 1) {
		fd_close(&msg.fd);
		if (msg.word == HUBLINK_RELOAD)
			hubmaster_reload(m);
		else if (msg.word == HUBLINK_COUNTS)
			hubmaster_on_counts(m, msg.text);
		else if (msg.word == HUBLINK_READY)
			hubmaster_on_ready(m);
	}
	if (r == -1)
		io_stop(&m->io);
}

static void
hubmaster_on_death(struct hubmaster *m)
{
	uint64_t	 ran;
	int		 status;

	assert(m->pid > 0 && m->start.link != -1);
	if (waitpid(m->pid, &status, WNOHANG) != m->pid)
		return;
	m->pid = -1;
	io_stop(&m->io);
	fd_close(&m->start.link);
	if (m->is_stopping || !m->has_served) {
		m->status = WIFEXITED(status) ? WEXITSTATUS(status) : 1;
		event_base_loopbreak(m->base);
		return;
	}
	log_warnx("the worker ended: %s %d", WIFEXITED(status) ? "status" :
	    "signal", WIFEXITED(status) ? WEXITSTATUS(status) :
	    WTERMSIG(status));
	/* Nobody is served meanwhile: at once, unless it died early. */
	ran = clock_ms() - m->since;
	timer_set(&m->again, ran < AGAIN_MS ? AGAIN_MS - ran : 0);
}

static void
hubmaster_on_signal(void *arg, int sig, pid_t from)
{
	struct hubmaster	*m = arg;

	(void)from;
	if (sig == SIGCHLD) {
		if (m->pid != -1)
			hubmaster_on_death(m);
	} else if (sig == SIGHUP) {
		if (m->pid != -1)
			hubmaster_reload(m);
	} else {
		m->is_stopping = true;
		sdnotify_stopping(m->sdnotify);
		sdnotify_status(m->sdnotify, "Stopping");
		if (m->pid == -1 || hublink_send(m->start.link, HUBLINK_STOP,
		    "", -1) == -1)
			event_base_loopbreak(m->base);
	}
}

static int
hubmaster_run(struct hubmaster *m)
{
	static const int	 signals[] = { SIGTERM, SIGINT, SIGHUP,
				    SIGCHLD, 0 };

	signal(SIGPIPE, SIG_IGN);
	if ((m->base = ev_base_new()) == NULL ||
	    (m->signals = sigfd_new(m->base, signals, hubmaster_on_signal,
	    m)) == NULL) {
		log_warn("event loop");
		return 1;
	}
	timer_init(&m->again, m->base, hubmaster_start, m);
	sdnotify_start(m->sdnotify, m->base);
	hubmaster_start(m);
	if (event_base_dispatch(m->base) == -1)
		log_warn("event loop");
	timer_stop(&m->again);
	io_stop(&m->io);
	sigfd_free(&m->signals);
	sdnotify_free(&m->sdnotify);
	event_base_free(m->base);
	site_free(&m->start.site);
	hublisten_unlink(m->start.listener, m->start.nlistener,
	    m->start.control);
	free(m->start.listener);
	return m->status;
}

/* --- options --- */

enum { OPT_HELP = 256, OPT_VERSION };

static const struct option long_options[] = {
	{ "help", no_argument, NULL, OPT_HELP },
	{ "version", no_argument, NULL, OPT_VERSION },
	{ NULL, 0, NULL, 0 }
};

int
main(int argc, char **argv)
{
	static struct hubmaster	 m = { .pid = -1, .lock = -1 };
	static struct hubconf	 began;
	struct site_files	 f;
	struct conf_error	 e = { "" };
	bool			 tests = false, prints = false;
	const char		*path;
	int			 c;

	m.start.link = m.start.audit = -1;
	m.how.path = access(CONF_FILE, F_OK) == 0 ? CONF_FILE : NULL;
	if ((m.how.option = calloc((size_t)argc, sizeof(*m.how.option))) ==
	    NULL)
		return 1;
	while ((c = getopt_long(argc, argv, "f:o:tTD", long_options, NULL)) !=
	    -1)
		switch (c) {
		case 'f':
			m.how.path = strcmp(optarg, "none") == 0 ? NULL :
			    optarg;
			break;
		case 'o':
			m.how.option[m.how.noption++] = optarg;
			break;
		case 't':
			tests = true;
			break;
		case 'T':
			prints = true;
			break;
		case 'D':
			break;
		case OPT_HELP:
			fputs(usage, stdout);
			return 0;
		case OPT_VERSION:
			puts("execsrv-hub " PACKAGE_VERSION);
			return 0;
		default:
			fputs("execsrv-hub: see execsrv-hub --help\n", stderr);
			return EXIT_USAGE;
		}
	if (optind < argc) {
		fprintf(stderr, "execsrv-hub: unexpected argument \"%s\" "
		    "(see execsrv-hub --help)\n", argv[optind]);
		return EXIT_USAGE;
	}
	/* What a reload reads must not depend on the folder. */
	path = m.how.path;
	if (path != NULL && (m.how.path = realpath(path, NULL)) == NULL) {
		fprintf(stderr, "execsrv-hub: %s: %s\n", path,
		    strerror(errno));
		return EXIT_CONFIG;
	}
	if (keymem_init() == -1 || sodium_init() == -1 ||
	    confine_early() == -1 || fd_reserve_std() == -1) {
		fputs("execsrv-hub: cannot start\n", stderr);
		return 1;
	}
	if ((m.start.site = hubmaster_read(&m.how, &f, &e)) == NULL ||
	    site_take_conf(&began, &f, &e) == -1)
		hubmaster_complain(&e);
	m.how.began = &began;
	site_files_fini(&f);
	if (prints)
		hubconf_print(&m.start.site->conf, stdout);
	if (tests || prints)
		return 0;
	log_init("hub-master", (enum log_level)m.start.site->conf.log_level,
	    strcmp(m.start.site->conf.log_to, "syslog") == 0 ? "syslog" :
	    NULL);
	m.sdnotify = sdnotify_take_env();
	if (hublisten_open(&m.start.site->conf, &m.start.listener,
	    &m.start.nlistener, &e) == -1)
		hubmaster_complain(&e);
	if ((m.start.control = hublisten_control(&m.start.site->conf,
	    &m.lock)) == -1)
		return 1;
	m.start.audit = hubmaster_open_audit(&m.start.site->conf);
	if (m.start.audit == -1 && strcmp(m.start.site->conf.audit_log,
	    "none") != 0)
		return 1;
	return hubmaster_run(&m);
}
