/*
 * execsrvctl: commands for the daemon, and for exec servers as a client.
 */
#include <fcntl.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/editdist.h"
#include "common/fd.h"
#include "config.h"
#include "master/execsrvctl/answer.h"
#include "master/execsrvctl/check.h"
#include "master/execsrvctl/chooser.h"
#include "master/execsrvctl/control.h"
#include "master/execsrvctl/ctl_client.h"
#include "master/execsrvctl/ctl_tail.h"
#include "master/execsrvctl/events.h"
#include "master/execsrvctl/logs.h"
#include "master/execsrvctl/fleet/fleet.h"
#include "master/execsrvctl/sandbox.h"
#include "master/execsrvctl/servers.h"
#include "master/execsrvctl/since.h"
#include "master/execsrvctl/top.h"
#include "master/execsrvctl/waits.h"

struct options {
	const char	*dir;
	struct chooser	 which;		/* another server */
	bool		 has_which;	/* an option said something of it */
	bool		 json;
	bool		 quiet;
	bool		 follow, wait, check;	/* where they are options */
	const char	*user;		/* TABLE, kill */
	const char	*state, *sort, *columns;	/* TABLE */
	const char	*count, *event, *session, *since;	/* EVENTS */
	bool		 no_header;
};

enum form { ONE, ACT, TABLE, STREAM, EVENTS };
enum who { ANY, OWN, OWNER };	/* OWN: also of other servers */
enum option_of { NONE, FOLLOW, WAIT, USER, CHECK };

struct command {
	const char	*name;
	int		(*fn)(const struct command *, struct options *, int,
			    char **);
	enum form	 form;
	enum option_of	 option;
	enum who	 who;
	size_t		 min, max;	/* arguments, of CTL rows */
	const char	*arguments;
	const char	*help;
};

static int	 cmd_audit(const struct command *, struct options *, int,
		    char **);
static int	 cmd_client(const struct command *, struct options *, int,
		    char **);
static int	 cmd_config(const struct command *, struct options *, int,
		    char **);
static int	 cmd_control(const struct command *, struct options *, int,
		    char **);
static int	 cmd_fleet(const struct command *, struct options *, int,
		    char **);
static int	 cmd_help(const struct command *, struct options *, int,
		    char **);
static int	 cmd_logs(const struct command *, struct options *, int,
		    char **);
static int	 cmd_ready(const struct command *, struct options *, int,
		    char **);
static int	 cmd_wait(const struct command *, struct options *, int,
		    char **);
static int	 cmd_sandbox(const struct command *, struct options *, int,
		    char **);
static int	 cmd_top(const struct command *, struct options *, int,
		    char **);
static int	 cmd_version(const struct command *, struct options *, int,
		    char **);

