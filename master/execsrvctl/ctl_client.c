#include "master/execsrvctl/ctl_client.h"

#include <assert.h>
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/client/execsrv.h"
#include "master/execsrvctl/chooser.h"
#include "master/execsrvctl/control.h"
#include "master/execsrvctl/cp/cp.h"
#include "master/execsrvctl/run/fanout.h"
#include "master/execsrvctl/fleet/fleet.h"
#include "master/execsrvctl/forward/forward.h"
#include "master/execsrvctl/run/run.h"
#include "master/execsrvctl/servers.h"

#define PARALLEL	50
#define PARALLEL_MAX	1000
#define SECONDS_MAX	86400	/* seconds */
#define SESSION_ID_LEN	36	/* of our daemon's: a UUID */

enum {
	IN_ATTACH = 1, IN_CP = 2, IN_RUN = 4, IN_SHELL = 8, IN_STDIO = 16,
	IN_FORWARD = 32
};

/* The command line. */
struct client {
	unsigned		 command;
	const char		*synopsis;	/* of its usage */
	struct chooser		 which;	/* of its server */
	char			**env;
	size_t			 nenv;
	const char		**domains;
	size_t			 ndomains;
	const char		**on;	/* lists of servers */
	size_t			 non;
	size_t			 parallel;
	const char		*max_fail;	/* or NULL */
	bool			 all;	/* of the hub */
	const char		*label;	/* those with it, or NULL */
	struct run_options	 run;
	struct cp_options	 cp;
	const char		*option;	/* that is read */
	struct forward_options	 forward;
	bool			 takes;	/* the session from its client */
	bool			 wants_help;
};

static int	 client_complain(const char *what, const char *why);

/* 0, or -1, having said why. */
#define CLIENT_OPT(fn, name, letter, value, commands, help)	\
	static int take_##fn(struct client *, const char *);
#include "proto/client.def"
#undef CLIENT_OPT

