#include "common/conf/conf_priv.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/editdist.h"

#define MISTAKES_MAX	20	/* that one conf_error tells */
#define EXPECTED_MAX	256	/* bytes that say what a value may be */

#define set_CHOICE_cgroup	set_choice
#define set_CHOICE_facility	set_choice
#define set_CHOICE_format	set_choice
#define set_CHOICE_level	set_choice
#define set_CHOICE_network	set_choice
#define set_CHOICE_overflow	set_choice
#define set_CHOICE_paths	set_choice
#define set_CHOICE_ready	set_choice
#define set_CHOICE_root		set_choice
#define set_CHOICE_sandbox	set_choice
#define set_CHOICE_stdin	set_choice
#define set_CHOICE_token	set_choice
#define set_CHOICE_transcript	set_choice
#define set_CHOICE_transport	set_choice
#define set_CHOICE_yesno	set_choice
#define print_CHOICE_cgroup	print_choice
#define print_CHOICE_facility	print_choice
#define print_CHOICE_format	print_choice
#define print_CHOICE_level	print_choice
#define print_CHOICE_network	print_choice
#define print_CHOICE_overflow	print_choice
#define print_CHOICE_paths	print_choice
#define print_CHOICE_ready	print_choice
#define print_CHOICE_root	print_choice
#define print_CHOICE_sandbox	print_choice
#define print_CHOICE_stdin	print_choice
#define print_CHOICE_token	print_choice
#define print_CHOICE_transcript	print_choice
#define print_CHOICE_transport	print_choice
#define print_CHOICE_yesno	print_choice

