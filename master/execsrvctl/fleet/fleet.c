#include "master/execsrvctl/fleet/fleet.h"

#include <assert.h>
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/client/execsrv.h"
#include "master/execsrvctl/fleet/fleet_token.h"
#include "master/execsrvctl/fleet/hubask.h"
#include "master/execsrvctl/table.h"
#include "master/execsrvctl/term.h"

#define COLUMNS_MAX	16
#define CELL_MAX	1024
#define NEXT_MAX	300	/* bytes of the name of an environment */

/* Columns: members of the same names; "age" is the time since "since". */
static const char *const	 env_columns[] = {
	"environment", "labels", "subject", "address", "age", "streams", "in",
	"out", NULL
}, *const	 harness_columns[] = {
	"harness", "address", "age", "streams", "in", "out", NULL
}, *const	 hub_columns[] = {
	"name", "hub_url", "executors", "draining", NULL
}, *const	 status_columns[] = {
	"name", "version", "pid", "age", "fleet_url", "hub_url", "draining",
	"executors", "harnesses", "streams", "connections", "tokens",
	"tokens_file", NULL
};

/* What is collected of an answer. */
struct fleet_answer {
	struct table	*t;
	const char	*const *columns;
	bool		 is_end_wanted;		/* of the last line */
	bool		 is_harness_wanted;	/* else environments */
	char		 next[NEXT_MAX + 1];	/* "": no more */
	char		 ms[24], silent[24];
	char		 url[CELL_MAX], tokens_file[CELL_MAX];
};

/* The command line, and whom it asks. */
struct fleet_words {
	struct hubask	 ask;
	bool		 is_json;
	const char	*label, *hub;
	struct fleet_token_options token;
};

static int	 fleet_complain(const char *, const char *);

/* Always EXIT_USAGE. */
static int
fleet_complain(const char *what, const char *why)
{
	fprintf(stderr, "execsrvctl: fleet %s: %s\n", what, why);
	return EXIT_USAGE;
}

/* --- rows --- */

static bool
fleet_is_number(const char *column)
{
	static const char *const	 numbers[] = {
		"age", "streams", "in", "out", "pid", "executors", "harnesses",
		"connections", "tokens", NULL
	};
	size_t				 i;

	for (i = 0; numbers[i] != NULL; i++)
		if (strcmp(numbers[i], column) == 0)
			return true;
	return false;
}

static int
new_table(struct fleet_answer *a)
{
	enum table_kind	 kinds[COLUMNS_MAX];
	char		*names[COLUMNS_MAX];
	size_t		 i;
	int		 r = -1;

	assert(a->t == NULL && a->next[0] == '\0');
	memset(names, 0, sizeof(names));
	for (i = 0; a->columns[i] != NULL; i++) {
		assert(i < COLUMNS_MAX);
		kinds[i] = fleet_is_number(a->columns[i]) ?
		    TABLE_NUMBER : TABLE_TEXT;
		if ((names[i] = strdup(a->columns[i])) == NULL)
			goto out;
	}
	if ((a->t = table_new(i, names, kinds)) != NULL)
		r = 0;
 out:
	while (i > 0)
		free(names[--i]);
	return r;
}

/* The member of a column; times become ages. */
static void
fleet_cell(const struct json *j, uint32_t row, const char *column, char *out)
{
	char	 at[24];
	int64_t	 since, now = (int64_t)time(NULL);

	if (strcmp(column, "in") == 0) {
		hubask_text(j, row, "bytes_in", out, CELL_MAX);
	} else if (strcmp(column, "out") == 0) {
		hubask_text(j, row, "bytes_out", out, CELL_MAX);
	} else if (strcmp(column, "age") == 0) {
		hubask_text(j, row, row == 0 ? "started" : "since", at,
		    sizeof(at));
		since = strtoll(at, NULL, 10);
		snprintf(out, CELL_MAX, "%lld", (long long)(now > since ?
		    now - since : 0));
	} else {
		hubask_text(j, row, column, out, CELL_MAX);
	}
}

static int
fleet_add(struct fleet_answer *a, const struct json *j, uint32_t row)
{
	char	 text[COLUMNS_MAX][CELL_MAX], *cells[COLUMNS_MAX];
	size_t	 n;

	for (n = 0; a->columns[n] != NULL; n++) {
		assert(n < COLUMNS_MAX);
		fleet_cell(j, row, a->columns[n], text[n]);
		cells[n] = text[n];
	}
	return table_add(a->t, n, cells);
}

