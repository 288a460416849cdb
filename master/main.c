/* execsrvd: reads options and settings, then runs the master. */
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <sodium.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/conf/conf.h"
#include "common/fd.h"
#include "common/log.h"
#include "common/process/program.h"
#include "config.h"
#include "master/accept/activation.h"
#include "master/accept/listen.h"
#include "master/accept/listen_place.h"
#include "master/adopt/handoff.h"
#include "master/adopt/monitor.h"
#include "master/adopt/upgrade.h"
#include "master/auth/allow.h"
#include "master/auth/auth_options.h"
#include "master/cmdline.h"
#include "master/logs/logto.h"
#include "common/process/sdnotify.h"
#include "master/master.h"
#include "master/parts.h"
#include "master/remote/remote.h"
#include "master/remote/remote_check.h"
#include "master/validate.h"

#define WORKER		"execsrv-worker"
#define UPLINK_PROGRAM	"execsrv-uplink"

#define NOTIFY_FD_MAX	255

#define EXIT_USAGE	2
#define EXIT_CONFIG	78	/* EX_CONFIG of sysexits.h(3) */

struct options {
	struct cmdline	 cmdline;
	const char	*client;	/* -C, or NULL */
	bool		 test;
	bool		 print;
	int		 notify_fd;	/* -1: none */
	const char	*check_upgrade;	/* run directory, or NULL */
	struct handoff_program program;
	char		**command;	/* after "--" */
};

