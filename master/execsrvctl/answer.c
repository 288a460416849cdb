#include "master/execsrvctl/answer.h"

#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "master/execsrvctl/control.h"
#include "master/execsrvctl/term.h"

/* The columns of a table that fit 80 characters; NULL: all. */
static const char *
answer_columns(const char *command)
{
	if (strcmp(command, "sessions") == 0)
		return "session,user,state,age,running,cpu_ms,rss,client,peer";
	if (strcmp(command, "ps") == 0)
		return "session,user,pid,state,exit,age,command,process";
	return NULL;
}

const char *
answer_user(const char *name, char *out, size_t size)
{
	const struct passwd	*pw = getpwnam(name);

	if (pw != NULL)
		snprintf(out, size, "%lu", (unsigned long)pw->pw_uid);
	else if (*name != '\0' && name[strspn(name, "0123456789")] == '\0')
		snprintf(out, size, "%s", name);
	else
		fprintf(stderr, "execsrvctl: no such user: %s\n", name);
	return *out != '\0' ? out : NULL;
}

static int
answer_no_column(const struct table *t, const char *name)
{
	fprintf(stderr, "execsrvctl: there is no column \"%.*s\"; there are ",
	    (int)strcspn(name, ","), name);
	table_print_names(t, stderr);
	putc('\n', stderr);
	return EXIT_USAGE;
}

/* Whether rows may be in a state: NULL, or which they may be in. */
static const char *
answer_no_state(const char *command, const char *state)
{
	static const struct {
		const char	*command, *states;
	} rows[] = {
		{ "ps", "running, stopped, exited, closed" },
		{ "sessions", "attached, detached, no answer" },
	};
	size_t	 i, len = strlen(state);
	char	*at;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (strcmp(rows[i].command, command) == 0)
			break;
	if (i == sizeof(rows) / sizeof(rows[0]))
		return NULL;
	at = len == 0 ? NULL : strstr(rows[i].states, state);
	return at != NULL && (at[len] == ',' || at[len] == '\0') &&
	    (at == rows[i].states || at[-1] == ' ') ? NULL : rows[i].states;
}

/* Leave out and put in order what the options say. */
static int
answer_shape(const struct answer_look *o, struct table *t)
{
	const char	*columns = o->columns, *bad;
	const char	*states = o->state == NULL ? NULL :
			    answer_no_state(o->command, o->state);
	char		 number[24] = "";

	if (o->user != NULL && answer_user(o->user, number,
	    sizeof(number)) == NULL)
		return EXIT_OTHER;
	if (o->user != NULL && table_keep(t, "user", number) == -1)
		return answer_no_column(t, "user");
	if (states != NULL) {
		fprintf(stderr, "execsrvctl: --state %s: expected one of %s\n",
		    o->state, states);
		return EXIT_USAGE;
	}
	if (o->state != NULL && table_keep(t, "state", o->state) == -1)
		return answer_no_column(t, "state");
	if (o->sort != NULL && table_sort_by(t, o->sort) == -1)
		return answer_no_column(t, o->sort + (o->sort[0] == '-'));
	if (columns == NULL && !o->json)
		columns = answer_columns(o->command);
	if (columns != NULL && strcmp(columns, "all") != 0 &&
	    (bad = table_pick(t, columns)) != NULL)
		return answer_no_column(t, bad);
	return EXIT_OK;
}

int
answer_print(struct table *t, const struct answer_look *o)
{
	struct table_look	 look;
	int			 r;

	if (o->is_table && (r = answer_shape(o, t)) != EXIT_OK)
		return r;
	if (o->json) {
		if (table_print_json(t, !o->is_table, stdout) == -1) {
			perror("execsrvctl");
			return EXIT_OTHER;
		}
		return EXIT_OK;
	}
	term_look(STDOUT_FILENO, &look);
	look.no_header = o->no_header;
	if (o->is_table)
		table_print(t, &look, stdout);
	else
		table_print_upright(t, &look, stdout);
	return EXIT_OK;
}
