/* Messages on a socket or pipe: one a line (PROTOCOL 1.3). */
#include <errno.h>
#include <string.h>

#include "common/client/client_priv.h"
#include "common/json/utf8.h"
#include "common/limit.h"

int
execsrv_put_line(struct execsrv *x, const void *data, size_t len)
{
	char	*room, *p;
	size_t	 left = len;

	if ((room = buf_reserve(&x->out, len + 1)) == NULL)
		return execsrv_fail(x, "too much waits to be sent");
	memcpy(room, data, len);
	/* Only between tokens, where a blank is as good. */
	for (p = room; (p = memchr(p, '\n', left)) != NULL;
	    left = len - (size_t)(p - room))
		*p = ' ';
	room[len] = '\n';
	buf_commit(&x->out, len + 1);
	return 0;
}

static bool
lines_is_blank(const char *line, size_t len)
{
	return strspn(line, " \t\r") >= len;
}

static void
lines_on_line(struct execsrv *x, char *line, size_t len)
{
	if (len > 0 && line[len - 1] == '\r')
		len--;
	if (lines_is_blank(line, len))
		return;
	if (!utf8_is_valid(line, len))
		execsrv_lose(x, "the server sent a message that is not UTF-8");
	else if (x->state == EXECSRV_UPGRADING)
		execsrv_reach_answer(x, line, len);
	else
		execsrv_on_message(x, line, len);
}

/* Those of execsrv-reach begin with one that is its own. */
static bool
wants_lines(const struct execsrv *x)
{
	return execsrv_has_frames(x) ||
	    (x->state == EXECSRV_UPGRADING && !x->is_lost);
}

int
execsrv_feed_lines(struct execsrv *x, const void *data, size_t len)
{
	char	*line, *end;
	size_t	 seen = x->head.len, n;

	if (buf_put(&x->head, data, len) == -1) {
		if (errno == EFBIG)
			return execsrv_lose(x, "the server's line is too "
			    "long");
		return execsrv_fail(x, "out of memory");
	}
	while (wants_lines(x) && x->head.len > seen) {
		line = (char *)buf_data(&x->head);
		if ((end = memchr(line + seen, '\n', x->head.len - seen)) ==
		    NULL)
			break;
		*end = '\0';
		n = (size_t)(end - line);
		lines_on_line(x, line, n);
		buf_drain(&x->head, n + 1);
		seen = 0;
	}
	json_trim(&x->json);
	buf_trim(&x->head, LIMIT_FRAGMENT);
	return wants_lines(x) ? 0 : -1;
}
