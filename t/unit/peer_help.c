#include "t/unit/peer_help.h"

#include <sys/socket.h>

#include <dirent.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <check.h>

#include "common/clock.h"
#include "common/limit.h"
#include "common/net/httphead.h"

struct execsrv		*x;
int			 peer;
struct ws_reader	 peer_reader;
char			 trace[8192];
int			 peer_listener;
char			 peer_path[64], peer_request[2048];

void
peer_start(void)
{
	int	 pair[2];

	ck_assert_ptr_nonnull(x = execsrv_new());
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0,
	    pair), 0);
	x->transport.fd = pair[0];
	peer = pair[1];
	strcpy(x->transport.key, PEER_KEY);
	x->transport.state = TRANSPORT_UP;
	x->state = EXECSRV_OPEN;
	x->opening.phase = SESSION_OPEN;
	x->transport.last_sent = x->transport.last_heard = clock_ms();
	ws_reader_init(&peer_reader, true, LIMIT_FRAME, LIMIT_MESSAGE);
	trace[0] = '\0';
}

void
peer_upgrading(void)
{
	peer_start();
	x->state = EXECSRV_CONNECTING;
	x->transport.state = TRANSPORT_UPGRADING;
	x->opening.phase = SESSION_NONE;
	ck_assert_ptr_nonnull(x->opening.name = strdup("test"));
	recovery_allow(&x->recovery, clock_ms(), 60000, true);
}

void
peer_stop(void)
{
	execsrv_free(&x);
	ck_assert_ptr_null(x);
	close(peer);
	ws_reader_fini(&peer_reader);
}

/* --- one that listens --- */

void
peer_listen(const char *name)
{
	struct sockaddr_un	 un = { .sun_family = AF_UNIX };

	snprintf(peer_path, sizeof(peer_path), "/tmp/%s.%ld", name,
	    (long)getpid());
	strcpy(un.sun_path, peer_path);
	unlink(peer_path);
	peer_listener = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
	ck_assert_int_eq(bind(peer_listener, (struct sockaddr *)&un,
	    sizeof(un)), 0);
	ck_assert_int_eq(listen(peer_listener, 5), 0);
}

void
peer_unlisten(void)
{
	close(peer_listener);
	unlink(peer_path);
}

void
peer_accept(void)
{
	ssize_t	 n;

	if (peer != -1)
		close(peer);
	ck_assert_int_ne(peer = accept(peer_listener, NULL, NULL), -1);
	ck_assert_int_gt(n = recv(peer, peer_request,
	    sizeof(peer_request) - 1, 0), 0);
	peer_request[n] = '\0';
	ck_assert_int_ne(fcntl(peer, F_SETFL, O_NONBLOCK), -1);
	ws_reader_fini(&peer_reader);
	ws_reader_init(&peer_reader, true, LIMIT_FRAME, LIMIT_MESSAGE);
}

void
peer_upgraded(void)
{
	char	 head[512], accept[HTTPHEAD_ACCEPT_LEN], *key;
	int	 n;

	ck_assert_ptr_nonnull(key = strstr(peer_request, "Key: "));
	httphead_accept(key + 5, EXECSRV_KEY_LEN, accept);
	n = snprintf(head, sizeof(head), "HTTP/1.1 101 OK\r\n"
	    "Upgrade: websocket\r\nConnection: Upgrade\r\n"
	    "Sec-WebSocket-Accept: %s\r\n\r\n", accept);
	peer_put(head, (size_t)n);
}

int
peer_step(void)
{
	return execsrv_handle(x, transport_poll(&x->transport, 0));
}

/* --- what is said --- */

void
peer_put(const void *data, size_t len)
{
	ck_assert_int_eq(send(peer, data, len, MSG_NOSIGNAL), (ssize_t)len);
}

void
peer_frame(unsigned first, const void *data, size_t len)
{
	uint8_t	 head[WS_HEADER_MAX];
	size_t	 n = ws_header(head, true, WS_TEXT, len, NULL);

	head[0] = (uint8_t)first;
	peer_put(head, n);
	if (len > 0)
		peer_put(data, len);
}

void
peer_say(const char *fmt, ...)
{
	char	 text[4096];
	va_list	 ap;
	int	 n;

	va_start(ap, fmt);
	n = vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	ck_assert_int_lt(n, (int)sizeof(text));
	peer_frame(0x81, text, (size_t)n);
}

int
peer_turn(void)
{
	int	 i, r = 0;

	for (i = 0; i < 5 && r == 0; i++)
		r = execsrv_wait(x, 0);
	return r;
}

struct ws_event
peer_heard(void)
{
	struct ws_event	 ev;
	uint8_t		*room;
	size_t		 size;
	ssize_t		 n;

	for (;;) {
		ws_reader_next(&peer_reader, &ev);
		if (ev.type != WS_EV_NONE)
			return ev;
		ck_assert_ptr_nonnull(room = ws_reader_room(&peer_reader, 65536,
		    &size));
		if ((n = recv(peer, room, size, 0)) <= 0)
			return ev;
		ws_reader_fed(&peer_reader, (size_t)n);
		if (x != NULL)
			transport_flush(&x->transport);
	}
}

void
peer_ck_heard(const char *want)
{
	struct ws_event	 ev = peer_heard();

	ck_assert_int_eq(ev.type, WS_EV_MESSAGE);
	ck_assert_msg(ev.len == strlen(want) &&
	    memcmp(ev.data, want, ev.len) == 0, "heard %.*s\nnot %s",
	    (int)ev.len, (char *)ev.data, want);
}

unsigned
peer_descriptors(void)
{
	DIR		*d = opendir("/proc/self/fd");
	unsigned	 n = 0;

	ck_assert_ptr_nonnull(d);
	while (readdir(d) != NULL)
		n++;
	closedir(d);
	return n;
}

void
peer_note(const char *fmt, ...)
{
	size_t	 n = strlen(trace);
	va_list	 ap;

	va_start(ap, fmt);
	vsnprintf(trace + n, sizeof(trace) - n, fmt, ap);
	va_end(ap);
}

void
peer_ck_trace(const char *want)
{
	ck_assert_str_eq(trace, want);
	trace[0] = '\0';
}
