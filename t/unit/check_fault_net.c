/*
 * What connects to others when a call fails: names that the uplink asks for,
 * connections of the proxy.  No crash, nothing left, one answer for each
 * question, and whatever says that it worked has.
 */
#include <sys/socket.h>
#include <sys/wait.h>

#include <arpa/inet.h>
#include <check.h>
#include <netinet/in.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "common/dial/dial.h"
#include "common/dial/resolve.h"
#include "common/fd.h"
#include "common/log.h"
#include "t/unit/fault.h"
#include "worker/proxy/helper/proxy_connect.h"

/* --- names --- */

static struct wsloop	 loop;
static unsigned		 nanswers;
static bool		 is_found;

/* One for all runs: libwebsockets 4.3 loses a descriptor with each of them. */
static void
use_loop(void)
{
	if (loop.lws == NULL)
		ck_assert_int_eq(wsloop_init(&loop), 0);
	loop.is_over = false;
}

/* What was freed in the loop is closed in its next turn. */
static void
leave_loop(void)
{
	lws_cancel_service(loop.lws);
	ck_assert_int_ge(lws_service(loop.lws, 0), 0);
}

static int
be_itself(void)
{
	return 0;
}

static void
on_gone(void *arg)
{
	(void)arg;
}

static void
on_answer(void *arg, const struct resolve_answer *a)
{
	ck_assert_ptr_eq(arg, &loop);
	nanswers++;
	is_found = a->n > 0;
	wsloop_stop(&loop);
}

static bool
names(void)
{
	struct resolver	*r;
	bool		 has_asked = false;

	nanswers = 0;
	is_found = false;
	use_loop();
	fault_begin();
	if ((r = resolver_start(be_itself)) != NULL &&
	    resolver_attach(r, &loop, on_gone, NULL) == 0 &&
	    resolve(r, "127.0.0.1", on_answer, &loop) != NULL)
		has_asked = true;
	fault_end();
	if (has_asked)
		wsloop_run(&loop);
	ck_assert_uint_eq(nanswers, has_asked);
	ck_assert_int_eq(is_found, has_asked);
	resolver_free(&r);
	leave_loop();
	/* Without the other end it ends. */
	while (waitpid(-1, NULL, 0) > 0)
		continue;
	return has_asked;
}

/* --- dialing --- */

/* A connection that is being made, or none. */
static bool
dialing(void)
{
	static const struct dial_events	 none;
	struct dialer			 d = { .loop = &loop };
	struct target			 t;
	struct dial			*c;
	bool				 is_made;

	use_loop();
	ck_assert_ptr_nonnull(d.resolver = resolver_start(be_itself));
	ck_assert_int_eq(resolver_attach(d.resolver, &loop, on_gone, NULL), 0);
	memset(&t, 0, sizeof(t));
	strcpy(t.host, "127.0.0.1");
	fault_begin();
	c = dial_new(&d, &t, "GET", 1000, &none, NULL);
	fault_end();
	is_made = c != NULL;
	dial_free(&c);
	resolver_free(&d.resolver);
	leave_loop();
	while (waitpid(-1, NULL, 0) > 0)
		continue;
	return is_made;
}

/* --- connections --- */

static int	 got;
static unsigned	 ndone;

static void
on_done(void *arg, int fd, int error)
{
	ck_assert_ptr_eq(arg, &got);
	ck_assert((fd == -1) == (error != 0));
	got = fd;
	ndone++;
}

/* Another address is tried when the first one fails. */
static bool
connections(void)
{
	struct event_base	*base = event_base_new();
	struct sockaddr_in	 in = { .sin_family = AF_INET };
	socklen_t		 len = sizeof(in);
	struct netaddr		 to[2];
	struct proxy_connect	*c;
	int			 listener = socket(AF_INET, SOCK_STREAM, 0);

	got = -1;
	ndone = 0;
	in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	ck_assert_int_eq(bind(listener, (struct sockaddr *)&in, len), 0);
	ck_assert_int_eq(listen(listener, 5), 0);
	ck_assert_int_eq(getsockname(listener, (struct sockaddr *)&in, &len),
	    0);
	memset(to, 0, sizeof(to));
	to[0].family = to[1].family = AF_INET;
	memcpy(to[0].byte, &in.sin_addr, 4);
	memcpy(to[1].byte, &in.sin_addr, 4);
	/* A timer without memory would make it wait for its end. */
	c = proxy_connect_start(base, to, 2, ntohs(in.sin_port), on_done,
	    &got);
	ck_assert_ptr_nonnull(c);
	fault_begin();
	while (ndone == 0)
		event_base_loop(base, EVLOOP_ONCE);
	fault_end();
	/* One call failed, and there are two addresses. */
	ck_assert_uint_eq(ndone, 1);
	ck_assert_int_eq(getpeername(got, (struct sockaddr *)&in, &len), 0);
	fd_close(&got);
	close(listener);
	event_base_free(base);
	return ndone == 1;
}

static const struct scenario	 list[] = {
	SCENARIO(names),
	SCENARIO(dialing),
	SCENARIO(connections),
};

int
main(void)
{
	signal(SIGPIPE, SIG_IGN);
	log_init("check", LOG_LEVEL_ERROR, NULL);
	return fault_main("fault_net", list, sizeof(list) / sizeof(list[0]));
}