static int
fleet_on_row(void *arg, const struct json *j, uint32_t row)
{
	struct fleet_answer	*a = arg;
	bool			 is_harness;

	if (row == 0) {
		hubask_text(j, 0, "next", a->next, sizeof(a->next));
		hubask_text(j, 0, "ms", a->ms, sizeof(a->ms));
		hubask_text(j, 0, "silent", a->silent, sizeof(a->silent));
		hubask_text(j, 0, "hub_url", a->url, sizeof(a->url));
		hubask_text(j, 0, "tokens_file", a->tokens_file,
		    sizeof(a->tokens_file));
		return a->is_end_wanted ? fleet_add(a, j, 0) : 0;
	}
	is_harness = json_find(j, row, "harness") != 0;
	return a->t == NULL || is_harness != a->is_harness_wanted ? 0 :
	    fleet_add(a, j, row);
}

/* --- questions --- */

/* Ask for the next page; the reason is printed. */
static int
fleet_ask(struct hubask *h, const char *cmd, const char *key,
    const char *value, struct fleet_answer *a)
{
	const char		*member[8] = { "cmd", cmd };
	struct control_error	 e;
	size_t			 n = 2;
	int			 status;

	if (value != NULL) {
		member[n++] = key;
		member[n++] = value;
	}
	if (a->next[0] != '\0') {
		member[n++] = "after";
		member[n++] = a->next;	/* is sent before it changes */
	}
	assert(n < sizeof(member) / sizeof(member[0]));
	status = hubask(h, member, fleet_on_row, a, &e);
	control_complain(&e);
	if (a->silent[0] != '\0')
		fprintf(stderr, "execsrvctl: fleet %s: %s of the other hubs "
		    "did not answer\n", cmd, a->silent);
	a->silent[0] = '\0';
	return status;
}

static int
fleet_print(bool is_json, struct table *t, bool is_one)
{
	struct table_look	 look;

	if (is_json) {
		if (table_print_json(t, is_one, stdout) == 0)
			return EXIT_OK;
		perror("execsrvctl");
		return EXIT_OTHER;
	}
	term_look(STDOUT_FILENO, &look);
	if (is_one)
		table_print_upright(t, &look, stdout);
	else
		table_print(t, &look, stdout);
	return EXIT_OK;
}

/* Collect a table, page after page, and print it. */
static int
fleet_table(struct fleet_words *w, const char *cmd, const char *key,
    const char *value, struct fleet_answer *a, bool is_one)
{
	int	 status;

	if (new_table(a) == -1) {
		perror("execsrvctl");
		return EXIT_OTHER;
	}
	do
		status = fleet_ask(&w->ask, cmd, key, value, a);
	while (status == EXIT_OK && a->next[0] != '\0');
	if (status == EXIT_OK)
		status = fleet_print(w->is_json, a->t, is_one);
	table_free(&a->t);
	return status;
}

/* --- commands --- */

static int
fleet_list(struct fleet_words *w, char **arg)
{
	struct fleet_answer	 a = { .columns = env_columns };

	(void)arg;
	return fleet_table(w, "list", "label", w->label, &a, false);
}

static int
fleet_show(struct fleet_words *w, char **arg)
{
	struct fleet_answer	 a = { .columns = env_columns };
	struct fleet_answer	 h = { .columns = harness_columns,
				    .is_harness_wanted = true };
	int			 status;

	status = fleet_table(w, "show", "environment", arg[0], &a, true);
	if (status != EXIT_OK || w->is_json)
		return status;
	putchar('\n');
	return fleet_table(w, "show", "environment", arg[0], &h, false);
}

static int
fleet_hubs(struct fleet_words *w, char **arg)
{
	struct fleet_answer	 a = { .columns = hub_columns };

	(void)arg;
	return fleet_table(w, "hubs", NULL, NULL, &a, false);
}

static int
fleet_status(struct fleet_words *w, char **arg)
{
	struct fleet_answer	 a = { .columns = status_columns,
				    .is_end_wanted = true };

	(void)arg;
	return fleet_table(w, "status", NULL, NULL, &a, true);
}

/* Each in its turn: one that does not answer takes 2 s. */
static int
fleet_ping(struct fleet_words *w, char **arg)
{
	struct fleet_answer	 a;
	int			 status = EXIT_OK, r;

	for (; *arg != NULL; arg++) {
		memset(&a, 0, sizeof(a));
		r = fleet_ask(&w->ask, "ping", "environment", *arg, &a);
		execsrv_printable(*arg);
		if (r == EXIT_OK)
			printf("%s: %s ms\n", *arg, a.ms);
		else
			status = r;
	}
	return status;
}

static int
fleet_evict(struct fleet_words *w, char **arg)
{
	struct fleet_answer	 a = { .columns = NULL };

	return fleet_ask(&w->ask, "evict", "environment", arg[0], &a);
}

