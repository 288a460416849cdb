#include "common/wildcard.h"

#include <ctype.h>

/* Backtracking to the last star is enough. */
bool
wildcard_matches(const char *pattern, size_t plen, const char *text,
    size_t len)
{
	size_t	 p = 0, n = 0, star = plen, mark = 0;

	while (n < len) {
		if (p < plen && pattern[p] == '*') {
			star = p++;
			mark = n;
		} else if (p < plen && (pattern[p] == '?' ||
		    toupper((unsigned char)pattern[p]) ==
		    toupper((unsigned char)text[n]))) {
			p++;
			n++;
		} else if (star < plen) {
			p = star + 1;
			n = ++mark;
		} else {
			return false;
		}
	}
	while (p < plen && pattern[p] == '*')
		p++;
	return p == plen;
}
