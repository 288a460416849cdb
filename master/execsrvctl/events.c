#include "master/execsrvctl/events.h"

#include <sys/stat.h>

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/client/execsrv.h"
#include "common/json/json.h"
#include "master/execsrvctl/control.h"

#define LOOK_MS		200	/* between looks at the end of a file */

/* The time of an event, without fractions; -1: it is none. */
static time_t
stamp_of(const char *stamp)
{
	struct tm	 tm;

	memset(&tm, 0, sizeof(tm));
	return strptime(stamp, "%Y-%m-%dT%H:%M:%S", &tm) == NULL ? -1 :
	    timegm(&tm);
}

/* The same on the clock of here; malloc'd, or NULL. */
static char *
local_time(const char *stamp)
{
	char		 text[32];
	struct tm	 tm;
	time_t		 at = stamp_of(stamp);

	if (at == -1 || localtime_r(&at, &tm) == NULL ||
	    strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", &tm) == 0)
		return strdup(stamp);
	return strdup(text);
}

/* --- members --- */

/* A member as text of our own; malloc'd, or NULL: there is none. */
static char *
member(const struct json *j, const char *key)
{
	uint32_t	 at = json_find(j, 0, key);

	return at == 0 ? NULL :
	    strndup(json_text(j, at), json_tok(j, at)->len);
}

static bool
has_value(const struct json *j, const char *key, const char *value)
{
	char	*text = member(j, key);
	bool	 is = text != NULL && strcmp(text, value) == 0;

	free(text);
	return is;
}

/* Whether a user is meant, by name or by number. */
static bool
is_user(const struct json *j, const char *name, const char *number,
    const char *user)
{
	const struct passwd	*pw;
	char			 text[24];

	if (has_value(j, name, user) || has_value(j, number, user))
		return true;
	/* Where the log does not have the name. */
	if (json_find(j, 0, name) != 0 || (pw = getpwnam(user)) == NULL)
		return false;
	snprintf(text, sizeof(text), "%lu", (unsigned long)pw->pw_uid);
	return has_value(j, number, text);
}

static bool
is_wanted(const struct events_look *look, const struct json *j)
{
	char	*at = member(j, "time");
	bool	 is = at != NULL && stamp_of(at) >= look->since;

	free(at);
	return is && (look->event == NULL ||
	    has_value(j, "event", look->event)) && (look->session == NULL ||
	    has_value(j, "session", look->session)) && (look->user == NULL ||
	    is_user(j, "user", "uid", look->user) ||
	    is_user(j, "by_user", "by_uid", look->user));
}

/* Print a text in quotes. */
static void
events_put_quoted(FILE *f, const char *text)
{
	putc('"', f);
	for (; *text != '\0'; text++) {
		if (*text == '"' || *text == '\\')
			putc('\\', f);
		putc(*text, f);
	}
	putc('"', f);
}

/* Print a value; a text with blanks or none in quotes. */
static void
events_put_value(FILE *f, const struct json *j, uint32_t at)
{
	const struct json_tok	*t = json_tok(j, at);
	char			*text = strndup(json_text(j, at), t->len);
	bool			 is_bare = t->type != JSON_STRING;
	uint32_t		 i;

	if (t->type == JSON_ARRAY) {
		putc('[', f);
		for (i = json_first(at); json_more(j, at, i);
		    i = json_after_elem(j, i)) {
			if (i != json_first(at))
				putc(' ', f);
			events_put_value(f, j, i);
		}
		putc(']', f);
	} else if (text != NULL) {
		if (!is_bare)
			execsrv_printable(text);
		is_bare = is_bare || (*text != '\0' &&
		    text[strcspn(text, " \"[]=")] == '\0');
		if (is_bare)
			fputs(text, f);
		else
			events_put_quoted(f, text);
	}
	free(text);
}

/* Print all members but those that are said already. */
static void
events_put_members(FILE *f, const struct json *j)
{
	static const char *const	 left_out[] = {
		"time", "run", "seq", "event", "session", "uid", "by_uid"
	};
	uint32_t			 i;
	size_t				 k;

	for (i = json_first(0); json_more(j, 0, i);
	    i = json_after_member(j, i)) {
		for (k = 0; k < sizeof(left_out) / sizeof(left_out[0]); k++)
			if (json_is_text(j, i, left_out[k]))
				break;
		if (k < sizeof(left_out) / sizeof(left_out[0]))
			continue;
		fprintf(f, " %.*s=", (int)json_tok(j, i)->len,
		    json_text(j, i));
		events_put_value(f, j, i + 1);
	}
}

/* Print who it is where the log has a number only. */
static void
put_unnamed(FILE *f, const struct json *j, const char *name,
    const char *number)
{
	char	*text = json_find(j, 0, name) == 0 ? member(j, number) : NULL;
	char	*shown = text != NULL ? table_show_user(text) : NULL;

	if (shown != NULL)
		fprintf(f, " %s=%s", name, shown);
	free(shown);
	free(text);
}

static void
put_event(FILE *f, const struct json *j)
{
	char	*at = member(j, "time"), *event = member(j, "event");
	char	*session = member(j, "session");
	char	*shown = at != NULL ? local_time(at) : NULL;

	if (event != NULL)
		execsrv_printable(event);
	fprintf(f, "%s %-16s", shown != NULL ? shown : "",
	    event != NULL ? event : "");
	if (session != NULL)
		fprintf(f, " session=%s", session);
	put_unnamed(f, j, "by_user", "by_uid");
	put_unnamed(f, j, "user", "uid");
	events_put_members(f, j);
	putc('\n', f);
	free(at);
	free(event);
	free(session);
	free(shown);
}

/* --- lines --- */

/* A line for people, or as it is.  malloc'd, or NULL: it is not wanted. */
static char *
events_shown(const struct events_look *look, char *line)
{
	struct json	 j;
	char		*copy = strdup(line), *out = NULL;
	size_t		 len;
	FILE		*f;

	if (copy == NULL)
		return NULL;
	json_init(&j);
	if (json_parse(&j, line, strlen(line)) == 0 && is_wanted(look, &j)) {
		if (look->is_json) {
			out = copy;
			copy = NULL;
		} else if ((f = open_memstream(&out, &len)) != NULL) {
			put_event(f, &j);
			if (fclose(f) == 0)
				out[strcspn(out, "\n")] = '\0';
		}
	}
	json_fini(&j);
	free(copy);
	return out;
}

void
events_print(const struct events_look *look, char *line)
{
	char	*text = events_shown(look, line);

	if (text != NULL)
		puts(text);
	free(text);
}

/* The last lines that are wanted, in a ring. */
struct ring {
	char	**line;
	size_t	  n, at;
};

static void
ring_put(struct ring *r, char *line)
{
	assert(r->n > 0 && r->line != NULL);
	free(r->line[r->at % r->n]);
	r->line[r->at++ % r->n] = line;
}

static void
ring_print(struct ring *r)
{
	size_t	 i;

	for (i = 0; i < r->n; i++, r->at++) {
		if (r->line[r->at % r->n] != NULL)
			puts(r->line[r->at % r->n]);
		free(r->line[r->at % r->n]);
	}
	free(r->line);
}

/* Read what there is of a file.  0, or -1 with errno. */
static int
events_read(const struct events_look *look, FILE *f, char **line,
    size_t *size, struct ring *r)
{
	ssize_t	 len;
	long	 at;
	char	*text;

	clearerr(f);
	while (at = ftell(f), (len = getline(line, size, f)) > 0) {
		if ((*line)[len - 1] != '\n' && look->follows) {
			/* The rest of it comes. */
			return at == -1 ? 0 : fseek(f, at, SEEK_SET);
		}
		(*line)[strcspn(*line, "\n")] = '\0';
		if (r == NULL)
			events_print(look, *line);
		else if ((text = events_shown(look, *line)) != NULL)
			ring_put(r, text);
	}
	return ferror(f) ? -1 : 0;
}

/* Whether a name is that of another file by now, or the file was emptied. */
static bool
was_rotated(FILE *f, const char *path)
{
	struct stat	 st, now;

	return fstat(fileno(f), &st) == 0 && stat(path, &now) == 0 &&
	    (st.st_ino != now.st_ino || st.st_dev != now.st_dev ||
	    now.st_size < ftell(f));
}

/* Print what is appended, until output fails or we are interrupted. */
static int
events_follow(const struct events_look *look, FILE **f, const char *path,
    char **line, size_t *size)
{
	FILE	*next;

	while (fflush(stdout) == 0 && !ferror(stdout)) {
		poll(NULL, 0, LOOK_MS);
		if (events_read(look, *f, line, size, NULL) == -1)
			return -1;
		if (was_rotated(*f, path) && (next = fopen(path, "re")) !=
		    NULL) {
			/* What came last into the old one. */
			(void)!events_read(look, *f, line, size, NULL);
			fclose(*f);
			*f = next;
		}
	}
	return 0;
}

static int
show_file(const struct events_look *look, const char *path, bool is_last)
{
	struct ring	 r = { NULL, look->last, 0 };
	bool		 is_input = strcmp(path, "-") == 0;
	FILE		*f = is_input ? stdin : fopen(path, "re");
	char		*line = NULL;
	size_t		 size = 0;
	int		 status = EXIT_OTHER;

	if (f == NULL || (r.n > 0 && (r.line = calloc(r.n, sizeof(char *))) ==
	    NULL) || events_read(look, f, &line, &size, r.n > 0 ? &r : NULL) ==
	    -1)
		goto out;
	if (r.line != NULL)
		ring_print(&r);
	r.line = NULL;
	if (!is_last || is_input || !look->follows ||
	    events_follow(look, &f, path, &line, &size) == 0)
		status = EXIT_OK;
 out:
	if (status != EXIT_OK)
		fprintf(stderr, "execsrvctl: %s: %s\n", path,
		    strerror(errno));
	free(r.line);
	free(line);
	if (f != NULL && !is_input)
		fclose(f);
	return status;
}

int
events_files(const struct events_look *look, char *const *path, size_t n)
{
	int	 status = EXIT_OK;
	size_t	 i;

	for (i = 0; i < n; i++)
		if (show_file(look, path[i], i + 1 == n) != EXIT_OK)
			status = EXIT_OTHER;
	return status;
}

char *
events_path(const char *dir, int *status_out)
{
	struct control_error	 e;
	struct table		*t;
	const char		*audit;
	char			*path = NULL;

	*status_out = control_ask_simply(dir, "status", &t, &e);
	control_complain(&e);
	if (*status_out == EXIT_OK &&
	    (audit = table_cell(t, "audit")) != NULL && audit[0] == '/') {
		/* It may say besides that events are lost. */
		path = strndup(audit, strcspn(audit, ";"));
	} else if (*status_out == EXIT_OK) {
		*status_out = EXIT_OTHER;
		fputs("execsrvctl: the daemon keeps no audit log in a file "
		    "(AuditLog)\n", stderr);
	}
	table_free(&t);
	return path;
}

/* --- from the daemon --- */

static void
on_row(void *arg, char *const *cell, size_t n)
{
	if (n != 1)
		return;
	events_print(arg, cell[0]);
	/* Whoever does not want more has closed it. */
	if (fflush(stdout) == EOF)
		exit(EXIT_OTHER);
}

int
events_watch(const struct events_look *look, const char *dir)
{
	struct control_request	 q = { .dir = dir, .command = "watch" };
	struct control_error	 e;
	struct table		*t;
	int			 status;

	q.is_patient = true;
	q.on_row = on_row;
	q.arg_of_row = (void *)(uintptr_t)look;
	status = control_ask(&q, &t, NULL, &e);
	control_complain(&e);
	table_free(&t);
	return status;
}
