/* Messages on a socket or pipe, a line each (PROTOCOL 1.3). */
#include <assert.h>
#include <errno.h>
#include <string.h>

#include "common/client/transport/transport_priv.h"
#include "common/json/utf8.h"

int
lines_put(struct transport *t, const void *data, size_t len)
{
	char	*room, *p;
	size_t	 left = len;

	assert(t->state == TRANSPORT_UP && t->is_lines);
	if ((room = buf_reserve(&t->out, len + 1)) == NULL)
		return transport_fail(t, EXECSRV_WHY_TOO_MUCH,
		    "too many bytes wait to be sent");
	memcpy(room, data, len);
	/* JSON has line breaks between tokens only, where a blank will do. */
	for (p = room; (p = memchr(p, '\n', left)) != NULL;
	    left = len - (size_t)(p - room))
		*p = ' ';
	room[len] = '\n';
	buf_commit(&t->out, len + 1);
	return 0;
}

static bool
is_blank(const char *line, size_t len)
{
	return strspn(line, " \t\r") >= len;
}

static void
on_line(struct transport *t, char *line, size_t len)
{
	if (len > 0 && line[len - 1] == '\r')
		len--;
	if (is_blank(line, len))
		return;
	if (!utf8_is_valid(line, len))
		transport_lose(t, EXECSRV_WHY_PROTOCOL, "the server sent a "
		    "message that is not UTF-8");
	else if (t->state == TRANSPORT_UPGRADING)
		t->events->on_hello(t->arg, line, len);
	else
		t->events->on_message(t->arg, line, len);
}

static bool
wants_lines(const struct transport *t)
{
	return t->state == TRANSPORT_UP || t->state == TRANSPORT_UPGRADING;
}

int
lines_feed(struct transport *t, const void *data, size_t len)
{
	char	*line, *end;
	size_t	 seen = t->head.len, n;

	if (buf_put(&t->head, data, len) == -1) {
		if (errno == EFBIG)
			return transport_lose(t, EXECSRV_WHY_PROTOCOL, "the "
			    "server's line is too long");
		return transport_fail_memory(t);
	}
	/* Any of them may end the connection. */
	while (wants_lines(t) && t->head.len > seen) {
		line = (char *)buf_data(&t->head);
		if ((end = memchr(line + seen, '\n', t->head.len - seen)) ==
		    NULL)
			break;
		*end = '\0';
		n = (size_t)(end - line);
		on_line(t, line, n);
		buf_drain(&t->head, n + 1);
		seen = 0;
	}
	buf_trim(&t->head, LIMIT_FRAGMENT);
	return wants_lines(t) ? 0 : -1;
}
