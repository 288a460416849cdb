/*
 * Bytes inside a text that somebody else keeps, and what HTTP heads are made
 * of: lines, tokens, lists (RFC 9110 section 5.6, RFC 9112 section 2.2).
 * Pure; nothing is copied.
 */
#ifndef COMMON_SPAN_H
#define COMMON_SPAN_H

#include <stdbool.h>
#include <stddef.h>

struct span {
	const char	*at;		/* NULL: there is none; len is 0 then */
	size_t		 len;
};

/* Whether it is that text; the same without regard to ASCII case. */
bool		 span_is(struct span s, const char *text);
bool		 span_is_nocase(struct span s, const char *text);

/* Whether it begins with that text. */
bool		 span_begins(struct span s, const char *text);

/*
 * Cut what comes before the first c off the front of s; c itself is dropped.
 * False, and nothing is changed, when there is no c.
 */
bool		 span_cut(struct span *s, char c, struct span *front_out);

/*
 * Take the next line off the front of s: it ends with CR LF, which is
 * dropped.  False, and nothing is changed, when there is none or a bare LF
 * ends it.
 */
bool		 span_line(struct span *s, struct span *line_out);

/* Without blanks (SP and HTAB) around it. */
struct span	 span_trim(struct span s);

/* RFC 9110 section 5.6.2: a token, not empty, of visible characters. */
bool		 span_is_token(struct span s);

/* Not empty, and nothing but visible ASCII: no blank either. */
bool		 span_is_visible(struct span s);

/* RFC 9110 section 5.5: no control character but HTAB. */
bool		 span_is_text(struct span s);

/* Whether a list separated by commas has that member, in whatever case. */
bool		 span_list_has(struct span list, const char *token);

#endif
