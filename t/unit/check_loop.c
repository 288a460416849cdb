/*
 * common/client/loop.c: one client, three ways to drive it: libevent, a poll
 * loop with one descriptor, and calls that wait.
 */
#include <sys/epoll.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <check.h>
#include <event2/event.h>

#include "common/clock.h"
#include "t/unit/peer_help.h"

#define LIMIT_MS	60000

static bool			 is_closed;

static void
on_output(void *arg, enum execsrv_stream stream, const void *data, size_t len)
{
	(void)arg;
	peer_note("%d:%.*s;", stream, (int)len, (const char *)data);
}

static void
on_closed(void *arg)
{
	(void)arg;
	peer_note("closed;");
	is_closed = true;
}

static const struct execsrv_hooks	 hooks = {
	.on_output = on_output, .on_closed = on_closed,
};

static struct execsrv_process *
start_process(void)
{
	static const char *const	 argv[] = { "a", NULL };
	struct execsrv_start		 s = { .argv = argv, .cwd = "/",
					    .pipe_stdin = true };
	struct execsrv_process		*p;

	is_closed = false;
	ck_assert_ptr_nonnull(p = execsrv_process_start(x, &s, &hooks, NULL));
	peer_say("{\"id\":1,\"result\":{\"processId\":\"p1\"}}");
	return p;
}

static void
say_events(void)
{
	peer_say("{\"method\":\"process/output\",\"params\":{\"processId\":"
	    "\"p1\",\"seq\":1,\"stream\":\"stdout\",\"chunk\":\"b25l\"}}");
	peer_say("{\"method\":\"process/exited\",\"params\":{\"processId\":"
	    "\"p1\",\"seq\":2,\"exitCode\":0,\"sandboxDenied\":false}}");
	peer_say("{\"method\":\"process/closed\",\"params\":{\"processId\":"
	    "\"p1\",\"seq\":3}}");
}

#define ALL	"0:one;closed;"

static bool
is_readable(int fd, int ms)
{
	struct pollfd	 pfd = { .fd = fd, .events = POLLIN };

	return poll(&pfd, 1, ms) == 1;
}

START_TEST(test_blocking)
{
	peer_start();
	start_process();
	say_events();
	while (!is_closed)
		ck_assert_int_eq(execsrv_wait(x, EXECSRV_FOREVER), 0);
	peer_ck_trace(ALL);
	/* Nobody asked for it. */
	ck_assert_int_eq(x->transport.loop.epoll, -1);
	peer_stop();
}
END_TEST

START_TEST(test_poll_loop)
{
	int	 fd;

	peer_start();
	start_process();
	ck_assert_int_ne(fd = execsrv_fd(x), -1);
	ck_assert_int_eq(execsrv_fd(x), fd);
	ck_assert_int_ne(fcntl(fd, F_GETFD) & FD_CLOEXEC, 0);
	ck_assert(is_readable(fd, 0));		/* the answer is there */
	ck_assert_int_eq(execsrv_dispatch(x), 0);
	ck_assert(!is_readable(fd, 0));
	ck_assert_int_eq(execsrv_dispatch(x), 0);	/* in vain */
	say_events();
	while (!is_closed) {
		ck_assert(is_readable(fd, LIMIT_MS));
		ck_assert_int_eq(execsrv_dispatch(x), 0);
	}
	peer_ck_trace(ALL);
	ck_assert(!is_readable(fd, 0));
	peer_stop();
}
END_TEST

/* What a hook or the loop cannot see: held, not held, failed. */
START_TEST(test_poll_hold)
{
	int	 fd;

	peer_start();
	start_process();
	ck_assert_int_ne(fd = execsrv_fd(x), -1);
	execsrv_hold(x, true);
	ck_assert(!is_readable(fd, 0));
	execsrv_hold(x, false);
	ck_assert(is_readable(fd, 0));
	ck_assert_int_eq(execsrv_dispatch(x), 0);
	shutdown(peer, SHUT_RDWR);
	ck_assert(is_readable(fd, LIMIT_MS));
	while (execsrv_dispatch(x) == 0)
		ck_assert(is_readable(fd, LIMIT_MS));
	ck_assert_int_eq(execsrv_status(x), EXECSRV_FAILED);
	/* And stays so, for who looks later. */
	ck_assert(is_readable(fd, LIMIT_MS));
	ck_assert_int_eq(execsrv_dispatch(x), -1);
	ck_assert(is_readable(fd, LIMIT_MS));
	peer_stop();
}
END_TEST

