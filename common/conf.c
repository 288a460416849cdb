#include "common/conf.h"

#include <sys/stat.h>

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#define COUNT_MAX	1000000	/* of anything that is counted */
#define LINE_MAX_	4096	/* bytes of a line of the file */

struct choice {
	const char	*group;
	const char	*word;
	int		 value;
};

static const struct choice choices[] = {
#define CHOICE(group, word, value)	{ #group, word, value },
#include "proto/confchoice.def"
#undef CHOICE
};

struct unit {
	const char	*suffix;
	uint64_t	 factor;
};

static const struct unit size_units[] = {
	{ "", 1 }, { "K", 1024 }, { "M", 1024 * 1024 },
	{ "G", 1024 * 1024 * 1024 }, { NULL, 0 }
};

static const struct unit time_units[] = {
	{ "", 1000 }, { "ms", 1 }, { "s", 1000 }, { "m", 60000 },
	{ "h", 3600000 }, { NULL, 0 }
};

static const struct unit count_units[] = { { "", 1 }, { NULL, 0 } };

struct conf_row;

typedef int	 set_fn(const struct conf_row *, void *member,
		    const char *value);
typedef void	 print_fn(const struct conf_row *, const void *member,
		    FILE *out);

struct conf_row {
	const char	*keyword;
	const char	*type;		/* "CHOICE_" and its group */
	set_fn		*set;
	print_fn	*print;
	size_t		 offset;
	const char	*value;		/* by default */
};

/* --- one function for each type --- */

static int
set_TEXT(const struct conf_row *row, void *member, const char *value)
{
	char	*copy;

	(void)row;
	if ((copy = strdup(value)) == NULL)
		return -1;
	free(*(char **)member);
	*(char **)member = copy;
	return 0;
}

static int
set_LIST(const struct conf_row *row, void *member, const char *value)
{
	struct conf_list	*l = member;
	char			**item;

	(void)row;
	if (*value == '\0')
		return 0;
	if ((item = reallocarray(l->item, l->n + 1, sizeof(*item))) == NULL)
		return -1;
	l->item = item;
	if ((item[l->n] = strdup(value)) == NULL)
		return -1;
	l->n++;
	return 0;
}

/* A number and one of its units. */
static int
set_number(void *member, const char *value, const struct unit *u)
{
	unsigned long long	 n;
	char			*end;

	errno = EINVAL;
	if (!isdigit((unsigned char)*value))
		return -1;
	errno = 0;
	n = strtoull(value, &end, 10);
	if (errno != 0)
		return -1;
	for (; u->suffix != NULL; u++)
		if (strcasecmp(end, u->suffix) == 0)
			break;
	errno = EINVAL;
	if (u->suffix == NULL || n > INT64_MAX / u->factor)
		return -1;
	*(uint64_t *)member = n * u->factor;
	return 0;
}

static int
set_COUNT(const struct conf_row *row, void *member, const char *value)
{
	uint64_t	 n;

	(void)row;
	if (set_number(&n, value, count_units) == -1)
		return -1;
	if (n > COUNT_MAX) {
		errno = ERANGE;
		return -1;
	}
	*(uint64_t *)member = n;
	return 0;
}

static int
set_SIZE(const struct conf_row *row, void *member, const char *value)
{
	(void)row;
	return set_number(member, value, size_units);
}

static int
set_SECONDS(const struct conf_row *row, void *member, const char *value)
{
	(void)row;
	return set_number(member, value, time_units);
}

static int
set_choice(const struct conf_row *row, void *member, const char *value)
{
	const char	*group = row->type + sizeof("CHOICE_") - 1;
	size_t		 i;

	for (i = 0; i < sizeof(choices) / sizeof(choices[0]); i++)
		if (strcmp(choices[i].group, group) == 0 &&
		    strcasecmp(choices[i].word, value) == 0) {
			*(int *)member = choices[i].value;
			return 0;
		}
	errno = EINVAL;
	return -1;
}

static void
print_TEXT(const struct conf_row *row, const void *member, FILE *out)
{
	const char	*text = *(char *const *)member;

	if (text[0] == '\0')
		/* Where something else is the default, nothing is a choice. */
		fprintf(out, row->value[0] == '\0' ? "# %s\n" : "%s\n",
		    row->keyword);
	else
		fprintf(out, "%s %s\n", row->keyword, text);
}

static void
print_LIST(const struct conf_row *row, const void *member, FILE *out)
{
	const struct conf_list	*l = member;
	size_t			 i;

	if (l->n == 0)
		fprintf(out, "# %s\n", row->keyword);
	for (i = 0; i < l->n; i++)
		fprintf(out, "%s %s\n", row->keyword, l->item[i]);
}

