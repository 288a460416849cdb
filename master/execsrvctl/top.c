#include "master/execsrvctl/top.h"

#include <errno.h>
#include <getopt.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "master/execsrvctl/control.h"
#include "master/execsrvctl/term.h"

#define INTERVAL_MIN	100		/* ms */
#define INTERVAL_MAX	3600000
#define TIMES_MAX	1000000000

/* The alternate screen without cursor; its top; the rest of a line. */
#define ENTER		"\033[?1049h\033[?25l"
#define LEAVE		"\033[?25h\033[?1049l"
#define HOME		"\033[H"
#define REST_OF_LINE	"\033[K"
#define REST_OF_SCREEN	"\033[J"

#define CTRL_C		3

static volatile sig_atomic_t	 end_requested;

/* --- options --- */

static int
read_interval(const char *text, int *ms_out)
{
	char	*end;
	double	 n;

	errno = 0;
	n = strtod(text, &end) * 1000;
	if (errno != 0 || end == text || *end != '\0' ||
	    !(n >= INTERVAL_MIN && n <= INTERVAL_MAX))
		return -1;
	*ms_out = (int)n;
	return 0;
}

static int
read_times(const char *text, unsigned long *times_out)
{
	char	*end;

	errno = 0;
	*times_out = strtoul(text, &end, 10);
	return errno != 0 || *text < '0' || *text > '9' || *end != '\0' ||
	    *times_out == 0 || *times_out > TIMES_MAX ? -1 : 0;
}

const char *
top_read(int argc, char **argv, struct top_options *t)
{
	enum { JSON = 256 };
	static const struct option	 options[] = {
		{ "batch", no_argument, NULL, 'b' },
		{ "delay", required_argument, NULL, 'd' },
		{ "json", no_argument, NULL, JSON },
		{ "runtime-dir", required_argument, NULL, 'R' },
		{ "times", required_argument, NULL, 'n' },
		{ NULL, 0, NULL, 0 }
	};
	int	 opt;

	optind = opterr = 0;
	while ((opt = getopt_long(argc, argv, ":bd:n:R:", options, NULL)) !=
	    -1)
		switch (opt) {
		case 'b':
			t->batch = true;
			break;
		case 'd':
			if (read_interval(optarg, &t->interval) == -1)
				return "-d: expected a number of seconds from "
				    "0.1 to 3600";
			break;
		case JSON:
			t->json = true;
			break;
		case 'R':
			t->dir = optarg;
			break;
		case 'n':
			if (read_times(optarg, &t->times) == -1)
				return "-n: expected a number from 1 to "
				    "1000000000";
			break;
		case ':':
			return "a value is missing";
		default:
			return "no such option";
		}
	return optind == argc ? NULL : "too many arguments";
}

/* --- one picture --- */

/* Print cells of the status in a line, each as " name value". */
static void
put_cells(FILE *out, const struct table *t, const char *const *names)
{
	const char	*cell;
	char		*text;

	for (; *names != NULL; names++) {
		if ((cell = table_cell(t, *names)) == NULL)
			continue;
		text = strcmp(*names, "uptime") == 0 ?
		    table_show_seconds(cell) : strdup(cell);
		fprintf(out, "%s %s%s", *names, text != NULL ? text : "",
		    names[1] != NULL ? ", " : "\n");
		free(text);
	}
}

static void
put_status(FILE *out, const struct table *t)
{
	static const char *const	 server[] = {
		"version", "pid", "state", "ready", "uptime", NULL
	};
	static const char *const	 sessions[] = {
		"attached", "detached", "kept", "opened", "resumed", "ended",
		NULL
	};
	static const char *const	 workers[] = {
		"spare", "greeting", "waiting", "refused", "dropped",
		"deaths", NULL
	};

	put_cells(out, t, server);
	put_cells(out, t, sessions);
	put_cells(out, t, workers);
	putc('\n', out);
}

