/* Connections by standard input and output: a message is a line. */
#include "worker/conn/conn_priv.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "common/json/utf8.h"
#include "common/limit.h"

#define READ_SIZE	65536		/* one read */
#define TURN_MAX	(1024 * 1024)	/* bytes read in a turn */
#define LINES_KEEP	65536		/* memory kept between lines */

struct conn_stdio {
	struct conn	 c;
	struct buf	 lines;		/* not handed out yet */
	size_t		 scanned;	/* bytes without LF */
};

static size_t
stdio_head_len(size_t len)
{
	(void)len;
	return 0;
}

static size_t
stdio_tail_len(size_t len)
{
	(void)len;
	return 1;
}

static void
stdio_put_head(char *at, size_t len, bool first, bool last)
{
	(void)at;
	(void)len;
	(void)first;
	(void)last;
}

static void
stdio_put_tail(char *at)
{
	*at = '\n';
}

static void
stdio_put_close(struct conn *c, uint16_t code, const char *why)
{
	(void)c;
	(void)code;		/* EOF says the same */
	(void)why;
}

static bool
conn_stdio_is_blank(const char *text, size_t len)
{
	return strspn(text, " \t\r") >= len;
}

/* Handle a line; text[len] is its LF, at which strspn() stops. */
static void
stdio_on_line(struct conn *c, char *text, size_t len)
{
	if (len > 0 && text[len - 1] == '\r')
		len--;
	if (conn_stdio_is_blank(text, len))
		return;
	if (!utf8_is_valid(text, len))
		conn_end(c, "a line that is not UTF-8");
	else
		c->events->on_message(c->arg, text, len, true);
}

static void
stdio_drain_lines(struct conn *c)
{
	struct conn_stdio	*s = (struct conn_stdio *)c;
	char			*text, *lf;
	size_t			 len;

	while (conn_may_read(c) && s->lines.len > s->scanned) {
		text = (char *)buf_data(&s->lines);
		lf = memchr(text + s->scanned, '\n', s->lines.len - s->scanned);
		if (lf == NULL) {
			s->scanned = s->lines.len;
			break;
		}
		len = (size_t)(lf - text);
		stdio_on_line(c, text, len);
		buf_drain(&s->lines, len + 1);
		s->scanned = 0;
	}
	buf_trim(&s->lines, LINES_KEEP);
}

static size_t
stdio_unfinished(const struct conn *c)
{
	return ((const struct conn_stdio *)c)->lines.len;
}

static void
stdio_on_input(struct conn *c)
{
	struct conn_stdio	*s = (struct conn_stdio *)c;
	size_t			 taken;
	ssize_t			 n;
	void			*room;

	if (c->state != CONN_OPEN)
		return;
	stdio_drain_lines(c);
	for (taken = 0; conn_may_read(c) && taken < TURN_MAX;
	    taken += (size_t)n) {
		if (!conn_may_hold(c, 2 * s->lines.len))
			return;
		if ((room = buf_reserve(&s->lines, READ_SIZE)) == NULL) {
			conn_end(c, "a line that is too long");
			return;
		}
		n = read(c->in, room, READ_SIZE);
		if (n == -1 && (errno == EAGAIN || errno == EINTR))
			return;
		if (n == 0)
			conn_end_of_input(c, "end of input");
		else if (n == -1)
			conn_end(c, strerror(errno));
		if (n <= 0)
			return;
		buf_commit(&s->lines, (size_t)n);
		stdio_drain_lines(c);
		if (n < READ_SIZE)
			return;
	}
}

static void
stdio_fini(struct conn *c)
{
	buf_fini(&((struct conn_stdio *)c)->lines);
}

static const struct conn_ops stdio_ops = {
	.head_len = stdio_head_len,
	.tail_len = stdio_tail_len,
	.put_head = stdio_put_head,
	.put_tail = stdio_put_tail,
	.on_input = stdio_on_input,
	.unfinished = stdio_unfinished,
	.put_close = stdio_put_close,
	.fini = stdio_fini,
};

struct conn *
conn_stdio_new(struct event_base *base, int in, int out,
    const struct conn_events *events, void *arg)
{
	struct conn	*c;

	if ((c = conn_new(sizeof(struct conn_stdio), base, in, out,
	    &stdio_ops, events, arg)) == NULL)
		return NULL;
	c->is_socket = false;
	buf_init(&((struct conn_stdio *)c)->lines,
	    (size_t)LIMIT_MESSAGE + READ_SIZE);
	return c;
}