/* In the largest unit that keeps it whole. */
static void
print_number(const struct conf_row *row, const void *member, FILE *out,
    const struct unit *units)
{
	uint64_t		 n = *(const uint64_t *)member;
	const struct unit	*u, *best = NULL;

	for (u = units; u->suffix != NULL; u++)
		if (n % u->factor == 0 &&
		    (best == NULL || (u->factor > best->factor && n != 0)))
			best = u;
	if (best == NULL)
		best = &time_units[1];		/* milliseconds */
	fprintf(out, "%s %llu%s\n", row->keyword,
	    (unsigned long long)(n / best->factor), best->suffix);
}

static void
print_COUNT(const struct conf_row *row, const void *member, FILE *out)
{
	print_number(row, member, out, count_units);
}

static void
print_SIZE(const struct conf_row *row, const void *member, FILE *out)
{
	print_number(row, member, out, size_units);
}

static void
print_SECONDS(const struct conf_row *row, const void *member, FILE *out)
{
	print_number(row, member, out, time_units);
}

const char *
conf_word(const char *choice, int value)
{
	size_t	 i;

	for (i = 0; i < sizeof(choices) / sizeof(choices[0]); i++)
		if (strcmp(choices[i].group, choice) == 0 &&
		    choices[i].value == value)
			return choices[i].word;
	return "?";
}

static void
print_choice(const struct conf_row *row, const void *member, FILE *out)
{
	fprintf(out, "%s %s\n", row->keyword, conf_word(row->type +
	    sizeof("CHOICE_") - 1, *(const int *)member));
}

#define set_CHOICE_cgroup	set_choice
#define set_CHOICE_level	set_choice
#define set_CHOICE_paths	set_choice
#define set_CHOICE_root		set_choice
#define set_CHOICE_token	set_choice
#define set_CHOICE_transport	set_choice
#define print_CHOICE_cgroup	print_choice
#define print_CHOICE_level	print_choice
#define print_CHOICE_paths	print_choice
#define print_CHOICE_root	print_choice
#define print_CHOICE_token	print_choice
#define print_CHOICE_transport	print_choice

static const struct conf_row rows[] = {
#define CONF(keyword, type, member, value, help)			\
	{ #keyword, #type, set_##type, print_##type,			\
	  offsetof(struct conf, member), value },
#include "proto/conf.def"
#undef CONF
};

static const struct conf_row uplink_rows[] = {
#define UPLINK(keyword, type, member, value, help)			\
	{ #keyword, #type, set_##type, print_##type,			\
	  offsetof(struct conf_uplink, member), value },
#include "proto/uplink.def"
#undef UPLINK
};

#define NROWS		(sizeof(rows) / sizeof(rows[0]))
#define NUPLINK_ROWS	(sizeof(uplink_rows) / sizeof(uplink_rows[0]))

/* --- rows of one struct --- */

static int
rows_init(const struct conf_row *r, size_t n, void *base)
{
	size_t	 i;

	for (i = 0; i < n; i++)
		if (r[i].set(&r[i], (char *)base + r[i].offset,
		    r[i].value) == -1)
			return -1;
	return 0;
}

static void
rows_fini(const struct conf_row *r, size_t n, void *base)
{
	size_t	 i, k;

	for (i = 0; i < n; i++) {
		void	*member = (char *)base + r[i].offset;

		if (r[i].set == set_TEXT) {
			free(*(char **)member);
		} else if (r[i].set == set_LIST) {
			struct conf_list	*l = member;

			for (k = 0; k < l->n; k++)
				free(l->item[k]);
			free(l->item);
		}
	}
}

static const struct conf_row *
rows_find(const struct conf_row *r, size_t n, const char *keyword)
{
	size_t	 i;

	for (i = 0; i < n; i++)
		if (strcasecmp(r[i].keyword, keyword) == 0)
			return &r[i];
	return NULL;
}

static void
rows_print(const struct conf_row *r, size_t n, const void *base, FILE *out)
{
	size_t	 i;

	for (i = 0; i < n; i++)
		r[i].print(&r[i], (const char *)base + r[i].offset, out);
}

/* --- the whole --- */

int
conf_init(struct conf *c)
{
	memset(c, 0, sizeof(*c));
	if (rows_init(rows, NROWS, c) == 0)
		return 0;
	conf_fini(c);
	return -1;
}

void
conf_fini(struct conf *c)
{
	size_t	 i;

	rows_fini(rows, NROWS, c);
	for (i = 0; i < c->nuplink; i++) {
		rows_fini(uplink_rows, NUPLINK_ROWS, &c->uplink[i]);
		free(c->uplink[i].label);
	}
	free(c->uplink);
	memset(c, 0, sizeof(*c));
}

