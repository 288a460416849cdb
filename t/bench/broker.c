#include <sys/queue.h>
#include <sys/socket.h>

#include <arpa/inet.h>
#include <err.h>
#include <errno.h>
#include <event2/event.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/buf.h"
#include "common/json/b64.h"
#include "common/json/json.h"
#include "common/net/httphead.h"
#include "common/net/ws.h"
#include "t/bench/broker.h"

#define REQUEST_MAX	65536		/* a head and its body */
#define OUT_MAX		(64 << 20)
#define READ_SIZE	(256 << 10)	/* a few frames at a time */

/* A connection of the executor: of its HTTP client, or its websocket. */
struct peer {
	LIST_ENTRY(peer)	 entry;
	struct broker	*b;
	struct event		*readable, *writable;
	int			 fd;
	bool			 is_ws;
	struct buf		 in;		/* HTTP */
	struct ws_reader	 ws;
	struct buf		 out;
};

struct broker {
	struct event_base	*base;
	struct event		*acceptable;
	LIST_HEAD(, peer)	 peers;
	struct peer		*executor;	/* its websocket */
	struct noise_public	 keys;
	broker_fn		*fn;
	void			*arg;
	int			 fd;
	unsigned		 port;
};

/* --- sending ---------------------------------------------------------------*/

static void
peer_flush(struct peer *p)
{
	ssize_t	 n;

	while (p->out.len > 0) {
		n = send(p->fd, buf_data(&p->out), p->out.len, MSG_NOSIGNAL);
		if (n == -1 && errno == EAGAIN)
			break;
		if (n == -1)
			err(1, "send to the executor");
		buf_drain(&p->out, (size_t)n);
	}
	if (p->out.len > 0 && event_add(p->writable, NULL) == -1)
		errx(1, "event_add");
}

static void *
peer_room(struct peer *p, size_t len)
{
	void	*room;

	if ((room = buf_reserve(&p->out, len)) == NULL)
		err(1, "%zu bytes for the executor", len);
	return room;
}

static void
peer_put(struct peer *p, const void *data, size_t len)
{
	memcpy(peer_room(p, len), data, len);
	buf_commit(&p->out, len);
}

static void
peer_pong(struct peer *p, const struct ws_event *ev)
{
	uint8_t	 head[WS_HEADER_MAX];

	peer_put(p, head, ws_header(head, true, WS_PONG, ev->len, NULL));
	peer_put(p, ev->data, ev->len);
	peer_flush(p);
}

void
broker_send(struct broker *b, const struct relay_frame *f)
{
	struct peer	*p = b->executor;
	size_t		 size = f->len + RELAY_ROOM, head;
	uint8_t		*out;
	ssize_t		 n;

	/* Behind a header of the usual length. */
	out = peer_room(p, WS_HEADER_MAX + size);
	head = ws_header_len(size);
	if ((n = relay_encode(f, out + head, size)) == -1)
		err(1, "relay frame");
	if (ws_header_len((size_t)n) != head) {
		memmove(out + ws_header_len((size_t)n), out + head, (size_t)n);
		head = ws_header_len((size_t)n);
	}
	ws_header(out, true, WS_BINARY, (size_t)n, NULL);
	buf_commit(&p->out, head + (size_t)n);
}

void
broker_flush(struct broker *b)
{
	peer_flush(b->executor);
}

/* --- the registry ----------------------------------------------------------*/

static void
answer(struct peer *p, const char *json)
{
	char	 text[1024];
	int	 n;

	n = snprintf(text, sizeof(text), "HTTP/1.1 200 OK\r\n"
	    "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s",
	    strlen(json), json);
	if (n < 0 || (size_t)n >= sizeof(text))
		errx(1, "answer too long");
	peer_put(p, text, (size_t)n);
	peer_flush(p);
}

static void
take_key(const struct json *j, uint32_t keys, const char *name, uint8_t *out,
    size_t size)
{
	uint8_t		 key[2 * MLKEM_PUBLIC_LEN];
	uint32_t	 i = json_find(j, keys, name);
	size_t		 len = i == 0 ? 0 : json_tok(j, i)->len;

	if (len != B64_ENCODED_LEN(size) ||
	    b64_decode(key, json_text(j, i), len) != (ssize_t)size)
		errx(1, "registration without %s", name);
	memcpy(out, key, size);
}

