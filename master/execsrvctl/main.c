/* execsrvctl: questions to the daemon, and commands on an exec server. */
#include <errno.h>
#include <getopt.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/fd.h"
#include "common/secret.h"
#include "config.h"
#include "master/execsrvctl/control.h"
#include "master/execsrvctl/run.h"
#include "master/execsrvctl/sandbox.h"

#define PATIENCE_MAX	86400	/* seconds */
#define URL_VARIABLE	"CODEX_EXEC_SERVER_URL"
#define TOKEN_VARIABLE	"EXECSRV_TOKEN"
#define TOKEN_MAX	8192	/* bytes of a file with one */

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

static int	 cmd_control(const struct command *, struct options *, int,
		    char **);
static int	 cmd_help(const struct command *, struct options *, int,
		    char **);
static int	 cmd_run(const struct command *, struct options *, int,
		    char **);
static int	 cmd_sandbox(const struct command *, struct options *, int,
		    char **);
static int	 cmd_version(const struct command *, struct options *, int,
		    char **);

static const struct command	 commands[] = {
#define CTL(name, fn, form, help)	{ name, cmd_control, form, help },
#include "proto/ctl.def"
#undef CTL
	{ "help",	cmd_help,	ONE,	"this text" },
	{ "run",	cmd_run,	ONE,	"run a command on a server" },
	{ "sandbox",	cmd_sandbox,	ONE,
	    "explain what a sandbox object allows" },
	{ "version",	cmd_version,	ONE,	"the version of execsrvctl" },
};

#define COMMANDS	(sizeof(commands) / sizeof(commands[0]))

