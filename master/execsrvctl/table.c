#include "master/execsrvctl/table.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/buf.h"
#include "common/client/execsrv.h"
#include "common/json/json_out.h"

#define JSON_MAX	((size_t)256 * 1024 * 1024)
#define GAP		2	/* blanks between columns */
#define BOLD		"\033[1m"
#define PLAIN		"\033[m"

struct table {
	size_t	  ncolumns;
	char	**names;
	enum table_kind	*kinds;
	size_t	  nrows, cap;
	char	***rows;
};

/* Columns with a form for people, by name. */
static const struct form {
	const char	*name;
	const char	*title;		/* for people */
	char		*(*show)(const char *cell);
	bool		 is_number;	/* in JSON, whatever the daemon says */
} forms[] = {
	{ "age",	"age",		table_show_seconds,	true },
	{ "backlog",	"backlog",	table_show_bytes,	true },
	{ "command_kib", "largest",	table_show_kib,		true },
	{ "cpu_ms",	"cpu",		table_show_ms,		true },
	{ "in",		"in",		table_show_bytes,	true },
	{ "memory",	"memory",	table_show_bytes,	true },
	{ "out",	"out",		table_show_bytes,	true },
	{ "peak_kib",	"peak",		table_show_kib,		true },
	{ "read",	"read",		table_show_bytes,	true },
	{ "rss",	"rss",		table_show_bytes,	true },
	{ "unacked",	"unacked",	table_show_bytes,	true },
	{ "since",	"since",	table_show_seconds,	true },
	{ "uptime",	"uptime",	table_show_seconds,	true },
	{ "user",	"user",		table_show_user,	true },
	{ "written",	"written",	table_show_bytes,	true },
};

static const struct form *
find_form(const char *name)
{
	size_t	 i;

	for (i = 0; i < sizeof(forms) / sizeof(forms[0]); i++)
		if (strcmp(forms[i].name, name) == 0)
			return &forms[i];
	return NULL;
}

/* --- the table --- */

static void
free_cells(size_t n, char **cells)
{
	size_t	 i;

	for (i = 0; cells != NULL && i < n; i++)
		free(cells[i]);
	free(cells);
}

static char **
copy_cells(size_t n, char *const *cells)
{
	char	**copy;
	size_t	 i;

	if ((copy = calloc(n + 1, sizeof(*copy))) == NULL)
		return NULL;
	for (i = 0; i < n; i++)
		if ((copy[i] = strdup(cells[i])) == NULL) {
			free_cells(n, copy);
			return NULL;
		}
	return copy;
}

struct table *
table_new(size_t n, char *const *names, const enum table_kind *kinds)
{
	struct table	*t;

	if ((t = calloc(1, sizeof(*t))) == NULL)
		return NULL;
	t->ncolumns = n;
	if ((t->names = copy_cells(n, names)) == NULL ||
	    (t->kinds = calloc(n + 1, sizeof(*kinds))) == NULL) {
		table_free(&t);
		return NULL;
	}
	if (n > 0)
		memcpy(t->kinds, kinds, n * sizeof(*kinds));
	return t;
}

void
table_free(struct table **tp)
{
	struct table	*t = *tp;
	size_t		 i;

	*tp = NULL;
	if (t == NULL)
		return;
	for (i = 0; i < t->nrows; i++)
		free_cells(t->ncolumns, t->rows[i]);
	free(t->rows);
	free_cells(t->ncolumns, t->names);
	free(t->kinds);
	free(t);
}

int
table_add(struct table *t, size_t n, char *const *cells)
{
	char	***rows;
	size_t	 cap;

	assert(t->nrows <= t->cap);
	if (n != t->ncolumns) {
		errno = EINVAL;
		return -1;
	}
	if (t->nrows == t->cap) {
		cap = t->cap == 0 ? 16 : 2 * t->cap;
		if ((rows = reallocarray(t->rows, cap, sizeof(*rows))) ==
		    NULL)
			return -1;
		t->rows = rows;
		t->cap = cap;
	}
	if ((t->rows[t->nrows] = copy_cells(n, cells)) == NULL)
		return -1;
	t->nrows++;
	return 0;
}

size_t
table_columns(const struct table *t)
{
	return t->ncolumns;
}