static const struct option long_options[] = {
#define LETTER(letter, argument, help)
#define SWITCH(name, number, argument, help)				\
	{ name, sizeof(argument) > 1 ? required_argument : no_argument,	\
	  NULL, OPT_##number },
#include "proto/switch.def"
#undef SWITCH
#undef LETTER
	{ NULL, 0, NULL, 0 }
};

static const struct {
	const char	*name, *argument, *help;
} switches[] = {
#define LETTER(letter, argument, help)	{ "-" letter, argument, help },
#define SWITCH(name, number, argument, help)				\
	{ "--" name, argument, help },
#include "proto/switch.def"
#undef SWITCH
#undef LETTER
};

#define HELP_COLUMN	27	/* behind a switch */

static void
execsrvd_help(void)
{
	char	 words[64];
	size_t	 i;
	int	 n;

	puts("usage: execsrvd [OPTION...] [-- COMMAND [ARGUMENT...]]\n"
	    "       execsrvd forward --remote URL --environment-id ID "
	    "--connect URL\n\n"
	    "Lets clients run commands on this machine; see execsrvd(8).\n");
	for (i = 0; i < sizeof(switches) / sizeof(switches[0]); i++) {
		n = snprintf(words, sizeof(words), "  %s%s%s",
		    switches[i].name, switches[i].argument[0] != '\0' ? " " :
		    "", switches[i].argument);
		printf("%-*s%s%*s%s\n", HELP_COLUMN, words, n < HELP_COLUMN ?
		    "" : "\n", n < HELP_COLUMN ? 0 : HELP_COLUMN, "",
		    switches[i].help);
	}
}

static void NORETURN PRINTF(1, 2)
execsrvd_wrong_use(const char *fmt, ...)
{
	va_list	 ap;

	va_start(ap, fmt);
	fputs("execsrvd: ", stderr);
	vfprintf(stderr, fmt, ap);
	fputs(" (see execsrvd --help)\n", stderr);
	va_end(ap);
	exit(EXIT_USAGE);
}

/* Print the reasons, a line for each. */
static void
print_reasons(const struct conf_error *e)
{
	const char	*at = e->text, *line;
	size_t		 len;

	while ((line = conf_error_line(&at, &len)) != NULL)
		fprintf(stderr, "execsrvd: %.*s\n", (int)len, line);
}

static void NORETURN
execsrvd_complain(const struct conf_error *e, int status)
{
	print_reasons(e);
	exit(status);
}

/* Parse a descriptor above the standard ones. */
static int
execsrvd_take_number(const char *text)
{
	char	*end;
	long	 n = strtol(text, &end, 10);

	if (text[0] < '0' || text[0] > '9' || *end != '\0' ||
	    n <= STDERR_FILENO || n > NOTIFY_FD_MAX)
		execsrvd_wrong_use("--notify-fd %s: expected a descriptor "
		    "from %d to %d", text, STDERR_FILENO + 1, NOTIFY_FD_MAX);
	return (int)n;
}

/*
 * Lower descriptors that were passed in are not for our children: for example
 * the configuration as -f /dev/fd/N.
 */
static void
take_notify(struct master *m, int last)
{
	int	 fd;

	for (fd = STDERR_FILENO + 1; fd < last; fd++)
		if (fd_cloexec(fd, 1) == -1 && errno != EBADF)
			fatal("--notify-fd");
	if (sdnotify_take_fd(&m->sdnotify, last) == -1)
		exit(EXIT_USAGE);
}

static void
take_option(struct options *o, int opt)
{
	struct cmdline	*s = &o->cmdline;
	int		 r = 0;

	switch (opt) {
	case 'C':
		o->client = optarg;
		break;
	case 'D':
		s->foreground = true;
		break;
	case 'f':
		r = cmdline_take_file(s, optarg);
		break;
	case 'o':
		r = cmdline_take_option(s, optarg);
		break;
	case 't':
		o->test = true;
		break;
	case 'T':
		o->print = true;
		break;
	case OPT_CHECK_UPGRADE:
		o->check_upgrade = optarg;
		break;
	case OPT_LISTEN:
		r = cmdline_take_listen(s, optarg);
		break;
	case OPT_NOTIFY_FD:
		o->notify_fd = execsrvd_take_number(optarg);
		break;
	case OPT_VERSION:
		puts("execsrvd " PACKAGE_VERSION);
		exit(0);
	case OPT_HELP:
		execsrvd_help();
		exit(0);
	case '?':
		/* getopt_long(3) has said what is wrong. */
		fputs("execsrvd: see execsrvd --help\n", stderr);
		exit(EXIT_USAGE);
	default:
		if (!remote_options_take(&s->remote, opt, optarg) &&
		    !auth_options_take(&s->auth, opt, optarg))
			execsrvd_wrong_use("option %d", opt);
	}
	if (r == -1)
		fatal("memory");
}

static void
execsrvd_read_options(int argc, char **argv, struct options *o)
{
	const char	*exits;
	int		 opt;

	while ((opt = getopt_long(argc, argv, "+C:Df:o:tT", long_options,
	    NULL)) != -1)
		take_option(o, opt);
	if (optind < argc && strcmp(argv[optind - 1], "--") == 0)
		o->command = argv + optind;
	else if (optind != argc)
		execsrvd_wrong_use("unexpected argument \"%s\": a command "
		    "comes after \"--\"", argv[optind]);
	if (o->client != NULL && !o->print)
		execsrvd_wrong_use("-C needs -T");
	exits = getenv("CODEX_EXEC_SERVER_EXIT_ON_STDIN_CLOSE");
	if (exits != NULL && exits[0] != '\0' && strcmp(exits, "0") != 0 &&
	    strcmp(exits, "false") != 0)
		o->cmdline.remote.exit_on_stdin = true;
}

static void
read_settings(struct master *m, struct options *o)
{
	struct conf_error	 e;
	int			 r;

	if (cmdline_find_default(&o->cmdline) == -1)
		fatal("cannot find the configuration file");
	m->world.start.cmdline = &o->cmdline;
	if ((r = cmdline_load(&o->cmdline, &m->world.conf, &e)) != CMDLINE_OK)
		execsrvd_complain(&e, r == CMDLINE_BAD_USE ? EXIT_USAGE :
		    EXIT_CONFIG);
	if (cmdline_has_stdio(&m->world.conf) + (o->command != NULL) +
	    cmdline_reads_stdin(&m->world.conf) > 1) {
		fputs("execsrvd: standard input can be used for one thing "
		    "only: a session, credentials, or the command\n", stderr);
		exit(EXIT_USAGE);
	}
}

/* Read a credential from standard input, if the settings, now valid, say so. */
static void
read_credential(struct master *m)
{
	struct conf_error	 e;

	if (remote_options_read_stdin(&m->world.conf, &m->uplinks.stdin.cred,
	    &e) == -1)
		execsrvd_complain(&e, 1);
}

/*
 * Go to the background.  The parent waits for a byte on the returned
 * descriptor, which means ready, and exits with 0, or at EOF with 1.
 */
static int
daemonize(void)
{
	int	 ready[2];
	char	 byte;
	pid_t	 pid;

	if (pipe2(ready, O_CLOEXEC) == -1 || (pid = fork()) == -1)
		fatal("cannot go to the background");
	if (pid != 0) {
		close(ready[1]);
		_exit(read(ready[0], &byte, 1) == 1 ? 0 : 1);
	}
	close(ready[0]);
	if (setsid() == -1 || chdir("/") == -1)
		fatal("cannot go to the background");
	return ready[1];
}

/* The first line of a log, and what the server is asked for by others. */
static void
log_start(const struct master *m, const struct cmdline *s)
{
	const char		*file = cmdline_file(s);
	const struct conf	*c = &m->world.conf;
	const struct listener	*l;
	size_t			 i;

	log_info("execsrvd " PACKAGE_VERSION " is ready: configuration %s, "
	    "%zu uplinks", file != NULL ? file : "none", c->nuplink);
	for (i = 0; i < c->nuplink; i++)
		log_info("uplink %zu: %s, environment %s", i + 1,
		    c->uplink[i].label, c->uplink[i].environment);
	/* Programs that start us read addresses from report_ready(). */
	if (m->world.start.is_stdio || m->payload.argv != NULL)
		return;
	TAILQ_FOREACH(l, &m->listen.list, entry)
		log_info("listening on %s", l->url);
}

static void
report_ready(const struct master *m, int ready)
{
	const struct listener	*l;

	/* Whoever hears that we are ready may kill us: we are started again. */
	if (!handoff_is_upgrade(&m->handed))
		monitor_serves(m->monitor);
	TAILQ_FOREACH(l, &m->listen.list, entry)
		sdnotify_listen(m->sdnotify, l->url);
	if (ready == -1 && !m->world.start.is_daemon && !m->handed.is_any) {
		/*
		 * Programs that start us wait for this line on stdout.  With
		 * stdio or a command stdout is not ours: use the log.
		 */
		TAILQ_FOREACH(l, &m->listen.list, entry)
			if (m->world.start.is_stdio || m->payload.argv != NULL)
				log_info("listening on %s", l->url);
			else if (strncmp(l->url, "ws://", 5) == 0)
				printf("%s\n", l->url);
		fflush(stdout);
		return;
	}
	/* LogTo stderr keeps stderr. */
	if (fd_null_std(log_is_syslog() || m->world.logs.file != NULL) == -1)
		log_warn("standard streams");
	if (ready != -1 && write(ready, "", 1) == -1)
		log_warn("cannot report that the daemon is ready");
	fd_close(&ready);
}

static int
write_pid(const char *path)
{
	FILE	*f;

	if (path[0] == '\0')
		return 0;
	if ((f = fopen(path, "we")) == NULL)
		return -1;
	fprintf(f, "%ld\n", (long)getpid());
	return fclose(f);
}

/* Print the settings in force, global or (-C) for a client. */
static void
print_settings(const struct conf *c, const char *client)
{
	struct conf_error	 e;
	struct conf_spec	 spec;
	struct conf		 one;

	if (client == NULL) {
		conf_print(c, stdout);
		return;
	}
	if (conf_spec_parse(&spec, client, &e) == -1) {
		fprintf(stderr, "execsrvd: -C: %s\n", e.text);
		exit(EXIT_USAGE);
	}
	if (conf_resolve(c, &spec.client, &one) == -1)
		fatal("memory");
	conf_print(&one, stdout);
	conf_fini(&one);
	conf_spec_fini(&spec);
}

/* What -t says of settings that are valid, but perhaps not meant so. */
static void
warn_of(const struct conf *c, size_t npassed, FILE *out)
{
	size_t	 i;

	for (i = 0; i < c->note.n; i++)
		fprintf(out, "execsrvd: warning: %s\n", c->note.item[i]);
	listen_place_warn(c, out);
	allow_warn(c, out);
	remote_warn(c, out);
	if (npassed == 0 && !cmdline_has_listeners(c))
		fputs("execsrvd: warning: nothing to listen on, unless "
		    "sockets are passed in or --listen is given\n", out);
}

/* Check the settings, and do -t and -T: an exit status; -1: start a server. */
static int
without_server(const struct conf *c, const struct options *o, size_t npassed)
{
	struct conf_error	 e;

	if (o->print)
		print_settings(c, o->client);
	if (validate(c, &e) == -1) {
		print_reasons(&e);
		return EXIT_CONFIG;
	}
	if (o->check_upgrade != NULL)
		return upgrade_check(o->check_upgrade);
	if (o->test)
		warn_of(c, npassed, stderr);
	if (o->test || o->print)
		return 0;
	if (npassed != 0 || cmdline_has_listeners(c))
		return -1;
	fputs("execsrvd: nothing to listen on: give --listen or --remote, "
	    "or Listen or Uplink in the configuration file\n", stderr);
	return EXIT_USAGE;
}

/*
 * The daemon goes to the background unless -D is given, as sshd(8).  Not with
 * --listen: programs start us so in place of the reference, read the address,
 * and stop us by pid.
 */
static bool
goes_to_background(const struct conf *c, const struct cmdline *s)
{
	return !c->foreground && s->nlisten == 0 && s->remote.url == NULL &&
	    !cmdline_has_stdio(c) && !cmdline_reads_stdin(c);
}

/* Of the environment, or kept since it was there. */
static int
take_credential(struct handoff *h, struct handoff_program *p,
    struct cred *c)
{
	p->credential = handoff_take(h, HANDOFF_CREDENTIAL);
	if (p->credential != -1)
		return cred_take_kept(c, p->credential);
	if (cred_take_env(c) == -1)
		return -1;
	p->credential = cred_keep(c);
	return p->credential == -2 ? -1 : 0;
}

/* daemonize(), below a monitor if there is to be one. */
static int
go_to_background(struct master *m, const struct handoff_program *p)
{
	int	 ready;

	m->world.start.is_daemon = true;
	if (m->handed.is_any) {
		/* Started again, it is in the background. */
		logto_daemon(&m->world.conf);
		return -1;
	}
	ready = daemonize();
	if (m->world.conf.respawn == 0)
		return ready;
	if ((m->monitor = monitor_start(p, &m->world.conf, ready)) == -1)
		log_warnx("the daemon will not be started again when it is "
		    "killed");
	return ready;
}

static void
execsrvd_options_fini(struct options *o)
{
	cmdline_fini(&o->cmdline);
	handoff_program_fini(&o->program);
}

static void
find_programs(struct world_start *s)
{
	program_find(WORKER, s->worker, sizeof(s->worker));
	program_find(UPLINK_PROGRAM, s->uplink, sizeof(s->uplink));
}

int
main(int argc, char **argv)
{
	struct options	 o;
	struct master	 m;
	struct cred	 env;
	char		*pid_file;
	int		 ready = -1, status;

	log_init("execsrvd", LOG_LEVEL_INFO, NULL);
	memset(&m, 0, sizeof(m));
	memset(&o, 0, sizeof(o));
	if (fd_reserve_std() == -1)
		fatal("/dev/null");
	handoff_program_init(&o.program, argv);
	m.world.start.program = &o.program;
	if (activation_take_env(&m.listen.activation) == -1 ||
	    handoff_take_env(&m.handed, &m.listen.inherited,
	    &m.listen.activation) == -1) {
		execsrvd_options_fini(&o);
		return 1;
	}
	m.monitor = handoff_take(&m.handed, HANDOFF_MONITOR);
	/* Started from a descriptor, or by a script in its place. */
	if (m.handed.text[HANDOFF_PROGRAM] != NULL)
		snprintf(o.program.path, sizeof(o.program.path), "%s",
		    m.handed.text[HANDOFF_PROGRAM]);
	m.sdnotify = sdnotify_take_env();
	if (sodium_init() == -1)
		fatal("sodium_init");
	if (take_credential(&m.handed, &o.program, &env) == -1)
		fatal("the credential in the environment");
	if (argc > 1 && strcmp(argv[1], "forward") == 0) {
		o.cmdline.remote.is_forward = true;
		argc--;
		argv++;
	}
	o.notify_fd = -1;
	execsrvd_read_options(argc, argv, &o);
	if (o.notify_fd != -1 && o.check_upgrade == NULL)
		take_notify(&m, o.notify_fd);
	read_settings(&m, &o);
	if ((status = without_server(&m.world.conf, &o,
	    m.listen.activation.n)) != -1) {
		conf_fini(&m.world.conf);
		execsrvd_options_fini(&o);
		cred_fini(&env);
		activation_fini(&m.listen.activation);
		sdnotify_free(&m.sdnotify);
		return status;
	}
	read_credential(&m);
	log_set_level((enum log_level)m.world.conf.log_level);
	m.payload.argv = o.command;
	m.payload.mask = umask(022);
	signal(SIGPIPE, SIG_IGN);
	/* RLIMIT_FSIZE on a log file must not kill us: write(2) fails. */
	signal(SIGXFSZ, SIG_IGN);
	find_programs(&m.world.start);
	if (o.command == NULL && goes_to_background(&m.world.conf, &o.cmdline))
		ready = go_to_background(&m, &o.program);
	signal(SIGUSR1, SIG_IGN);
	signal(SIGUSR2, SIG_IGN);
	if (master_init(&m, &env) == -1 ||
	    remote_watch_stdin(&m.uplinks, m.world.conf.exit_on_stdin) == -1) {
		/* The former program, started again, needs all of it. */
		if (m.handed.text[HANDOFF_FORMER] != NULL)
			_exit(EXIT_FAILURE);
		master_fini(&m);
		execsrvd_options_fini(&o);
		cred_fini(&env);
		return 1;
	}
	cred_fini(&env);
	if (write_pid(m.world.conf.pid_file) == -1) {
		/* A start script would never find it. */
		log_warn("PidFile %s", m.world.conf.pid_file);
		master_fini(&m);
		execsrvd_options_fini(&o);
		return 1;
	}
	logto_switch(&m.world.logs);
	log_start(&m, &o.cmdline);
	report_ready(&m, ready);
	sdnotify_status(m.sdnotify, "Serving");
	sdnotify_ready(m.sdnotify);
	if (o.command != NULL && payload_start(&m.payload,
	    &m.world.start.nofile) == -1) {
		m.status = 1;
		master_stop(&m, "no command after --");
	}
	status = master_run(&m);
	/* Unlink the pid file last: then another daemon may be started. */
	pid_file = m.world.conf.pid_file;
	m.world.conf.pid_file = NULL;
	master_fini(&m);
	if (pid_file[0] != '\0')
		unlink(pid_file);
	free(pid_file);
	execsrvd_options_fini(&o);
	return status;
}
