#include "common/client/reach/stdio_peer.h"

#include <sys/socket.h>
#include <sys/types.h>

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "common/limit.h"

#define READ_MIN	(64 * 1024)
#define KEEP		(256 * 1024)
#define ROOM		(128 * 1024)	/* SO_SNDBUF; doubled, see socket(7) */
#define LAST_MAX	4096	/* bytes of a last line when full */

/* --- in --- */

/* Byte by byte, so that the next line stays in the socket. */
ssize_t
stdio_peer_read_first(int fd, char *out, size_t size)
{
	size_t	 len = 0;
	ssize_t	 n;

	while (len < size) {
		if ((n = read(fd, out + len, 1)) == -1 && errno == EINTR)
			continue;
		if (n != 1)
			return -1;
		if (out[len] == '\n')
			return (ssize_t)len;
		len++;
	}
	return -1;
}

static void
find_line(struct stdio_peer *p)
{
	const uint8_t	*data = buf_data(&p->in), *end = NULL;

	assert(p->line == 0 && p->scanned <= p->in.len);
	if (p->in.len > p->scanned)
		end = memchr(data + p->scanned, '\n', p->in.len - p->scanned);
	if (end == NULL)
		p->scanned = p->in.len;
	else
		p->line = (size_t)(end + 1 - data);
}

/* Read until there is a line, EOF, or EAGAIN. */
static void
stdio_peer_fill(struct stdio_peer *p)
{
	uint8_t	*room;
	ssize_t	 n;

	while (find_line(p), p->line == 0 && !p->has_ended) {
		if ((room = buf_reserve(&p->in, READ_MIN)) == NULL) {
			p->has_ended = true;	/* too long, or ENOMEM */
			break;
		}
		n = recv(p->fd, room, READ_MIN, MSG_DONTWAIT);
		if (n == -1 && errno == EINTR)
			continue;
		if (n == -1 && errno == EAGAIN)
			break;
		if (n > 0)
			buf_commit(&p->in, (size_t)n);
		else
			p->has_ended = true;
	}
	if (p->watch != NULL)
		wswatch_read(p->watch, p->line == 0 && !p->has_ended);
}

static void
stdio_peer_on_readable(void *arg)
{
	struct stdio_peer	*p = arg;

	if (p->line == 0)
		stdio_peer_fill(p);
	if (p->line > 0 || p->has_ended)
		p->events->on_line(p->arg);
}

bool
stdio_peer_first(const struct stdio_peer *p, const uint8_t **data_out,
    size_t *len_out)
{
	if (p->line == 0)
		return false;
	*data_out = buf_data(&p->in);
	*len_out = p->line - 1;
	return true;
}

void
stdio_peer_drop(struct stdio_peer *p)
{
	assert(p->line > 0 && p->line <= p->in.len);
	buf_drain(&p->in, p->line);
	buf_trim(&p->in, KEEP);
	p->line = p->scanned = 0;
	stdio_peer_fill(p);
}

bool
stdio_peer_is_over(const struct stdio_peer *p)
{
	return p->has_ended && p->line == 0;
}

/* --- out --- */

static void
flush(struct stdio_peer *p)
{
	ssize_t	 n;

	while (p->out.len > 0) {
		n = send(p->fd, buf_data(&p->out), p->out.len, MSG_NOSIGNAL |
		    MSG_DONTWAIT);
		if (n == -1 && errno == EINTR)
			continue;
		if (n == -1 && errno == EAGAIN && p->watch != NULL) {
			wswatch_write(p->watch);
			return;
		}
		/* On an error discard output: reading reports the end. */
		buf_drain(&p->out, n == -1 ? p->out.len : (size_t)n);
	}
	buf_trim(&p->out, KEEP);
}

static void
stdio_peer_on_writable(void *arg)
{
	struct stdio_peer	*p = arg;

	flush(p);
	if (p->out.len == 0)
		p->events->on_room(p->arg);
}

int
stdio_peer_put(struct stdio_peer *p, uint8_t *data, size_t len)
{
	uint8_t	*at = data;
	size_t	 left = len;

	/* In JSON a newline can only be whitespace, so a blank will do. */
	for (; (at = memchr(at, '\n', left)) != NULL;
	    left = len - (size_t)(at - data))
		*at = ' ';
	if (buf_put(&p->out, data, len) == -1 ||
	    buf_put(&p->out, "\n", 1) == -1)
		return -1;
	flush(p);
	return 0;
}

bool
stdio_peer_is_full(const struct stdio_peer *p)
{
	return p->out.len > 0;
}

/* --- beginning and end --- */

/* Lines sent before the hangup are still in the socket: read on. */
static void
stdio_peer_on_hangup(void *arg)
{
	struct stdio_peer	*p = arg;

	wswatch_free(&p->watch);
	stdio_peer_on_readable(p);
}

static const struct wswatch_events	 wswatch_events = {
	stdio_peer_on_readable, stdio_peer_on_writable, stdio_peer_on_hangup
};

int
stdio_peer_init(struct stdio_peer *p, int fd, struct wsloop *l,
    const struct stdio_peer_events *events, void *arg)
{
	int	 room = ROOM;

	memset(p, 0, sizeof(*p));
	p->fd = fd;
	p->events = events;
	p->arg = arg;
	buf_init(&p->in, (size_t)LIMIT_MESSAGE + 2 * READ_MIN);
	buf_init(&p->out, (size_t)LIMIT_MESSAGE + LAST_MAX);
	if (setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &room, sizeof(room)) == -1)
		return -1;
	p->watch = wswatch_new(l, fd, &wswatch_events, p);
	return p->watch == NULL ? -1 : 0;
}

void
stdio_peer_fini(struct stdio_peer *p)
{
	wswatch_free(&p->watch);
	buf_fini(&p->in);
	buf_fini(&p->out);
}
