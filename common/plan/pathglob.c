#include "common/plan/pathglob.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "common/json/utf8.h"

#define NOT_UTF8	0x110000	/* plus the byte: no character */

/* Return the character at s and its length. */
static uint32_t
character(const char *s, const char *end, size_t *len_out)
{
	uint8_t		 c = (uint8_t)*s;
	uint32_t	 code;
	size_t		 len = c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4, i;

	*len_out = 1;
	if (c < 0x80)
		return c;
	if ((size_t)(end - s) < len || !utf8_is_valid(s, len))
		return NOT_UTF8 + c;
	code = c & (0x7fu >> len);
	for (i = 1; i < len; i++)
		code = code << 6 | ((uint8_t)s[i] & 0x3f);
	*len_out = len;
	return code;
}

/* Return the end of the set at p, after its bracket, or NULL. */
static const char *
set_end(const char *p, const char *end)
{
	p++;
	if (p < end && (*p == '!' || *p == '^'))
		p++;
	if (p < end && *p == ']')	/* first: a member */
		p++;
	if (p >= end || (p = memchr(p, ']', (size_t)(end - p))) == NULL)
		return NULL;
	return p + 1;
}

/* Whether a set, from p to its end, contains a character. */
static bool
set_has(const char *p, const char *end, uint32_t code)
{
	uint32_t	 from, to;
	size_t		 n;
	bool		 is_other, has = false;

	end--;				/* without the bracket */
	p++;
	if ((is_other = *p == '!' || *p == '^'))
		p++;
	while (p < end) {
		from = to = character(p, end, &n);
		p += n;
		if (end - p >= 2 && *p == '-') {
			to = character(p + 1, end, &n);
			p += 1 + n;
		}
		has |= from <= code && code <= to;
	}
	return has != is_other;
}

/* Match one character of a name and advance *p and *s.  Not for a star. */
static bool
match_one(const char **p, const char *pend, const char **s, const char *send)
{
	const char	*end;
	uint32_t	 code;
	size_t		 n;

	code = character(*s, send, &n);
	switch (**p) {
	case '?':
		(*p)++;
		break;
	case '[':
		if ((end = set_end(*p, pend)) == NULL ||
		    !set_has(*p, end, code))
			return false;
		*p = end;
		break;
	default:
		end = *p + (**p == '\\' && *p + 1 < pend);
		if (*end != **s)
			return false;
		*p = end + 1;
		n = 1;
	}
	*s += n;
	return true;
}

/* Only the last star needs backtracking: earlier matches stay valid. */
static bool
match_name(const char *p, const char *pend, const char *s, const char *send)
{
	const char	*star = NULL, *taken = NULL;
	size_t		 n;

	for (;;) {
		if (p < pend && *p == '*') {
			star = ++p;
			taken = s;
			continue;
		}
		if (p == pend && s == send)
			return true;
		if (p < pend && s < send && match_one(&p, pend, &s, send))
			continue;
		if (star == NULL || taken == send)
			return false;
		character(taken, send, &n);
		taken += n;
		s = taken;
		p = star;
	}
}

static const char *
name_end(const char *s)
{
	return s + strcspn(s, "/");
}

/* Return the next name, or the end. */
static const char *
pathglob_next_name(const char *s)
{
	s = name_end(s);
	return s + (*s == '/');
}

static bool
is_folders(const char *p)
{
	return p[0] == '*' && p[1] == '*' && name_end(p) == p + 2;
}

bool
pathglob_match(const char *pattern, const char *path)
{
	const char	*p, *s, *folders = NULL, *taken = NULL;

	if (!pathglob_is_valid(pattern) || pattern[0] != '/' ||
	    path[0] != '/')
		return false;
	p = pattern + 1;
	s = path + 1;
	for (;;) {
		if (is_folders(p)) {
			if (p[2] == '\0')
				return *s != '\0';
			folders = p = pathglob_next_name(p);
			taken = s;
			continue;
		}
		if (*p == '\0' && *s == '\0')
			return true;
		if (*p != '\0' && *s != '\0' &&
		    match_name(p, name_end(p), s, name_end(s))) {
			p = pathglob_next_name(p);
			s = pathglob_next_name(s);
			continue;
		}
		if (folders == NULL || *taken == '\0')
			return false;
		taken = pathglob_next_name(taken);
		s = taken;
		p = folders;
	}
}

bool
pathglob_may_match_below(const char *pattern, const char *folder)
{
	const char	*p, *s;

	if (!pathglob_is_valid(pattern) || pattern[0] != '/' ||
	    folder[0] != '/')
		return false;
	for (p = pattern + 1, s = folder + 1; !is_folders(p);
	    p = pathglob_next_name(p), s = pathglob_next_name(s)) {
		if (*p == '\0' || *s == '\0')
			return *p != '\0';
		if (!match_name(p, name_end(p), s, name_end(s)))
			return false;
	}
	return true;
}

bool
pathglob_is_valid(const char *pattern)
{
	const char	*p = pattern;

	while (*p != '\0') {
		if (*p == '\\') {
			if (p[1] == '\0' || p[1] == '/')
				return false;
			p += 2;
		} else if (*p == '[') {
			if ((p = set_end(p, name_end(p))) == NULL)
				return false;
		} else {
			p++;
		}
	}
	return true;
}

bool
pathglob_is_wild(const char *name, size_t len)
{
	size_t	 i;

	for (i = 0; i < len; i++)
		if (name[i] == '\\')
			i++;
		else if (memchr("*?[", name[i], 3) != NULL)
			return true;
	return false;
}

int
pathglob_base(const char *pattern, char *path, size_t size)
{
	const char	*p = pattern, *end;
	size_t		 n = 0;

	while (*p == '/') {
		end = name_end(p + 1);
		if (pathglob_is_wild(p + 1, (size_t)(end - p - 1)))
			break;
		for (; p < end; p++) {
			p += *p == '\\' && p + 1 < end;
			if (n + 1 >= size)
				goto fail;
			path[n++] = *p;
		}
	}
	if (n == 0 && size > 1)
		path[n++] = '/';
	if (n == 0)
		goto fail;
	path[n] = '\0';
	return 0;
 fail:
	errno = ENAMETOOLONG;
	return -1;
}
