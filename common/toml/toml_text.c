/* Strings. */
#include "common/toml/toml.h"
#include "common/toml/toml_priv.h"

#include <string.h>

static int
toml_hex_value(int c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* Write a character at to, of which its escape was not shorter. */
static char *
put_character(char *to, unsigned long c)
{
	if (c < 0x80) {
		*to++ = (char)c;
	} else if (c < 0x800) {
		*to++ = (char)(0xc0 | c >> 6);
		*to++ = (char)(0x80 | (c & 0x3f));
	} else if (c < 0x10000) {
		*to++ = (char)(0xe0 | c >> 12);
		*to++ = (char)(0x80 | (c >> 6 & 0x3f));
		*to++ = (char)(0x80 | (c & 0x3f));
	} else {
		*to++ = (char)(0xf0 | c >> 18);
		*to++ = (char)(0x80 | (c >> 12 & 0x3f));
		*to++ = (char)(0x80 | (c >> 6 & 0x3f));
		*to++ = (char)(0x80 | (c & 0x3f));
	}
	return to;
}

/* Read n hexadecimal digits; a character of Unicode.  0, or -1. */
static int
unescape_hex(struct toml_parser *p, size_t n, char **to)
{
	unsigned long	 c = 0;
	int		 digit;

	for (; n > 0; n--, p->p++) {
		if ((digit = toml_hex_value(toml_peek(p, 0))) == -1)
			return toml_fail(p, "expected hexadecimal digits");
		c = c << 4 | (unsigned long)digit;
	}
	if (c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff))
		return toml_fail(p, "not a character of Unicode");
	*to = put_character(*to, c);
	return 0;
}

/*
 * Skip a backslash at the end of a line, and all blanks and line breaks that
 * follow.  False: it is none.
 */
static bool
skip_continued(struct toml_parser *p)
{
	char	*at = p->p;
	bool	 is_broken = false;

	for (;;) {
		if (toml_peek(p, 0) == ' ' || toml_peek(p, 0) == '\t')
			p->p++;
		else if (toml_skip_newline(p))
			is_broken = true;
		else
			break;
	}
	if (!is_broken)
		p->p = at;
	return is_broken;
}

/* Read what follows a backslash. */
static int
unescape(struct toml_parser *p, bool is_long, char **to)
{
	static const char	 names[] = "btnfre\"\\";
	static const char	 values[] = "\b\t\n\f\r\033\"\\";
	const char		*name;
	int			 c;

	if (is_long && skip_continued(p))
		return 0;
	if ((c = toml_peek(p, 0)) == -1)
		return toml_fail(p, "the string has no end");
	if (c != 0 && (name = strchr(names, c)) != NULL) {
		p->p++;
		*(*to)++ = values[name - names];
		return 0;
	}
	if (c != 'x' && c != 'u' && c != 'U')
		return toml_fail(p, "unknown escape in a string");
	p->p++;
	return unescape_hex(p, c == 'x' ? 2 : c == 'u' ? 4 : 8, to);
}

/* Take the quotes that end a long string, up to two of them its own. */
static bool
ends_long(struct toml_parser *p, char quote, char **to)
{
	size_t	 n = 0;

	while (n < 5 && toml_peek(p, n) == quote)
		n++;
	if (n < 3)
		return false;
	p->p += n;
	for (; n > 3; n--)
		*(*to)++ = quote;
	return true;
}

/* Copy what has no meaning of its own. */
static int
copy_plain(struct toml_parser *p, bool is_long, char **to)
{
	char	*at = p->p;
	int	 c = toml_peek(p, 0);

	if (is_long && toml_skip_newline(p)) {
		while (at < p->p)
			*(*to)++ = *at++;
		return 0;
	}
	if ((c < 0x20 && c != '\t') || c == 0x7f)
		return toml_fail(p, c == -1 || c == '\n' ?
		    "the string has no end" :
		    "control character in a string");
	*(*to)++ = *p->p++;
	return 0;
}

int
toml_read_string(struct toml_parser *p, bool is_key, struct span *out)
{
	char	 quote = *p->p, *to;
	bool	 is_long = toml_peek(p, 1) == quote && toml_peek(p, 2) == quote;
	int	 rv;

	if (is_long && is_key)
		return toml_fail(p, "a key cannot have several lines");
	p->p += is_long ? 3 : 1;
	if (is_long)
		(void)toml_skip_newline(p);
	out->at = to = p->p;
	for (;;) {
		if (toml_peek(p, 0) == quote) {
			if (!is_long) {
				p->p++;
				break;
			}
			if (ends_long(p, quote, &to))
				break;
		}
		if (quote == '"' && toml_peek(p, 0) == '\\') {
			p->p++;
			rv = unescape(p, is_long, &to);
		} else {
			rv = copy_plain(p, is_long, &to);
		}
		if (rv == -1)
			return -1;
	}
	out->len = (size_t)(to - out->at);
	return 0;
}