static void
take_registration(struct peer *p, char *body, size_t len)
{
	struct noise_public	*keys = &p->b->keys;
	struct json		 j;
	uint32_t		 i;
	char			 text[512];

	json_init(&j);
	if (json_parse(&j, body, len) == -1)
		err(1, "registration");
	i = json_find(&j, 0, "executor_public_key");
	take_key(&j, i, "x25519_public_key", keys->dh, sizeof(keys->dh));
	take_key(&j, i, "mlkem768_public_key", keys->kem, sizeof(keys->kem));
	json_fini(&j);
	snprintf(text, sizeof(text), "{\"environment_id\":\"%s\","
	    "\"url\":\"ws://127.0.0.1:%u/\","
	    "\"security_profile\":\"noise_hybrid_ik_v1\","
	    "\"executor_registration_id\":\"%s\"}", BROKER_ENVIRONMENT,
	    p->b->port, BROKER_REGISTRATION);
	answer(p, text);
}

static size_t
body_len(struct span head)
{
	struct span	 line, name;

	while (span_line(&head, &line))
		if (span_cut(&line, ':', &name) &&
		    span_is_nocase(name, "content-length"))
			return strtoul(span_trim(line).at, NULL, 10);
	return 0;
}

static bool
is_operation(struct span target, const char *name)
{
	size_t	 len = strlen(name);

	return target.len >= len &&
	    memcmp(target.at + target.len - len, name, len) == 0;
}

/* --- HTTP ------------------------------------------------------------------*/

static void
upgrade(struct peer *p, size_t len)
{
	struct httphead	 h;
	char		 text[1024];

	httphead_judge((char *)buf_data(&p->in), len, NULL, 0, &h);
	if (h.kind != HTTPHEAD_UPGRADE)
		errx(1, "not an upgrade: %d", h.status);
	if (p->b->executor != NULL)
		errx(1, "a second websocket");
	if (p->in.len != len)
		errx(1, "data behind an upgrade");
	len = httphead_switch(&h, text, sizeof(text));
	buf_fini(&p->in);
	ws_reader_init(&p->ws, true, LIMIT_RELAY_MESSAGE, LIMIT_RELAY_MESSAGE);
	p->is_ws = true;
	p->b->executor = p;
	peer_put(p, text, len);
	peer_flush(p);
}

/* A request is whole? Then answer it. */
static bool
take_request(struct peer *p)
{
	char		*text = (char *)buf_data(&p->in);
	struct span	 head, line, method, target;
	size_t		 len, body;

	if (p->in.len == 0 || (len = httphead_end(text, p->in.len)) == 0)
		return false;
	head = (struct span){ text, len };
	if (!span_line(&head, &line) || !span_cut(&line, ' ', &method) ||
	    !span_cut(&line, ' ', &target))
		errx(1, "no request line");
	if (span_is(method, "GET")) {
		upgrade(p, len);
		return false;
	}
	body = body_len(head);
	if (p->in.len < len + body)
		return false;
	if (is_operation(target, "/register"))
		take_registration(p, text + len, body);
	else if (is_operation(target, "/validate"))
		answer(p, "{\"valid\":true}");
	else
		errx(1, "request: %.*s", (int)target.len, target.at);
	buf_drain(&p->in, len + body);
	return true;
}

/* --- the rendezvous --------------------------------------------------------*/

static void
take_frame(struct peer *p, const struct ws_event *ev)
{
	struct relay_frame	 f;

	if (!ev->is_binary || relay_decode(&f, ev->data, ev->len) == -1)
		errx(1, "not a relay frame");
	p->b->fn(&f, p->b->arg);
	relay_free(&f);
}

static void
take_events(struct peer *p)
{
	struct ws_event	 ev;

	for (;;) {
		ws_reader_next(&p->ws, &ev);
		switch (ev.type) {
		case WS_EV_NONE:
			return;
		case WS_EV_MESSAGE:
			take_frame(p, &ev);
			break;
		case WS_EV_PING:
			peer_pong(p, &ev);
			break;
		case WS_EV_PONG:
			break;
		default:
			errx(1, "websocket: code %u", ev.code);
		}
	}
}

/* --- connections -----------------------------------------------------------*/