static const struct conf_row rows[] = {
#define CONF(keyword, type, member, value, when, help)			\
	{ #keyword, #type, set_##type, print_##type,			\
	  offsetof(struct conf, member), sizeof(CONF_##type), value,\
	  CONF_##when },
#include "proto/conf.def"
#undef CONF
};

static const struct conf_row uplink_rows[] = {
#define UPLINK(keyword, type, member, value, help)			\
	{ #keyword, #type, set_##type, print_##type,			\
	  offsetof(struct conf_uplink, member), sizeof(CONF_##type),	\
	  value, CONF_START },
#include "proto/uplink.def"
#undef UPLINK
};

/* --- rows of a struct --- */

int
conf_rows_init(const struct conf_row *r, size_t n, void *base)
{
	size_t	 i;

	for (i = 0; i < n; i++)
		if (r[i].set(&r[i], (char *)base + r[i].offset,
		    r[i].value) == -1)
			return -1;
	return 0;
}

bool
conf_row_is_list(const struct conf_row *row)
{
	return row->set == set_LIST || row->set == set_NAMES;
}

/* Free and zero a member. */
static void
conf_row_fini(const struct conf_row *row, void *member)
{
	if (row->set == set_TEXT || row->set == set_PATH) {
		free(*(char **)member);
		*(char **)member = NULL;
	} else if (conf_row_is_list(row)) {
		conf_list_fini(member);
	}
}

void
conf_rows_fini(const struct conf_row *r, size_t n, void *base)
{
	size_t	 i;

	for (i = 0; i < n; i++)
		conf_row_fini(&r[i], (char *)base + r[i].offset);
}

const struct conf_row *
conf_rows_find(const struct conf_row *r, size_t n, const char *keyword)
{
	size_t	 i;

	for (i = 0; i < n; i++)
		if (strcasecmp(r[i].keyword, keyword) == 0)
			return &r[i];
	return NULL;
}

void
conf_rows_print(const struct conf_row *r, size_t n, const void *base, FILE *out)
{
	size_t	 i;

	for (i = 0; i < n; i++)
		r[i].print(&r[i], (const char *)base + r[i].offset, out);
}

const struct conf_row *
conf_row_at(size_t n)
{
	assert(n < CONF_ROWS);
	return &rows[n];
}

/* Find a row of conf.def and its number, or NULL. */
static const struct conf_row *
conf_row_find(const char *keyword, size_t *n_out)
{
	const struct conf_row	*r = conf_rows_find(rows, CONF_ROWS, keyword);

	if (r != NULL)
		*n_out = (size_t)(r - rows);
	return r;
}

/* Copy a member.  0, or -1 with errno ENOMEM. */
static int
conf_row_copy(const struct conf_row *row, void *to, const void *from)
{
	const struct conf_list	*l = from;
	size_t			 i;

	conf_row_fini(row, to);
	if (row->set == set_TEXT || row->set == set_PATH)
		return set_TEXT(row, to, *(char *const *)from);
	if (conf_row_is_list(row)) {
		for (i = 0; i < l->n; i++)
			if (set_LIST(row, to, l->item[i]) == -1)
				return -1;
		return 0;
	}
	memcpy(to, from, row->size);
	return 0;
}

/* --- the configuration --- */

int
conf_init(struct conf *c)
{
	memset(c, 0, sizeof(*c));
	if (conf_rows_init(rows, CONF_ROWS, c) == 0)
		return 0;
	conf_fini(c);
	return -1;
}

static void
uplink_fini(struct conf_uplink *u)
{
	size_t	 i;

	conf_rows_fini(uplink_rows, CONF_UPLINK_ROWS, u);
	for (i = 0; i < CONF_UPLINK_ROWS; i++)
		conf_list_fini(&u->where_of[i]);
	free(u->label);
	free(u->where);
}

void
conf_fini(struct conf *c)
{
	size_t	 i;

	conf_rows_fini(rows, CONF_ROWS, c);
	for (i = 0; i < CONF_ROWS; i++)
		conf_list_fini(&c->where_of[i]);
	for (i = 0; i < c->nuplink; i++)
		uplink_fini(&c->uplink[i]);
	free(c->uplink);
	for (i = 0; i < c->nmatch; i++)
		conf_match_fini(&c->match[i]);
	free(c->match);
	conf_list_fini(&c->note);
	conf_list_fini(&c->wrong);
	memset(c, 0, sizeof(*c));
}

int
conf_fail(struct conf_error *e, const char *fmt, ...)
{
	va_list	 ap;

	va_start(ap, fmt);
	vsnprintf(e->text, sizeof(e->text), fmt, ap);
	va_end(ap);
	return -1;
}

int
conf_more(struct conf_error *all, const struct conf_error *e)
{
	size_t	 len = strlen(all->text), lines = len > 0, i;

	for (i = 0; i < len; i++)
		lines += all->text[i] == '\n';
	if (lines < MISTAKES_MAX)
		snprintf(all->text + len, sizeof(all->text) - len, "%s%s",
		    len > 0 ? "\n" : "", e->text);
	else if (lines == MISTAKES_MAX)
		snprintf(all->text + len, sizeof(all->text) - len,
		    "\nfurther mistakes are not listed");
	return -1;
}

const char *
conf_error_line(const char **at, size_t *len_out)
{
	const char	*line = *at;

	if (*line == '\0')
		return NULL;
	*len_out = strcspn(line, "\n");
	*at = line + *len_out + (line[*len_out] == '\n');
	return line;
}

static const char *
place(const struct conf_list *l, size_t i)
{
	return i < l->n ? l->item[i] : "";
}

const char *
conf_where(const struct conf *c, size_t row, size_t i)
{
	assert(row < CONF_ROWS);
	return place(&c->where_of[row], i);
}

const char *
conf_uplink_where(const struct conf_uplink *u, size_t row)
{
	assert(row < CONF_UPLINK_ROWS);
	return u->given[row] ? place(&u->where_of[row], 0) : u->where;
}

int
conf_at(struct conf_error *e, const char *where)
{
	struct conf_error	 why = *e;

	return where[0] == '\0' ? -1 : conf_fail(e, "%.280s: %s", where,
	    why.text);
}

static int
begin_uplink(struct conf *c, const char *label, const char *where,
    struct conf_error *e)
{
	struct conf_uplink	*u;

	if (*label == '\0')
		return conf_fail(e, "Uplink: it needs a name");
	if ((u = reallocarray(c->uplink, c->nuplink + 1, sizeof(*u))) ==
	    NULL)
		goto fail;
	c->uplink = u;
	u += c->nuplink;
	memset(u, 0, sizeof(*u));
	if ((u->label = strdup(label)) == NULL ||
	    (u->where = strdup(where)) == NULL ||
	    conf_rows_init(uplink_rows, CONF_UPLINK_ROWS, u) == -1) {
		uplink_fini(u);
		goto fail;
	}
	c->nuplink++;
	c->block = CONF_IN_UPLINK;
	return 0;
 fail:
	return conf_fail(e, "Uplink: %s", strerror(errno));
}

void
conf_empty(struct conf *c, size_t row)
{
	assert(row < CONF_ROWS && conf_row_is_list(&rows[row]));
	conf_row_fini(&rows[row], (char *)c + rows[row].offset);
	conf_list_fini(&c->where_of[row]);
}

void
conf_end_block(struct conf *c)
{
	c->block = CONF_OUTER;
}

/* --- one keyword --- */

/* A keyword that could be in this place. */
static const char *
conf_keyword(const void *arg, size_t i)
{
	static const char *const	 blocks[] = { "Include", "Match",
					    "Uplink" };
	const struct conf		*c = arg;
	const struct conf_row		*r = rows;
	size_t				 n = CONF_ROWS;

	if (c->block == CONF_IN_UPLINK) {
		r = uplink_rows;
		n = CONF_UPLINK_ROWS;
	}
	return i < n ? r[i].keyword : i < n + 3 ? blocks[i - n] : NULL;
}

/* Explain why a keyword is not allowed in this place. */
static int
misplaced(const struct conf *c, const char *keyword, struct conf_error *e)
{
	const struct conf_row	*outer, *inner;
	const char		*meant;

	if (strcasecmp(keyword, "Include") == 0)
		return conf_fail(e, "Include: in files only");
	outer = conf_rows_find(rows, CONF_ROWS, keyword);
	inner = conf_rows_find(uplink_rows, CONF_UPLINK_ROWS, keyword);
	if (outer != NULL && c->block == CONF_IN_MATCH)
		return conf_fail(e, "\"%s\" cannot be in a Match block: it "
		    "belongs before the first one", outer->keyword);
	if (outer != NULL)
		return conf_fail(e, "\"%s\" belongs before the first Uplink",
		    outer->keyword);
	if (inner != NULL)
		return conf_fail(e, "\"%s\" belongs in an Uplink block",
		    inner->keyword);
	if ((meant = editdist_nearest(keyword, conf_keyword,
	    c)) != NULL)
		return conf_fail(e, "unknown keyword \"%.60s\": did you mean "
		    "\"%s\"?", keyword, meant);
	return conf_fail(e, "unknown keyword \"%.60s\"", keyword);
}

int
conf_bad_value(const struct conf_row *row, const char *value,
    struct conf_error *e)
{
	char	 expected[EXPECTED_MAX];

	if (errno == ENOMEM)
		return conf_fail(e, "%s: %s", row->keyword, strerror(errno));
	conf_expected(row, expected, sizeof(expected));
	return conf_fail(e, "%s: bad value \"%.200s\"%s%s", row->keyword,
	    value, expected[0] != '\0' ? ": expected " : "", expected);
}

/* Check a value that is not stored. */
static int
check_value(const struct conf_row *row, const char *value,
    struct conf_error *e)
{
	union {
		struct conf	 room;
		char		 byte[1];
	}	 u;
	int	 r;

	memset(&u, 0, sizeof(u));
	r = row->set(row, &u, value);
	conf_row_fini(row, &u);
	return r == -1 ? conf_bad_value(row, value, e) : 0;
}

/* conf_print() must print it as one line. */
static bool
is_one_line(const char *text)
{
	for (; *text != '\0'; text++)
		if (((unsigned char)*text < ' ' && *text != '\t') ||
		    *text == 0x7f)
			return false;
	return true;
}

char *
conf_beside(const char *file, const char *path)
{
	const char	*slash = strrchr(file, '/');
	char		*out;

	if (path[0] == '/' || path[0] == '\0' || slash == NULL)
		return strdup(path);
	return asprintf(&out, "%.*s/%s", (int)(slash - file), file, path) ==
	    -1 ? NULL : out;
}

/*
 * A relative path is one beside the file that has it or, on the command line,
 * in the folder where the program was started: NULL with errno.
 */
static char *
absolute(const struct conf *c, const char *path, bool is_in_file)
{
	char	*out;

	if (is_in_file)
		return conf_beside(c->reading != NULL ? c->reading : "", path);
	if (path[0] == '/' || path[0] == '\0' || c->folder == NULL)
		return strdup(path);
	return asprintf(&out, "%s/%s", c->folder, path) == -1 ? NULL : out;
}

/* Set a row and record where; for a list, where each value was. */
static int
set_row(const struct conf *c, const struct conf_row *row, void *base,
    struct conf_list *places, const char *value, const char *where,
    struct conf_error *e)
{
	char	*path;
	int	 r;

	if (conf_row_is_list(row) && *value == '\0')
		return conf_fail(e, "%s: it needs a value", row->keyword);
	if (row->set == set_PATH) {
		if ((path = absolute(c, value, where[0] != '\0')) == NULL)
			return conf_fail(e, "%s: %s", row->keyword,
			    strerror(errno));
		r = row->set(row, (char *)base + row->offset, path);
		free(path);
	} else {
		r = row->set(row, (char *)base + row->offset, value);
	}
	if (r == -1)
		return conf_bad_value(row, value, e);
	if (!conf_row_is_list(row))
		conf_list_fini(places);
	return conf_list_add(places, where) == 0 ? 0 : conf_fail(e, "%s: %s",
	    row->keyword, strerror(errno));
}

/* Whether two places "FILE:LINE" are of one file. */
static bool
is_same_file(const char *a, const char *b)
{
	const char	*end = strrchr(a, ':');

	return end != NULL && strrchr(b, ':') - b == end - a &&
	    strncmp(a, b, (size_t)(end - a)) == 0;
}

/*
 * Check the second value of a keyword, which does not count.  In another file
 * it is a default, in the same one more likely a mistake.
 */
static int
set_again(struct conf *c, const struct conf_row *row,
    const struct conf_list *places, const char *value, const char *where,
    struct conf_error *e)
{
	const char	*first = place(places, 0);
	char		*note;
	int		 r;

	if (check_value(row, value, e) == -1)
		return -1;
	if (!is_same_file(first, where))
		return 0;
	if (asprintf(&note, "%s: %s is set before, at line %s, and only the "
	    "first value counts", where, row->keyword, strrchr(first, ':') +
	    1) == -1)
		return conf_fail(e, "%s: %s", row->keyword, strerror(errno));
	r = conf_list_add(&c->note, note);
	free(note);
	return r == 0 ? 0 : conf_fail(e, "%s: %s", row->keyword,
	    strerror(errno));
}

static int
set_in_uplink(struct conf *c, const char *keyword, const char *value,
    const char *where, struct conf_error *e)
{
	struct conf_uplink	*u = &c->uplink[c->nuplink - 1];
	const struct conf_row	*row;
	size_t			 n;

	assert(c->block == CONF_IN_UPLINK && c->nuplink > 0);
	if ((row = conf_rows_find(uplink_rows, CONF_UPLINK_ROWS, keyword)) ==
	    NULL)
		return misplaced(c, keyword, e);
	n = (size_t)(row - uplink_rows);
	if (where != NULL && u->given[n])
		return set_again(c, row, &u->where_of[n], value, where, e);
	if (set_row(c, row, u, &u->where_of[n], value, where != NULL ? where :
	    "", e) == -1)
		return -1;
	u->given[n] = true;
	return 0;
}

/* In a file, what belongs to a block that could not begin is not judged. */
static int
begin(struct conf *c, const char *where, int r)
{
	if (r == -1 && where != NULL)
		c->block = CONF_IN_WRONG;
	return r;
}

/* In a file (where is not NULL) the first value of a keyword counts. */
static int
set_valid(struct conf *c, const char *keyword, const char *value,
    const char *where, struct conf_error *e)
{
	const char		*at = where != NULL ? where : "";
	const struct conf_row	*row;
	size_t			 n = 0;

	if (!is_one_line(value))
		return conf_fail(e, "%.60s: a control character", keyword);
	if (strcasecmp(keyword, "Uplink") == 0)
		return begin(c, where, begin_uplink(c, value, at, e));
	if (strcasecmp(keyword, "Match") == 0)
		return begin(c, where, conf_match_begin(c, value, at,
		    e));
	if (c->block == CONF_IN_WRONG)
		return 0;
	if (c->block == CONF_IN_UPLINK)
		return set_in_uplink(c, keyword, value, where, e);
	row = conf_row_find(keyword, &n);
	if (row == NULL || (c->block == CONF_IN_MATCH &&
	    row->when != CONF_MATCH))
		return misplaced(c, keyword, e);
	if (c->block == CONF_IN_MATCH)
		return check_value(row, value, e) == -1 ? -1 :
		    conf_match_set(c, row, value, e);
	if (where != NULL && c->given[n] && !conf_row_is_list(row))
		return set_again(c, row, &c->where_of[n], value, where, e);
	if (set_row(c, row, c, &c->where_of[n], value, at, e) == -1)
		return -1;
	c->given[n] = true;
	return 0;
}

/* The same, and note a keyword that was wrong, or the one that was meant. */
static int
set_one(struct conf *c, const char *keyword, const char *value,
    const char *where, struct conf_error *e)
{
	const char	*meant;

	if (set_valid(c, keyword, value, where, e) == 0)
		return 0;
	meant = editdist_nearest(keyword, conf_keyword, c);
	(void)!conf_list_add(&c->wrong, meant != NULL ? meant : keyword);
	return -1;
}

bool
conf_is_wrong(const struct conf *c, const char *keyword)
{
	size_t	 i;

	for (i = 0; i < c->wrong.n; i++)
		if (c->wrong.item[i][0] == '\0' ||
		    strcasecmp(c->wrong.item[i], keyword) == 0)
			return true;
	return false;
}

int
conf_set(struct conf *c, const char *keyword, const char *value,
    struct conf_error *e)
{
	return set_one(c, keyword, value, NULL, e);
}

int
conf_add(struct conf *c, const char *keyword, const char *value,
    const char *where, struct conf_error *e)
{
	return set_one(c, keyword, value, where, e);
}

/* --- printing and comparing --- */

static void
print_uplinks(const struct conf *c, FILE *out)
{
	size_t	 i;

	for (i = 0; i < c->nuplink; i++) {
		conf_print_line("Uplink", c->uplink[i].label, out);
		conf_rows_print(uplink_rows, CONF_UPLINK_ROWS, &c->uplink[i],
		    out);
	}
}

void
conf_print(const struct conf *c, FILE *out)
{
	size_t	 i;

	conf_rows_print(rows, CONF_ROWS, c, out);
	for (i = 0; i < c->nmatch; i++)
		conf_match_print(&c->match[i], out);
	print_uplinks(c, out);
}

/* Return a row, or all Uplink blocks (NULL), as text; NULL with errno. */
static char *
conf_text_of(const void *c, const struct conf_row *row)
{
	char	*text = NULL;
	size_t	 len;
	FILE	*out;

	if ((out = open_memstream(&text, &len)) == NULL)
		return NULL;
	if (row == NULL)
		print_uplinks(c, out);
	else
		row->print(row, (const char *)c + row->offset, out);
	if (fclose(out) == 0)
		return text;
	free(text);
	return NULL;
}

/* Compare: 1 different, 0 equal, -1 with errno. */
static int
differ(const void *a, const void *b, const struct conf_row *row)
{
	char	*atext = conf_text_of(a, row), *btext = conf_text_of(b, row);
	int	 r = -1;

	if (atext != NULL && btext != NULL)
		r = strcmp(atext, btext) != 0;
	free(atext);
	free(btext);
	return r;
}

int
conf_rows_keep(const struct conf_row *r, size_t n, void *now, const void *old,
    void (*on_kept)(void *, const char *), void *arg)
{
	size_t	 i;
	int	 d;

	for (i = 0; i < n; i++) {
		if (r[i].when != CONF_START)
			continue;
		if ((d = differ(now, old, &r[i])) == -1 || (d == 1 &&
		    conf_row_copy(&r[i], (char *)now + r[i].offset,
		    (const char *)old + r[i].offset) == -1))
			return -1;
		if (d == 1)
			on_kept(arg, r[i].keyword);
	}
	return 0;
}

/* Swap two members, which cannot fail. */
static void
conf_exchange(const struct conf_row *row, struct conf *a, struct conf *b)
{
	char	*x = (char *)a + row->offset, *y = (char *)b + row->offset;
	char	 byte;
	size_t	 i;

	for (i = 0; i < row->size; i++) {
		byte = x[i];
		x[i] = y[i];
		y[i] = byte;
	}
}

int
conf_keep(struct conf *now, struct conf *old,
    void (*on_kept)(void *, const char *), void *arg)
{
	struct conf_uplink	*uplink = now->uplink;
	struct conf_list	 place_of;
	size_t			 i, n = now->nuplink;
	int			 changed[CONF_ROWS + 1];

	for (i = 0; i < CONF_ROWS; i++)
		if ((changed[i] = rows[i].when != CONF_START ? 0 :
		    differ(now, old, &rows[i])) == -1)
			return -1;
	if ((changed[CONF_ROWS] = differ(now, old, NULL)) == -1)
		return -1;
	for (i = 0; i < CONF_ROWS; i++)
		if (changed[i]) {
			on_kept(arg, rows[i].keyword);
			conf_exchange(&rows[i], now, old);
			place_of = now->where_of[i];
			now->where_of[i] = old->where_of[i];
			old->where_of[i] = place_of;
		}
	if (changed[CONF_ROWS])
		on_kept(arg, "Uplink");
	now->uplink = old->uplink;
	now->nuplink = old->nuplink;
	old->uplink = uplink;
	old->nuplink = n;
	return 0;
}

int
conf_resolve(const struct conf *c, const struct conf_client *who,
    struct conf *out)
{
	const struct conf_value	*v;
	const struct conf_row	*row;
	size_t			 i, k;

	memset(out, 0, sizeof(*out));
	for (i = 0; i < CONF_ROWS; i++)
		if (conf_row_copy(&rows[i], (char *)out + rows[i].offset,
		    (const char *)c + rows[i].offset) == -1)
			goto fail;
	for (i = 0; i < c->nmatch; i++) {
		if (!conf_match_holds(&c->match[i], who))
			continue;
		for (k = 0; k < c->match[i].nvalue; k++) {
			v = &c->match[i].value[k];
			row = &rows[v->row];
			/* In out, given means: set by a Match block. */
			if ((!out->given[v->row] || conf_row_is_list(row)) &&
			    row->set(row, (char *)out + row->offset,
			    v->text) == -1)
				goto fail;
			out->given[v->row] = true;
		}
	}
	return 0;
 fail:
	conf_fini(out);
	errno = ENOMEM;
	return -1;
}
