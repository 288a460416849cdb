#include "common/span.h"

#include <string.h>
#include <strings.h>

bool
span_is(struct span s, const char *text)
{
	return s.len == strlen(text) && span_begins(s, text);
}

bool
span_is_nocase(struct span s, const char *text)
{
	return s.len == strlen(text) &&
	    (s.len == 0 || strncasecmp(s.at, text, s.len) == 0);
}

bool
span_begins(struct span s, const char *text)
{
	size_t	 len = strlen(text);

	return s.len >= len && (len == 0 || memcmp(s.at, text, len) == 0);
}

bool
span_cut(struct span *s, char c, struct span *front_out)
{
	const char	*p;

	if (s->len == 0 || (p = memchr(s->at, c, s->len)) == NULL)
		return false;
	front_out->at = s->at;
	front_out->len = (size_t)(p - s->at);
	s->at = p + 1;
	s->len -= front_out->len + 1;
	return true;
}

bool
span_line(struct span *s, struct span *line_out)
{
	struct span	 after = *s, line;

	if (!span_cut(&after, '\n', &line) || line.len == 0 ||
	    line.at[line.len - 1] != '\r')
		return false;
	line.len--;
	*line_out = line;
	*s = after;
	return true;
}

struct span
span_trim(struct span s)
{
	while (s.len > 0 && (s.at[0] == ' ' || s.at[0] == '\t')) {
		s.at++;
		s.len--;
	}
	while (s.len > 0 && (s.at[s.len - 1] == ' ' ||
	    s.at[s.len - 1] == '\t'))
		s.len--;
	return s;
}

bool
span_is_token(struct span s)
{
	size_t	 i;

	for (i = 0; i < s.len; i++)
		if (s.at[i] <= ' ' || s.at[i] > '~' ||
		    strchr("\"(),/:;<=>?@[\\]{}", s.at[i]) != NULL)
			return false;
	return s.len > 0;
}

bool
span_is_visible(struct span s)
{
	size_t	 i;

	for (i = 0; i < s.len; i++)
		if (s.at[i] <= ' ' || s.at[i] > '~')
			return false;
	return s.len > 0;
}

bool
span_is_text(struct span s)
{
	unsigned char	 c;
	size_t		 i;

	for (i = 0; i < s.len; i++) {
		c = (unsigned char)s.at[i];
		if ((c < ' ' && c != '\t') || c == 0x7f)
			return false;
	}
	return true;
}

bool
span_list_has(struct span list, const char *token)
{
	struct span	 member;

	while (span_cut(&list, ',', &member))
		if (span_is_nocase(span_trim(member), token))
			return true;
	return span_is_nocase(span_trim(list), token);
}