static const struct command	 commands[] = {
#define CTL(name, fn, form, who, option, min, max, arguments, help)	\
	{ name, cmd_control, form, option, who, min, max, arguments, help },
#define LOCAL(name, fn, arguments, help)				\
	{ name, cmd_##fn, ONE, NONE, ANY, 0, 0, arguments, help },
#include "proto/ctl.def"
#undef CTL
#undef LOCAL
};

#define LINES_MAX	1000000	/* of -n: kept in memory */
#define COMMANDS	(sizeof(commands) / sizeof(commands[0]))
#define WIDTH		31	/* of a command in the help */

static void
execsrvctl_help(void)
{
	char	 words[96];
	size_t	 i;
	int	 n;

	puts("usage: execsrvctl [-R DIR] [--json] [-q] COMMAND [ARG...]\n"
	    "       execsrvctl [-R DIR] attach|cp|forward|run|shell|stdio "
	    "[OPTION...] "
	    "[ARG...]; see their -h\n\n"
	    "  -R, --runtime-dir DIR  run directory of the daemon\n"
	    "      --json             answer in JSON\n"
	    "  -q, --quiet            print nothing, only set the exit "
	    "status\n");
	for (i = 0; i < COMMANDS; i++) {
		n = snprintf(words, sizeof(words), "%s %s", commands[i].name,
		    commands[i].arguments);
		printf("  %-*s%s%*s%s\n", WIDTH, words, n < WIDTH ?
		    "" : "\n  ", n < WIDTH ? 0 : WIDTH, "",
		    commands[i].help);
	}
}

/* Whether other servers can be asked. */
static bool
is_far(const struct command *c)
{
	return c->who == OWN || c->fn == cmd_logs || c->fn == cmd_wait;
}

static void
print_usage(const struct command *c, FILE *out)
{
	fprintf(out, "usage: execsrvctl %s%s%s%s\n", c->name,
	    c->form == TABLE || c->form == EVENTS || c->fn == cmd_audit ?
	    " [OPTION...]" : "",
	    c->arguments[0] != '\0' ? " " : "", c->arguments);
}

static void
command_help(const struct command *c)
{
	print_usage(c, stdout);
	printf("\n%c%s.\n", c->help[0] - 'a' + 'A', c->help + 1);
	if (c->form == TABLE)
		puts("\n  --user USER      rows of this user only\n"
		    "  --state STATE    rows in this state only\n"
		    "  --sort COLUMN    sort by a column; -COLUMN: largest "
		    "first\n"
		    "  -o COLUMNS       columns, with commas between, or all\n"
		    "  --no-header      rows only");
	if (c->form == EVENTS || c->fn == cmd_audit)
		puts("\n  --user USER      events of this user, or by this "
		    "operator\n"
		    "  --session N      events of the session of this number\n"
		    "  --event NAME     events of this name");
	if (c->fn == cmd_audit || c->fn == cmd_logs)
		printf("%s  --since TIME     from this time on: 10min, 2h, 1d, "
		    "14:30, 2026-01-31 ...\n"
		    "  -n LINES         the last lines only\n"
		    "  -f, --follow     go on with what comes\n",
		    c->fn == cmd_logs ? "\n" : "");
	if (is_far(c))
		puts("\n  -u, --url URL    your sessions on another server: a "
		    "URL, or a name in the\n                   file of "
		    "hosts\n"
		    "  --ca-file FILE   certificates to trust\n"
		    "  --token-file FILE\n                   bearer token for "
		    "it");
	puts("\n  --json           answer in JSON\n"
	    "  -q, --quiet      print nothing, only set the exit status");
}

/* Say what is wrong, and how the command is used. */
static int PRINTF(2, 3)
wrong_use(const struct command *c, const char *fmt, ...)
{
	va_list	 ap;

	fprintf(stderr, "execsrvctl: %s%s", c != NULL ? c->name : "",
	    c != NULL ? ": " : "");
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	putc('\n', stderr);
	if (c != NULL)
		print_usage(c, stderr);
	else
		fputs("execsrvctl: see execsrvctl --help\n", stderr);
	return EXIT_USAGE;
}

static const char *
command_name(const void *arg, size_t i)
{
	(void)arg;
	return i < COMMANDS ? commands[i].name : NULL;
}

/* Find a command by its name, or by what only its name begins with. */
static const struct command *
find_command(const char *name)
{
	const struct command	*found = NULL;
	size_t			 i, len = strlen(name), n = 0;

	for (i = 0; i < COMMANDS; i++) {
		if (strcmp(commands[i].name, name) == 0)
			return &commands[i];
		if (len > 0 && strncmp(commands[i].name, name, len) == 0) {
			found = &commands[i];
			n++;
		}
	}
	return n == 1 ? found : NULL;
}

/* Name all commands that begin with a name, if there are several. */
static bool
is_ambiguous(const char *name, char *out, size_t size)
{
	size_t	 i, used = 0, n = 0;

	out[0] = '\0';
	for (i = 0; i < COMMANDS; i++)
		if (*name != '\0' && strncmp(commands[i].name, name,
		    strlen(name)) == 0 && used < size) {
			used += (size_t)snprintf(out + used, size - used,
			    "%s%s", n++ > 0 ? ", " : "", commands[i].name);
		}
	return n > 1;
}

static int
unknown_command(const char *name)
{
	const char	*meant = editdist_nearest(name, command_name, NULL);
	char		 several[256];

	if (is_ambiguous(name, several, sizeof(several)))
		return wrong_use(NULL, "%s: which one: %s?", name, several);
	return wrong_use(NULL, meant != NULL ? "%s: no such command: did you "
	    "mean \"%s\"?" : "%s: no such command", name, meant);
}

/* Return a status, or an error if not everything was printed. */
static int
execsrvctl_finish(int status)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return status;
	perror("execsrvctl: output");
	return status == EXIT_OK ? EXIT_OTHER : status;
}

