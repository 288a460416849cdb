#include "common/client/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "common/json/utf8.h"

/* U+200E, U+200F, U+2028 to U+202E, U+2066 to U+2069: direction and lines. */
static bool
is_unseen(const unsigned char *u)
{
	return u[0] == 0xe2 && ((u[1] == 0x80 && (u[2] == 0x8e ||
	    u[2] == 0x8f || (u[2] >= 0xa8 && u[2] <= 0xae))) ||
	    (u[1] == 0x81 && u[2] >= 0xa6 && u[2] <= 0xa9));
}

/* Return the length of the printable character at p, or 0. */
static size_t
error_printable(const char *p, size_t len)
{
	const unsigned char	*u = (const unsigned char *)p;
	size_t			 n;

	if (u[0] < 0x80)
		return u[0] >= ' ' && u[0] != 0x7f;
	n = u[0] < 0xe0 ? 2 : u[0] < 0xf0 ? 3 : 4;
	if (n > len || !utf8_is_valid(p, n))
		return 0;
	/* U+0080 to U+009F are control characters, too. */
	return (u[0] == 0xc2 && u[1] < 0xa0) || is_unseen(u) ? 0 : n;
}

size_t
execsrv_printable(char *text)
{
	size_t	 n, width = 0, len = strlen(text);
	char	*p;

	for (p = text; len > 0; p += n, len -= n, width++)
		if ((n = error_printable(p, len)) == 0) {
			*p = '?';
			n = 1;
		}
	return width;
}

void
execsrv_error_set(struct execsrv_error *e, int64_t code, const char *fmt, ...)
{
	va_list	 ap;

	e->code = code;
	va_start(ap, fmt);
	vsnprintf(e->text, sizeof(e->text), fmt, ap);
	va_end(ap);
	execsrv_printable(e->text);
}

void
execsrv_error_add(struct execsrv_error *e, const char *said)
{
	size_t	 n = strlen(e->text);

	snprintf(e->text + n, sizeof(e->text) - n, "%s%s", n > 0 ? "; " : "",
	    said);
	execsrv_printable(e->text);
}