size_t
table_rows(const struct table *t)
{
	return t->nrows;
}

const char *
table_cell(const struct table *t, const char *name)
{
	size_t	 i;

	for (i = 0; i < t->ncolumns && t->nrows > 0; i++)
		if (strcmp(t->names[i], name) == 0)
			return t->rows[0][i];
	return NULL;
}

/* Cut the first member off a list: malloc'd; NULL: none left, or no memory. */
static char *
take_member(const char **list)
{
	size_t	 n = strcspn(*list, "\n");
	char	*member;

	if (**list == '\0' || (member = strndup(*list, n)) == NULL)
		return NULL;
	*list += n + ((*list)[n] == '\n');
	return member;
}

char *
table_member(const struct table *t, const char *name, size_t i)
{
	const char	*list = table_cell(t, name);
	char		*member = NULL;
	size_t		 n;

	for (n = 0; list != NULL && n <= i; n++) {
		free(member);
		if ((member = take_member(&list)) == NULL)
			break;
	}
	return member;
}

/* --- how cells are shown --- */

static bool
table_read_number(const char *cell, uint64_t *out)
{
	char	*end;

	if (!isdigit((unsigned char)*cell))
		return false;
	errno = 0;
	*out = strtoull(cell, &end, 10);
	return errno == 0 && *end == '\0';
}

static char *
table_printf(const char *fmt, ...) PRINTF(1, 2);

static char *
table_printf(const char *fmt, ...)
{
	va_list	 ap;
	char	*s;
	int	 r;

	va_start(ap, fmt);
	r = vasprintf(&s, fmt, ap);
	va_end(ap);
	return r == -1 ? NULL : s;
}

/* The two largest units: 12s, 3m12s, 2h05m, 4d07h. */
char *
table_show_seconds(const char *cell)
{
	uint64_t	 n;

	if (!table_read_number(cell, &n))
		return strdup(cell);
	if (n < 60)
		return table_printf("%us", (unsigned)n);
	if (n < 3600)
		return table_printf("%um%02us", (unsigned)(n / 60),
		    (unsigned)(n % 60));
	if (n < 86400)
		return table_printf("%uh%02um", (unsigned)(n / 3600),
		    (unsigned)(n / 60 % 60));
	return table_printf("%llud%02uh", (unsigned long long)(n / 86400),
	    (unsigned)(n / 3600 % 24));
}

/* Up to 1023 as it is, then 1.0K, 10K, 1023K, 1.0M ...; rounded down. */
char *
table_show_bytes(const char *cell)
{
	static const char	 units[] = "KMGTPE";
	uint64_t		 n, rest = 0;
	size_t			 i = 0;

	if (!table_read_number(cell, &n))
		return strdup(cell);
	if (n < 1024)
		return table_printf("%u", (unsigned)n);
	for (; n >= 1024; i++) {
		rest = n % 1024;
		n /= 1024;
	}
	assert(i > 0 && i < sizeof(units));
	if (n < 10)
		return table_printf("%u.%u%c", (unsigned)n,
		    (unsigned)(rest * 10 / 1024), units[i - 1]);
	return table_printf("%u%c", (unsigned)n, units[i - 1]);
}

char *
table_show_kib(const char *cell)
{
	uint64_t	 n;
	char		 text[24];

	if (!table_read_number(cell, &n) || n > UINT64_MAX / 1024)
		return strdup(cell);
	snprintf(text, sizeof(text), "%llu", (unsigned long long)n * 1024);
	return table_show_bytes(text);
}

/* Below a minute with a tenth: 0.3s, 12.0s. */
char *
table_show_ms(const char *cell)
{
	uint64_t	 n;
	char		 text[24];

	if (!table_read_number(cell, &n))
		return strdup(cell);
	if (n < 60000)
		return table_printf("%u.%us", (unsigned)(n / 1000),
		    (unsigned)(n % 1000 / 100));
	snprintf(text, sizeof(text), "%llu", (unsigned long long)n / 1000);
	return table_show_seconds(text);
}

