#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "common/client/client_priv.h"
#include "common/utf8.h"

/* Length of the printable character at p, or 0. */
static size_t
printable(const char *p, size_t len)
{
	unsigned char	 c = (unsigned char)*p;
	size_t		 n;

	if (c < 0x80)
		return c >= ' ' && c != 0x7f;
	n = c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
	if (n > len || !utf8_is_valid(p, n))
		return 0;
	/* U+0080 to U+009F are control characters as well. */
	return c == 0xc2 && (unsigned char)p[1] < 0xa0 ? 0 : n;
}

static void
clean(char *text)
{
	size_t	 n, len = strlen(text);
	char	*p;

	for (p = text; len > 0; p += n, len -= n)
		if ((n = printable(p, len)) == 0) {
			*p = '?';
			n = 1;
		}
}

void
execsrv_error_set(struct execsrv_error *e, int64_t code, const char *fmt, ...)
{
	va_list	 ap;

	e->code = code;
	va_start(ap, fmt);
	vsnprintf(e->text, sizeof(e->text), fmt, ap);
	va_end(ap);
	clean(e->text);
}