static int
usage(FILE *out)
{
	size_t	 i;

	fputs("usage: execsrvctl [-R DIR] [--json] COMMAND\n"
	    "       execsrvctl [-R DIR] run [--url URL] [-t] "
	    "[-e NAME=VALUE]...\n"
	    "                  [--cwd DIR] [--patience SECONDS] "
	    "[--token-file FILE] [--]\n"
	    "                  COMMAND [ARG...]\n"
	    "       execsrvctl [--json] sandbox explain [--cwd DIR] "
	    "[--tmpdir DIR]\n"
	    "                  [--native-paths] FILE\n\n"
	    "  -R, --runtime-dir DIR  the daemon's folder\n"
	    "      --json             answer in JSON\n"
	    "      --url URL          ws://IP:PORT or unix:PATH\n"
	    "  -t, --tty              give the command a terminal\n"
	    "  -e, --env NAME[=VALUE] a variable of its environment\n"
	    "      --cwd DIR          where it runs\n"
	    "      --patience SECONDS for a connection that is lost (25)\n"
	    "      --token-file FILE  what to show the server\n\n",
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

enum { OPT_JSON = 256, OPT_URL, OPT_CWD, OPT_PATIENCE, OPT_TOKEN_FILE };

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

/* --- run --- */

static const struct option	 run_options[] = {
	{ "cwd", required_argument, NULL, OPT_CWD },
	{ "env", required_argument, NULL, 'e' },
	{ "help", no_argument, NULL, 'h' },
	{ "patience", required_argument, NULL, OPT_PATIENCE },
	{ "runtime-dir", required_argument, NULL, 'R' },
	{ "token-file", required_argument, NULL, OPT_TOKEN_FILE },
	{ "tty", no_argument, NULL, 't' },
	{ "url", required_argument, NULL, OPT_URL },
	{ NULL, 0, NULL, 0 }
};

/* The variables that a command line may set, and TERM. */
static char **
env_new(int argc)
{
	return calloc((size_t)argc + 2, sizeof(char *));
}

static void
env_free(char ***envp)
{
	char	**v;

	for (v = *envp; v != NULL && *v != NULL; v++)
		free(*v);
	free(*envp);
	*envp = NULL;
}

/*
 * Set one: NAME=VALUE, or NAME alone for ours of that name (nothing if there is
 * none).  0, or -1 with errno: EINVAL (not a variable), ENOMEM.
 */
static int
env_add(char **env, const char *text)
{
	const char	*value = "";
	int		 r;

	if (text[0] == '\0' || text[0] == '=') {
		errno = EINVAL;
		return -1;
	}
	if (strchr(text, '=') == NULL && (value = getenv(text)) == NULL)
		return 0;
	while (*env != NULL)
		env++;
	r = asprintf(env, "%s%s%s", text, strchr(text, '=') == NULL ? "=" :
	    "", value);
	if (r == -1)
		*env = NULL;
	return r == -1 ? -1 : 0;
}

/* The first address in the answer that we can use; malloc'd, or NULL. */
static char *
first_url(const struct table *t)
{
	char	*url;
	size_t	 i;

	for (i = 0; (url = table_member(t, "listen", i)) != NULL; i++) {
		if (strncmp(url, "ws://", 5) == 0 ||
		    strncmp(url, "unix:", 5) == 0)
			break;
		free(url);
	}
	return url;
}

/* Where the daemon listens: malloc'd; NULL, having said why. */
static char *
ask_url(const char *dir)
{
	struct control_error	 e;
	struct table		*t;
	char			*url = NULL;

	if (control_ask(dir, "status", &t, &e) != EXIT_OK)
		fprintf(stderr, "execsrvctl: %s\n", e.text);
	else if ((url = first_url(t)) == NULL)
		fputs("execsrvctl: the daemon listens nowhere\n", stderr);
	table_free(&t);
	return url;
}

static int
run_at(struct run_options *r, const char *dir)
{
	char	*asked = NULL;
	int	 status;

	if (r->url == NULL && (r->url = getenv(URL_VARIABLE)) != NULL &&
	    r->url[0] == '\0')
		r->url = NULL;
	if (r->url == NULL && (r->url = asked = ask_url(dir)) == NULL)
		return EXIT_RUN;
	status = run_command(r);
	free(asked);
	return status;
}

static int
read_patience(const char *text, int *ms_out)
{
	char	*end;
	long	 n;

	errno = 0;
	n = strtol(text, &end, 10);
	if (errno != 0 || end == text || *end != '\0' || n < 0 ||
	    n > PATIENCE_MAX) {
		fprintf(stderr, "execsrvctl: --patience %s: not a number of "
		    "seconds up to %d\n", text, PATIENCE_MAX);
		return -1;
	}
	*ms_out = (int)n * 1000;
	return 0;
}

/* One line, of a file that is its owner's only; instead of another one. */
static int
read_token(const char *path, char **token)
{
	char	 why[128], *text;
	size_t	 len;

	if ((text = secret_read_file(path, TOKEN_MAX, &len, why,
	    sizeof(why))) == NULL) {
		fprintf(stderr, "execsrvctl: --token-file %s: %s\n", path,
		    why);
		return -1;
	}
	while (len > 0 && (text[len - 1] == '\n' || text[len - 1] == '\r'))
		text[--len] = '\0';
	if (len == 0) {
		fprintf(stderr, "execsrvctl: --token-file %s: it is empty\n",
		    path);
		sodium_free(text);
		return -1;
	}
	if (*token != NULL)
		sodium_free(*token);
	*token = text;
	return 0;
}

/* 0; 1: help was asked for; -1, having said why. */
static int
read_run(int argc, char **argv, struct options *o, struct run_options *r,
    char **env, char **token)
{
	int	 opt;

	optind = 0;
	while ((opt = getopt_long(argc, argv, "+e:hR:t", run_options,
	    NULL)) != -1)
		switch (opt) {
		case 'e':
			if (env_add(env, optarg) == 0)
				break;
			fprintf(stderr, "execsrvctl: -e %s: %s\n", optarg,
			    strerror(errno));
			return -1;
		case 'h':
			return 1;
		case 'R':
			o->dir = optarg;
			break;
		case 't':
			r->tty = true;
			break;
		case OPT_CWD:
			r->cwd = optarg;
			break;
		case OPT_URL:
			r->url = optarg;
			break;
		case OPT_TOKEN_FILE:
			if (read_token(optarg, token) == -1)
				return -1;
			break;
		case OPT_PATIENCE:
			if (read_patience(optarg, &r->patience) == -1)
				return -1;
			break;
		default:
			usage(stderr);
			return -1;
		}
	if (optind < argc)
		return 0;
	usage(stderr);
	return -1;
}

/* What goes wrong here is 125: 1 and 2 could be the command's. */
static int
cmd_run(const struct command *c, struct options *o, int argc, char **argv)
{
	struct run_options	 r = { .patience = -1 };
	char			**env;
	int			 status = EXIT_RUN;
	bool			 has_term = getenv("TERM") != NULL;
	char			*token = NULL;

	/*
	 * TERM is the first: -e may say otherwise.  The token is nobody's but
	 * the server's.
	 */
	if ((env = env_new(argc)) == NULL || env_add(env, "TERM") == -1 ||
	    sodium_init() == -1 ||
	    ((token = secret_take_env(TOKEN_VARIABLE)) == NULL &&
	    errno != 0)) {
		perror("execsrvctl");
		goto out;
	}
	switch (read_run(argc, argv, o, &r, env, &token)) {
	case 0:
		r.token = token != NULL && token[0] != '\0' ? token : NULL;
		r.argv = (const char *const *)argv + optind;
		/* No terminal, no TERM. */
		r.env = (const char *const *)env + (has_term && !r.tty);
		status = run_at(&r, o->dir);
		break;
	case 1:
		status = cmd_help(c, o, argc, argv);
		break;
	}
 out:
	env_free(&env);
	if (token != NULL)
		sodium_free(token);
	return status;
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
