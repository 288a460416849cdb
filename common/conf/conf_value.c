/* Types of keywords: a set and a print function for each. */
#include "common/conf/conf_priv.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define COUNT_MAX	1000000	/* for any count */
#define NICE_MAX	19	/* setpriority(2) */
#define WEIGHT_MAX	10000	/* cpu.weight, cgroup-v2.rst */

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

#define KIB	((uint64_t)1024)
#define SECOND	((uint64_t)1000)

/* Of several names for a factor the first one is printed. */
static const struct unit size_units[] = {
	{ "", 1 }, { "K", KIB }, { "M", KIB * KIB }, { "G", KIB * KIB * KIB },
	{ "T", KIB * KIB * KIB * KIB }, { "B", 1 },
	{ "KB", KIB }, { "MB", KIB * KIB }, { "GB", KIB * KIB * KIB },
	{ "TB", KIB * KIB * KIB * KIB },
	{ "KiB", KIB }, { "MiB", KIB * KIB }, { "GiB", KIB * KIB * KIB },
	{ "TiB", KIB * KIB * KIB * KIB }, { NULL, 0 }
};

static const struct unit time_units[] = {
	{ "", SECOND }, { "ms", 1 }, { "s", SECOND }, { "m", 60 * SECOND },
	{ "h", 3600 * SECOND }, { "d", 86400 * SECOND },
	{ "sec", SECOND }, { "min", 60 * SECOND }, { NULL, 0 }
};

/* Other words for a choice, where it has the first one. */
static const struct {
	const char	*word, *other;
} synonyms[] = {
	{ "yes", "true" }, { "yes", "on" }, { "no", "false" }, { "no", "off" },
	{ "warning", "warn" }, { "error", "err" }
};

static const struct unit count_units[] = { { "", 1 }, { NULL, 0 } };

/* --- one function for each type --- */

int
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

int
conf_list_add(struct conf_list *l, const char *text)
{
	char	**item;

	if ((item = reallocarray(l->item, l->n + 1, sizeof(*item))) == NULL)
		return -1;
	l->item = item;
	if ((item[l->n] = strdup(text)) == NULL)
		return -1;
	l->n++;
	return 0;
}

void
conf_list_fini(struct conf_list *l)
{
	size_t	 i;

	for (i = 0; i < l->n; i++)
		free(l->item[i]);
	free(l->item);
	l->item = NULL;
	l->n = 0;
}

int
set_PATH(const struct conf_row *row, void *member, const char *value)
{
	return set_TEXT(row, member, value);
}

int
set_LIST(const struct conf_row *row, void *member, const char *value)
{
	(void)row;
	return *value == '\0' ? 0 : conf_list_add(member, value);
}

void
conf_join_names(char *text)
{
	char	*to = text;
	bool	 is_first = true;
	size_t	 n;

	while (*(text += strspn(text, " \t,")) != '\0') {
		n = strcspn(text, " \t,");
		if (!is_first)
			*to++ = ',';
		is_first = false;
		memmove(to, text, n);
		to += n;
		text += n;
	}
	*to = '\0';
}

int
set_NAMES(const struct conf_row *row, void *member, const char *value)
{
	char	*list;
	int	 r = 0;

	(void)row;
	if (*value == '\0')
		return 0;
	if ((list = strdup(value)) == NULL)
		return -1;
	conf_join_names(list);
	if (conf_pattern_list(list, "") != -2 && conf_pattern_can_hold(list)) {
		r = conf_list_add(member, list);
	} else {
		errno = EINVAL;
		r = -1;
	}
	free(list);
	return r;
}

/* Parse a number with a unit. */
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

/* Parse a number without a unit. */
static int
set_up_to(uint64_t most, uint64_t *member, const char *value)
{
	uint64_t	 n;

	if (set_number(&n, value, count_units) == -1)
		return -1;
	if (n > most) {
		errno = ERANGE;
		return -1;
	}
	*member = n;
	return 0;
}

int
set_COUNT(const struct conf_row *row, void *member, const char *value)
{
	(void)row;
	return set_up_to(COUNT_MAX, member, value);
}

int
set_WEIGHT(const struct conf_row *row, void *member, const char *value)
{
	(void)row;
	return set_up_to(WEIGHT_MAX, member, value);
}

int
set_SIZE(const struct conf_row *row, void *member, const char *value)
{
	(void)row;
	return set_number(member, value, size_units);
}

int
set_SECONDS(const struct conf_row *row, void *member, const char *value)
{
	(void)row;
	return set_number(member, value, time_units);
}

/* For counts, sizes and times that must not be 0. */
static int
set_some(conf_set_fn *set, const struct conf_row *row, uint64_t *member,
    const char *value)
{
	uint64_t	 n;

	if (set(row, &n, value) == -1)
		return -1;
	if (n == 0) {
		errno = ERANGE;
		return -1;
	}
	*member = n;
	return 0;
}

