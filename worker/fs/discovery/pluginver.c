#include "worker/fs/discovery/pluginver.h"

#include <stdbool.h>
#include <string.h>

#include "common/span.h"

#define DIGITS	"0123456789"
#define LETTERS	"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-"

#define NUMBERS	3	/* major, minor, patch */

struct version {
	struct span	 number[NUMBERS];
	const char	*pre;	/* identifiers, up to the end or "+"; or NULL */
};

/* Take what is made of some characters. */
static struct span
take(const char **at, const char *of)
{
	struct span	 s = { *at, strspn(*at, of) };

	*at += s.len;
	return s;
}

static bool
is_numeric_id(struct span s)
{
	return s.len > 0 && strspn(s.at, DIGITS) >= s.len &&
	    (s.len == 1 || s.at[0] != '0');
}

/* Take identifiers with dots between them. */
static bool
take_identifiers(const char **at, bool zeros_too)
{
	struct span	 s;

	do {
		(*at)++;
		s = take(at, DIGITS LETTERS);
		if (s.len == 0 || (!zeros_too && !is_numeric_id(s) &&
		    strspn(s.at, DIGITS) >= s.len))
			return false;
	} while (**at == '.');
	return true;
}

static bool
parse(struct version *v, const char *at)
{
	size_t	 i;

	for (i = 0; i < NUMBERS; i++) {
		if (i > 0 && *at++ != '.')
			return false;
		v->number[i] = take(&at, DIGITS);
		if (!is_numeric_id(v->number[i]))
			return false;
	}
	v->pre = *at == '-' ? at + 1 : NULL;
	if (*at == '-' && !take_identifiers(&at, false))
		return false;
	return (*at != '+' || take_identifiers(&at, true)) && *at == '\0';
}

static int
compare_numbers(struct span a, struct span b)
{
	if (a.len != b.len)
		return a.len < b.len ? -1 : 1;
	return memcmp(a.at, b.at, a.len);
}

static int
compare_texts(struct span a, struct span b)
{
	int	 by = memcmp(a.at, b.at, a.len < b.len ? a.len : b.len);

	return by != 0 ? by : (a.len > b.len) - (a.len < b.len);
}

static int
compare_identifiers(struct span a, struct span b)
{
	if (is_numeric_id(a) != is_numeric_id(b))
		return is_numeric_id(a) ? -1 : 1;
	return is_numeric_id(a) ? compare_numbers(a, b) : compare_texts(a, b);
}

static int
compare_pre(const char *a, const char *b)
{
	int	 by;

	if (a == NULL || b == NULL)
		return (a == NULL) - (b == NULL);
	for (;; a++, b++) {
		by = compare_identifiers(take(&a, DIGITS LETTERS),
		    take(&b, DIGITS LETTERS));
		if (by != 0 || *a != '.' || *b != '.')
			return by != 0 ? by : (*a == '.') - (*b == '.');
	}
}

int
pluginver_compare(const char *a, const char *b)
{
	struct version	 x, y;
	size_t		 i;
	int		 by = 0;

	if (!parse(&x, a) || !parse(&y, b))
		return strcmp(a, b);
	for (i = 0; i < NUMBERS && by == 0; i++)
		by = compare_numbers(x.number[i], y.number[i]);
	if (by == 0)
		by = compare_pre(x.pre, y.pre);
	return by != 0 ? by : strcmp(a, b);
}
