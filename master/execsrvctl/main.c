/* execsrvctl: commands for the daemon, and for exec servers as a client. */
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/fd.h"
#include "config.h"
#include "master/execsrvctl/check.h"
#include "master/execsrvctl/control.h"
#include "master/execsrvctl/ctl_client.h"
#include "master/execsrvctl/ctl_tail.h"
#include "master/execsrvctl/sandbox.h"
#include "master/execsrvctl/term.h"
#include "master/execsrvctl/top.h"

struct options {
	const char	*dir;
	bool		 json;
	bool		 quiet;
	bool		 follow, wait;	/* for those that have the option */
};

enum form { ONE, ACT, TABLE, STREAM };
enum option_of { NONE, FOLLOW, WAIT };

struct command {
	const char	*name;
	int		(*fn)(const struct command *, struct options *, int,
			    char **);
	enum form	 form;
	enum option_of	 option;
	const char	*arguments;
	const char	*help;
};

static int	 cmd_client(const struct command *, struct options *, int,
		    char **);
static int	 cmd_config(const struct command *, struct options *, int,
		    char **);
static int	 cmd_control(const struct command *, struct options *, int,
		    char **);
static int	 cmd_help(const struct command *, struct options *, int,
		    char **);
static int	 cmd_sandbox(const struct command *, struct options *, int,
		    char **);
static int	 cmd_top(const struct command *, struct options *, int,
		    char **);
static int	 cmd_version(const struct command *, struct options *, int,
		    char **);