static void
peer_free(struct peer **pp)
{
	struct peer	*p = *pp;

	if (p == NULL)
		return;
	LIST_REMOVE(p, entry);
	event_free(p->readable);
	event_free(p->writable);
	close(p->fd);
	buf_fini(&p->in);
	buf_fini(&p->out);
	if (p->is_ws)
		ws_reader_fini(&p->ws);
	free(p);
	*pp = NULL;
}

/* How many bytes came, 0 at the end. */
static size_t
peer_read(struct peer *p)
{
	size_t	 size = REQUEST_MAX - p->in.len;
	void	*room;
	ssize_t	 n;

	room = p->is_ws ? ws_reader_room(&p->ws, READ_SIZE, &size) :
	    buf_reserve(&p->in, size);
	if (room == NULL || size == 0)
		err(1, "no room to read to");
	if ((n = recv(p->fd, room, size, 0)) == -1) {
		if (errno != ECONNRESET || p->is_ws)
			err(1, "recv from the executor");
		n = 0;
	}
	if (p->is_ws)
		ws_reader_fed(&p->ws, (size_t)n);
	else
		buf_commit(&p->in, (size_t)n);
	return (size_t)n;
}

static void
on_readable(int fd, short what, void *arg)
{
	struct peer	*p = arg;

	(void)fd;
	(void)what;
	if (peer_read(p) == 0) {
		if (p->is_ws)
			errx(1, "the executor closed its websocket");
		peer_free(&p);
		return;
	}
	while (!p->is_ws && take_request(p))
		continue;
	if (p->is_ws)
		take_events(p);
}

static void
on_writable(int fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	peer_flush(arg);
}

static void
on_acceptable(int fd, short what, void *arg)
{
	const int		 on = 1;
	struct broker	*b = arg;
	struct peer		*p;

	(void)what;
	if ((p = calloc(1, sizeof(*p))) == NULL)
		err(1, "peer");
	p->b = b;
	buf_init(&p->in, REQUEST_MAX);
	buf_init(&p->out, OUT_MAX);
	p->fd = accept4(fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	if (p->fd == -1)
		err(1, "accept");
	setsockopt(p->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	p->readable = event_new(b->base, p->fd, EV_READ | EV_PERSIST,
	    on_readable, p);
	p->writable = event_new(b->base, p->fd, EV_WRITE, on_writable, p);
	if (p->readable == NULL || p->writable == NULL ||
	    event_add(p->readable, NULL) == -1)
		errx(1, "events");
	LIST_INSERT_HEAD(&b->peers, p, entry);
}

struct broker *
broker_open(struct event_base *base, broker_fn *fn, void *arg)
{
	struct sockaddr_in	 sin = { .sin_family = AF_INET };
	socklen_t		 len = sizeof(sin);
	struct broker	*b;

	if ((b = calloc(1, sizeof(*b))) == NULL)
		err(1, "broker");
	b->base = base;
	b->fn = fn;
	b->arg = arg;
	LIST_INIT(&b->peers);
	sin.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (getenv(BROKER_PORT) != NULL)
		sin.sin_port = htons((uint16_t)atoi(getenv(BROKER_PORT)));
	b->fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (b->fd == -1 || bind(b->fd, (struct sockaddr *)&sin, len) == -1 ||
	    listen(b->fd, SOMAXCONN) == -1 ||
	    getsockname(b->fd, (struct sockaddr *)&sin, &len) == -1)
		err(1, "listen");
	b->port = ntohs(sin.sin_port);
	b->acceptable = event_new(base, b->fd, EV_READ | EV_PERSIST,
	    on_acceptable, b);
	if (b->acceptable == NULL || event_add(b->acceptable, NULL) == -1)
		errx(1, "events");
	return b;
}

void
broker_close(struct broker **bp)
{
	struct broker	*b = *bp;
	struct peer		*p;

	if (b == NULL)
		return;
	while ((p = LIST_FIRST(&b->peers)) != NULL)
		peer_free(&p);
	event_free(b->acceptable);
	close(b->fd);
	free(b);
	*bp = NULL;
}

unsigned
broker_port(const struct broker *b)
{
	return b->port;
}

const struct noise_public *
broker_executor(const struct broker *b)
{
	return b->executor == NULL ? NULL : &b->keys;
}
