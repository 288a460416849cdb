#include "common/client/error.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/json/utf8.h"

#define INTERNAL_ERROR	(-32603)

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
execsrv_error_vset(struct execsrv_error *e, enum execsrv_reason why,
    const char *fmt, va_list ap)
{
	int	 error = errno;
	char	 text[sizeof(e->text)];

	/* An argument may be the text that is there now. */
	vsnprintf(text, sizeof(text), fmt, ap);
	memset(e, 0, sizeof(*e));
	e->reason = why;
	if (why == EXECSRV_WHY_SYSTEM || why == EXECSRV_WHY_CONNECT)
		e->os_error = error;
	memcpy(e->text, text, sizeof(text));
	execsrv_printable(e->text);
}

void
execsrv_error_set(struct execsrv_error *e, enum execsrv_reason why,
    const char *fmt, ...)
{
	va_list	 ap;

	va_start(ap, fmt);
	execsrv_error_vset(e, why, fmt, ap);
	va_end(ap);
}

void
execsrv_error_answer(struct execsrv_error *e, int64_t code, const char *text)
{
	static const char	 mark[] = "(os error ";
	const char		*p = text, *at = NULL;

	execsrv_error_set(e, EXECSRV_WHY_SERVER, "%s", text);
	e->code = code;
	for (; (p = strstr(p, mark)) != NULL; p++)
		at = p + strlen(mark);
	if (at != NULL && isdigit((unsigned char)*at) &&
	    strcspn(at, ")") <= 4)
		e->os_error = atoi(at);
}

void
execsrv_error_read(const struct json *j, uint32_t error,
    struct execsrv_error *e)
{
	char		 text[sizeof(e->text)];
	uint32_t	 code = json_find(j, error, "code");
	int64_t		 n;

	json_copy_text(j, json_find(j, error, "message"), text, sizeof(text));
	if (code == 0 || json_i64(j, code, &n) == -1 || n == 0)
		n = INTERNAL_ERROR;	/* 0 is for reasons of our own */
	execsrv_error_answer(e, n, text[0] != '\0' ? text :
	    "the server sent an error without a message");
}

void
execsrv_error_prefix(struct execsrv_error *e, const char *what)
{
	char	 text[sizeof(e->text)];

	snprintf(text, sizeof(text), "%.200s: %.300s", what, e->text);
	memcpy(e->text, text, sizeof(text));
	execsrv_printable(e->text);
}

const char *
execsrv_reason_name(enum execsrv_reason reason)
{
	static const char *const	 names[] = {
		[EXECSRV_WHY_NONE] = "none",
		[EXECSRV_WHY_ARGUMENT] = "argument",
		[EXECSRV_WHY_SYSTEM] = "system",
		[EXECSRV_WHY_CONNECT] = "connect",
		[EXECSRV_WHY_REFUSED] = "refused",
		[EXECSRV_WHY_TIMEOUT] = "timeout",
		[EXECSRV_WHY_LOST] = "lost",
		[EXECSRV_WHY_PROTOCOL] = "protocol",
		[EXECSRV_WHY_SERVER] = "server",
		[EXECSRV_WHY_ENDED] = "ended",
		[EXECSRV_WHY_GAP] = "gap",
		[EXECSRV_WHY_TOO_MUCH] = "too much",
		[EXECSRV_WHY_CANCELLED] = "cancelled"
	};
	size_t	 i = (size_t)reason;

	return i < sizeof(names) / sizeof(names[0]) ? names[i] : "unknown";
}

const char *
execsrv_version(void)
{
	return EXECSRV_VERSION;
}

void
execsrv_error_add(struct execsrv_error *e, const char *said)
{
	size_t	 n = strlen(e->text);

	snprintf(e->text + n, sizeof(e->text) - n, "%s%s", n > 0 ? "; " : "",
	    said);
	execsrv_printable(e->text);
}