/* --- options --- */

enum {
	OPT_CA_FILE = 256, OPT_CHECK, OPT_EVENT, OPT_JSON, OPT_NO_HEADER,
	OPT_SESSION, OPT_SINCE, OPT_SORT, OPT_STATE, OPT_TOKEN_FILE,
	OPT_USER, OPT_WAIT
};

#define GLOBALS		"fhn:o:qR:u:V"

static const struct option	 global_options[] = {
	{ "ca-file", required_argument, NULL, OPT_CA_FILE },
	{ "check", no_argument, NULL, OPT_CHECK },
	{ "event", required_argument, NULL, OPT_EVENT },
	{ "follow", no_argument, NULL, 'f' },
	{ "help", no_argument, NULL, 'h' },
	{ "json", no_argument, NULL, OPT_JSON },
	{ "no-header", no_argument, NULL, OPT_NO_HEADER },
	{ "quiet", no_argument, NULL, 'q' },
	{ "runtime-dir", required_argument, NULL, 'R' },
	{ "session", required_argument, NULL, OPT_SESSION },
	{ "since", required_argument, NULL, OPT_SINCE },
	{ "sort", required_argument, NULL, OPT_SORT },
	{ "state", required_argument, NULL, OPT_STATE },
	{ "token-file", required_argument, NULL, OPT_TOKEN_FILE },
	{ "url", required_argument, NULL, 'u' },
	{ "user", required_argument, NULL, OPT_USER },
	{ "version", no_argument, NULL, 'V' },
	{ "wait", no_argument, NULL, OPT_WAIT },
	{ NULL, 0, NULL, 0 }
};

/* Take an option about another server. */
static bool
take_which(int opt, struct options *o)
{
	const char	**to = opt == 'u' ? &o->which.url :
			    opt == OPT_CA_FILE ? &o->which.ca_file :
			    opt == OPT_TOKEN_FILE ? &o->which.token_file : NULL;

	if (to == NULL)
		return false;
	*to = optarg;
	return o->has_which = true;
}

/* Take an option; false: it is none of ours. */
static bool
take_global(int opt, struct options *o)
{
	switch (opt) {
	case 'f':
		o->follow = true;
		return true;
	case 'n':
		o->count = optarg;
		return true;
	case 'o':
		o->columns = optarg;
		return true;
	case 'q':
		o->quiet = true;
		return true;
	case 'R':
		o->dir = optarg;
		return true;
	case OPT_EVENT:
		o->event = optarg;
		return true;
	case OPT_JSON:
		o->json = true;
		return true;
	case OPT_CHECK:
		o->check = true;
		return true;
	case OPT_NO_HEADER:
		o->no_header = true;
		return true;
	case OPT_SESSION:
		o->session = optarg;
		return true;
	case OPT_SINCE:
		o->since = optarg;
		return true;
	case OPT_SORT:
		o->sort = optarg;
		return true;
	case OPT_STATE:
		o->state = optarg;
		return true;
	case OPT_USER:
		o->user = optarg;
		return true;
	case OPT_WAIT:
		o->wait = true;
		return true;
	default:
		return take_which(opt, o);
	}
}

/*
 * Read options that all commands have, before or after the name (c is then
 * NULL); form is how getopt(3) begins.  The other arguments begin at optind.
 */
static void
read_globals(const struct command *c, int argc, char **argv, const char *form,
    struct options *o)
{
	char	*first = argv[0], name[64];
	int	 opt;