static const struct row {
	const char	*name;
	int		 letter;
	const char	*value;
	unsigned	 commands;
	const char	*help;
	int		(*take)(struct client *, const char *);
} rows[] = {
#define CLIENT_OPT(fn, name, letter, value, commands, help)	\
	{ name, letter, value, commands, help, take_##fn },
#include "proto/client.def"
#undef CLIENT_OPT
};

#define ROWS	(sizeof(rows) / sizeof(rows[0]))

/* Always -1. */
static int
client_complain(const char *what, const char *why)
{
	fprintf(stderr, "execsrvctl: %s: %s\n", what, why);
	return -1;
}

/* A value of the option that is read. */
static int
client_refuse(const struct client *c, const char *value, const char *expected)
{
	fprintf(stderr, "execsrvctl: --%s %s: expected %s\n", c->option, value,
	    expected);
	return -1;
}

/* --- options --- */

/* Print the usage; in full on standard output only. */
static void
client_usage(const struct client *c, FILE *out)
{
	const struct row	*row;
	char			 words[64];

	fprintf(out, "usage: execsrvctl %s\n", c->synopsis);
	if (out == stderr)
		return;
	putchar('\n');
	for (row = rows; row < rows + ROWS; row++) {
		if ((row->commands & c->command) == 0)
			continue;
		snprintf(words, sizeof(words), "--%s %s", row->name,
		    row->value);
		if (row->letter != 0)
			fprintf(out, "  -%c, %-26s %s\n", row->letter, words,
			    row->help);
		else
			fprintf(out, "      %-26s %s\n", words, row->help);
	}
}

static int
take_ca_file(struct client *c, const char *value)
{
	c->which.ca_file = value;
	return 0;
}

static int
take_cwd(struct client *c, const char *value)
{
	c->run.cwd = value;
	return 0;
}

static int
take_workdir(struct client *c, const char *value)
{
	return take_cwd(c, value);
}

/* Options without a value. */
#define TAKE_FLAG(name, member)					\
	static int						\
	take_##name(struct client *c, const char *value)	\
	{							\
		(void)value;					\
		c->member = true;				\
		return 0;					\
	}
TAKE_FLAG(detach, run.detach)
TAKE_FLAG(go_on, cp.go_on)
TAKE_FLAG(help, wants_help)
TAKE_FLAG(on_all, all)
TAKE_FLAG(preserve, cp.preserve)
TAKE_FLAG(quiet, cp.quiet)
TAKE_FLAG(recursive, cp.recursive)
TAKE_FLAG(tty, run.tty)
#undef TAKE_FLAG

static int
take_interactive(struct client *c, const char *value)
{
	(void)c;
	(void)value;
	return 0;
}

/* Take NAME=VALUE, or NAME for a variable of the caller (if it is set). */
static int
take_env(struct client *c, const char *value)
{
	const char	*here = "";
	bool		 is_whole = strchr(value, '=') != NULL;

	if (value[0] == '\0' || value[0] == '=')
		return client_refuse(c, value, "NAME or NAME=VALUE");
	if (!is_whole && (here = getenv(value)) == NULL)
		return 0;
	if (asprintf(&c->env[c->nenv], "%s%s%s", value, is_whole ? "" : "=",
	    here) == -1) {
		c->env[c->nenv] = NULL;
		return client_complain(value, strerror(ENOMEM));
	}
	c->nenv++;
	return 0;
}

/* Return a number up to max that ends with end; -1: it is none. */
static long
number_until(const char *value, const char *end, long max)
{
	char	*rest;
	long	 n;

	errno = 0;
	n = strtol(value, &rest, 10);
	return errno != 0 || value[0] < '0' || value[0] > '9' || n > max ||
	    strcmp(rest, end) != 0 ? -1 : n;
}

/* Return a number of seconds as ms, or -1, having said why. */
static int
seconds_in_ms(const struct client *c, const char *value, long min)
{
	long	 n = number_until(value, "", SECONDS_MAX);

	return n >= min ? (int)n * 1000 : client_refuse(c, value, min == 0 ?
	    "a number of seconds up to 86400" :
	    "a number of seconds from 1 to 86400");
}

static int
take_label(struct client *c, const char *value)
{
	c->label = value;
	return 0;
}

static int
take_max_fail(struct client *c, const char *value)
{
	if (number_until(value, "", INT_MAX) == -1 &&
	    number_until(value, "%", 100) == -1)
		return client_refuse(c, value, "a number of servers, or of "
		    "percent of them, such as 3 or 5%");
	c->max_fail = value;
	return 0;
}

static int
take_on(struct client *c, const char *value)
{
	c->on[c->non++] = value;
	return 0;
}

static int
take_parallel(struct client *c, const char *value)
{
	long	 n = number_until(value, "", PARALLEL_MAX);

	if (n < 1)
		return client_refuse(c, value, "a number from 1 to 1000");
	c->parallel = (size_t)n;
	return 0;
}

static int
take_patience(struct client *c, const char *value)
{
	int	 ms = seconds_in_ms(c, value, 0);

	c->which.how.recover_ms = ms == 0 ? -1 : ms;
	return ms == -1 ? -1 : 0;
}

static int
take_dir(struct client *c, const char *value)
{
	c->which.dir = value;
	return 0;
}

static int
take_allow_domain(struct client *c, const char *value)
{
	c->domains[c->ndomains++] = value;
	return 0;
}

static int
take_sandbox(struct client *c, const char *value)
{
	c->run.has_sandbox = true;
	return servers_read_sandbox(value, &c->run.sandbox) == 0 ? 0 :
	    client_refuse(c, value, "read-only, workspace-write or none");
}

/* Take a FROM:TO; the list has room for all arguments. */
static int
take_local(struct client *c, const char *value)
{
	if (forward_spec_parse(value, &c->forward.spec[c->forward.n]) == -1)
		return client_refuse(c, value, "[BIND:]PORT:HOST:PORT, "
		    "where a path may stand for address and port");
	c->forward.n++;
	return 0;
}

static int
take_remote(struct client *c, const char *value)
{
	c->forward.spec[c->forward.n].is_there = true;
	return take_local(c, value);
}

static int
take_silence(struct client *c, const char *value)
{
	int	 ms = seconds_in_ms(c, value, 1);

	c->which.how.silence_ms = ms;
	return ms == -1 ? -1 : 0;
}

static int
take_take(struct client *c, const char *value)
{
	(void)value;
	c->takes = true;
	return 0;
}

static int
take_token_file(struct client *c, const char *value)
{
	c->which.token_file = value;
	return 0;
}

static int
take_url(struct client *c, const char *value)
{
	c->which.url = value;
	return 0;
}

/* Make the arguments of getopt_long(3) from the rows of a command. */
static void
list_options(const struct client *c, char *letters, struct option *list)
{
	const struct row	*row;

	*letters++ = '+';
	for (row = rows; row < rows + ROWS; row++) {
		if ((row->commands & c->command) == 0)
			continue;
		*list++ = (struct option){ row->name, row->value[0] != '\0' ?
		    required_argument : no_argument, NULL,
		    (int)(row - rows) + 256 };
		if (row->letter == 0)
			continue;
		*letters++ = (char)row->letter;
		if (row->value[0] != '\0')
			*letters++ = ':';
	}
	*letters = '\0';
	*list = (struct option){ NULL, 0, NULL, 0 };
}

static const struct row *
find_row(const struct client *c, int opt)
{
	const struct row	*row;

	assert(opt < 256 + (int)ROWS);
	if (opt >= 256)
		return &rows[opt - 256];
	for (row = rows; row < rows + ROWS; row++)
		if (row->letter == opt && (row->commands & c->command) != 0)
			return row;
	return NULL;
}

/*
 * Read options; the other arguments begin at optind.  0, or -1, having said
 * why.
 */
static int
client_read_options(struct client *c, int argc, char **argv)
{
	const struct row	*row;
	struct option		 list[ROWS + 1];
	char			 letters[2 * ROWS + 2];
	char			*first = argv[0], name[64];
	int			 opt;

	list_options(c, letters, list);
	/* What getopt(3) says of a wrong one begins so. */
	snprintf(name, sizeof(name), "execsrvctl: %s", first);
	argv[0] = name;
	optind = 0;			/* glibc: start again */
	while ((opt = getopt_long(argc, argv, letters, list, NULL)) != -1) {
		if ((row = find_row(c, opt)) == NULL)
			client_usage(c, stderr);
		if (row == NULL)
			break;
		c->option = row->name;
		if (row->take(c, optarg) == -1)
			break;
	}
	argv[0] = first;
	return opt == -1 ? 0 : -1;
}

/* --- the commands --- */

/*
 * Make room for the variables of the command line, after TERM, which -e may
 * override.
 */
static int
client_begin(struct client *c, int argc)
{
	if (chooser_begin(&c->which) == -1)
		return -1;
	c->nenv = 1;
	c->env = calloc((size_t)argc + 2, sizeof(char *));
	c->domains = calloc((size_t)argc + 1, sizeof(char *));
	c->on = calloc((size_t)argc + 1, sizeof(char *));
	c->parallel = PARALLEL;
	c->forward.spec = calloc((size_t)argc + 1, sizeof(*c->forward.spec));
	return c->env != NULL && c->domains != NULL && c->on != NULL &&
	    c->forward.spec != NULL ? 0 :
	    client_complain(c->synopsis, strerror(errno));
}

static void
client_end(struct client *c)
{
	size_t	 i;

	for (i = 0; c->env != NULL && i < c->nenv; i++)
		free(c->env[i]);
	free(c->env);
	free(c->domains);
	free(c->on);
	free(c->forward.spec);
	chooser_end(&c->which);
}

static void
complete_run(struct client *c)
{
	if (c->ndomains > 0)
		c->run.allow_domains = c->domains;
	c->run.env = (const char *const *)c->env + (c->env[0] == NULL);
}

static int
run_there(struct client *c)
{
	struct server	 s;
	const char	**env = NULL;
	int		 status = EXIT_RUN;

	if (chooser_find(&c->which, NULL, &s) == 0) {
		c->run.url = s.url;
		c->run.how = c->which.how;
		server_set_how(&s, &c->run.how);
		complete_run(c);
		if ((env = run_defaults(&c->run, &s)) != NULL)
			status = run_command(&c->run);
		else
			client_complain(s.url, strerror(errno));
	}
	free(env);
	server_fini(&s);
	return status;
}

/* --- several servers --- */

static int
add_target(struct client *c, struct fanout_options *o, const char *text)
{
	struct fanout_target	*more;

	if (text[0] == '\0')
		return client_complain("--on", "a server is missing");
	if ((o->n & (o->n - 1)) == 0) {	/* a power of two: full */
		more = reallocarray(o->targets, o->n > 0 ? 2 * o->n : 1,
		    sizeof(*more));
		if (more == NULL)
			return client_complain(text, strerror(errno));
		o->targets = more;
	}
	more = &o->targets[o->n];
	memset(more, 0, sizeof(*more));
	o->n++;
	if ((more->name = fanout_name(text)) == NULL)
		return client_complain(text, strerror(errno));
	return chooser_find(&c->which, text, &more->server);
}

static int
add_list(struct client *c, struct fanout_options *o, const char *list)
{
	char	*copy, *rest, *one;
	int	 r = 0;

	if ((rest = copy = strdup(list)) == NULL)
		return client_complain("--on", strerror(errno));
	while (r == 0 && (one = strsep(&rest, ",")) != NULL)
		r = add_target(c, o, one);
	free(copy);
	return r;
}

/* What it takes to ask the hub, it takes to reach its environments. */
static int
add_environment(struct client *c, struct fanout_options *o, const char *name,
    const struct server *hub)
{
	struct server	*s;
	char		*url;
	int		 r;

	if (asprintf(&url, "remote:%s@%s", name, hub->url) == -1)
		return client_complain("--all", strerror(ENOMEM));
	r = add_target(c, o, url);
	free(url);
	if (r == -1)
		return -1;
	assert(o->n > 0);
	s = &o->targets[o->n - 1].server;
	if ((s->token == NULL && hub->token != NULL &&
	    server_set_token(s, hub->token) == -1) ||
	    (s->ca_file == NULL && hub->ca_file != NULL &&
	    server_set_ca(s, hub->ca_file) == -1))
		return client_complain(name, strerror(errno));
	return 0;
}

/* Those of the hub, in its order. */
static int
add_all(struct client *c, struct fanout_options *o)
{
	struct fleet_names	 f;
	size_t			 i;
	int			 r = fleet_names(&c->which, c->label, &f) ==
				    EXIT_OK ? 0 : -1;

	for (i = 0; r == 0 && i < f.n; i++)
		r = add_environment(c, o, f.name[i], &f.hub);
	fleet_names_fini(&f);
	return r;
}

/* How many may fail, of n. */
static size_t
may_fail(const struct client *c, size_t n)
{
	long	 max;

	if (c->max_fail == NULL)
		return n;
	if ((max = number_until(c->max_fail, "", INT_MAX)) != -1)
		return (size_t)max;
	max = number_until(c->max_fail, "%", 100);
	assert(max != -1);
	return n * (size_t)max / 100;
}

static int
run_on_all(struct client *c)
{
	struct fanout_options	 o = { .run = &c->run };
	size_t			 i;
	int			 r = 0, status = EXIT_RUN;

	if (c->run.tty || c->run.detach ||
	    (c->which.url != NULL && !c->all)) {
		client_complain("--all, --on", "not with --detach or --tty; "
		    "--url is of the hub of --all");
		return EXIT_RUN;
	}
	if (c->all)
		r = add_all(c, &o);
	for (i = 0; r == 0 && i < c->non; i++)
		r = add_list(c, &o, c->on[i]);
	if (r == 0) {
		o.parallel = c->parallel;
		o.max_fail = may_fail(c, o.n);
		c->run.how = c->which.how;
		complete_run(c);
		status = fanout_command(&o);
	}
	fanout_free_targets(&o);
	return status;
}

/* TERM is passed on with a terminal only. */
static int
add_term(struct client *c)
{
	const char	*term = getenv("TERM");

	assert(c->env[0] == NULL);
	if (!c->run.tty || term == NULL)
		return 0;
	if (asprintf(&c->env[0], "TERM=%s", term) != -1)
		return 0;
	c->env[0] = NULL;
	return client_complain("TERM", strerror(ENOMEM));
}

static int
do_run(struct client *c, int argc, char **argv)
{
	(void)argc;
	c->run.argv = (const char *const *)argv;
	if (c->label != NULL && !c->all) {
		client_complain("--label", "only with --all");
		return EXIT_RUN;
	}
	if (c->non > 0 || c->all)
		return run_on_all(c);
	return add_term(c) == 0 ? run_there(c) : EXIT_RUN;
}

static int
do_shell(struct client *c, int argc, char **argv)
{
	(void)argc;
	(void)argv;
	c->run.tty = isatty(STDIN_FILENO);
	return add_term(c) == 0 ? run_there(c) : EXIT_RUN;
}

/*
 * Ask the daemon or the server for the id of a session that is named by its
 * number or the beginning of its id.  malloc'd; NULL, having said why.
 */
static char *
find_session(struct client *c, char *name)
{
	struct control_request	 q = { .dir = c->which.dir, .command = "show",
				    .arg = &name, .narg = 1 };
	const char		*told = chooser_told(&c->which, NULL);
	struct control_error	 e;
	struct table		*t;
	const char		*found;
	char			*id = NULL;

	if (told != NULL && chooser_connect(&c->which, told) == -1)
		return NULL;
	q.x = c->which.x;
	if (control_ask(&q, &t, NULL, &e) != EXIT_OK)
		control_complain(&e);	/* which names it */
	else if ((found = table_cell(t, "id")) == NULL ||
	    (id = strdup(found)) == NULL)
		client_complain(name, "the daemon did not send the session id");
	table_free(&t);
	return id;
}

/* A whole id needs no question. */
static int
do_attach(struct client *c, int argc, char **argv)
{
	char	*slash = strchr(argv[0], '/'), *id = NULL;
	int	 status;

	(void)argc;
	if (slash != NULL) {
		*slash = '\0';
		c->run.process = slash + 1;
	}
	if (strlen(argv[0]) < SESSION_ID_LEN &&
	    (id = find_session(c, argv[0])) == NULL)
		return EXIT_RUN;
	c->run.session = id != NULL ? id : argv[0];
	c->which.how.take = c->takes;
	status = run_there(c);
	free(id);
	return status;
}

static int
do_cp(struct client *c, int argc, char **argv)
{
	struct server	 s = { .url = NULL };
	const char	*why;
	char		*name;
	int		 status = EXIT_OTHER;

	if ((why = cp_args(&c->cp, argc, argv, &name)) != NULL) {
		client_complain("cp", why);
		return EXIT_USAGE;
	}
	if (chooser_find(&c->which, name[0] != '\0' ? name : NULL, &s) == 0) {
		c->cp.url = s.url;
		c->cp.how = c->which.how;
		server_set_how(&s, &c->cp.how);
		status = cp_command(&c->cp);
	}
	server_fini(&s);
	return status;
}

static int
do_stdio(struct client *c, int argc, char **argv)
{
	struct execsrv_options	 how = c->which.how;
	struct execsrv_error	 e;
	struct server		 s;
	int			 status = EXIT_OTHER;

	/* A reader that has gone is seen by the error of a write. */
	signal(SIGPIPE, SIG_IGN);
	if (chooser_find(&c->which, argc > 0 ? argv[0] : NULL, &s) == 0) {
		server_set_how(&s, &how);
		if (execsrv_carry(s.url, &how, STDIN_FILENO, STDOUT_FILENO,
		    &e) == 0)
			status = EXIT_OK;
		else
			fprintf(stderr, "execsrvctl: %s\n", e.text);
	}
	server_fini(&s);
	return status;
}

static int
do_forward(struct client *c, int argc, char **argv)
{
	struct server	 s;
	int		 status = EXIT_RUN;

	(void)argc;
	(void)argv;
	if (c->forward.n == 0) {
		client_complain("forward", "-L or -R is missing");
		client_usage(c, stderr);
		return EXIT_RUN;
	}
	if (chooser_find(&c->which, NULL, &s) == 0) {
		c->forward.url = s.url;
		c->forward.how = c->which.how;
		server_set_how(&s, &c->forward.how);
		status = forward_command(&c->forward);
	}
	server_fini(&s);
	return status;
}

static const struct command {
	const char	*name;
	unsigned	 bit;
	const char	*synopsis;	/* of its usage */
	int		 min, max;	/* arguments after the options */
	int		(*fn)(struct client *, int, char **);
} commands[] = {
	{ "attach", IN_ATTACH, "attach [OPTION...] SESSION[/PROCESS]", 1, 1,
	    do_attach },
	{ "cp", IN_CP, "cp [OPTION...] SRC... DST", 2, INT_MAX,
	    do_cp },
	{ "forward", IN_FORWARD, "forward [OPTION...] -L FROM:TO | -R FROM:TO "
	    "...", 0, 0, do_forward },
	{ "run", IN_RUN, "run [OPTION...] [--] COMMAND [ARG...]", 1, INT_MAX,
	    do_run },
	{ "shell", IN_SHELL, "shell [OPTION...]", 0, 0, do_shell },
	{ "stdio", IN_STDIO, "stdio [OPTION...] [URL|NAME]", 0, 1, do_stdio },
};

/* Errors end with 125, as 1 and 2 could be the command's; cp and stdio have
   none. */
int
ctl_client_command(const char *dir, bool is_plain, int argc, char **argv)
{
	const struct command	*d = commands;
	struct client		 c = { .which = { .dir = dir } };
	int			 status;

	while (strcmp(d->name, argv[0]) != 0) {
		d++;
		assert(d < commands + sizeof(commands) / sizeof(commands[0]));
	}
	c.command = d->bit;
	c.synopsis = d->synopsis;
	status = (d->bit & (IN_CP | IN_STDIO)) != 0 ? EXIT_USAGE : EXIT_RUN;
	if (!is_plain) {
		client_complain(d->name, "it takes no --json, -q, -f and "
		    "--wait before its name");
		client_usage(&c, stderr);
		return status;
	}
	if (client_begin(&c, argc) == 0 && client_read_options(&c, argc,
	    argv) == 0) {
		argc -= optind;
		argv += optind;
		if (c.wants_help) {
			client_usage(&c, stdout);
			status = fflush(stdout) == 0 ? EXIT_OK : EXIT_RUN;
		} else if (argc < d->min || argc > d->max) {
			client_complain(d->name, argc > d->max ?
			    "too many arguments" : d->bit == IN_RUN ?
			    "a command is missing" :
			    "an argument is missing");
			client_usage(&c, stderr);
		} else {
			status = d->fn(&c, argc, argv);
		}
	}
	client_end(&c);
	return status;
}