/* Print both answers as one line. */
static int
top_put_json(FILE *out, const struct table *status,
    const struct table *sessions)
{
	const struct table	*tables[2] = { status, sessions };
	static const char *const names[2] = {
		"{\"status\":", ",\"sessions\":"
	};
	char			*text;
	size_t			 len;
	FILE			*f;
	int			 i, r = 0;

	for (i = 0; i < 2 && r == 0; i++) {
		if ((f = open_memstream(&text, &len)) == NULL)
			return -1;
		r = table_print_json(tables[i], i == 0, f);
		if (fclose(f) == EOF)
			r = -1;
		text[strcspn(text, "\n")] = '\0';
		if (r == 0)
			fprintf(out, "%s%s", names[i], text);
		free(text);
	}
	if (r == 0)
		fputs("}\n", out);
	return r;
}

/* What is shown, and the picture before, for the load. */
struct view {
	const char	*sort;
	bool		 has_processes, has_help;
	struct table	*before;
	uint64_t	 at;		/* of before, clock_ms() */
};

static void
view_fini(struct view *v)
{
	table_free(&v->before);
}

/* Draw the table, and remember that of sessions for the next load. */
static void
put_table(struct view *v, struct table **tp, const struct table_look *look,
    FILE *out)
{
	/* These first: 80 columns have no room for the others. */
	static const char *const first[] = {
		"session", "user", "state", "running", "%cpu", "cpu_ms", "rss",
		"age", "client", "peer", NULL
	};
	uint64_t	 now = clock_ms();

	if (!v->has_processes && table_add_load(*tp, v->before, now -
	    v->at) == -1)
		return;
	/* Processes have no such columns. */
	(void)!table_sort_by(*tp, v->sort);
	table_prefer(*tp, first);
	table_print(*tp, look, out);
	if (v->has_processes)
		return;
	table_free(&v->before);
	v->before = *tp;
	v->at = now;
	*tp = NULL;
}

/* Ask for it and draw it, or say why not.  Return an exit status. */
static int
draw(const struct top_options *o, struct view *v,
    const struct table_look *look, FILE *out, struct control_error *e)
{
	struct table	*status = NULL, *sessions = NULL;
	int		 r;

	if ((r = control_ask_simply(o->dir, "status", &status, e)) == EXIT_OK)
		r = control_ask_simply(o->dir, v->has_processes ? "ps" :
		    "sessions", &sessions, e);
	if (r == EXIT_OK && o->json) {
		if (top_put_json(out, status, sessions) == -1) {
			snprintf(e->text, sizeof(e->text), "%s",
			    strerror(errno));
			r = EXIT_OTHER;
		}
	} else if (r == EXIT_OK) {
		put_status(out, status);
		if (v->has_help)
			fputs(TOP_KEYS "\n", out);
		put_table(v, &sessions, look, out);
	}
	table_free(&status);
	table_free(&sessions);
	return r;
}

/* --- batches --- */

static int
batch(const struct top_options *o)
{
	static const struct table_look	 plain = { 0 };
	struct view			 v = { .sort = "session" };
	struct control_error		 e;
	unsigned long			 i;
	int				 r = EXIT_OK;

	for (i = 0; o->times == 0 || i < o->times; i++) {
		if (i > 0)
			poll(NULL, 0, o->interval);
		if (i > 0 && !o->json)
			putchar('\n');
		if ((r = draw(o, &v, &plain, stdout, &e)) != EXIT_OK) {
			control_complain(&e);
			break;
		}
		if (fflush(stdout) == EOF) {
			r = EXIT_OTHER;
			break;
		}
	}
	view_fini(&v);
	return r;
}

/* --- on a terminal --- */

static void
top_on_end(int sig)
{
	(void)sig;
	end_requested = 1;
}