	/* What getopt(3) says of a wrong one begins so. */
	snprintf(name, sizeof(name), "execsrvctl%s%s", c != NULL ? ": " : "",
	    c != NULL ? c->name : "");
	argv[0] = name;
	optind = 0;			/* glibc: start again */
	while ((opt = getopt_long(argc, argv, form, global_options,
	    NULL)) != -1) {
		if (take_global(opt, o))
			continue;
		if (opt == 'h') {
			if (c != NULL)
				command_help(c);
			else
				execsrvctl_help();
			exit(execsrvctl_finish(EXIT_OK));
		}
		if (opt == 'V')
			exit(cmd_version(NULL, o, 0, NULL));
		if (c != NULL)
			print_usage(c, stderr);
		else
			fputs("execsrvctl: see execsrvctl --help\n", stderr);
		exit(EXIT_USAGE);
	}
	argv[0] = first;
}

/* The last output.  0, or -1, having said why. */
static int
hush(const struct options *o)
{
	int	 fd, r;

	if (!o->quiet)
		return 0;
	if ((fd = open("/dev/null", O_WRONLY | O_CLOEXEC)) == -1) {
		perror("execsrvctl: /dev/null");
		return -1;
	}
	r = dup2(fd, STDOUT_FILENO) == -1 || dup2(fd, STDERR_FILENO) == -1 ?
	    -1 : 0;
	fd_close(&fd);
	return r;
}

/* Connect to another server, if one is told; -R is about this machine. */
static int
go_far(struct options *o)
{
	const char	*told = o->which.url;

	if (told == NULL && o->dir == NULL)
		told = getenv("EXECSRV_URL");
	if (told == NULL || told[0] == '\0')
		return 0;
	return chooser_begin(&o->which) == -1 ? -1 :
	    chooser_connect(&o->which, told);
}

/* --- commands --- */

static int
cmd_config(const struct command *c, struct options *o, int argc, char **argv)
{
	read_globals(c, argc, argv, GLOBALS, o);
	argc -= optind;
	argv += optind;
	if (argc < 1 || (strcmp(argv[0], "check") != 0 &&
	    strcmp(argv[0], "hosts") != 0 && strcmp(argv[0], "show") != 0))
		return wrong_use(c, "check, hosts or show?");
	if (argc > (strcmp(argv[0], "check") == 0 ? 2 : 1))
		return wrong_use(c, "too many arguments");
	if (hush(o) == -1)
		return EXIT_OTHER;
	if (strcmp(argv[0], "hosts") == 0)
		return execsrvctl_finish(servers_check() == 0 ? EXIT_OK :
		    EXIT_CONFIG);
	if (strcmp(argv[0], "show") == 0)
		return execsrvctl_finish(config_show(o->dir, o->json));
	return execsrvctl_finish(config_check(argv[1], o->json));
}

static int
cmd_top(const struct command *c, struct options *o, int argc, char **argv)
{
	struct top_options	 t = { .interval = 1000 };
	const char		*why;

	if (argc > 1 && (strcmp(argv[1], "-h") == 0 ||
	    strcmp(argv[1], "--help") == 0)) {
		command_help(c);
		fputs("\n" TOP_KEYS, stdout);
		return execsrvctl_finish(EXIT_OK);
	}
	t.dir = o->dir;
	t.json = o->json;
	if ((why = top_read(argc, argv, &t)) != NULL)
		return wrong_use(c, "%s", why);
	if (hush(o) == -1)
		return EXIT_OTHER;
	return execsrvctl_finish(top(&t));
}

static int
cmd_help(const struct command *c, struct options *o, int argc, char **argv)
{
	char			 help[] = "-h";
	char			*again[] = { NULL, help, NULL };

	if (argc < 2 || strcmp(argv[1], "-h") == 0 ||
	    strcmp(argv[1], "--help") == 0) {
		execsrvctl_help();
		return execsrvctl_finish(EXIT_OK);
	}
	if (argc > 2)
		return wrong_use(c, "too many arguments");
	if ((c = find_command(argv[1])) == NULL)
		return unknown_command(argv[1]);
	again[0] = (char *)(uintptr_t)c->name;
	return c->fn(c, o, 2, again);
}

