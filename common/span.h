/*
 * A range of bytes in a text that is kept elsewhere, and what HTTP heads are
 * made of (RFC 9110 section 5.6, RFC 9112 section 2.2).  Pure; copies nothing.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct span {
	const char	*at;		/* NULL: absent; len is 0 then */
	size_t		 len;
};

/* Compare with a text; nocase ignores ASCII case. */
bool		 span_is(struct span s, const char *text);
bool		 span_is_nocase(struct span s, const char *text);
bool		 span_begins(struct span s, const char *text);

/* Cut off the bytes before the first c, and c.  False: no c, s unchanged. */
bool		 span_cut(struct span *s, char c, struct span *front_out);

/* Cut off a line and its CR LF.  False: no line or a bare LF, s unchanged. */
bool		 span_line(struct span *s, struct span *line_out);

/* Strip SP and HTAB on both sides. */
struct span	 span_trim(struct span s);

/* Whether s is a token (RFC 9110 section 5.6.2), thus not empty. */
bool		 span_is_token(struct span s);

/* Whether s is visible ASCII without blanks, not empty. */
bool		 span_is_visible(struct span s);

/* Whether s has no control character but HTAB (RFC 9110 section 5.5). */
bool		 span_is_text(struct span s);

/* Whether a comma-separated list has a member, ignoring case. */
bool		 span_list_has(struct span list, const char *token);