/* Bytes that did not fit leave when there is room, without another call. */
START_TEST(test_poll_room)
{
	static char		 data[1024 * 1024];
	struct execsrv_process	*p;
	size_t			 chunks = 0;
	int			 fd;

	peer_start();
	p = start_process();
	(void)peer_heard();
	ck_assert_int_ne(fd = execsrv_fd(x), -1);
	ck_assert_int_eq(execsrv_dispatch(x), 0);
	ck_assert(!is_readable(fd, 0));
	ck_assert_int_eq(execsrv_process_write(p, data, sizeof(data)), 0);
	ck_assert_uint_gt(x->transport.out.len, 0);
	ck_assert(!is_readable(fd, 0));
	while (chunks < sizeof(data) / 65536) {
		struct ws_event	 ev;
		uint8_t		*room;
		size_t		 size;
		ssize_t		 n;

		ws_reader_next(&peer_reader, &ev);
		if (ev.type == WS_EV_MESSAGE) {
			chunks++;
			continue;
		}
		room = ws_reader_room(&peer_reader, 65536, &size);
		ck_assert_ptr_nonnull(room);
		if ((n = recv(peer, room, size, 0)) > 0) {
			ws_reader_fed(&peer_reader, (size_t)n);
			continue;
		}
		ck_assert(is_readable(fd, LIMIT_MS));
		ck_assert_int_eq(execsrv_dispatch(x), 0);
	}
	ck_assert_uint_eq(x->transport.out.len, 0);
	ck_assert(!is_readable(fd, 0));
	peer_stop();
}
END_TEST

/*
 * A loop that is told of changes only: what is left over from one call of
 * execsrv_dispatch() must be told of, too.
 */