/* The name of the user asked for last is kept: rows have few users. */
char *
table_show_user(const char *cell)
{
	static char		 name[LOGIN_NAME_MAX], of[24];
	const struct passwd	*pw;
	uint64_t		 n;

	if (!table_read_number(cell, &n) || n > UINT32_MAX)
		return strdup(cell);
	if (strcmp(cell, of) != 0) {
		pw = getpwuid((uid_t)n);
		snprintf(of, sizeof(of), "%s", cell);
		snprintf(name, sizeof(name), "%s", pw != NULL ? pw->pw_name :
		    cell);
	}
	return strdup(name);
}

/* Join the members of a list in a line: malloc'd, or NULL. */
static char *
table_join(const char *list)
{
	char	*text, *to;

	if ((text = to = malloc(2 * strlen(list) + 1)) == NULL)
		return NULL;
	for (; *list != '\0'; list++)
		if (*list != '\n')
			*to++ = *list;
		else
			to = stpcpy(to, ", ");
	*to = '\0';
	return text;
}

/* Return a cell in its form for people (malloc'd, or NULL), and its width. */
static char *
table_show(const struct table *t, size_t row, size_t column, size_t *width_out)
{
	const struct form	*form = find_form(t->names[column]);
	const char		*cell = t->rows[row][column];
	char			*text;

	if (t->kinds[column] == TABLE_LIST)
		text = table_join(cell);
	else
		text = form != NULL ? form->show(cell) : strdup(cell);
	*width_out = text == NULL ? 0 : execsrv_printable(text);
	return text;
}

/* --- order --- */

struct place {
	uint64_t	 key;
	const char	*text;		/* where the keys are equal */
	size_t		 at;		/* its old place */
	char		**row;
	bool		 is_down;
};

static int
table_compare(const void *a, const void *b)
{
	const struct place	*p = a, *q = b;
	int			 r;

	r = p->key != q->key ? (p->key < q->key ? -1 : 1) :
	    strcmp(p->text, q->text);
	if (r != 0)
		return p->is_down ? -r : r;
	return p->at < q->at ? -1 : 1;
}

static size_t
table_column(const struct table *t, const char *name, size_t len)
{
	size_t	 i;

	for (i = 0; i < t->ncolumns; i++)
		if (strncmp(t->names[i], name, len) == 0 &&
		    t->names[i][len] == '\0')
			break;
	return i;
}

/* Sort by numbers, or else by text. */
static int
sort_column(struct table *t, size_t column, bool is_down)
{
	struct place	*list;
	size_t		 i;

	assert(column < t->ncolumns);
	if ((list = calloc(t->nrows + 1, sizeof(*list))) == NULL)
		return -1;
	for (i = 0; i < t->nrows; i++) {
		list[i].row = t->rows[i];
		list[i].at = i;
		list[i].is_down = is_down;
		list[i].text = table_read_number(t->rows[i][column],
		    &list[i].key) ? "" : t->rows[i][column];
	}
	qsort(list, t->nrows, sizeof(*list), table_compare);
	for (i = 0; i < t->nrows; i++)
		t->rows[i] = list[i].row;
	free(list);
	return 0;
}

int
table_sort(struct table *t)
{
	return t->ncolumns == 0 || t->kinds[0] != TABLE_NUMBER ? 0 :
	    sort_column(t, 0, false);
}

int
table_sort_by(struct table *t, const char *name)
{
	bool	 is_down = *name == '-';
	size_t	 column = table_column(t, name + is_down,
		    strlen(name + is_down));

	if (column < t->ncolumns)
		return sort_column(t, column, is_down);
	errno = EINVAL;
	return -1;
}

/* --- rows and columns left out --- */

int
table_keep(struct table *t, const char *name, const char *value)
{
	size_t	 column = table_column(t, name, strlen(name)), i, n = 0;

	if (column == t->ncolumns)
		return -1;
	for (i = 0; i < t->nrows; i++)
		if (strcmp(t->rows[i][column], value) == 0)
			t->rows[n++] = t->rows[i];
		else
			free_cells(t->ncolumns, t->rows[i]);
	t->nrows = n;
	return 0;
}

char *
table_take(struct table *t, const char *name)
{
	const char	*cell = table_cell(t, name);
	char		*taken;

	if (cell == NULL || (taken = strdup(cell)) == NULL)
		return NULL;
	free_cells(t->ncolumns, t->rows[0]);
	memmove(t->rows, t->rows + 1, --t->nrows * sizeof(*t->rows));
	return taken;
}

