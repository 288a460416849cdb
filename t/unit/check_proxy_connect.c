/* worker/proxy/helper/proxy_connect.c: the first address that answers. */
#include <sys/socket.h>

#include <arpa/inet.h>
#include <netinet/in.h>

#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "worker/proxy/helper/proxy_connect.h"

#define NEVER	-2

static struct event_base	*base;
static struct sockaddr_in	 at;	/* of the server, on 127.0.0.1 */
static int			 server, got, error;

static const struct netaddr	 one[] = { { AF_INET, { 127, 0, 0, 1 } } };
static const struct netaddr	 two[] = {
	{ AF_INET, { 127, 0, 0, 2 } }, { AF_INET, { 127, 0, 0, 1 } }
};

/* A port of 127.0.0.1 where somebody listens, or not. */
static void
bind_server(int backlog)
{
	socklen_t	 len = sizeof(at);

	at = (struct sockaddr_in){ .sin_family = AF_INET };
	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	server = socket(AF_INET, SOCK_STREAM, 0);
	ck_assert_int_eq(bind(server, (struct sockaddr *)&at, len), 0);
	ck_assert_int_eq(getsockname(server, (struct sockaddr *)&at, &len), 0);
	if (backlog >= 0)
		ck_assert_int_eq(listen(server, backlog), 0);
}

static void
setup(void)
{
	ck_assert((base = event_base_new()) != NULL);
	got = NEVER;
	error = 0;
}

static void
teardown(void)
{
	if (got >= 0)
		close(got);
	close(server);
	event_base_free(base);
}

static void
on_done(void *arg, int fd, int why)
{
	struct proxy_connect	**c = arg;

	ck_assert_int_eq(got, NEVER);
	*c = NULL;
	got = fd;
	error = why;
}

static void
reach(const struct netaddr *list, size_t n)
{
	struct proxy_connect	*c;

	c = proxy_connect_start(base, list, n, ntohs(at.sin_port), on_done, &c);
	ck_assert(c != NULL);
	ck_assert_int_eq(got, NEVER);
	ck_assert_int_ne(event_base_dispatch(base), -1);
	ck_assert(c == NULL);
}

static void
assert_reached(void)
{
	struct sockaddr_in	 peer;
	socklen_t		 len = sizeof(peer);

	ck_assert_int_ge(got, 0);
	ck_assert_int_eq(error, 0);
	ck_assert_int_eq(getpeername(got, (struct sockaddr *)&peer, &len), 0);
	ck_assert_int_eq(peer.sin_port, at.sin_port);
	ck_assert_int_eq(peer.sin_addr.s_addr, htonl(INADDR_LOOPBACK));
}

START_TEST(test_reached)
{
	bind_server(5);
	reach(one, 1);
	assert_reached();
}
END_TEST

START_TEST(test_refused)
{
	bind_server(-1);
	reach(one, 1);
	ck_assert_int_eq(got, -1);
	ck_assert_int_eq(error, ECONNREFUSED);
}
END_TEST

START_TEST(test_next)
{
	bind_server(5);
	reach(two, 2);
	assert_reached();
}
END_TEST

static void
take_one(evutil_socket_t fd, short what, void *arg)
{
	int	 taken = accept4(fd, NULL, NULL, SOCK_CLOEXEC);

	(void)what;
	(void)arg;
	ck_assert_int_ne(taken, -1);
	close(taken);
}

/* Of a server whose queue is full there is no connection before it has room. */
START_TEST(test_later)
{
	struct proxy_connect	*c;
	struct event		*ev;
	int			 full[3];

	bind_server(0);
	for (size_t i = 0; i < 3; i++) {
		full[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
		(void)!connect(full[i], (struct sockaddr *)&at, sizeof(at));
	}
	c = proxy_connect_start(base, one, 1, ntohs(at.sin_port), on_done, &c);
	ck_assert(c != NULL);
	for (size_t i = 0; i < 10; i++)
		event_base_loop(base, EVLOOP_NONBLOCK);
	ck_assert_int_eq(got, NEVER);
	/* Whichever of them comes next fills it again. */
	ev = event_new(base, server, EV_READ | EV_PERSIST, take_one, NULL);
	ck_assert_ptr_nonnull(ev);
	ck_assert_int_eq(event_add(ev, NULL), 0);
	while (got == NEVER)
		event_base_loop(base, EVLOOP_ONCE);
	event_free(ev);
	assert_reached();
	for (size_t i = 0; i < 3; i++)
		close(full[i]);
}
END_TEST

/* Whoever gives up hears nothing more. */
START_TEST(test_stopped)
{
	struct proxy_connect	*c;

	bind_server(5);
	c = proxy_connect_start(base, one, 1, ntohs(at.sin_port), on_done, &c);
	ck_assert(c != NULL);
	proxy_connect_stop(&c);
	event_base_dispatch(base);
	ck_assert_int_eq(got, NEVER);
}
END_TEST

int
main(void)
{
	Suite	*suite = suite_create("proxy_connect");
	TCase	*t = tcase_create("proxy_connect");
	SRunner	*sr = srunner_create(suite);
	int	 failed;

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_set_timeout(t, 60);
	tcase_add_test(t, test_reached);
	tcase_add_test(t, test_refused);
	tcase_add_test(t, test_next);
	tcase_add_test(t, test_later);
	tcase_add_test(t, test_stopped);
	suite_add_tcase(suite, t);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed != 0;
}