static int
fleet_drain(struct fleet_words *w, char **arg)
{
	struct fleet_answer	 a = { .columns = NULL };

	if (w->hub != NULL && arg[0] != NULL)
		return fleet_complain("drain", "an environment is found "
		    "without --hub");
	return fleet_ask(&w->ask, "drain", w->hub != NULL ? "hub" :
	    "environment", w->hub != NULL ? w->hub : arg[0], &a);
}

static int
fleet_undrain(struct fleet_words *w, char **arg)
{
	struct fleet_answer	 a = { .columns = NULL };

	(void)arg;
	return fleet_ask(&w->ask, "undrain", "hub", w->hub, &a);
}

/* Change the file of tokens, and let the hub read it. */
static int
fleet_token(struct fleet_words *w, char **arg)
{
	struct fleet_answer	 a = { .columns = NULL };
	int			 status;
	bool			 is_asked = w->token.file == NULL;

	if (is_asked && hubask_is_far(&w->ask))
		return fleet_complain("token", "tokens are in a file of the "
		    "hub's machine: not with --url");
	if (is_asked) {
		if ((status = fleet_ask(&w->ask, "status", NULL, NULL, &a)) !=
		    EXIT_OK)
			return status;
		if (a.tokens_file[0] == '\0')
			return fleet_complain("token",
			    "the hub has no TokensFile");
		w->token.file = a.tokens_file;
	}
	status = fleet_token_command(&w->token, arg);
	if (status != EXIT_OK || !is_asked || strcmp(arg[0], "list") == 0)
		return status;
	return fleet_ask(&w->ask, "reload", NULL, NULL, &a);
}