static int
begin_uplink(struct conf *c, const char *label, struct conf_error *e)
{
	struct conf_uplink	*u;

	if (*label == '\0') {
		snprintf(e->text, sizeof(e->text), "Uplink: it needs a name");
		return -1;
	}
	if ((u = reallocarray(c->uplink, c->nuplink + 1, sizeof(*u))) ==
	    NULL)
		goto fail;
	c->uplink = u;
	u += c->nuplink;
	memset(u, 0, sizeof(*u));
	if ((u->label = strdup(label)) == NULL ||
	    rows_init(uplink_rows, NUPLINK_ROWS, u) == -1) {
		rows_fini(uplink_rows, NUPLINK_ROWS, u);
		free(u->label);
		goto fail;
	}
	c->nuplink++;
	c->in_uplink = true;
	return 0;
 fail:
	snprintf(e->text, sizeof(e->text), "Uplink: %s", strerror(errno));
	return -1;
}

void
conf_end_block(struct conf *c)
{
	c->in_uplink = false;
}

int
conf_set(struct conf *c, const char *keyword, const char *value,
    struct conf_error *e)
{
	const struct conf_row	*outer, *inner, *row;
	void			*base;

	if (strcasecmp(keyword, "Uplink") == 0)
		return begin_uplink(c, value, e);
	outer = rows_find(rows, NROWS, keyword);
	inner = rows_find(uplink_rows, NUPLINK_ROWS, keyword);
	row = c->in_uplink ? inner : outer;
	base = c->in_uplink ? (void *)&c->uplink[c->nuplink - 1] : c;
	if (row == NULL) {
		snprintf(e->text, sizeof(e->text), outer != NULL ?
		    "\"%s\" belongs before the first Uplink" :
		    inner != NULL ? "\"%s\" belongs into an Uplink block" :
		    "unknown keyword \"%s\"", keyword);
		return -1;
	}
	if (row->set(row, (char *)base + row->offset, value) == 0)
		return 0;
	snprintf(e->text, sizeof(e->text), "%s: bad value \"%s\"",
	    row->keyword, value);
	return -1;
}

/* Split a line in place; 1 when there is a keyword, 0 when it is empty. */
static int
split(char *line, char **keyword_out, char **value_out)
{
	char	*end;

	line += strspn(line, " \t");
	if (*line == '\0' || *line == '#')
		return 0;
	end = line + strlen(line);
	while (end > line && isspace((unsigned char)end[-1]))
		*--end = '\0';
	*keyword_out = line;
	line += strcspn(line, " \t=");
	if (*line != '\0')
		*line++ = '\0';
	*value_out = line + strspn(line, " \t=");
	return 1;
}

static int
check_owner(FILE *f, const char *path, struct conf_error *e)
{
	struct stat	 st;

	if (fstat(fileno(f), &st) == -1 || !S_ISREG(st.st_mode)) {
		snprintf(e->text, sizeof(e->text), "%s: not a file", path);
		return -1;
	}
	if ((st.st_uid != 0 && st.st_uid != geteuid()) ||
	    (st.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
		snprintf(e->text, sizeof(e->text),
		    "%s: writable by somebody else", path);
		return -1;
	}
	return 0;
}

int
conf_load(struct conf *c, const char *path, struct conf_error *e)
{
	struct conf_error	 why;
	char			 line[LINE_MAX_], *keyword, *value;
	unsigned		 number = 0;
	int			 r = -1;
	FILE			*f;

	if ((f = fopen(path, "re")) == NULL) {
		snprintf(e->text, sizeof(e->text), "%s: %s", path,
		    strerror(errno));
		return -1;
	}
	if (check_owner(f, path, e) == -1)
		goto out;
	while (fgets(line, sizeof(line), f) != NULL) {
		number++;
		if (strchr(line, '\n') == NULL && !feof(f)) {
			snprintf(why.text, sizeof(why.text), "line too long");
		} else {
			line[strcspn(line, "\n")] = '\0';
			if (split(line, &keyword, &value) == 0 ||
			    conf_set(c, keyword, value, &why) == 0)
				continue;
		}
		snprintf(e->text, sizeof(e->text), "%.100s: line %u: %.120s",
		    path, number, why.text);
		goto out;
	}
	if (ferror(f))
		snprintf(e->text, sizeof(e->text), "%s: %s", path,
		    strerror(errno));
	else
		r = 0;
 out:
	conf_end_block(c);
	fclose(f);
	return r;
}

void
conf_print(const struct conf *c, FILE *out)
{
	size_t	 i;

	rows_print(rows, NROWS, c, out);
	for (i = 0; i < c->nuplink; i++) {
		fprintf(out, "Uplink %s\n", c->uplink[i].label);
		rows_print(uplink_rows, NUPLINK_ROWS, &c->uplink[i], out);
	}
}