static void
swap_columns(struct table *t, size_t a, size_t b)
{
	enum table_kind	 kind = t->kinds[a];
	char		*one = t->names[a];
	size_t		 i;

	assert(a < t->ncolumns && b < t->ncolumns);
	t->kinds[a] = t->kinds[b];
	t->kinds[b] = kind;
	t->names[a] = t->names[b];
	t->names[b] = one;
	for (i = 0; i < t->nrows; i++) {
		one = t->rows[i][a];
		t->rows[i][a] = t->rows[i][b];
		t->rows[i][b] = one;
	}
}

/* Free all columns but the first n. */
static void
drop_columns(struct table *t, size_t n)
{
	size_t	 i, k;

	assert(n <= t->ncolumns);
	for (k = n; k < t->ncolumns; k++) {
		free(t->names[k]);
		t->names[k] = NULL;
		for (i = 0; i < t->nrows; i++) {
			free(t->rows[i][k]);
			t->rows[i][k] = NULL;
		}
	}
	t->ncolumns = n;
}

const char *
table_pick(struct table *t, const char *list)
{
	const char	*p;
	size_t		 len, at, n = 0;

	for (p = list; *p != '\0'; p += len + (p[len] == ',')) {
		len = strcspn(p, ",");
		if (table_column(t, p, len) == t->ncolumns)
			return p;
	}
	for (; *list != '\0'; list += len + (list[len] == ',')) {
		len = strcspn(list, ",");
		at = table_column(t, list, len);
		/* Twice is once. */
		if (at >= n)
			swap_columns(t, at, n++);
	}
	drop_columns(t, n);
	return NULL;
}

void
table_print_names(const struct table *t, FILE *out)
{
	size_t	 i;

	for (i = 0; i < t->ncolumns; i++)
		fprintf(out, "%s%s", i > 0 ? "," : "", t->names[i]);
}

/* Processor time in a row, or in the row of the same session before. */
static uint64_t
cpu_of(const struct table *t, const char *session)
{
	size_t		 at = table_column(t, "session", 7), i;
	size_t		 cpu = table_column(t, "cpu_ms", 6);
	uint64_t	 ms = 0;

	for (i = 0; at < t->ncolumns && cpu < t->ncolumns && i < t->nrows; i++)
		if (strcmp(t->rows[i][at], session) == 0)
			(void)!table_read_number(t->rows[i][cpu], &ms);
	return ms;
}

int
table_add_load(struct table *t, const struct table *before, uint64_t ms)
{
	size_t		 at = table_column(t, "session", 7);
	size_t		 age = table_column(t, "age", 3), i, n = t->ncolumns;
	uint64_t	 now, then, span;
	char		**names, **row, *name;
	enum table_kind	*kinds;

	if (at == n || age == n)
		return 0;
	if ((names = reallocarray(t->names, n + 2, sizeof(*names))) == NULL)
		return -1;
	t->names = names;
	if ((kinds = reallocarray(t->kinds, n + 2, sizeof(*kinds))) == NULL)
		return -1;
	t->kinds = kinds;
	for (i = 0; i < t->nrows; i++) {
		now = cpu_of(t, t->rows[i][at]);
		then = before == NULL ? 0 : cpu_of(before, t->rows[i][at]);
		span = ms;
		if (before == NULL && table_read_number(t->rows[i][age],
		    &span))
			span *= 1000;
		if ((row = reallocarray(t->rows[i], n + 2, sizeof(*row))) ==
		    NULL)
			goto fail;
		t->rows[i] = row;
		if ((row[n] = table_printf("%llu", span == 0 || now < then ?
		    0ULL : (unsigned long long)((now - then) * 100 / span))) ==
		    NULL)
			goto fail;
		row[n + 1] = NULL;
	}
	if ((name = strdup("%cpu")) == NULL)
		goto fail;
	t->names[n] = name;
	t->names[n + 1] = NULL;
	t->kinds[n] = TABLE_NUMBER;
	t->ncolumns++;
	return 0;
 fail:
	while (i-- > 0)
		free(t->rows[i][n]);
	return -1;
}

