/* A range of bytes in a text, as of HTTP heads (RFC 9110, RFC 9112).  Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct span {
	const char	*at;		/* NULL: absent; len is 0 then */
	size_t		 len;
};

/* nocase: ASCII. */
bool		 span_is(struct span s, const char *text);
bool		 span_is_nocase(struct span s, const char *text);
bool		 span_begins(struct span s, const char *text);

/* Cut off what is before the first c, and c.  False: no c, s unchanged. */
bool		 span_cut(struct span *s, char c, struct span *front_out);

/* Cut off a line and its CR LF.  False: no line or a bare LF, s unchanged. */
bool		 span_line(struct span *s, struct span *line_out);

/* SP and HTAB on both sides. */
struct span	 span_trim(struct span s);

/* RFC 9110 section 5.6.2; not empty. */
bool		 span_is_token(struct span s);

/* Visible ASCII without blanks; not empty. */
bool		 span_is_visible(struct span s);

/* No control character but HTAB (RFC 9110 section 5.5). */
bool		 span_is_text(struct span s);

/* Whether a comma-separated list has it, ignoring case. */
bool		 span_list_has(struct span list, const char *token);
