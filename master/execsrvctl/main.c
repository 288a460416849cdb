/*
 * execsrvctl: commands for the daemon, and for exec servers as a client.
 */
#include <fcntl.h>
#include <getopt.h>
#include <stdarg.h>
#include <stddef.h>
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
	bool		 json, quiet;
	bool		 follow, wait, check, no_header;
	bool		 wants_help, wants_version;
	const char	*user, *state, *sort, *columns;
	const char	*count, *event, *session, *since;
	uint32_t	 given;		/* bits: rows of opts */
};

enum form { ONE, ACT, TABLE, STREAM, EVENTS };

/* Which options a command has. */
#define OF_ONE		0
#define OF_ACT		0
#define OF_STREAM	0
#define OF_TABLE	1
#define OF_EVENTS	2
#define OF_PAST		4
#define OF_ANY		0
#define OF_OWNER	0
#define OF_OWN		8	/* also of other servers */
#define OF_NONE		0
#define OF_FOLLOW	16
#define OF_WAIT		32
#define OF_USER		64
#define OF_CHECK	128
#define OF_EVERY	256
#define OF_FIRST	512

struct command {
	const char	*name;
	int		(*fn)(const struct command *, struct options *, int,
			    char **);
	enum form	 form;
	unsigned	 kinds;		/* of options */
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
	{ name, cmd_control, form, OF_##form | OF_##who | OF_##option,	\
	    min, max, arguments, help },
#define LOCAL(name, fn, kinds, arguments, help)				\
	{ name, cmd_##fn, ONE, kinds, 0, 0, arguments, help },
#include "proto/ctl.def"
#undef CTL
#undef LOCAL
};

static const struct opt {
	const char	*name;
	int		 letter;
	const char	*value;
	unsigned	 kinds;
	const char	*help;
	size_t		 at;		/* its member of struct options */
} opts[] = {
#define CTL_OPT(member, name, letter, value, kinds, help)		\
	{ name, letter, value, kinds, help, offsetof(struct options, member) },
#include "proto/ctlopt.def"
#undef CTL_OPT
};

#define OPTS		(sizeof(opts) / sizeof(opts[0]))
#define LINES_MAX	1000000	/* of -n: kept in memory */
#define COMMANDS	(sizeof(commands) / sizeof(commands[0]))
#define WIDTH		31	/* of a command in the help */

/* Print those of some kinds; whether there are any. */
static bool
help_options(unsigned kinds)
{
	const struct opt	*row;
	char			 words[64];
	bool			 has_any = false;

	for (row = opts; row < opts + OPTS; row++) {
		if ((row->kinds & kinds) == 0)
			continue;
		snprintf(words, sizeof(words), "--%s %s", row->name,
		    row->value);
		if (row->letter != 0)
			printf("  -%c, %-21s %s\n", row->letter, words,
			    row->help);
		else
			printf("      %-21s %s\n", words, row->help);
		has_any = true;
	}
	return has_any;
}

static void
execsrvctl_help(void)
{
	char	 words[96];
	size_t	 i;
	int	 n;

	puts("usage: execsrvctl [-R DIR] [--json] [-q] COMMAND [ARG...]\n"
	    "       execsrvctl [-R DIR] attach|cp|forward|run|shell|stdio "
	    "[OPTION...] "
	    "[ARG...]; see their -h\n");
	help_options(OF_FIRST | OF_EVERY);
	putchar('\n');
	for (i = 0; i < COMMANDS; i++) {
		n = snprintf(words, sizeof(words), "%s %s", commands[i].name,
		    commands[i].arguments);
		printf("  %-*s%s%*s%s\n", WIDTH, words, n < WIDTH ?
		    "" : "\n  ", n < WIDTH ? 0 : WIDTH, "",
		    commands[i].help);
	}
}

static void
print_usage(const struct command *c, FILE *out)
{
	fprintf(out, "usage: execsrvctl %s%s%s%s\n", c->name,
	    (c->kinds & (OF_TABLE | OF_EVENTS)) != 0 ? " [OPTION...]" : "",
	    c->arguments[0] != '\0' ? " " : "", c->arguments);
}

static void
command_help(const struct command *c)
{
	print_usage(c, stdout);
	printf("\n%c%s.\n\n", c->help[0] - 'a' + 'A', c->help + 1);
	if (help_options(c->kinds & ~(unsigned)OF_OWN))
		putchar('\n');
	if (help_options(c->kinds & OF_OWN))
		putchar('\n');
	help_options(OF_EVERY);
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

#define LONG		256	/* of opts[i], for getopt_long(3): LONG + i */

/* Make the arguments of getopt_long(3) from the rows; letters end with 0. */
static void
options_of_rows(struct option long_opts[OPTS + 1], char letters[2 * OPTS + 1])
{
	size_t	 i;

	memset(long_opts, 0, (OPTS + 1) * sizeof(*long_opts));
	for (i = 0; i < OPTS; i++) {
		long_opts[i].name = opts[i].name;
		long_opts[i].has_arg = opts[i].value[0] != '\0' ?
		    required_argument : no_argument;
		long_opts[i].val = LONG + (int)i;
		if (opts[i].letter == 0)
			continue;
		*letters++ = (char)opts[i].letter;
		if (opts[i].value[0] != '\0')
			*letters++ = ':';
	}
	*letters = '\0';
}

/* Take an option as getopt_long(3) returned it; false: it is none of ours. */
static bool
execsrvctl_take(int opt, struct options *o)
{
	const bool	 yes = true;
	size_t		 i = 0;

	while (i < OPTS && opt != opts[i].letter && opt != LONG + (int)i)
		i++;
	if (i == OPTS)
		return false;
	if (opts[i].value[0] == '\0')
		memcpy((char *)o + opts[i].at, &yes, sizeof(yes));
	else
		memcpy((char *)o + opts[i].at, &optarg, sizeof(optarg));
	o->given |= (uint32_t)1 << i;
	return true;
}

static void
refuse_options(const struct command *c, const struct options *o)
{
	const struct opt	*row;

	for (row = opts; row < opts + OPTS; row++) {
		if ((o->given & (uint32_t)1 << (row - opts)) == 0 ||
		    (row->kinds & (c->kinds | OF_FIRST | OF_EVERY)) != 0)
			continue;
		exit(row->letter != 0 ?
		    wrong_use(c, "it has no option -%c, --%s", row->letter,
		    row->name) :
		    wrong_use(c, "it has no option --%s", row->name));
	}
}

/*
 * Read the options before (c is NULL) or after the name of a command, which
 * must have them.  The other arguments begin at optind.
 */
static void
read_options(const struct command *c, int argc, char **argv, struct options *o)
{
	struct option	 long_opts[OPTS + 1];
	char		*first = argv[0], name[64];
	char		 form[2 * OPTS + 2] = "+";
	int		 opt;

	options_of_rows(long_opts, form + 1);
	/* What getopt(3) says of a wrong one begins so. */
	snprintf(name, sizeof(name), "execsrvctl%s%s", c != NULL ? ": " : "",
	    c != NULL ? c->name : "");
	argv[0] = name;
	optind = 0;			/* glibc: start again */
	while ((opt = getopt_long(argc, argv, c != NULL ? form + 1 : form,
	    long_opts, NULL)) != -1) {
		if (execsrvctl_take(opt, o))
			continue;
		if (c != NULL)
			print_usage(c, stderr);
		else
			fputs("execsrvctl: see execsrvctl --help\n", stderr);
		exit(EXIT_USAGE);
	}
	argv[0] = first;
	if (o->wants_help) {
		if (c != NULL)
			command_help(c);
		else
			execsrvctl_help();
		exit(execsrvctl_finish(EXIT_OK));
	}
	if (o->wants_version)
		exit(cmd_version(NULL, o, 0, NULL));
	if (c != NULL)
		refuse_options(c, o);
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
	read_options(c, argc, argv, o);
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
		read_options(c, argc, argv, o);
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
	while ((one = table_take(t, "session")) != NULL) {
		r = ask_and_print(c, o, 1, &one);
		status = status == EXIT_OK ? r : status;
		free(one);
	}
	if (table_rows(t) > 0)
		status = EXIT_OTHER;
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

	read_options(c, argc, argv, o);
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

	read_options(c, argc, argv, o);
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

static int
cmd_control(const struct command *c, struct options *o, int argc, char **argv)
{
	bool		 is_all, is_only;
	size_t		 n;

	read_options(c, argc, argv, o);
	n = (size_t)(argc - optind);
	is_all = o->user != NULL && (c->kinds & OF_USER) != 0;
	if (n > c->max || (is_all && n > 0))
		return wrong_use(c, "too many arguments");
	is_only = c->form == STREAM && n == 1;
	if (n < c->min && !is_all && !is_only)
		return wrong_use(c, "an argument is missing");
	if (hush(o) == -1 || ((c->kinds & OF_OWN) != 0 && go_far(o) == -1))
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
	read_options(c, argc, argv, o);
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

	read_options(c, argc, argv, o);
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
	read_options(NULL, argc, argv, &o);
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