/* Move list[from] to before list[to]. */
static void
bring(char **list, size_t from, size_t to)
{
	char	*one = list[from];

	assert(to <= from);
	memmove(&list[to + 1], &list[to], (from - to) * sizeof(*list));
	list[to] = one;
}

void
table_prefer(struct table *t, const char *const *names)
{
	enum table_kind	 kind;
	size_t		 i, row, to = 0;

	for (; *names != NULL; names++) {
		for (i = to; i < t->ncolumns; i++)
			if (strcmp(t->names[i], *names) == 0)
				break;
		if (i == t->ncolumns)
			continue;
		bring(t->names, i, to);
		for (row = 0; row < t->nrows; row++)
			bring(t->rows[row], i, to);
		kind = t->kinds[i];
		memmove(&t->kinds[to + 1], &t->kinds[to],
		    (i - to) * sizeof(kind));
		t->kinds[to++] = kind;
	}
}

/* --- for people --- */

static void
pad(FILE *out, size_t n)
{
	while (n-- > 0)
		putc(' ', out);
}

static void
put_cell(const struct table *t, size_t column, const char *text, size_t width,
    size_t room, FILE *out)
{
	bool	 is_last = column + 1 == t->ncolumns;
	size_t	 n = room > width ? room - width : 0;

	if (t->kinds[column] == TABLE_NUMBER)
		pad(out, n);
	fputs(text, out);
	if (t->kinds[column] != TABLE_NUMBER && !is_last)
		pad(out, n);
	if (is_last)
		putc('\n', out);
	else
		pad(out, GAP);
}

/* Return the header of a column, in capitals: malloc'd, or NULL. */
static char *
header(const char *name, size_t *width_out)
{
	char	*text, *p;

	*width_out = 0;
	if (find_form(name) != NULL)
		name = find_form(name)->title;
	if ((text = strdup(name)) == NULL)
		return NULL;
	for (p = text; *p != '\0'; p++)
		*p = (char)toupper((unsigned char)*p);
	*width_out = execsrv_printable(text);
	return text;
}

/* Return the widest of a column. */
static size_t
column_width(const struct table *t, size_t column)
{
	size_t	 i, n, max;

	free(header(t->names[column], &max));
	for (i = 0; i < t->nrows; i++) {
		free(table_show(t, i, column, &n));
		if (n > max)
			max = n;
	}
	return max;
}

/* Print row i, or the header. */
static void
print_row(const struct table *t, size_t row, bool is_header,
    const size_t *room, FILE *out)
{
	size_t	 i, width;
	char	*text;

	for (i = 0; i < t->ncolumns; i++) {
		text = is_header ? header(t->names[i], &width) :
		    table_show(t, row, i, &width);
		put_cell(t, i, text != NULL ? text : "", width, room[i], out);
		free(text);
	}
}

/* Cut a line of UTF-8 to so many characters. */
static void
table_cut(char *line, size_t width)
{
	for (; *line != '\0'; line++)
		if (((unsigned char)*line & 0xc0) != 0x80 && width-- == 0) {
			*line = '\0';
			return;
		}
}

/* Print a row, or the header, with colour. */
static void
print_line(const struct table *t, size_t row, bool is_header,
    const size_t *room, const struct table_look *look, FILE *out)
{
	char	*line = NULL;
	size_t	 len;
	FILE	*f;

	if ((f = open_memstream(&line, &len)) == NULL)
		return;
	print_row(t, row, is_header, room, f);
	if (fclose(f) == 0) {
		line[strcspn(line, "\n")] = '\0';
		if (look->width > 0)
			table_cut(line, look->width);
		if (is_header && look->has_colour)
			fprintf(out, BOLD "%s" PLAIN "\n", line);
		else
			fprintf(out, "%s\n", line);
	}
	free(line);
}

/* No cell can control a terminal. */
void
table_print(const struct table *t, const struct table_look *look, FILE *out)
{
	size_t	*room, i;

	if (t->ncolumns == 0)
		return;
	if ((room = calloc(t->ncolumns + 1, sizeof(*room))) == NULL)
		return;
	for (i = 0; i < t->ncolumns; i++)
		room[i] = column_width(t, i);
	if (!look->no_header)
		print_line(t, 0, true, room, look, out);
	for (i = 0; i < t->nrows; i++)
		print_line(t, i, false, room, look, out);
	free(room);
}

