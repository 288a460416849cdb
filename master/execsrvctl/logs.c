#include "master/execsrvctl/logs.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <glob.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/json/b64.h"
#include "common/json/json.h"
#include "master/execsrvctl/control.h"
#include "master/execsrvctl/ctl_tail.h"

/* --- what workers retain --- */

static int
ask_output(const struct logs_look *look, const char *process, bool follows,
    struct ctl_tail_lines *lines)
{
	char			*arg[] = { (char *)(uintptr_t)look->session,
				    (char *)(uintptr_t)process };
	struct control_request	 q = { .dir = look->dir, .x = look->x,
				    .command = "tail" };
	struct control_error	 e;
	struct table		*t;
	int			 status, stream;

	q.arg = arg;
	q.narg = 2;
	q.option = follows;
	status = control_ask(&q, &t, &stream, &e);
	control_complain(&e);
	table_free(&t);
	return status != EXIT_OK ? status : ctl_tail_show(&q, stream,
	    look->is_json, lines);
}

/* What was counted becomes what is left out, so that the last lines remain. */
static void
leave_out(struct ctl_tail_lines *l, size_t last)
{
	assert(l->counts == (last > 0) && (l->counts || l->n == 0));
	l->n += l->is_open;
	l->n = last > 0 && l->n > last ? l->n - last : 0;
	l->counts = l->is_open = false;
}

static int
show_output(const struct logs_look *look, const char *process)
{
	struct ctl_tail_lines	 lines = { .counts = look->last > 0 };
	int			 status;

	if (lines.counts && (status = ask_output(look, process, false,
	    &lines)) != EXIT_OK)
		return status;
	leave_out(&lines, look->last);
	return ask_output(look, process, look->follows, &lines);
}

/* Show what is retained of all processes of a session, one after the other. */
static int
show_outputs(const struct logs_look *look)
{
	char			*arg[] = { (char *)(uintptr_t)look->session };
	struct control_request	 q = { .dir = look->dir, .x = look->x,
				    .command = "ps" };
	struct control_error	 e;
	struct table		*t;
	char			*process;
	int			 status, r;

	q.arg = arg;
	q.narg = 1;
	status = control_ask(&q, &t, NULL, &e);
	control_complain(&e);
	while (t != NULL && (process = table_take(t, "process")) != NULL) {
		r = show_output(look, process);
		status = status == EXIT_OK ? r : status;
		free(process);
	}
	table_free(&t);
	return status;
}

/* --- transcripts --- */

/* One file, while it is read. */
struct reel {
	const struct logs_look	*look;
	struct ctl_tail_lines	*lines;
	double			 began;		/* seconds since 1970 */
};

static double
number_of(const struct json *j, uint32_t at)
{
	char	*text = strndup(json_text(j, at), json_tok(j, at)->len);
	double	 n = text != NULL ? strtod(text, NULL) : 0;

	free(text);
	return n;
}

/* Print output of a transcript, or the line that it stands in. */
static int
logs_put_output(struct reel *r, FILE *out, const void *data, size_t len,
    const char *line)
{
	size_t	 skipped = ctl_tail_skip(r->lines, data, len);

	if (skipped == len)
		return 0;
	if (r->look->is_json)
		return fputs(line, stdout) == EOF ? -1 : 0;
	return ctl_tail_put(out, (const char *)data + skipped,
	    len - skipped);
}

/* A line of a terminal: [seconds, "o", text]. */
static int
on_frame(struct reel *r, const struct json *j, const char *line)
{
	uint32_t	 code = json_after_elem(j, json_first(0)), text;

	text = json_after_elem(j, code);
	if (json_tok(j, text)->type != JSON_STRING ||
	    !json_is_text(j, code, "o") ||
	    r->began + number_of(j, json_first(0)) < (double)r->look->since)
		return 0;
	return logs_put_output(r, stdout, json_text(j, text),
	    json_tok(j, text)->len, line);
}

/* A line of pipes: an object; or the first one, of both kinds. */
static int
on_object(struct reel *r, struct json *j, const char *line)
{
	uint32_t	 at;
	FILE		*out;
	ssize_t		 n;

	if ((at = json_find(j, 0, "timestamp")) != 0)
		r->began = number_of(j, at);
	if ((at = json_find(j, 0, "t")) == 0 ||
	    r->began + number_of(j, at) < (double)r->look->since)
		return 0;
	if (r->look->process != NULL && ((at = json_find(j, 0,
	    "process")) == 0 || !json_is_text(j, at, r->look->process)))
		return 0;
	at = json_find(j, 0, "stream");
	out = at != 0 && json_is_text(j, at, "stderr") ? stderr : stdout;
	if ((at = json_find(j, 0, "data")) != 0)
		return logs_put_output(r, out, json_text(j, at),
		    json_tok(j, at)->len, line);
	if ((at = json_find(j, 0, "base64")) == 0)
		return 0;
	n = b64_decode(j->text + json_tok(j, at)->pos, json_text(j, at),
	    json_tok(j, at)->len);
	return n == -1 ? 0 : logs_put_output(r, out, json_text(j, at),
	    (size_t)n, line);
}

/* The last line may be incomplete: it is left out. */
static int
logs_on_line(struct reel *r, char *line)
{
	struct json	 j;
	char		*copy;
	int		 result = 0;

	if ((copy = strdup(line)) == NULL)
		return -1;
	json_init(&j);
	if (json_parse(&j, copy, strcspn(copy, "\n")) == 0 &&
	    json_tok(&j, 0)->type == JSON_OBJECT)
		result = on_object(r, &j, line);
	else if (j.ntoks > 3 && json_tok(&j, 0)->type == JSON_ARRAY)
		result = on_frame(r, &j, line);
	json_fini(&j);
	free(copy);
	return result;
}

