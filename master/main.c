/* execsrvd: options, then the master. */
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/conf.h"
#include "common/fd.h"
#include "common/log.h"
#include "config.h"
#include "master/auth_options.h"
#include "master/listen.h"
#include "master/master.h"
#include "master/remote.h"
#include "master/remote_options.h"
#include "master/tokens.h"

#define WORKER		"execsrv-worker"
#define UPLINK_PROGRAM	"execsrv-uplink"
#define CONF_FILE	EXECSRV_SYSCONFDIR "/execsrvd.conf"

#define EXIT_USAGE	2
#define EXIT_CONFIG	78	/* EX_CONFIG of sysexits.h(3) */

struct options {
	const char	*file;
	bool		 foreground;
	bool		 has_listen;	/* on the command line */
	bool		 test;
	bool		 print;
	struct remote_options remote;
	struct auth_options auth;
};

enum { OPT_LISTEN = 256, OPT_VERSION, OPT_HELP };

static const struct option long_options[] = {
	{ "listen", required_argument, NULL, OPT_LISTEN },
	{ "version", no_argument, NULL, OPT_VERSION },
	{ "help", no_argument, NULL, OPT_HELP },
	AUTH_LONG_OPTIONS,
	REMOTE_LONG_OPTIONS,
	{ NULL, 0, NULL, 0 }
};

static void
usage(FILE *out)
{
	fputs("usage: execsrvd [-DtT] [-f file] [-o Keyword=value]\n"
	    "                [--listen ws://IP:PORT | unix:PATH | stdio]...\n"
	    "                [--remote URL --environment-id ID]\n"
	    "       execsrvd forward --remote URL --environment-id ID\n"
	    "                --connect ws://HOST:PORT\n"
	    "See execsrvd(8).\n", out);
}

static void
config_error(const struct conf_error *e)
{
	fprintf(stderr, "execsrvd: %s\n", e->text);
	exit(EXIT_CONFIG);
}

/* "Keyword=value", as in sshd(8). */
static void
set_option(struct conf *c, const char *text)
{
	struct conf_error	 e;
	char			*copy, *value;

	if ((copy = strdup(text)) == NULL)
		fatal("memory");
	value = copy + strcspn(copy, "= ");
	if (*value != '\0')
		*value++ = '\0';
	if (conf_set(c, copy, value, &e) == -1)
		config_error(&e);
	free(copy);
}

/* Options: the file first, then what the command line says. */
static void
read_options(int argc, char **argv, struct options *o, struct conf *c)
{
	int	 pass, opt;

	for (pass = 0; pass < 2; pass++) {
		optind = 1;
		while ((opt = getopt_long(argc, argv, "Df:o:tT",
		    long_options, NULL)) != -1)
			switch (opt) {
			case 'D':
				o->foreground = true;
				break;
			case 'f':
				o->file = optarg;
				break;
			case 'o':
				if (pass == 1)
					set_option(c, optarg);
				break;
			case 't':
				o->test = true;
				break;
			case 'T':
				o->print = true;
				break;
			case OPT_LISTEN:
				o->has_listen = true;
				break;
			case OPT_VERSION:
				puts("execsrvd " PACKAGE_VERSION);
				exit(0);
			case OPT_HELP:
				usage(stdout);
				exit(0);
			default:
				if (remote_options_take(&o->remote, opt,
				    optarg) ||
				    auth_options_take(&o->auth, opt, optarg))
					break;
				usage(stderr);
				exit(EXIT_USAGE);
			}
		if (optind != argc) {
			usage(stderr);
			exit(EXIT_USAGE);
		}
		if (pass == 0) {
			struct conf_error	 e;

			if (o->file == NULL && access(CONF_FILE, F_OK) == 0)
				o->file = CONF_FILE;
			if (o->file != NULL && conf_load(c, o->file, &e) ==
			    -1)
				config_error(&e);
		}
	}
}