/* Print the value of a column; indent further members of a list. */
static void
table_print_value(const struct table *t, size_t row, size_t column,
    size_t indent, FILE *out)
{
	const char	*list = t->rows[row][column];
	size_t		 width, n;
	char		*text;

	if (t->kinds[column] != TABLE_LIST) {
		if ((text = table_show(t, row, column, &width)) != NULL)
			fputs(text, out);
		free(text);
		putc('\n', out);
		return;
	}
	for (n = 0; (text = take_member(&list)) != NULL; n++) {
		execsrv_printable(text);
		pad(out, n > 0 ? indent : 0);
		fputs(text, out);
		putc('\n', out);
		free(text);
	}
	if (n == 0)
		putc('\n', out);
}

static const char *
title_of(const struct table *t, size_t column)
{
	const struct form	*form = find_form(t->names[column]);

	return form != NULL ? form->title : t->names[column];
}

void
table_print_upright(const struct table *t, const struct table_look *look,
    FILE *out)
{
	size_t	 i, row, width, room = 0;
	char	*text;

	for (i = 0; i < t->ncolumns; i++)
		if (strlen(title_of(t, i)) > room)
			room = strlen(title_of(t, i));
	for (row = 0; row < t->nrows; row++) {
		if (row > 0)
			putc('\n', out);
		for (i = 0; i < t->ncolumns; i++) {
			if (t->rows[row][i][0] == '\0')
				continue;	/* there is nothing to say */
			if ((text = strdup(title_of(t, i))) != NULL) {
				width = execsrv_printable(text);
				assert(width <= room);
				fprintf(out, look->has_colour ?
				    BOLD "%s" PLAIN : "%s", text);
				pad(out, room - width + GAP);
			}
			free(text);
			table_print_value(t, row, i, room + GAP, out);
		}
	}
}

/* --- for programs --- */

/* Whether a cell is a JSON number. */
static bool
table_is_number(const char *cell)
{
	size_t	 n;

	if (*cell == '-')
		cell++;
	n = strspn(cell, "0123456789");
	return n > 0 && cell[n] == '\0' && (n == 1 || *cell != '0');
}

static void
table_put_list(struct json_out *o, const char *list)
{
	char	*member;

	json_out_open(o, '[');
	for (; (member = take_member(&list)) != NULL; free(member))
		json_out_str(o, member);
	json_out_close(o, ']');
}

static void
put_object(struct json_out *o, const struct table *t, char *const *cells)
{
	const struct form	*form;
	size_t			 i;

	json_out_open(o, '{');
	for (i = 0; i < t->ncolumns; i++) {
		form = find_form(t->names[i]);
		json_out_key_text(o, t->names[i], strlen(t->names[i]));
		if (t->kinds[i] == TABLE_LIST)
			table_put_list(o, cells[i]);
		else if (t->kinds[i] == TABLE_FLAG && cells[i][0] != '\0')
			json_out_bool(o, strcmp(cells[i], "yes") == 0);
		else if (t->kinds[i] == TABLE_TEXT &&
		    (form == NULL || !form->is_number))
			json_out_str(o, cells[i]);
		else if (table_is_number(cells[i]))
			json_out_raw(o, cells[i], strlen(cells[i]));
		else if (cells[i][0] == '\0')
			json_out_null(o);
		else
			json_out_str(o, cells[i]);
	}
	json_out_close(o, '}');
}

int
table_print_json(const struct table *t, bool is_one, FILE *out)
{
	struct buf	 b;
	struct json_out	 o;
	size_t		 i;
	int		 r;

	buf_init(&b, JSON_MAX);
	json_out_init(&o, &b);
	if (!is_one)
		json_out_open(&o, '[');
	else if (t->nrows == 0)
		json_out_null(&o);
	for (i = 0; i < t->nrows && (i == 0 || !is_one); i++)
		put_object(&o, t, t->rows[i]);
	if (!is_one)
		json_out_close(&o, ']');
	if ((r = json_out_fini(&o)) == 0) {
		fwrite(buf_data(&b), 1, b.len, out);
		putc('\n', out);
	}
	buf_fini(&b);
	return r;
}