static int
cmd_version(const struct command *c, struct options *o, int argc, char **argv)
{
	/* After the name; c is NULL for the option --help. */
	if (c != NULL) {
		read_globals(c, argc, argv, GLOBALS, o);
		if (optind != argc)
			return wrong_use(c, "too many arguments");
	}
	if (hush(o) == -1)
		return EXIT_OTHER;
	if (o->json)
		puts("{\"version\":\"" PACKAGE_VERSION "\"}");
	else
		puts("execsrvctl " PACKAGE_VERSION);
	return execsrvctl_finish(EXIT_OK);
}

static int
cmd_sandbox(const struct command *c, struct options *o, int argc, char **argv)
{
	int	 status;

	if (argc > 1 && (strcmp(argv[1], "-h") == 0 ||
	    strcmp(argv[1], "--help") == 0)) {
		command_help(c);
		return execsrvctl_finish(EXIT_OK);
	}
	if (argc < 2 || strcmp(argv[1], "explain") != 0)
		return wrong_use(c, "expected explain");
	status = sandbox_command(argc, argv, o->json);
	return status != EXIT_USAGE ? status : wrong_use(c,
	    "a file is missing, or there are too many arguments");
}

static int
ask_and_print(const struct command *c, const struct options *o, size_t narg,
    char **arg)
{
	struct control_request	 q = { .command = c->name };
	struct control_error	 e;
	struct answer_look	 look = { .command = c->name,
				    .is_table = c->form == TABLE,
				    .json = o->json,
				    .no_header = o->no_header,
				    .user = o->user, .state = o->state,
				    .sort = o->sort, .columns = o->columns };
	struct table		*t;
	int			 status, stream, r;

	q.dir = o->dir;
	q.x = o->which.x;
	q.arg = arg;
	q.narg = narg;
	q.option = o->follow || o->wait || o->check;
	q.is_patient = c->form == ACT;
	status = control_ask(&q, &t, c->form == STREAM ? &stream : NULL, &e);
	if (status == EXIT_OK && c->form == STREAM)
		status = ctl_tail_show(&q, stream, o->json, NULL);
	control_complain(&e);
	/* A part of a table is better than nothing, but not for programs; a
	   row that tells the failure is whole. */
	if (t != NULL && (status == EXIT_OK || !o->json ||
	    (c->form == ACT && table_rows(t) > 0)) &&
	    (r = answer_print(t, &look)) != EXIT_OK && status == EXIT_OK)
		status = r;
	table_free(&t);
	return status;
}

/* "tail" without a process, which then must be the only one. */
static int
tail_only(const struct command *c, const struct options *o, char *session)
{
	char	*arg[] = { session, NULL };
	int	 status = ctl_tail_choose(o->dir, o->which.x, session, &arg[1]);

	if (status == EXIT_OK)
		status = ask_and_print(c, o, 2, arg);
	free(arg[1]);
	return status;
}

/* Kill all sessions of a user, one after the other. */
static int
kill_user(const struct command *c, const struct options *o)
{
	struct control_request	 q = { .dir = o->dir, .x = o->which.x,
				    .command = "sessions" };
	struct control_error	 e;
	struct table		*t;
	char			 number[24] = "", *one;
	int			 status, r;

	if (answer_user(o->user, number, sizeof(number)) == NULL)
		return EXIT_OTHER;
	status = control_ask(&q, &t, NULL, &e);
	control_complain(&e);
	if (status != EXIT_OK) {
		table_free(&t);
		return status;
	}
	(void)!table_keep(t, "user", number);
	while (table_rows(t) > 0) {
		one = strdup(table_cell(t, "session"));
		if (one == NULL) {
			status = EXIT_OTHER;
			break;
		}
		r = ask_and_print(c, o, 1, &one);
		status = status == EXIT_OK ? r : status;
		(void)!table_drop(t, "session", one);
		free(one);
	}
	table_free(&t);
	return status;
}