START_TEST(test_poll_edges)
{
	static char		 text[64 * 1024];
	struct epoll_event	 ev = { .events = EPOLLIN | EPOLLET };
	uint8_t			 head[WS_HEADER_MAX];
	size_t			 n;
	int			 fd, size = 4 * 1024 * 1024, turns = 0;

	peer_start();
	start_process();
	(void)setsockopt(peer, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
	ck_assert_int_ne(fd = epoll_create1(EPOLL_CLOEXEC), -1);
	ck_assert_int_eq(epoll_ctl(fd, EPOLL_CTL_ADD, execsrv_fd(x), &ev), 0);
	/* More than is read in one turn, if the system lets it wait. */
	memset(text, ' ', sizeof(text));
	memcpy(text, "{\"method\":\"m\"}", 14);
	n = ws_header(head, true, WS_TEXT, sizeof(text), NULL);
	head[0] = 0x81;
	while (send(peer, head, n, 0) == (ssize_t)n &&
	    send(peer, text, sizeof(text), 0) == (ssize_t)sizeof(text))
		continue;
	shutdown(peer, SHUT_RDWR);
	do {
		ck_assert_int_eq(epoll_wait(fd, &ev, 1, LIMIT_MS), 1);
		ck_assert_int_lt(turns++, 100);
	} while (execsrv_dispatch(x) == 0);
	ck_assert_int_eq(execsrv_status(x), EXECSRV_FAILED);
	close(fd);
	peer_stop();
}
END_TEST

/* Between connections there is no socket, only time; the descriptor stays. */
START_TEST(test_poll_time)
{
	uint64_t	 began = clock_ms();
	unsigned	 turns = 0;
	int		 fd;

	peer_start();
	strcpy(x->opening.session, "s");
	x->opening.name = strdup("test");
	x->recovery.recover_ms = 400;
	x->opening.address.addr.un.sun_family = AF_UNIX;
	snprintf(x->opening.address.addr.un.sun_path,
	    sizeof(x->opening.address.addr.un.sun_path),
	    "/nonexistent/%ld", (long)getpid());
	x->opening.address.len = sizeof(x->opening.address.addr.un);
	ck_assert_int_ne(fd = execsrv_fd(x), -1);
	shutdown(peer, SHUT_RDWR);
	do {
		ck_assert(is_readable(fd, LIMIT_MS));
		turns++;
	} while (execsrv_dispatch(x) == 0);
	ck_assert_int_eq(execsrv_fd(x), fd);
	ck_assert_uint_ge(clock_ms() - began, 400);
	ck_assert_uint_lt(turns, 40);		/* it slept in between */
	ck_assert_ptr_nonnull(strstr(execsrv_why(x)->text, "cannot connect"));
	peer_stop();
}
END_TEST

static void
on_readable(evutil_socket_t fd, short what, void *arg)
{
	struct event_base	*base = arg;

	(void)fd;
	(void)what;
	ck_assert_int_eq(execsrv_dispatch(x), 0);
	if (is_closed)
		event_base_loopbreak(base);
}

START_TEST(test_libevent)
{
	static const char *const	 methods[] = { "epoll", "poll",
					    "select" };
	struct event_config		*config;
	struct event_base		*base;
	struct event			*ev;
	size_t				 i;

	ck_assert_ptr_nonnull(config = event_config_new());
	for (i = 0; i < 3; i++)
		if (i != (size_t)_i)
			event_config_avoid_method(config, methods[i]);
	ck_assert_ptr_nonnull(base = event_base_new_with_config(config));
	ck_assert_str_eq(event_base_get_method(base), methods[_i]);
	peer_start();
	start_process();
	ck_assert_ptr_nonnull(ev = event_new(base, execsrv_fd(x), EV_READ |
	    EV_PERSIST, on_readable, base));
	ck_assert_int_eq(event_add(ev, NULL), 0);
	say_events();
	ck_assert_int_eq(event_base_dispatch(base), 0);
	peer_ck_trace(ALL);
	event_free(ev);
	peer_stop();
	event_base_free(base);
	event_config_free(config);
}
END_TEST

static void *
wake_thread(void *arg)
{
	execsrv_wakeup(arg);
	return NULL;
}

/* Another thread ends a wait, before or during it; also in a foreign loop. */
START_TEST(test_wakeup)
{
	pthread_t	 thread;
	int		 fd;

	peer_start();
	x->transport.silence_ms = 100 * LIMIT_MS;
	execsrv_wakeup(x);
	execsrv_wakeup(x);
	ck_assert_int_eq(execsrv_wait(x, EXECSRV_FOREVER), 0);
	ck_assert_int_eq(pthread_create(&thread, NULL, wake_thread, x), 0);
	ck_assert_int_eq(execsrv_wait(x, EXECSRV_FOREVER), 0);
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
	ck_assert_int_ne(fd = execsrv_fd(x), -1);
	ck_assert_int_eq(execsrv_dispatch(x), 0);
	ck_assert(!is_readable(fd, 0));
	execsrv_wakeup(x);
	ck_assert(is_readable(fd, 0));
	ck_assert_int_eq(execsrv_dispatch(x), 0);
	ck_assert(!is_readable(fd, 0));
	peer_stop();
}
END_TEST

static Suite *
loop_suite(void)
{
	Suite	*s = suite_create("loop");
	TCase	*t = tcase_create("all");

	tcase_set_timeout(t, 120);
	tcase_add_test(t, test_blocking);
	tcase_add_test(t, test_poll_loop);
	tcase_add_test(t, test_poll_hold);
	tcase_add_test(t, test_poll_room);
	tcase_add_test(t, test_poll_edges);
	tcase_add_test(t, test_poll_time);
	tcase_add_test(t, test_wakeup);
	tcase_add_loop_test(t, test_libevent, 0, 3);
	suite_add_tcase(s, t);
	return s;
}

int
main(void)
{
	SRunner	*sr = srunner_create(loop_suite());
	int	 failed;

	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed == 0 ? 0 : 1;
}