int
set_AMOUNT(const struct conf_row *row, void *member, const char *value)
{
	return set_some(set_COUNT, row, member, value);
}

int
set_ROOM(const struct conf_row *row, void *member, const char *value)
{
	return set_some(set_SIZE, row, member, value);
}

int
set_TIMEOUT(const struct conf_row *row, void *member, const char *value)
{
	return set_some(set_SECONDS, row, member, value);
}

/* Parse a mode up to 0777. */
int
set_MODE(const struct conf_row *row, void *member, const char *value)
{
	size_t	 n = strlen(value);

	(void)row;
	if (n == 0 || n > 4 || strspn(value, "01234567") != n ||
	    strtoul(value, NULL, 8) > 0777) {
		errno = EINVAL;
		return -1;
	}
	*(uint32_t *)member = (uint32_t)strtoul(value, NULL, 8);
	return 0;
}

int
set_NICE(const struct conf_row *row, void *member, const char *value)
{
	uint64_t	 n;

	(void)row;
	if (set_up_to(NICE_MAX, &n, value) == -1)
		return -1;
	*(uint32_t *)member = (uint32_t)n;
	return 0;
}

static int
set_bound(uint64_t *n, const char *value)
{
	if (strcasecmp(value, "unlimited") != 0)
		return set_number(n, value, size_units);
	*n = UINT64_MAX;
	return 0;
}

/* Parse "SOFT[:HARD]"; empty: not set. */
int
set_RLIMIT(const struct conf_row *row, void *member, const char *value)
{
	struct conf_rlimit	 rl = { .is_set = *value != '\0' };
	char			*copy, *hard;
	int			 r = 0;

	(void)row;
	if ((copy = strdup(value)) == NULL)
		return -1;
	if ((hard = strchr(copy, ':')) != NULL)
		*hard++ = '\0';
	if (rl.is_set && (set_bound(&rl.soft, copy) == -1 ||
	    set_bound(&rl.hard, hard != NULL ? hard : copy) == -1)) {
		r = -1;
	} else if (rl.soft > rl.hard) {
		errno = EINVAL;
		r = -1;
	}
	if (r == 0)
		*(struct conf_rlimit *)member = rl;
	free(copy);
	return r;
}

static const char *
choice_group(const struct conf_row *row)
{
	return row->type + sizeof("CHOICE_") - 1;
}

static const struct choice *
choice_find(const char *group, const char *word)
{
	size_t	 i;

	for (i = 0; i < sizeof(choices) / sizeof(choices[0]); i++)
		if (strcmp(choices[i].group, group) == 0 &&
		    strcasecmp(choices[i].word, word) == 0)
			return &choices[i];
	return NULL;
}

int
set_choice(const struct conf_row *row, void *member, const char *value)
{
	const char		*group = choice_group(row);
	const struct choice	*c = choice_find(group, value);
	size_t			 i;

	for (i = 0; i < sizeof(synonyms) / sizeof(synonyms[0]); i++)
		if (c == NULL && strcasecmp(synonyms[i].other, value) == 0)
			c = choice_find(group, synonyms[i].word);
	if (c == NULL) {
		errno = EINVAL;
		return -1;
	}
	*(int *)member = c->value;
	return 0;
}

/* --- what a row expects --- */

#define SIZES	"in bytes or with K, M, G or T, such as 64M"
#define TIMES	"in seconds or with ms, s, m, h or d, such as 10m"

static const struct {
	const char	*type, *words;
} expectations[] = {
	{ "AMOUNT", "a number from 1 to 1000000" },
	{ "COUNT", "a number from 0 to 1000000" },
	{ "MODE", "an octal number up to 777" },
	{ "NAMES", "names or patterns with * and ?, separated by commas or "
	    "blanks, not all of them negated (!)" },
	{ "NICE", "a number from 0 to 19" },
	{ "RLIMIT", "SOFT[:HARD], each a number, which may have K, M, G or T, "
	    "or unlimited; SOFT not above HARD" },
	{ "ROOM", "a size, not 0, " SIZES },
	{ "SECONDS", "a time " TIMES },
	{ "SIZE", "a size " SIZES },
	{ "TIMEOUT", "a time, not 0, " TIMES },
	{ "WEIGHT", "a number from 0 to 10000" }
};

/* Write "A, B or C": the words of a choice. */
static void
list_choices(const char *group, char *out, size_t size)
{
	const char	*word = NULL, *next;
	size_t		 i, n = 0, len = 0;

	out[0] = '\0';
	for (i = 0; i <= sizeof(choices) / sizeof(choices[0]); i++) {
		next = i == sizeof(choices) / sizeof(choices[0]) ? NULL :
		    choices[i].word;
		if (next != NULL && strcmp(choices[i].group, group) != 0)
			continue;
		if (word != NULL && len < size)
			len += (size_t)snprintf(out + len, size - len, "%s%s",
			    n++ == 0 ? "" : next == NULL ? " or " : ", ",
			    word);
		word = next;
	}
}