/* --listen on the command line stands instead of the file's. */
static void
read_listen(int argc, char **argv, struct conf *c)
{
	struct conf_error	 e;
	size_t			 i;
	int			 opt;

	for (i = 0; i < c->listen.n; i++)
		free(c->listen.item[i]);
	c->listen.n = 0;
	conf_end_block(c);		/* which -o may have begun */
	optind = 1;
	while ((opt = getopt_long(argc, argv, "Df:o:tT", long_options,
	    NULL)) != -1)
		if (opt == OPT_LISTEN &&
		    conf_set(c, "Listen", optarg, &e) == -1)
			config_error(&e);
}

static bool
has_stdio(const struct conf *c)
{
	size_t	 i;

	for (i = 0; i < c->listen.n; i++)
		if (strncmp(c->listen.item[i], "stdio", 5) == 0)
			return true;
	return false;
}

/* What --ws-auth and its companions say. */
static void
add_auth(const struct options *o, struct conf *c)
{
	struct conf_error	 e;

	/* As the reference: there is nobody to show anything. */
	if (auth_options_any(&o->auth) && has_stdio(c)) {
		fputs("execsrvd: --ws-auth is not for stdio\n", stderr);
		exit(EXIT_USAGE);
	}
	if (auth_options_apply(&o->auth, c, &e) == -1) {
		fprintf(stderr, "execsrvd: %s\n", e.text);
		exit(EXIT_USAGE);
	}
}

/* Whether the settings fit together: 0 or EXIT_CONFIG, after a line. */
static int
check_settings(const struct conf *c)
{
	struct tokens	*t;
	char		 why[TOKENS_WHY];

	if (remote_check(c) == -1)
		return EXIT_CONFIG;
	if ((t = tokens_load(c, true, why, sizeof(why))) == NULL) {
		log_warnx("%s", why);
		return EXIT_CONFIG;
	}
	tokens_free(&t);
	return 0;
}

/* What --remote and its companions say, and the credential that they want. */
static void
add_remote(struct master *m, struct options *o)
{
	struct conf_error	 e;

	const char		*exits;

	exits = getenv("CODEX_EXEC_SERVER_EXIT_ON_STDIN_CLOSE");
	if (exits != NULL && exits[0] != '\0' && strcmp(exits, "0") != 0 &&
	    strcmp(exits, "false") != 0)
		o->remote.exit_on_stdin = true;
	if (has_stdio(&m->conf) && (o->remote.exit_on_stdin ||
	    o->remote.bearer_stdin || o->remote.frames_stdin)) {
		fputs("execsrvd: standard input cannot be a session as "
		    "well\n", stderr);
		exit(EXIT_USAGE);
	}
	if (remote_options_apply(&o->remote, &m->conf, &e) == -1) {
		fprintf(stderr, "execsrvd: %s\n", e.text);
		exit(EXIT_USAGE);
	}
	/* A credential that nobody takes would be a test's only. */
	if (!o->test && !o->print && remote_options_read_stdin(&o->remote,
	    &m->conf, &m->stdin_cred, &e) == -1) {
		fprintf(stderr, "execsrvd: %s\n", e.text);
		exit(1);
	}
}

/* A program beside us (a build folder), else where it is installed. */
static void
find_program(const char *name, char *path, size_t size)
{
	char	 self[3072];
	ssize_t	 n;
	char	*slash;

	if ((n = readlink("/proc/self/exe", self, sizeof(self) - 1)) > 0) {
		self[n] = '\0';
		if ((slash = strrchr(self, '/')) != NULL) {
			*slash = '\0';
			snprintf(path, size, "%s/%s", self, name);
			if (access(path, X_OK) == 0)
				return;
		}
	}
	snprintf(path, size, "%s/%s", EXECSRV_LIBEXECDIR, name);
}

/*
 * Into the background: the caller waits until the daemon is ready and gets
 * its status.  The descriptor to tell it by, or -1 in the foreground.
 */
