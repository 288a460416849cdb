/* execsrvctl: questions to the daemon, and commands on an exec server. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/fd.h"
#include "config.h"
#include "master/execsrvctl/client.h"
#include "master/execsrvctl/control.h"
#include "master/execsrvctl/sandbox.h"

struct options {
	const char	*dir;
	bool		 json;
};

enum form { ONE, TABLE };

struct command {
	const char	*name;
	int		(*fn)(const struct command *, struct options *, int,
			    char **);
	enum form	 form;
	const char	*help;
};

static int	 cmd_attach(const struct command *, struct options *, int,
		    char **);
static int	 cmd_control(const struct command *, struct options *, int,
		    char **);
static int	 cmd_cp(const struct command *, struct options *, int,
		    char **);
static int	 cmd_help(const struct command *, struct options *, int,
		    char **);
static int	 cmd_run(const struct command *, struct options *, int,
		    char **);
static int	 cmd_sandbox(const struct command *, struct options *, int,
		    char **);
static int	 cmd_shell(const struct command *, struct options *, int,
		    char **);
static int	 cmd_version(const struct command *, struct options *, int,
		    char **);

static const struct command	 commands[] = {
#define CTL(name, fn, form, help)	{ name, cmd_control, form, help },
#include "proto/ctl.def"
#undef CTL
	{ "attach",	cmd_attach,	ONE,	"go on with a session" },
	{ "cp",		cmd_cp,		ONE,	"files from and to a server" },
	{ "help",	cmd_help,	ONE,	"this text" },
	{ "run",	cmd_run,	ONE,	"run a command on a server" },
	{ "sandbox",	cmd_sandbox,	ONE,
	    "explain what a sandbox object allows" },
	{ "shell",	cmd_shell,	ONE,	"a login shell on a server" },
	{ "version",	cmd_version,	ONE,	"the version of execsrvctl" },
};

#define COMMANDS	(sizeof(commands) / sizeof(commands[0]))

static int
usage(FILE *out)
{
	size_t	 i;

	fputs("usage: execsrvctl [-R DIR] [--json] COMMAND\n"
	    "       execsrvctl [-R DIR] attach|cp|run|shell [OPTION...] "
	    "[ARG...]; see their -h\n"
	    "       execsrvctl [--json] sandbox explain [--cwd DIR] "
	    "[--tmpdir DIR]\n"
	    "                  [--native-paths] FILE\n\n"
	    "  -R, --runtime-dir DIR  the daemon's folder\n"
	    "      --json             answer in JSON\n\n",
	    out);
	for (i = 0; i < COMMANDS; i++)
		fprintf(out, "  %-10s %s\n", commands[i].name,
		    commands[i].help);
	return EXIT_USAGE;
}

/* Everything was printed, or not. */
static int
finish(int status)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return status;
	perror("execsrvctl: output");
	return status == EXIT_OK ? EXIT_OTHER : status;
}

/* --- options --- */

enum { OPT_JSON = 256, OPT_URL, OPT_CWD, OPT_PATIENCE };

static const struct option	 global_options[] = {
	{ "help", no_argument, NULL, 'h' },
	{ "json", no_argument, NULL, OPT_JSON },
	{ "runtime-dir", required_argument, NULL, 'R' },
	{ "version", no_argument, NULL, 'V' },
	{ NULL, 0, NULL, 0 }
};

/*
 * Options of every command, before and behind its name.  The arguments left
 * begin at optind.
 */
static void
read_globals(int argc, char **argv, struct options *o)
{
	int	 opt;

	optind = 0;			/* glibc: begin anew */
	while ((opt = getopt_long(argc, argv, "+hR:V", global_options,
	    NULL)) != -1)
		switch (opt) {
		case 'R':
			o->dir = optarg;
			break;
		case OPT_JSON:
			o->json = true;
			break;
		case 'h':
			usage(stdout);
			exit(finish(EXIT_OK));
		case 'V':
			exit(cmd_version(NULL, o, 0, NULL));
		default:
			exit(usage(stderr));
		}
}

/* --- commands --- */

static int
cmd_help(const struct command *c, struct options *o, int argc, char **argv)
{
	(void)c;
	(void)o;
	(void)argc;
	(void)argv;
	usage(stdout);
	return finish(EXIT_OK);
}

static int
cmd_version(const struct command *c, struct options *o, int argc, char **argv)
{
	(void)c;
	(void)o;
	(void)argc;
	(void)argv;
	puts("execsrvctl " PACKAGE_VERSION);
	return finish(EXIT_OK);
}

static int
cmd_sandbox(const struct command *c, struct options *o, int argc, char **argv)
{
	int	 status = sandbox_command(argc, argv, o->json);

	(void)c;
	return status == EXIT_USAGE ? usage(stderr) : status;
}

static int
print(const struct command *c, const struct options *o, const struct table *t)
{
	if (o->json) {
		if (table_print_json(t, c->form == ONE, stdout) == -1) {
			perror("execsrvctl");
			return EXIT_OTHER;
		}
	} else if (c->form == ONE) {
		table_print_upright(t, stdout);
	} else {
		table_print(t, stdout);
	}
	return EXIT_OK;
}

static int
cmd_control(const struct command *c, struct options *o, int argc, char **argv)
{
	struct control_error	 e;
	struct table		*t;
	int			 status;

	read_globals(argc, argv, o);
	if (optind != argc)
		return usage(stderr);
	status = control_ask(o->dir, c->name, &t, &e);
	if (e.text[0] != '\0')
		fprintf(stderr, "execsrvctl: %s\n", e.text);
	/* A table cut off is better than none, but not for programs. */
	if (t != NULL && (status == EXIT_OK || !o->json) &&
	    print(c, o, t) != EXIT_OK && status == EXIT_OK)
		status = EXIT_OTHER;
	table_free(&t);
	return finish(status);
}

static int
cmd_attach(const struct command *c, struct options *o, int argc, char **argv)
{
	(void)c;
	return client_attach(o->dir, argc, argv);
}

static int
cmd_cp(const struct command *c, struct options *o, int argc, char **argv)
{
	(void)c;
	return client_cp(o->dir, argc, argv);
}

static int
cmd_run(const struct command *c, struct options *o, int argc, char **argv)
{
	(void)c;
	return client_run(o->dir, argc, argv);
}

static int
cmd_shell(const struct command *c, struct options *o, int argc, char **argv)
{
	(void)c;
	return client_shell(o->dir, argc, argv);
}

int
main(int argc, char **argv)
{
	struct options	 o = { .dir = NULL };
	size_t		 i;

	if (fd_reserve_std() == -1)
		return EXIT_OTHER;
	read_globals(argc, argv, &o);
	if (optind == argc)
		return usage(stderr);
	argc -= optind;
	argv += optind;
	for (i = 0; i < COMMANDS; i++)
		if (strcmp(commands[i].name, argv[0]) == 0)
			return commands[i].fn(&commands[i], &o, argc, argv);
	fprintf(stderr, "execsrvctl: %s: no such command\n", argv[0]);
	return usage(stderr);
}
