/* Numbers, times, booleans: checked, and kept as they are written. */
#include "common/toml/toml.h"
#include "common/toml/toml_priv.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NUMBER_MAX	128	/* bytes of a number, with NUL */

static bool
toml_is_digit(int c)
{
	return c >= '0' && c <= '9';
}

/* --- times --- */

/* Read n digits, a number from least to most; -1: it is not. */
static int
fixed(const char **at, const char *end, size_t n, int least, int most)
{
	int	 value = 0;

	if ((size_t)(end - *at) < n)
		return -1;
	for (; n > 0; n--, (*at)++) {
		if (!toml_is_digit(**at))
			return -1;
		value = value * 10 + (**at - '0');
	}
	return value >= least && value <= most ? value : -1;
}

static bool
skip(const char **at, const char *end, const char *any)
{
	if (*at == end || strchr(any, **at) == NULL || **at == '\0')
		return false;
	(*at)++;
	return true;
}

static int
days_of(int year, int month)
{
	static const int	 days[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30,
		31, 30, 31 };
	bool			 leap = (year % 4 == 0 && year % 100 != 0) ||
				    year % 400 == 0;

	return month == 2 && leap ? 29 : days[month - 1];
}

static bool
read_date(const char **at, const char *end)
{
	int	 year, month;

	return (year = fixed(at, end, 4, 0, 9999)) != -1 &&
	    skip(at, end, "-") &&
	    (month = fixed(at, end, 2, 1, 12)) != -1 && skip(at, end, "-") &&
	    fixed(at, end, 2, 1, days_of(year, month)) != -1;
}

/* no_seconds: set to where they belong, if there are none. */
static bool
read_time(const char **at, const char *end, const char **no_seconds)
{
	if (fixed(at, end, 2, 0, 23) == -1 || !skip(at, end, ":") ||
	    fixed(at, end, 2, 0, 59) == -1)
		return false;
	if (!skip(at, end, ":")) {
		*no_seconds = *at;
		return true;
	}
	if (fixed(at, end, 2, 0, 60) == -1)
		return false;
	if (!skip(at, end, "."))
		return true;
	if (fixed(at, end, 1, 0, 9) == -1)
		return false;
	while (*at < end && toml_is_digit(**at))
		(*at)++;
	return true;
}

static bool
read_zone(const char **at, const char *end)
{
	return skip(at, end, "Zz") || (skip(at, end, "+-") &&
	    fixed(at, end, 2, 0, 23) != -1 && skip(at, end, ":") &&
	    fixed(at, end, 2, 0, 59) != -1);
}

/* Whether the token is a date, a time, or both. */
static bool
is_time(struct toml_value *v)
{
	const char	*at = v->text.at, *end = at + v->text.len;
	const char	*no_seconds = NULL;

	if (v->text.len > 2 && at[2] == ':') {
		if (!read_time(&at, end, &no_seconds))
			return false;
	} else if (!read_date(&at, end)) {
		return false;
	} else if (at != end) {
		if (!skip(&at, end, "Tt ") ||
		    !read_time(&at, end, &no_seconds) ||
		    (at != end && !read_zone(&at, end)))
			return false;
	}
	if (no_seconds != NULL)
		v->no_seconds = (size_t)(no_seconds - v->text.at);
	return at == end;
}

/* --- numbers --- */

static bool
is_of_base(int c, int base)
{
	if (base == 16)
		return toml_is_digit(c) || (c >= 'a' && c <= 'f') ||
		    (c >= 'A' && c <= 'F');
	return c >= '0' && c < '0' + base;
}

/* Copy digits without the lines between them.  Whether there is one or more. */
static bool
take_digits(const char **at, const char *end, int base, char **to)
{
	bool	 was_digit = false;

	for (; *at < end; (*at)++) {
		if (is_of_base(**at, base)) {
			*(*to)++ = **at;
			was_digit = true;
		} else if (**at != '_' || !was_digit || *at + 1 == end ||
		    !is_of_base((*at)[1], base)) {
			break;
		}
	}
	return was_digit;
}

static bool
in_range(const char *digits_only, int base)
{
	char	*end;

	errno = 0;
	(void)strtoll(digits_only, &end, base);
	return errno == 0 && *end == '\0';
}

static bool
is_based(const char *at, const char *end, char *copy)
{
	int	 base = at[1] == 'x' ? 16 : at[1] == 'o' ? 8 : 2;
	char	*to = copy;

	at += 2;
	if (!take_digits(&at, end, base, &to) || at != end)
		return false;
	*to = '\0';
	return in_range(copy, base);
}

/* Whether the token is an integer or a float; copy has room for it. */
static bool
is_decimal(const char *at, const char *end, char *copy)
{
	char	*to = copy;
	bool	 is_float = false;

	if (*at == '+' || *at == '-')
		*to++ = *at++;
	if (end - at == 3 && (memcmp(at, "inf", 3) == 0 ||
	    memcmp(at, "nan", 3) == 0))
		return true;
	if (end - at > 1 && at[0] == '0' &&
	    (toml_is_digit(at[1]) || at[1] == '_'))
		return false;
	if (!take_digits(&at, end, 10, &to))
		return false;
	if (at < end && *at == '.') {
		*to++ = *at++;
		is_float = true;
		if (!take_digits(&at, end, 10, &to))
			return false;
	}
	if (at < end && (*at == 'e' || *at == 'E')) {
		*to++ = *at++;
		is_float = true;
		if (at < end && (*at == '+' || *at == '-'))
			*to++ = *at++;
		if (!take_digits(&at, end, 10, &to))
			return false;
	}
	*to = '\0';
	if (at != end)
		return false;
	return is_float ? isfinite(strtod(copy, NULL)) : in_range(copy, 10);
}

static bool
is_number(struct span s)
{
	char	 copy[NUMBER_MAX];

	if (s.len == 0 || s.len >= sizeof(copy))
		return false;
	if (s.len > 2 && s.at[0] == '0' && strchr("xob", s.at[1]) != NULL)
		return is_based(s.at, s.at + s.len, copy);
	return is_decimal(s.at, s.at + s.len, copy);
}

/* --- a token --- */

static bool
is_of_token(int c)
{
	return toml_is_digit(c) || (c >= 'a' && c <= 'z') ||
	    (c >= 'A' && c <= 'Z') || c == '_' || c == '+' || c == '-' ||
	    c == '.' || c == ':';
}

/* Return the length of the token here; a date may go on after a blank. */
static size_t
token_len(const struct toml_parser *p)
{
	size_t	 n = 0;

	while (is_of_token(toml_peek(p, n)))
		n++;
	if (n == 10 && p->p[4] == '-' && p->p[7] == '-' &&
	    toml_peek(p, n) == ' ' && toml_is_digit(toml_peek(p, n + 1)))
		for (n++; is_of_token(toml_peek(p, n)); n++)
			;
	return n;
}

int
toml_read_scalar(struct toml_parser *p, struct toml_value *v)
{
	v->text.at = p->p;
	v->text.len = token_len(p);
	if (v->text.len == 0)
		return toml_fail(p, "expected a value");
	if (span_is(v->text, "true"))
		v->type = TOML_TRUE;
	else if (span_is(v->text, "false"))
		v->type = TOML_FALSE;
	else if (is_time(v))
		v->type = TOML_TIME;
	else if (is_number(v->text))
		v->type = TOML_NUMBER;
	else
		return toml_fail(p, "neither a boolean, a number nor a time, "
		    "or out of range; strings need quotes");
	p->p += v->text.len;
	return 0;
}