static const struct fleet_row {
	const char	*name;
	int		 min, max;	/* arguments */
	int		(*fn)(struct fleet_words *, char **);
	const char	*usage, *help;
} fleet_rows[] = {
#define FLEET(name, min, max, usage, help) \
	{ #name, min, max, fleet_##name, usage, help },
#define FLEET_OPT(name, letter, takes, help)
#include "proto/fleet.def"
#undef FLEET
#undef FLEET_OPT
};

#define FLEET_ROWS	(sizeof(fleet_rows) / sizeof(fleet_rows[0]))

enum {
	OPT_BASE = 256,
#define FLEET(name, min, max, usage, help)
#define FLEET_OPT(name, letter, takes, help)	OPT_##name,
#include "proto/fleet.def"
#undef FLEET
#undef FLEET_OPT
	OPT_END
};

static const struct fleet_opt {
	const char	*name, *takes, *help;
	int		 letter;
} fleet_opts[] = {
#define FLEET(name, min, max, usage, help)
#define FLEET_OPT(name, letter, takes, help)	{ #name, takes, help, letter },
#include "proto/fleet.def"
#undef FLEET
#undef FLEET_OPT
};

#define FLEET_OPTS	(sizeof(fleet_opts) / sizeof(fleet_opts[0]))

/* A name as it is written: with hyphens. */
static void
fleet_opt_name(const struct fleet_opt *o, char out[32])
{
	char	*at;

	snprintf(out, 32, "%s", o->name);
	for (at = out; *at != '\0'; at++)
		if (*at == '_')
			*at = '-';
}

static void
fleet_usage(FILE *out)
{
	const struct fleet_row	*r;
	const struct fleet_opt	*o;
	char			 name[32], both[64];

	fputs("usage: execsrvctl fleet COMMAND [ARG...]\n\n", out);
	for (r = fleet_rows; r < fleet_rows + FLEET_ROWS; r++)
		fprintf(out, "  %-23s %s\n", r->usage, r->help);
	fputc('\n', out);
	for (o = fleet_opts; o < fleet_opts + FLEET_OPTS; o++) {
		fleet_opt_name(o, name);
		snprintf(both, sizeof(both), "%s%s %s", "--", name, o->takes);
		if (o->letter != 0)
			fprintf(out, "  -%c, %-19s %s\n", o->letter, both,
			    o->help);
		else
			fprintf(out, "      %-19s %s\n", both, o->help);
	}
}

/* 0; 1: help was wanted; -1: wrong. */
static int
fleet_read(struct fleet_options *o, struct fleet_words *w, int argc,
    char **argv)
{
	struct option	 all[FLEET_OPTS + 1];
	char		 name[FLEET_OPTS][32];
	size_t		 i;
	int		 opt;

	memset(all, 0, sizeof(all));
	for (i = 0; i < FLEET_OPTS; i++) {
		fleet_opt_name(&fleet_opts[i], name[i]);
		all[i] = (struct option){ name[i],
		    fleet_opts[i].takes[0] != '\0', NULL, fleet_opts[i].letter
		    != 0 ? fleet_opts[i].letter : OPT_BASE + 1 + (int)i };
	}
	optind = 0;			/* glibc: start again */
	while ((opt = getopt_long(argc, argv, "hl:R:u:", all, NULL)) != -1)
		switch (opt) {
		case 'h':
			return 1;
		case 'l':
			w->label = optarg;
			break;
		case 'R':
			o->which->dir = optarg;
			break;
		case 'u':
			o->which->url = optarg;
			break;
		case OPT_ca_file:
			o->which->ca_file = optarg;
			break;
		case OPT_token_file:
			o->which->token_file = optarg;
			break;
		case OPT_connect:
			w->token.may_connect = optarg;
			break;
		case OPT_expires:
			w->token.days = optarg;
			break;
		case OPT_file:
			w->token.file = optarg;
			break;
		case OPT_hub:
			w->hub = optarg;
			break;
		case OPT_json:
			o->json = true;
			break;
		case OPT_register:
			w->token.may_register = optarg;
			break;
		default:
			return -1;
		}
	return 0;
}

int
fleet_command(struct fleet_options *o, int argc, char **argv)
{
	struct fleet_words	 w = { .label = NULL };
	const struct fleet_row	*row = fleet_rows;
	int			 r = fleet_read(o, &w, argc, argv);

	if (r == 0 && optind == argc) {
		fputs("execsrvctl: fleet: a command is missing (see "
		    "execsrvctl fleet -h)\n", stderr);
		return EXIT_USAGE;
	}
	if (r == 1 || r == -1) {
		fleet_usage(r == 1 ? stdout : stderr);
		return r == 1 ? EXIT_OK : EXIT_USAGE;
	}
	while (row < fleet_rows + FLEET_ROWS && strcmp(row->name,
	    argv[optind]) != 0)
		row++;
	argc -= optind + 1;
	argv += optind + 1;
	if (row == fleet_rows + FLEET_ROWS)
		return fleet_complain(argv[-1], "no such command");
	if (argc < row->min || argc > row->max)
		return fleet_complain(row->name, argc < row->min ?
		    "an argument is missing" : "too many arguments");
	w.is_json = o->json;
	hubask_init(&w.ask, o->which);
	r = row->fn(&w, argv);
	hubask_fini(&w.ask);
	return r;
}

/* --- for others --- */

static int
names_on_row(void *arg, const struct json *j, uint32_t row)
{
	struct fleet_names	*f = arg;
	char			 text[NEXT_MAX + 1], **more;

	if (row == 0) {
		hubask_text(j, 0, "silent", text, sizeof(text));
		if (text[0] != '\0')
			fprintf(stderr, "execsrvctl: --all: %s of the other "
			    "hubs did not answer\n", text);
		return 0;
	}
	hubask_text(j, row, "environment", text, sizeof(text));
	if ((f->n & (f->n - 1)) == 0) {		/* a power of two: full */
		if ((more = reallocarray(f->name, f->n > 0 ? 2 * f->n : 1,
		    sizeof(*more))) == NULL)
			return -1;
		f->name = more;
	}
	if ((f->name[f->n] = strdup(text)) == NULL)
		return -1;
	f->n++;
	return 0;
}

/* Where the hub says that it is, as its machine sees no other. */
static int
fleet_names_here(struct hubask *h, struct server *out)
{
	struct fleet_answer	 a = { .columns = NULL };
	int			 status;

	if ((status = fleet_ask(h, "status", NULL, NULL, &a)) == EXIT_OK &&
	    (out->url = strdup(a.url)) == NULL) {
		perror("execsrvctl");
		status = EXIT_OTHER;
	}
	return status;
}

int
fleet_names(const struct chooser *which, const char *label,
    struct fleet_names *out)
{
	struct hubask		 h;
	struct control_error	 e;
	size_t			 before;
	int			 status = EXIT_OK;

	memset(out, 0, sizeof(*out));
	hubask_init(&h, which);
	if (!hubask_is_far(&h))
		status = fleet_names_here(&h, &out->hub);
	before = SIZE_MAX;
	while (status == EXIT_OK && out->n != before) {
		const char	*member[] = {
			"cmd", "list", "after", out->n > 0 ?
			out->name[out->n - 1] : "", label != NULL ? "label" :
			NULL, label, NULL
		};

		before = out->n;
		status = hubask(&h, member, names_on_row, out, &e);
		control_complain(&e);
	}
	if (hubask_is_far(&h)) {
		out->hub = h.far;
		memset(&h.far, 0, sizeof(h.far));
	}
	hubask_fini(&h);
	return status;
}

void
fleet_names_fini(struct fleet_names *f)
{
	while (f->n > 0)
		free(f->name[--f->n]);
	free(f->name);
	server_fini(&f->hub);
	memset(f, 0, sizeof(*f));
}