static int
show_transcript(const struct logs_look *look, const char *path,
    struct ctl_tail_lines *lines)
{
	struct reel	 r = { .look = look, .lines = lines };
	FILE		*f = fopen(path, "re");
	char		*line = NULL;
	size_t		 size = 0;
	int		 status = EXIT_OK;

	while (f != NULL && status == EXIT_OK &&
	    getline(&line, &size, f) > 0)
		if (logs_on_line(&r, line) == -1)
			status = EXIT_OTHER;
	if (f == NULL || ferror(f) || status != EXIT_OK) {
		fprintf(stderr, "execsrvctl: %s: %s\n", path,
		    strerror(errno));
		status = EXIT_OTHER;
	}
	free(line);
	if (f != NULL)
		fclose(f);
	return status;
}

static int
is_transcript(const struct dirent *e)
{
	size_t	 n = strspn(e->d_name, "0123456789");

	return n > 0 && (strcmp(e->d_name + n, ".jsonl") == 0 ||
	    strcmp(e->d_name + n, ".cast") == 0);
}

/* Show those of a folder, by their numbers. */
static int
show_folder(const struct logs_look *look, const char *folder,
    struct ctl_tail_lines *lines)
{
	struct dirent	**list;
	char		 *path;
	int		  n, i, r, status = EXIT_OK;

	if ((n = scandir(folder, &list, is_transcript, versionsort)) == -1) {
		fprintf(stderr, "execsrvctl: %s: %s\n", folder,
		    strerror(errno));
		return EXIT_OTHER;
	}
	for (i = 0; i < n; i++) {
		if (asprintf(&path, "%s/%s", folder, list[i]->d_name) == -1)
			path = NULL;
		r = path != NULL ? show_transcript(look, path, lines) :
		    EXIT_OTHER;
		status = r != EXIT_OK ? r : status;
		free(path);
		free(list[i]);
	}
	free(list);
	return status;
}

static int
show_transcripts(const struct logs_look *look, const char *folder)
{
	struct ctl_tail_lines	 lines = { .counts = look->last > 0 };
	int			 status;

	if (lines.counts && (status = show_folder(look, folder, &lines)) !=
	    EXIT_OK)
		return status;
	leave_out(&lines, look->last);
	return show_folder(look, folder, &lines);
}

/* --- which --- */

/* Find the newest folder of a session that has ended; malloc'd, or NULL. */
static char *
logs_find_folder(const struct logs_look *look)
{
	struct control_error	 e;
	struct table		*t;
	const char		*top, *name, *best = NULL;
	char			*pattern = NULL, *folder = NULL;
	glob_t			 found;
	size_t			 i;

	if (look->session[strspn(look->session, "0123456789")] == '\0' &&
	    control_ask_simply(look->dir, "status", &t, &e) == EXIT_OK) {
		top = table_cell(t, "transcripts");
		if (top != NULL && top[0] == '/' && asprintf(&pattern,
		    "%s/*/*Z-*-%s", top, look->session) == -1)
			pattern = NULL;
		table_free(&t);
	}
	if (pattern != NULL && glob(pattern, GLOB_NOSORT, NULL, &found) == 0) {
		/* Their names begin with the time. */
		for (i = 0; i < found.gl_pathc; i++) {
			name = found.gl_pathv[i];
			if (best == NULL || strcmp(strrchr(name, '/'),
			    strrchr(best, '/')) > 0)
				best = name;
		}
		folder = best != NULL ? strdup(best) : NULL;
		globfree(&found);
	}
	free(pattern);
	return folder;
}

/* Ask for the folder of a session.  An exit status. */
static int
ask_folder(const struct logs_look *look, char **folder_out, bool *is_there_out)
{
	char			*arg[] = { (char *)(uintptr_t)look->session };
	struct control_request	 q = { .dir = look->dir, .x = look->x,
				    .command = "show" };
	struct control_error	 e;
	struct table		*t;
	const char		*cell;
	int			 status;

	*folder_out = NULL;
	q.arg = arg;
	q.narg = 1;
	status = control_ask(&q, &t, NULL, &e);
	*is_there_out = status == EXIT_OK;
	/* Of another machine the files are not here. */
	if (status == EXIT_OK && look->x == NULL &&
	    (cell = table_cell(t, "transcript")) != NULL && cell[0] == '/')
		*folder_out = strdup(cell);
	else if (status == EXIT_OTHER && look->x == NULL &&
	    (*folder_out = logs_find_folder(look)) != NULL)
		status = EXIT_OK;
	else
		control_complain(&e);
	table_free(&t);
	return status;
}

int
logs_show(const struct logs_look *look)
{
	char	*folder;
	bool	 is_there;
	int	 status;

	if (strchr(look->session, '/') != NULL)
		return show_transcripts(look, look->session);
	if ((status = ask_folder(look, &folder, &is_there)) != EXIT_OK)
		return status;
	if (is_there && look->since == 0 && look->process != NULL) {
		status = show_output(look, look->process);
	} else if (folder != NULL) {
		status = show_transcripts(look, folder);
	} else if (look->since == 0) {
		status = show_outputs(look);
	} else {
		fputs("execsrvctl: --since wants a session with transcripts "
		    "(Transcript): others keep no times\n", stderr);
		status = EXIT_OTHER;
	}
	free(folder);
	return status;
}
