#include <sys/socket.h>
#include <sys/time.h>

#include <arpa/inet.h>
#include <assert.h>
#include <endian.h>
#include <err.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "t/bench/client.h"

#define CLIENT_IN	16384	/* grows to the largest frame */
#define CLIENT_PATIENCE	30	/* seconds without a byte */
#define FRAME_HEAD_MAX	14
#define HEAD		192	/* where method, id and error are looked for */

enum { OP_MORE = 0, OP_TEXT = 1, OP_CLOSE = 8, OP_PING = 9, OP_PONG = 10 };

struct client {
	int		 fd;
	int		 flags;
	bool		 upgraded;
	long		 last_id;
	char		*in;
	size_t		 in_cap, in_pos, in_len;
	char		*parts;		/* of a fragmented message */
	size_t		 parts_len;
	bool		 parts_taken;
	char		*out;		/* FRAME_HEAD_MAX, then the text */
	size_t		 out_cap;
};

struct frame {
	unsigned	 op;
	bool		 fin;
	size_t		 head, len;
};

/* Constant, but not zero: the server has to unmask. */
static const uint8_t mask[8] = {
	0x5a, 0xc3, 0x1d, 0x96, 0x5a, 0xc3, 0x1d, 0x96
};

static void *
grow(void *p, size_t size)
{
	if ((p = realloc(p, size)) == NULL)
		err(1, "%zu bytes", size);
	return p;
}

static void
send_all(struct client *c, const char *p, size_t len)
{
	ssize_t	n;

	for (; len > 0; p += n, len -= (size_t)n)
		if ((n = send(c->fd, p, len, MSG_NOSIGNAL)) == -1)
			err(1, "send");
}

static void
set_quickack(struct client *c)
{
	const int	on = 1;

	if (c->flags & CLIENT_QUICKACK)
		setsockopt(c->fd, IPPROTO_TCP, TCP_QUICKACK, &on, sizeof(on));
}