/* Read -n and --since.  0, or -1, having said what is wrong. */
static int
read_part(const struct command *c, const struct options *o, time_t *since_out,
    size_t *last_out)
{
	unsigned long long	 n = 0;

	*since_out = 0;
	*last_out = 0;
	if (o->since != NULL && since_read(o->since, since_out) == -1) {
		wrong_use(c, "--since %s: expected a time such as 10min, 2h, "
		    "1d, 14:30, 2026-01-31 or \"2026-01-31 14:30\"",
		    o->since);
		return -1;
	}
	if (o->count != NULL && (sscanf(o->count, "%llu", &n) != 1 ||
	    o->count[strspn(o->count, "0123456789")] != '\0' || n == 0 ||
	    n > LINES_MAX)) {
		wrong_use(c, "-n %s: expected a number from 1 to %d", o->count,
		    LINES_MAX);
		return -1;
	}
	*last_out = (size_t)n;
	return 0;
}

/* What the options say of events.  0, or -1, having said what is wrong. */
static int
events_options(const struct command *c, const struct options *o,
    struct events_look *look)
{
	memset(look, 0, sizeof(*look));
	look->user = o->user;
	look->session = o->session;
	look->event = o->event;
	look->is_json = o->json;
	look->follows = o->follow;
	return read_part(c, o, &look->since, &look->last);
}

static int
watch(const struct command *c, const struct options *o)
{
	struct events_look	 look;

	if (events_options(c, o, &look) == -1)
		return EXIT_USAGE;
	return events_watch(&look, o->dir);
}

static int
cmd_logs(const struct command *c, struct options *o, int argc, char **argv)
{
	struct logs_look	 look;
	char			*only = NULL;
	int			 status = EXIT_OK;

	read_globals(c, argc, argv, GLOBALS, o);
	memset(&look, 0, sizeof(look));
	if (read_part(c, o, &look.since, &look.last) == -1)
		return EXIT_USAGE;
	argc -= optind;
	argv += optind;
	if (argc < 1 || argc > 2)
		return wrong_use(c, argc < 1 ? "an argument is missing" :
		    "too many arguments");
	look.dir = o->dir;
	look.session = argv[0];
	look.process = argv[1];
	look.is_json = o->json;
	look.follows = o->follow;
	if (look.follows && look.since != 0)
		return wrong_use(c, "-f wants no --since");
	if (hush(o) == -1 || go_far(o) == -1)
		return EXIT_OTHER;
	look.x = o->which.x;
	if (look.follows && look.process == NULL) {
		status = ctl_tail_choose(look.dir, look.x, argv[0], &only);
		look.process = only;
	}
	if (status == EXIT_OK)
		status = logs_show(&look);
	free(only);
	return execsrvctl_finish(status);
}

static int
cmd_audit(const struct command *c, struct options *o, int argc, char **argv)
{
	struct events_look	 look;
	char			*path;
	int			 status;

	read_globals(c, argc, argv, GLOBALS, o);
	if (events_options(c, o, &look) == -1)
		return EXIT_USAGE;
	if (hush(o) == -1)
		return EXIT_OTHER;
	if (optind < argc)
		return execsrvctl_finish(events_files(&look, argv + optind,
		    (size_t)(argc - optind)));
	if ((path = events_path(o->dir, &status)) == NULL)
		return status;
	status = events_files(&look, &path, 1);
	free(path);
	return execsrvctl_finish(status);
}