static void
watch_ends(void)
{
	static const int	 ends[] = { SIGHUP, SIGINT, SIGQUIT, SIGTERM };
	struct sigaction	 sa;
	size_t			 i;

	memset(&sa, 0, sizeof(sa));
	sa.sa_handler = top_on_end;	/* without SA_RESTART: poll(2) ends */
	sigemptyset(&sa.sa_mask);
	for (i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		sigaction(ends[i], &sa, NULL);
}

/* Draw the first lines of a text, and clear the rest of the screen. */
static void
put_screen(const char *text, unsigned lines)
{
	size_t	 n;

	fputs(HOME, stdout);
	for (; *text != '\0' && lines > 0; text += n, lines--) {
		n = strcspn(text, "\n");
		/* Not after the last one: the screen would scroll. */
		printf("%.*s" REST_OF_LINE "%s", (int)n, text,
		    lines > 1 ? "\r\n" : "");
		n += text[n] == '\n';
	}
	fputs(REST_OF_SCREEN, stdout);
}

/* Draw it; false: it cannot be drawn at all. */
static bool
top_refresh(const struct top_options *o, struct view *v)
{
	struct table_look	 look;
	struct control_error	 e;
	uint16_t		 rows = 24, columns;
	char			*text = NULL;
	size_t			 len;
	FILE			*f;
	bool			 ok;

	(void)!term_size(&rows, &columns);
	term_look(STDOUT_FILENO, &look);
	if ((f = open_memstream(&text, &len)) == NULL)
		return false;
	/* A daemon that restarts comes back. */
	if (draw(o, v, &look, f, &e) != EXIT_OK)
		fprintf(f, "%s\n", e.text);
	ok = fclose(f) == 0;
	if (ok)
		put_screen(text, rows);
	free(text);
	return ok && fflush(stdout) == 0;
}

/* Do what a key asks for; false: end. */
static bool
top_take_key(struct view *v, char key)
{
	static const struct {
		char		 key;
		const char	*sort;
	} sorts[] = {
		{ 'a', "-age" }, { 'c', "-%cpu" }, { 'm', "-rss" },
		{ 's', "session" }
	};
	size_t	 i;

	for (i = 0; i < sizeof(sorts) / sizeof(sorts[0]); i++)
		if (key == sorts[i].key)
			v->sort = sorts[i].sort;
	if (key == 'p')
		v->has_processes = !v->has_processes;
	if (key == 'h' || key == '?')
		v->has_help = !v->has_help;
	return key != 'q' && key != 'Q' && key != CTRL_C;
}

/* Wait for the next turn, or a key; false: the end. */
static bool
wait_for_key(struct view *v, int ms)
{
	struct pollfd	 pfd = { STDIN_FILENO, POLLIN, 0 };
	uint64_t	 now, until = clock_ms() + (uint64_t)ms;
	char		 key;

	while (!end_requested && (now = clock_ms()) < until) {
		if (poll(&pfd, 1, (int)(until - now)) <= 0)
			continue;
		if (read(STDIN_FILENO, &key, 1) != 1)
			return false;	/* the terminal is gone */
		return top_take_key(v, key) && !end_requested;
	}
	return !end_requested;
}

static int
live(const struct top_options *o)
{
	struct view	 v = { .sort = "session" };
	unsigned long	 i;
	bool		 ok = true;

	watch_ends();
	term_raw(STDIN_FILENO);
	fputs(ENTER, stdout);
	for (i = 0; ok && !end_requested; i++) {
		if (o->times != 0 && i >= o->times)
			break;
		if ((ok = top_refresh(o, &v)) &&
		    !wait_for_key(&v, o->interval))
			break;
	}
	view_fini(&v);
	fputs(LEAVE, stdout);
	fflush(stdout);
	term_restore();
	return ok ? EXIT_OK : EXIT_OTHER;
}

int
top(const struct top_options *t)
{
	return t->batch || t->json || !isatty(STDIN_FILENO) ||
	    !isatty(STDOUT_FILENO) ? batch(t) : live(t);
}