struct client *
client_connect(const struct bench *b, int flags)
{
	const struct timeval	 patience = { CLIENT_PATIENCE, 0 };
	const int		 on = 1;
	struct client		*c;
	char			 text[256];
	int			 n;

	if ((c = calloc(1, sizeof(*c))) == NULL)
		err(1, "client");
	c->flags = flags;
	client_reserve(c, CLIENT_IN);
	if ((c->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) == -1)
		err(1, "socket");
	setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	setsockopt(c->fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	setsockopt(c->fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	if (connect(c->fd, (const struct sockaddr *)&b->sin,
	    sizeof(b->sin)) == -1)
		err(1, "connect");
	set_quickack(c);
	n = snprintf(text, sizeof(text), "GET / HTTP/1.1\r\n"
	    "Host: %s:%d\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
	    "Sec-WebSocket-Version: 13\r\n"
	    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
	    inet_ntoa(b->sin.sin_addr), ntohs(b->sin.sin_port));
	send_all(c, text, (size_t)n);
	return c;
}

struct client *
client_open(const struct bench *b, int flags)
{
	struct client	*c = client_connect(b, flags);
	struct msg	 m;

	client_wait(c, MSG_UPGRADED, &m);
	client_wait_reply(c, client_call(c, "initialize",
	    "{\"clientName\":\"bench\"}"), &m);
	client_initialized(c);
	return c;
}

void
client_close(struct client **cp)
{
	struct client	*c = *cp;

	if (c == NULL)
		return;
	close(c->fd);
	free(c->in);
	free(c->parts);
	free(c->out);
	free(c);
	*cp = NULL;
}

int
client_fd(const struct client *c)
{
	return c->fd;
}

void
client_reserve(struct client *c, size_t size)
{
	if (size <= c->in_cap)
		return;
	c->in = grow(c->in, size);
	c->in_cap = size;
}

char *
client_room(struct client *c, size_t len)
{
	if (c->out_cap < FRAME_HEAD_MAX + len + sizeof(mask)) {
		c->out_cap = FRAME_HEAD_MAX + len + sizeof(mask);
		c->out = grow(c->out, c->out_cap);
	}
	return c->out + FRAME_HEAD_MAX;
}

/* Mask in place, eight bytes at a time: may run over into the slack. */
static void
apply_mask(char *p, size_t len)
{
	uint64_t	key, word;

	memcpy(&key, mask, sizeof(key));
	for (size_t i = 0; i < len; i += sizeof(word)) {
		memcpy(&word, p + i, sizeof(word));
		word ^= key;
		memcpy(p + i, &word, sizeof(word));
	}
}

static void
send_frame(struct client *c, unsigned op, size_t len)
{
	char	*text = c->out + FRAME_HEAD_MAX, *p = text - 4;

	apply_mask(text, len);
	memcpy(p, mask, 4);
	if (len > UINT16_MAX) {
		p -= 10;
		memcpy(p + 2, &(uint64_t){ htobe64(len) }, 8);
		p[1] = (char)(0x80 | 127);
	} else if (len > 125) {
		p -= 4;
		memcpy(p + 2, &(uint16_t){ htobe16((uint16_t)len) }, 2);
		p[1] = (char)(0x80 | 126);
	} else {
		p -= 2;
		p[1] = (char)(0x80 | len);
	}
	p[0] = (char)(0x80 | op);
	send_all(c, p, (size_t)(text + len - p));
}

void
client_send(struct client *c, size_t len)
{
	send_frame(c, OP_TEXT, len);
}

long
client_call(struct client *c, const char *method, const char *params, ...)
{
	const size_t	 size = 8192;
	char		*text = client_room(c, size);
	va_list		 ap;
	int		 n;

	n = snprintf(text, size, "{\"id\":%ld,\"method\":\"%s\",\"params\":",
	    ++c->last_id, method);
	va_start(ap, params);
	n += vsnprintf(text + n, size - (size_t)n, params, ap);
	va_end(ap);
	assert((size_t)n + 1 < size);
	text[n++] = '}';
	client_send(c, (size_t)n);
	return c->last_id;
}

long
client_call_text(struct client *c, const char *method, const char *params,
    size_t len)
{
	char	*text = client_room(c, len + 256);
	size_t	 n;

	n = (size_t)snprintf(text, 256, "{\"id\":%ld,\"method\":\"%s\","
	    "\"params\":", ++c->last_id, method);
	assert(n < 255);
	memcpy(text + n, params, len);
	text[n + len] = '}';
	client_send(c, n + len + 1);
	return c->last_id;
}

void
client_initialized(struct client *c)
{
	static const char	text[] =
	    "{\"method\":\"initialized\",\"params\":{}}";

	memcpy(client_room(c, sizeof(text)), text, sizeof(text) - 1);
	client_send(c, sizeof(text) - 1);
}

void
client_fill(struct client *c)
{
	ssize_t	n;

	assert(c->in_len < c->in_cap);
	do
		n = recv(c->fd, c->in + c->in_len, c->in_cap - c->in_len, 0);
	while (n == -1 && errno == EINTR);
	if (n == -1)
		err(1, "recv");
	if (n == 0)
		errx(1, "the server closed the connection");
	c->in_len += (size_t)n;
	set_quickack(c);
}

/* Make room for `need` bytes from the read position on. */
static void
make_room(struct client *c, size_t need)
{
	if (c->in_pos == c->in_len)
		c->in_pos = c->in_len = 0;
	if (c->in_cap - c->in_pos > need)
		return;
	memmove(c->in, c->in + c->in_pos, c->in_len - c->in_pos);
	c->in_len -= c->in_pos;
	c->in_pos = 0;
	client_reserve(c, need + 1);
}

static bool
take_upgrade(struct client *c, struct msg *m)
{
	char	*end;

	end = memmem(c->in, c->in_len, "\r\n\r\n", 4);
	if (end == NULL)
		return false;
	if (memcmp(c->in, "HTTP/1.1 101", 12) != 0)
		errx(1, "no upgrade: %.*s", (int)(end - c->in), c->in);
	c->in_pos = (size_t)(end + 4 - c->in);
	c->upgraded = true;
	*m = (struct msg){ .kind = MSG_UPGRADED };
	return true;
}

/* A frame is whole at the read position; else room for it was made. */
static bool
take_frame(struct client *c, struct frame *f)
{
	const char	*p = c->in + c->in_pos;
	size_t		 have = c->in_len - c->in_pos;
	uint16_t	 n16;
	uint64_t	 n64;

	f->head = have < 2 || (p[1] & 0x7f) < 126 ? 2 :
	    (p[1] & 0x7f) == 126 ? 4 : 10;
	if (have < f->head) {
		make_room(c, FRAME_HEAD_MAX);
		return false;
	}
	f->op = p[0] & 0xf;
	f->fin = p[0] & 0x80;
	f->len = p[1] & 0x7f;
	if (f->head == 4) {
		memcpy(&n16, p + 2, 2);
		f->len = be16toh(n16);
	} else if (f->head == 10) {
		memcpy(&n64, p + 2, 8);
		f->len = be64toh(n64);
	}
	if (have >= f->head + f->len)
		return true;
	make_room(c, f->head + f->len);
	return false;
}

static void
send_pong(struct client *c, const char *data, size_t len)
{
	memcpy(client_room(c, len), data, len);
	send_frame(c, OP_PONG, len);
}

static const char *
find_in(const char *text, size_t len, const char *what)
{
	return memmem(text, len, what, strlen(what));
}

/* From its first or last bytes. */
void
msg_classify(struct msg *m)
{
	static const struct {
		const char	*name;
		enum msg_kind	 kind;
	} events[] = {
		{ "process/output\"", MSG_OUTPUT },
		{ "process/exited\"", MSG_EXITED },
		{ "process/closed\"", MSG_CLOSED },
	};
	size_t		 n = m->len < HEAD ? m->len : HEAD;
	const char	*p;

	m->kind = MSG_OTHER;
	m->id = -1;
	if ((p = find_in(m->text, n, "\"method\":\"")) != NULL) {
		n -= (size_t)(p + 10 - m->text);
		for (size_t i = 0; i < 3 && n >= 15; i++)
			if (memcmp(p + 10, events[i].name, 15) == 0)
				m->kind = events[i].kind;
		return;
	}
	m->kind = find_in(m->text, n, "\"error\":{") ? MSG_ERROR : MSG_REPLY;
	if ((p = find_in(m->text, n, "\"id\":")) == NULL)
		p = find_in(m->text + m->len - n, n, "\"id\":");
	if (p != NULL)
		m->id = strtol(p + 5, NULL, 10);
}

/* Add a fragment; true when the message is whole. */
static bool
add_part(struct client *c, const struct frame *f, struct msg *m)
{
	if (c->parts_taken) {
		c->parts_len = 0;
		c->parts_taken = false;
	}
	c->parts = grow(c->parts, c->parts_len + m->len + 1);
	memcpy(c->parts + c->parts_len, m->text, m->len);
	c->parts_len += m->len;
	m->text = c->parts;
	m->len = c->parts_len;
	c->parts_taken = f->fin;
	return f->fin;
}

bool
client_take(struct client *c, struct msg *m)
{
	struct frame	f;

	if (!c->upgraded)
		return take_upgrade(c, m);
	while (take_frame(c, &f)) {
		m->text = c->in + c->in_pos + f.head;
		m->len = f.len;
		c->in_pos += f.head + f.len;
		if (f.op == OP_PING)
			send_pong(c, m->text, m->len);
		else if (f.op == OP_CLOSE)
			errx(1, "closed by the server: %.*s", m->len < 2 ? 0 :
			    (int)m->len - 2, m->text + 2);
		else if (f.op <= OP_TEXT &&
		    ((f.op == OP_TEXT && f.fin) || add_part(c, &f, m))) {
			msg_classify(m);
			return true;
		}
	}
	return false;
}

void
client_next_any(struct client *c, struct msg *m)
{
	while (!client_take(c, m))
		client_fill(c);
}

void
client_next(struct client *c, struct msg *m)
{
	client_next_any(c, m);
	if (m->kind == MSG_ERROR)
		errx(1, "server: %.*s", (int)(m->len < 400 ? m->len : 400),
		    m->text);
}

void
client_wait_reply(struct client *c, long id, struct msg *m)
{
	do
		client_next(c, m);
	while (m->kind != MSG_REPLY || m->id != id);
}

void
client_wait(struct client *c, enum msg_kind kind, struct msg *m)
{
	do
		client_next(c, m);
	while (m->kind != kind);
}

long
client_start(struct client *c, const char *id, bool pipe_stdin,
    const char *argv, ...)
{
	char		text[4096];
	va_list		ap;

	va_start(ap, argv);
	vsnprintf(text, sizeof(text), argv, ap);
	va_end(ap);
	return client_call(c, "process/start",
	    "{\"processId\":\"%s\",\"argv\":[%s],\"cwd\":\"file:///tmp\","
	    "\"env\":{},\"tty\":false,\"pipeStdin\":%s,\"arg0\":null}",
	    id, text, pipe_stdin ? "true" : "false");
}

long
client_start_terminal(struct client *c, const char *id, const char *script)
{
	return client_call(c, "process/start",
	    "{\"processId\":\"%s\",\"argv\":[\"/bin/sh\",\"-c\",\"%s\"],"
	    "\"cwd\":\"file:///tmp\",\"env\":{},\"tty\":true,\"arg0\":null}",
	    id, script);
}

void
client_terminate(struct client *c, const char *id)
{
	struct msg	m;

	client_call(c, "process/terminate", "{\"processId\":\"%s\"}", id);
	client_wait(c, MSG_CLOSED, &m);
}

size_t
msg_bytes(const struct msg *m)
{
	static const char	 key[] = "\"chunk\":\"";
	const char		*end = m->text + m->len, *p = m->text, *q;
	size_t			 sum = 0, len;

	while ((p = find_in(p, (size_t)(end - p), key)) != NULL) {
		p += sizeof(key) - 1;
		if ((q = memchr(p, '"', (size_t)(end - p))) == NULL)
			errx(1, "a chunk without an end");
		len = (size_t)(q - p);
		sum += len / 4 * 3;
		if (len > 0)
			sum -= (size_t)(q[-1] == '=') + (q[-2] == '=');
		p = q;
	}
	return sum;
}

long
msg_number(const struct msg *m, const char *key)
{
	const char	*p = find_in(m->text, m->len, key);

	if (p == NULL)
		errx(1, "no %s in %.*s", key, (int)(m->len < 400 ? m->len :
		    400), m->text);
	return strtol(p + strlen(key), NULL, 10);
}

bool
msg_has(const struct msg *m, const char *text)
{
	return find_in(m->text, m->len, text) != NULL;
}

double
client_echo(struct client *c, int number)
{
	struct msg	m;
	double		begin = now(), end = 0;

	client_call(c, "process/write",
	    "{\"processId\":\"cat\",\"chunk\":\"YQ==\",\"writeId\":\"%d\"}",
	    number);
	for (int left = 2; left > 0; ) {
		client_next(c, &m);
		if (m.kind == MSG_OUTPUT)
			end = now();
		left -= m.kind == MSG_OUTPUT || m.kind == MSG_REPLY;
	}
	return end - begin;
}