static const struct command	 commands[] = {
#define CTL(name, fn, form, who, option, min, max, arguments, help)	\
	{ name, cmd_control, form, option, arguments, help },
#define LOCAL(name, fn, arguments, help)				\
	{ name, cmd_##fn, ONE, NONE, arguments, help },
#include "proto/ctl.def"
#undef CTL
#undef LOCAL
};

#define COMMANDS	(sizeof(commands) / sizeof(commands[0]))
#define WIDTH		31	/* of a command in the help */

static int
execsrvctl_usage(FILE *out)
{
	char	 words[96];
	size_t	 i;
	int	 n;

	fputs("usage: execsrvctl [-R DIR] [--json] [-q] COMMAND [ARG...]\n"
	    "       execsrvctl [-R DIR] attach|cp|run|shell [OPTION...] "
	    "[ARG...]; see their -h\n\n"
	    "  -R, --runtime-dir DIR  run directory of the daemon\n"
	    "      --json             answer in JSON\n"
	    "  -q, --quiet            print nothing, only set the exit "
	    "status\n\n",
	    out);
	for (i = 0; i < COMMANDS; i++) {
		n = snprintf(words, sizeof(words), "%s %s", commands[i].name,
		    commands[i].arguments);
		fprintf(out, "  %-*s%s%*s%s\n", WIDTH, words, n < WIDTH ?
		    "" : "\n  ", n < WIDTH ? 0 : WIDTH, "",
		    commands[i].help);
	}
	return EXIT_USAGE;
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

enum { OPT_JSON = 256, OPT_WAIT };

#define GLOBALS		"fhqR:V"

static const struct option	 global_options[] = {
	{ "follow", no_argument, NULL, 'f' },
	{ "help", no_argument, NULL, 'h' },
	{ "json", no_argument, NULL, OPT_JSON },
	{ "quiet", no_argument, NULL, 'q' },
	{ "runtime-dir", required_argument, NULL, 'R' },
	{ "version", no_argument, NULL, 'V' },
	{ "wait", no_argument, NULL, OPT_WAIT },
	{ NULL, 0, NULL, 0 }
};

/*
 * Read options that all commands have, before or after the name; form is how
 * getopt(3) begins.  The other arguments begin at optind.
 */
static void
read_globals(int argc, char **argv, const char *form, struct options *o)
{
	int	 opt;

	optind = 0;			/* glibc: start again */
	while ((opt = getopt_long(argc, argv, form, global_options,
	    NULL)) != -1)
		switch (opt) {
		case 'f':
			o->follow = true;
			break;
		case 'q':
			o->quiet = true;
			break;
		case OPT_WAIT:
			o->wait = true;
			break;
		case 'R':
			o->dir = optarg;
			break;
		case OPT_JSON:
			o->json = true;
			break;
		case 'h':
			execsrvctl_usage(stdout);
			exit(execsrvctl_finish(EXIT_OK));
		case 'V':
			exit(cmd_version(NULL, o, 0, NULL));
		default:
			exit(execsrvctl_usage(stderr));
		}
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

/* --- commands --- */

static int
cmd_config(const struct command *c, struct options *o, int argc, char **argv)
{
	(void)c;
	read_globals(argc, argv, GLOBALS, o);
	if (argc - optind < 1 || argc - optind > 2 ||
	    strcmp(argv[optind], "check") != 0)
		return execsrvctl_usage(stderr);
	if (hush(o) == -1)
		return EXIT_OTHER;
	return execsrvctl_finish(config_check(argv[optind + 1], o->json));
}

static int
cmd_top(const struct command *c, struct options *o, int argc, char **argv)
{
	struct top_options	 t = { .interval = 1000 };

	(void)c;
	t.dir = o->dir;
	t.json = o->json;
	if (top_read(argc, argv, &t) == -1)
		return execsrvctl_usage(stderr);
	if (hush(o) == -1)
		return EXIT_OTHER;
	return execsrvctl_finish(top(&t));
}

static int
cmd_help(const struct command *c, struct options *o, int argc, char **argv)
{
	(void)c;
	(void)o;
	(void)argc;
	(void)argv;
	execsrvctl_usage(stdout);
	return execsrvctl_finish(EXIT_OK);
}

static int
cmd_version(const struct command *c, struct options *o, int argc, char **argv)
{
	/* After the name; c is NULL for the option --help. */
	if (c != NULL) {
		read_globals(argc, argv, GLOBALS, o);
		if (optind != argc)
			return execsrvctl_usage(stderr);
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
	int	 status = sandbox_command(argc, argv, o->json);

	(void)c;
	return status == EXIT_USAGE ? execsrvctl_usage(stderr) : status;
}

static int
execsrvctl_print(const struct command *c, const struct options *o,
    const struct table *t)
{
	struct table_look	 look;

	if (o->json) {
		if (table_print_json(t, c->form != TABLE, stdout) == -1) {
			perror("execsrvctl");
			return EXIT_OTHER;
		}
		return EXIT_OK;
	}
	term_look(STDOUT_FILENO, &look);
	if (c->form != TABLE)
		table_print_upright(t, &look, stdout);
	else
		table_print(t, &look, stdout);
	return EXIT_OK;
}

static int
cmd_control(const struct command *c, struct options *o, int argc, char **argv)
{
	struct control_request	 q = { .command = c->name };
	struct control_error	 e;
	struct table		*t;
	int			 status, stream;

	read_globals(argc, argv, GLOBALS, o);
	if ((o->follow && c->option != FOLLOW) ||
	    (o->wait && c->option != WAIT))
		return execsrvctl_usage(stderr);
	if (hush(o) == -1)
		return EXIT_OTHER;
	q.dir = o->dir;
	q.arg = argv + optind;
	q.narg = (size_t)(argc - optind);
	q.option = o->follow || o->wait;
	q.is_patient = c->form == ACT;
	status = control_ask(&q, &t, c->form == STREAM ? &stream : NULL, &e);
	if (status == EXIT_OK && c->form == STREAM)
		status = ctl_tail_show(stream, o->json);
	control_complain(&e);
	/* A part of a table is better than nothing, but not for programs; a
	   row that tells the failure is whole. */
	if (t != NULL && (status == EXIT_OK || !o->json ||
	    (c->form == ACT && table_rows(t) > 0)) &&
	    execsrvctl_print(c, o, t) != EXIT_OK && status == EXIT_OK)
		status = EXIT_OTHER;
	table_free(&t);
	return execsrvctl_finish(status);
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
	struct options	 o = { .dir = NULL };
	size_t		 i;

	if (fd_reserve_std() == -1) {
		perror("execsrvctl: /dev/null");
		return EXIT_OTHER;
	}
	read_globals(argc, argv, "+" GLOBALS, &o);
	if (optind == argc)
		return execsrvctl_usage(stderr);
	argc -= optind;
	argv += optind;
	for (i = 0; i < COMMANDS; i++)
		if (strcmp(commands[i].name, argv[0]) == 0)
			return commands[i].fn(&commands[i], &o, argc, argv);
	fprintf(stderr, "execsrvctl: %s: no such command\n", argv[0]);
	return execsrvctl_usage(stderr);
}
