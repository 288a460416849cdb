#include "common/net/netpattern.h"

#include <ctype.h>
#include <string.h>

#include "common/span.h"
#include "common/wildcard.h"

/* Remove ":PORT", and the brackets of "[HOST]". */
static const char *
strip(struct span *s)
{
	const char	*colon, *p;

	colon = s->len > 0 ? memchr(s->at, ':', s->len) : NULL;
	if (colon != NULL && memchr(colon + 1, ':',
	    s->len - (size_t)(colon + 1 - s->at)) == NULL) {
		for (p = colon + 1; p < s->at + s->len; p++)
			if (*p != '*' && !isdigit((unsigned char)*p))
				return "what follows a colon in a domain "
				    "pattern is no port";
		s->len = (size_t)(colon - s->at);
	}
	if (s->len > 0 && s->at[0] == '[') {
		if (s->len < 3 || s->at[s->len - 1] != ']')
			return "a bracket of a domain pattern is not closed";
		s->at++;
		s->len -= 2;
	}
	return NULL;
}

static bool
is_of_pattern(char c, bool is_six)
{
	return isalnum((unsigned char)c) ||
	    (c != '\0' && strchr("-_.*?", c) != NULL) || (is_six && c == ':');
}

/* Cut off "*." or "**."; return how many stars. */
static int
netpattern_cut(const char **pattern)
{
	int	 stars = strncmp(*pattern, "**.", 3) == 0 ? 2 :
	    strncmp(*pattern, "*.", 2) == 0 ? 1 : 0;

	if (stars > 0)
		*pattern += stars + 1;
	return stars;
}

static const char *
check_text(const char *text, bool in_brackets)
{
	const char	*p = text;
	struct nethost	 h;
	bool		 is_six = strchr(text, ':') != NULL;

	if (in_brackets && strcmp(text, "*") != 0 &&
	    (nethost_set(&h, text, strlen(text)) == -1 ||
	    nethost_is_name(&h) || !is_six))
		return "brackets of a domain pattern are for IPv6";
	if (netpattern_cut(&p) > 0 && *p == '\0')
		return "a domain pattern has nothing after its prefix";
	if (strstr(p, "**") != NULL)
		return "** of a domain pattern is only for the beginning, "
		    "before a dot";
	for (p = text; *p != '\0'; p++)
		if (!is_of_pattern(*p, is_six))
			return "a character that no domain pattern has";
	return NULL;
}

const char *
netpattern_make(const char *text, size_t len, char out[NETHOST_MAX])
{
	struct span	 s = { text, len };
	struct nethost	 h;
	const char	*why;
	bool		 in_brackets;
	size_t		 i;

	s = span_trim(s);
	while (s.len > 0 && s.at[s.len - 1] == '.')
		s.len--;
	in_brackets = s.len > 0 && s.at[0] == '[';
	if ((why = strip(&s)) != NULL)
		return why;
	while (s.len > 0 && s.at[s.len - 1] == '.')
		s.len--;
	/* Without its dot a prefix stands for everything, or for nothing. */
	if (s.len == 0 || s.len >= NETHOST_MAX)
		return "a domain pattern is empty or too long";
	/* It would end the pattern, which is a text from here on. */
	if (memchr(s.at, '\0', s.len) != NULL)
		return "a character that no domain pattern has";
	for (i = 0; i < s.len; i++)
		out[i] = (char)tolower((unsigned char)s.at[i]);
	out[s.len] = '\0';
	if ((why = check_text(out, in_brackets)) != NULL)
		return why;
	if (text[0] != '\0' && s.len == 1 && out[0] == '*' &&
	    memchr(text, '.', len) != NULL)
		return "a domain pattern has nothing after its prefix";
	if (strcmp(out, "**.*") == 0)
		strcpy(out, "*");
	if (nethost_set(&h, out, strlen(out)) == 0 && !nethost_is_name(&h))
		memcpy(out, h.text, sizeof(h.text));
	return NULL;
}

bool
netpattern_matches(const char *pattern, const struct nethost *h)
{
	const char	*name = pattern;
	size_t		 len = strlen(h->text);

	if (wildcard_matches(pattern, strlen(pattern), h->text, len))
		return true;
	/* "**." also matches the name itself. */
	return netpattern_cut(&name) == 2 &&
	    wildcard_matches(name, strlen(name), h->text, len);
}

bool
netpattern_is_exact(const char *pattern, const struct nethost *h)
{
	return strcmp(pattern, h->text) == 0;
}

bool
netpattern_is_all(const char *pattern)
{
	return strcmp(pattern, "*") == 0;
}