void
conf_expected(const struct conf_row *row, char *out, size_t size)
{
	size_t	 i;

	if (row->set == set_choice) {
		list_choices(choice_group(row), out, size);
		return;
	}
	out[0] = '\0';
	for (i = 0; i < sizeof(expectations) / sizeof(expectations[0]); i++)
		if (strcmp(expectations[i].type, row->type) == 0)
			snprintf(out, size, "%s", expectations[i].words);
}

/* --- printing --- */

/* Whether unquoted text would be read differently. */
static bool
needs_quotes(const char *text)
{
	size_t	 n = strlen(text);

	return n == 0 || strchr("\"# \t=", text[0]) != NULL ||
	    isspace((unsigned char)text[n - 1]) ||
	    strstr(text, " #") != NULL || strstr(text, "\t#") != NULL;
}

void
conf_print_quoted(const char *text, FILE *out)
{
	fputc('"', out);
	for (; *text != '\0'; text++) {
		if (*text == '"' || *text == '\\')
			fputc('\\', out);
		fputc(*text, out);
	}
	fputc('"', out);
}

void
conf_print_line(const char *keyword, const char *value, FILE *out)
{
	fprintf(out, "%s ", keyword);
	if (needs_quotes(value))
		conf_print_quoted(value, out);
	else
		fputs(value, out);
	fputc('\n', out);
}

void
print_TEXT(const struct conf_row *row, const void *member, FILE *out)
{
	const char	*text = *(char *const *)member;

	/* An empty value is printed if the default is not empty. */
	if (text[0] == '\0' && row->value[0] == '\0')
		fprintf(out, "# %s\n", row->keyword);
	else
		conf_print_line(row->keyword, text, out);
}

void
print_PATH(const struct conf_row *row, const void *member, FILE *out)
{
	print_TEXT(row, member, out);
}

void
print_LIST(const struct conf_row *row, const void *member, FILE *out)
{
	const struct conf_list	*l = member;
	size_t			 i;

	if (l->n == 0)
		fprintf(out, "# %s\n", row->keyword);
	for (i = 0; i < l->n; i++)
		conf_print_line(row->keyword, l->item[i], out);
}

void
print_NAMES(const struct conf_row *row, const void *member, FILE *out)
{
	print_LIST(row, member, out);
}

/* Print in the largest unit without a remainder. */
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

void
print_COUNT(const struct conf_row *row, const void *member, FILE *out)
{
	print_number(row, member, out, count_units);
}

void
print_AMOUNT(const struct conf_row *row, const void *member, FILE *out)
{
	print_COUNT(row, member, out);
}

void
print_WEIGHT(const struct conf_row *row, const void *member, FILE *out)
{
	print_number(row, member, out, count_units);
}

void
print_SIZE(const struct conf_row *row, const void *member, FILE *out)
{
	print_number(row, member, out, size_units);
}

void
print_SECONDS(const struct conf_row *row, const void *member, FILE *out)
{
	print_number(row, member, out, time_units);
}

void
print_ROOM(const struct conf_row *row, const void *member, FILE *out)
{
	print_SIZE(row, member, out);
}

void
print_TIMEOUT(const struct conf_row *row, const void *member, FILE *out)
{
	print_SECONDS(row, member, out);
}

void
print_MODE(const struct conf_row *row, const void *member, FILE *out)
{
	fprintf(out, "%s %03o\n", row->keyword, *(const uint32_t *)member);
}

void
print_NICE(const struct conf_row *row, const void *member, FILE *out)
{
	fprintf(out, "%s %u\n", row->keyword, *(const uint32_t *)member);
}

static void
print_bound(uint64_t n, char end, FILE *out)
{
	if (n == UINT64_MAX)
		fputs("unlimited", out);
	else
		fprintf(out, "%llu", (unsigned long long)n);
	fputc(end, out);
}

void
print_RLIMIT(const struct conf_row *row, const void *member, FILE *out)
{
	const struct conf_rlimit	*rl = member;

	if (!rl->is_set) {
		fprintf(out, "# %s\n", row->keyword);
		return;
	}
	fprintf(out, "%s ", row->keyword);
	print_bound(rl->soft, ':', out);
	print_bound(rl->hard, '\n', out);
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

void
print_choice(const struct conf_row *row, const void *member, FILE *out)
{
	fprintf(out, "%s %s\n", row->keyword, conf_word(choice_group(row),
	    *(const int *)member));
}
