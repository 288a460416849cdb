#include "worker/conn/token_auth.h"

#include <sys/socket.h>

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "common/clock.h"
#include "common/ipc/ipc.h"
#include "common/limit.h"
#include "common/net/ws.h"
#include "worker/conn/iodeadline.h"
#include "worker/conn/jsonrpc.h"

#define READ_MIN	1024		/* bytes of room for a read */
#define POLICY		1008		/* close code for no message in time */

/* --- the token --- */

static int
token_auth_send(int sock, enum ipc_kind kind, const void *body, int fd,
    uint64_t deadline)
{
	while (ipc_send(sock, kind, body, fd) == -1)
		if (errno != EAGAIN || !iodeadline(sock, POLLOUT, deadline))
			return -1;
	return 0;
}

int
token_auth_ask(int sock, struct span token, uint64_t deadline,
    char why[TOKEN_AUTH_WHY_MAX])
{
	Ipc__Credential		 out = IPC__CREDENTIAL__INIT;
	const Ipc__Judged	*in;
	struct ipc_msg		 m;
	int			 r, status = 503;

	out.token.data = (uint8_t *)(uintptr_t)token.at;
	out.token.len = token.len;
	if (token_auth_send(sock, IPC_credential, &out, -1, deadline) == -1)
		return status;
	do {
		if (!iodeadline(sock, POLLIN, deadline))
			return status;
		r = ipc_recv(sock, IPC_ROLE_MASTER, IPC_ROLE_WORKER, &m);
	} while (r == -1 && errno == EAGAIN);
	if (r != 1)
		return status;
	if (m.kind == IPC_judged) {
		in = (const Ipc__Judged *)m.body;
		status = (int)in->status;
		snprintf(why, TOKEN_AUTH_WHY_MAX, "%s", in->why);
	}
	ipc_msg_fini(&m);
	return status;
}

/* --- the first message --- */

struct token_auth {
	int			 fd;
	uint64_t		 deadline;
	struct ws_reader	 reader;
};

static int
token_auth_put_frame(const struct token_auth *d, enum ws_opcode opcode,
    const void *data, size_t len)
{
	uint8_t	 head[WS_HEADER_MAX];
	size_t	 n;

	n = ws_header(head, true, opcode, len, NULL);
	if (iodeadline_send(d->fd, head, n, d->deadline) == -1)
		return -1;
	return len == 0 ? 0 : iodeadline_send(d->fd, data, len, d->deadline);
}

/* Send a close frame; the client may be in the middle of a message. */
static int
put_close(const struct token_auth *d, uint16_t code)
{
	uint8_t		 payload[2] = { (uint8_t)(code >> 8), (uint8_t)code };
	struct token_auth	 last = *d;

		last.deadline = clock_ms() + 1;	/* without waiting for room */
	if (token_auth_put_frame(&last, WS_CLOSE, payload, code == 1005 ? 0 :
	    sizeof(payload)) == 0)
		iodeadline_linger(d->fd);
	return -1;
}

/* Read only bytes of the current frame.  0, or -1: end. */
static int
token_auth_read_some(struct token_auth *d)
{
	uint8_t	*room;
	size_t	 size, need;
	ssize_t	 n;

	if (!iodeadline(d->fd, POLLIN, d->deadline))
		return put_close(d, POLICY);
	if ((room = ws_reader_room(&d->reader, READ_MIN, &size)) == NULL)
		return -1;
	if ((need = ws_reader_need(&d->reader)) < size)
		size = need;
	n = recv(d->fd, room, size, 0);
	if (n == -1 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n <= 0)
		return -1;
	ws_reader_fed(&d->reader, (size_t)n);
	return 0;
}

/* Read the first message.  0, or -1: there is none. */
static int
read_message(struct token_auth *d, struct ws_event *ev)
{
	int	 r = 0;

	while (r == 0) {
		ws_reader_next(&d->reader, ev);
		switch (ev->type) {
		case WS_EV_MESSAGE:
			return 0;
		case WS_EV_PING:
			r = token_auth_put_frame(d, WS_PONG, ev->data, ev->len);
			break;
		case WS_EV_PONG:
			break;
		case WS_EV_CLOSE:
		case WS_EV_ERROR:
			return ev->code == 0 ? -1 : put_close(d, ev->code);
		case WS_EV_NONE:
			r = token_auth_read_some(d);
			break;
		}
	}
	return -1;
}

/* Too long to be passed on: answer with an error for its id. */
static int
token_auth_refuse(const struct token_auth *d, const struct ws_event *ev)
{
	struct buf	 b;
	int		 r;

	buf_init(&b, LIMIT_FIRST_REFUSED);
	if ((r = jsonrpc_refuse((char *)ev->data, ev->len, ERR_PARAMS,
	    jsonrpc_too_long, &b)) == 0)
		r = token_auth_put_frame(d, WS_TEXT, buf_data(&b), b.len);
	buf_fini(&b);
	return r;
}

/* Read until there is a message to be passed on. */
static int
read_first(struct token_auth *d, struct ws_event *ev)
{
	int	 r;

	while ((r = read_message(d, ev)) == 0 && ev->len > LIMIT_FIRST_MESSAGE)
		if (token_auth_refuse(d, ev) == -1)
			return -1;
	return r;
}

void
token_auth_pass(int sock, int fd, uint64_t ms)
{
	Ipc__Greeted	 out = IPC__GREETED__INIT;
	struct token_auth	 d = { .fd = fd, .deadline = clock_ms() + ms };
	struct ws_event	 ev;

	ws_reader_init(&d.reader, true, LIMIT_FIRST_REFUSED,
	    LIMIT_FIRST_REFUSED);
	if (read_first(&d, &ev) == 0) {
		out.message.data = ev.data;
		out.message.len = ev.len;
		(void)!token_auth_send(sock, IPC_greeted, &out, fd, d.deadline);
	}
	ws_reader_fini(&d.reader);
}