static const char *
wrong_option(const struct command *c, const struct options *o)
{
	if (o->has_which && !is_far(c))
		return "--url, --ca-file or --token-file";
	if (o->follow && c->option != FOLLOW)
		return "-f";
	if (o->wait && c->option != WAIT)
		return "--wait";
	if (o->check && c->option != CHECK)
		return "--check";
	if (o->user != NULL && c->option != USER && c->form != TABLE &&
	    c->form != EVENTS)
		return "--user";
	if (c->form == EVENTS)
		return o->follow || o->count != NULL || o->since != NULL ?
		    "-f, -n or --since" : NULL;
	if (o->count != NULL || o->event != NULL || o->session != NULL ||
	    o->since != NULL)
		return o->count != NULL ? "-n" : o->event != NULL ? "--event" :
		    o->session != NULL ? "--session" : "--since";
	if (c->form == TABLE)
		return NULL;
	return o->state != NULL ? "--state" : o->sort != NULL ? "--sort" :
	    o->columns != NULL ? "-o" : o->no_header ? "--no-header" : NULL;
}

static int
cmd_control(const struct command *c, struct options *o, int argc, char **argv)
{
	bool		 is_all, is_only;
	const char	*wrong;
	size_t		 n;

	read_globals(c, argc, argv, GLOBALS, o);
	n = (size_t)(argc - optind);
	if ((wrong = wrong_option(c, o)) != NULL)
		return wrong_use(c, "it has no option %s", wrong);
	is_all = o->user != NULL && c->option == USER;
	if (n > c->max || (is_all && n > 0))
		return wrong_use(c, "too many arguments");
	is_only = c->form == STREAM && n == 1;
	if (n < c->min && !is_all && !is_only)
		return wrong_use(c, "an argument is missing");
	if (hush(o) == -1 || (is_far(c) && go_far(o) == -1))
		return EXIT_OTHER;
	if (c->form == EVENTS)
		return execsrvctl_finish(watch(c, o));
	return execsrvctl_finish(is_all ? kill_user(c, o) :
	    is_only ? tail_only(c, o, argv[optind]) :
	    ask_and_print(c, o, n, argv + optind));
}

/* --- commands that wait --- */

static int
cmd_ready(const struct command *c, struct options *o, int argc, char **argv)
{
	read_globals(c, argc, argv, GLOBALS, o);
	if (optind != argc)
		return wrong_use(c, "too many arguments");
	if (hush(o) == -1)
		return EXIT_OTHER;
	return execsrvctl_finish(waits_ready(o->dir, o->wait));
}

static int
cmd_wait(const struct command *c, struct options *o, int argc, char **argv)
{
	size_t	 n;

	read_globals(c, argc, argv, GLOBALS, o);
	n = (size_t)(argc - optind);
	if (n < 1 || n > 2)
		return wrong_use(c, n < 1 ? "an argument is missing" :
		    "too many arguments");
	if (hush(o) == -1 || go_far(o) == -1)
		return EXIT_OTHER;
	return execsrvctl_finish(waits_end(o->dir, o->which.x, argv[optind],
	    argv[optind + 1]));
}

static int
cmd_fleet(const struct command *c, struct options *o, int argc, char **argv)
{
	struct fleet_options	 f = { .which = &o->which, .json = o->json };

	(void)c;
	o->which.dir = o->dir;
	if (hush(o) == -1 || chooser_begin(&o->which) == -1)
		return EXIT_OTHER;
	return execsrvctl_finish(fleet_command(&f, argc, argv));
}

static int
cmd_client(const struct command *c, struct options *o, int argc, char **argv)
{
	(void)c;
	return ctl_client_command(o->dir, !o->json && !o->quiet && !o->follow &&
	    !o->wait, argc, argv);
}

int
main(int argc, char **argv)
{
	struct options		 o = { .dir = NULL };
	const struct command	*c;
	int			 status;

	if (fd_reserve_std() == -1) {
		perror("execsrvctl: /dev/null");
		return EXIT_OTHER;
	}
	read_globals(NULL, argc, argv, "+" GLOBALS, &o);
	if (optind == argc)
		return wrong_use(NULL, "a command is missing");
	argc -= optind;
	argv += optind;
	if ((c = find_command(argv[0])) == NULL)
		return unknown_command(argv[0]);
	argv[0] = (char *)(uintptr_t)c->name;
	status = c->fn(c, &o, argc, argv);
	chooser_end(&o.which);
	return status;
}