static int
daemonize(void)
{
	int	 ready[2];
	char	 byte;
	pid_t	 pid;

	if (pipe2(ready, O_CLOEXEC) == -1 || (pid = fork()) == -1)
		fatal("daemon");
	if (pid != 0) {
		close(ready[1]);
		_exit(read(ready[0], &byte, 1) == 1 ? 0 : 1);
	}
	close(ready[0]);
	if (setsid() == -1 || chdir("/") == -1)
		fatal("daemon");
	return ready[1];
}

static void
tell_ready(const struct master *m, int ready)
{
	const struct listener	*l;
	int			 null;

	if (ready == -1) {
		/*
		 * Starters wait for this line, and only this.  With stdio it
		 * would be one of the protocol.
		 */
		TAILQ_FOREACH(l, &m->listeners, entry)
			if (m->is_stdio)
				log_info("listening on %s", l->url);
			else if (l->path == NULL)
				printf("%s\n", l->url);
		fflush(stdout);
		return;
	}
	if ((null = open("/dev/null", O_RDWR | O_CLOEXEC)) != -1) {
		dup2(null, STDIN_FILENO);
		dup2(null, STDOUT_FILENO);
		dup2(null, STDERR_FILENO);
		fd_close(&null);
	}
	if (write(ready, "", 1) == -1)
		log_warn("ready");
	close(ready);
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

/* What needs no server: the exit status, or -1 when one is wanted. */
static int
without_server(const struct conf *c, const struct options *o)
{
	if (o->print)
		conf_print(c, stdout);
	if (o->test || o->print)
		return check_settings(c);
	if (c->listen.n != 0 || c->nuplink != 0)
		return -1;
	fputs("execsrvd: nothing to listen on: give --listen or --remote, "
	    "or Listen or Uplink in " CONF_FILE "\n", stderr);
	return EXIT_USAGE;
}

int
main(int argc, char **argv)
{
	struct options	 o;
	struct master	 m;
	struct cred	 env;
	int		 ready = -1, status;

	log_init("execsrvd", LOG_LEVEL_INFO, false);
	memset(&m, 0, sizeof(m));
	memset(&o, 0, sizeof(o));
	if (fd_reserve_std() == -1 || sodium_init() == -1 ||
	    conf_init(&m.conf) == -1)
		fatal("start");
	if (cred_take_env(&env) == -1)
		fatal("the credential in the environment");
	if (argc > 1 && strcmp(argv[1], "forward") == 0) {
		o.remote.is_forward = true;
		argc--;
		argv++;
	}
	read_options(argc, argv, &o, &m.conf);
	if (o.has_listen)
		read_listen(argc, argv, &m.conf);
	add_auth(&o, &m.conf);
	add_remote(&m, &o);
	if ((status = without_server(&m.conf, &o)) != -1) {
		conf_fini(&m.conf);
		cred_fini(&env);
		return status;
	}
	log_set_level((enum log_level)m.conf.log_level);
	umask(022);
	signal(SIGPIPE, SIG_IGN);
	find_program(WORKER, m.worker, sizeof(m.worker));
	find_program(UPLINK_PROGRAM, m.uplink, sizeof(m.uplink));
	/*
	 * As sshd(8) the daemon goes to the background unless -D is given.
	 * But who names a listener on the command line starts it as the
	 * reference is started: waits for its address and ends it by its pid.
	 */
	if (!o.foreground && !o.has_listen && o.remote.url == NULL &&
	    !has_stdio(&m.conf)) {
		ready = daemonize();
		m.is_daemon = true;
	}
	signal(SIGUSR1, SIG_IGN);
	signal(SIGUSR2, SIG_IGN);
	if (master_init(&m, &env) == -1 ||
	    remote_watch_stdin(&m, o.remote.exit_on_stdin) == -1) {
		master_fini(&m);
		return 1;
	}
	cred_fini(&env);
	if (write_pid(m.conf.pid_file) == -1)
		log_warn("%s", m.conf.pid_file);
	if (ready != -1)
		log_set_syslog(true);
	tell_ready(&m, ready);
	status = master_run(&m);
	if (m.conf.pid_file[0] != '\0')
		unlink(m.conf.pid_file);
	master_fini(&m);
	return status;
}
