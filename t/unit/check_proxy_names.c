/*
 * worker/proxy/helper/proxy_names.c: when resolv.conf is read, how long an
 * answer may take, which addresses are taken, and who is told of them.  The
 * clock and c-ares are ours.
 */
#include <sys/socket.h>

#include <netinet/in.h>

#include <ares.h>
#include <arpa/inet.h>
#include <check.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/fd.h"
#include "common/limit.h"
#include "worker/proxy/helper/proxy_names.h"

#define CHAN	((ares_channel)(void *)&chan)
#define QUERIES	4

static int			 chan;
static struct event_base	*base;
static struct proxy_names	*names;
static uint64_t			 now, timer_ms;
static bool			 is_late;	/* timers are over now */
static char			 did[400];
static int			 init_status;
static struct ares_options	 options;
static struct timeval		*next, next_tv;
static struct {
	ares_addrinfo_callback	 fn;		/* NULL: answered */
	void			*arg;
} asked[QUERIES];
static unsigned			 nasked, nfreed;

static void PRINTF(1, 2)
tell(const char *format, ...)
{
	size_t	 len = strlen(did);
	va_list	 ap;

	va_start(ap, format);
	vsnprintf(did + len, sizeof(did) - len, format, ap);
	va_end(ap);
	ck_assert_uint_lt(strlen(did) + 3, sizeof(did));
	strcat(did, "; ");
}

#define DID(want)							\
	do {								\
		ck_assert_str_eq(did, want);				\
		did[0] = '\0';						\
	} while (0)

/* --- in the place of the clock and of c-ares --- */

uint64_t
clock_ms(void)
{
	return now;
}

struct timeval
clock_timeval(uint64_t ms)
{
	struct timeval	 soon = { 0, 0 }, never = { 1000000, 0 };

	timer_ms = ms;
	return ms == 0 || is_late ? soon : never;
}

/* Parameters of these are of other types in later versions. */
int		 in_place_of_init(ares_channel *, const struct ares_options *,
		    int) __asm__("ares_init_options");
struct timeval	*in_place_of_timeout(void *, struct timeval *,
		    struct timeval *) __asm__("ares_timeout");

int
in_place_of_init(ares_channel *out, const struct ares_options *o, int mask)
{
	ck_assert_int_eq(mask, ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES |
	    ARES_OPT_SOCK_STATE_CB);
	options = *o;
	tell("init %d %d", o->timeout, o->tries);
	*out = CHAN;
	return init_status;
}

static void
answer(unsigned i, int status, struct ares_addrinfo *ai)
{
	ares_addrinfo_callback	 fn = asked[i].fn;

	ck_assert_ptr_nonnull(fn);
	asked[i].fn = NULL;
	fn(asked[i].arg, status, 0, ai);
}

void
ares_destroy(ares_channel c)
{
	unsigned	 i;

	ck_assert_ptr_eq(c, CHAN);
	tell("destroy");
	for (i = 0; i < nasked; i++)
		if (asked[i].fn != NULL)
			answer(i, ARES_EDESTRUCTION, NULL);
	nasked = 0;
}

void
ares_getaddrinfo(ares_channel c, const char *name, const char *service,
    const struct ares_addrinfo_hints *hints, ares_addrinfo_callback fn,
    void *arg)
{
	ck_assert(c == CHAN && service == NULL && nasked < QUERIES);
	ck_assert(hints->ai_family == AF_UNSPEC &&
	    hints->ai_socktype == SOCK_STREAM && hints->ai_flags == 0);
	tell("ask %s", name);
	asked[nasked].fn = fn;
	asked[nasked++].arg = arg;
}

void
ares_freeaddrinfo(struct ares_addrinfo *ai)
{
	ck_assert_ptr_nonnull(ai);
	nfreed++;
}

void
ares_process_fd(ares_channel c, ares_socket_t rd, ares_socket_t wr)
{
	ck_assert_ptr_eq(c, CHAN);
	tell("process %s%s", rd != ARES_SOCKET_BAD ? "r" : "-",
	    wr != ARES_SOCKET_BAD ? "w" : "-");
	/* Once. */
	if (rd != ARES_SOCKET_BAD || wr != ARES_SOCKET_BAD)
		options.sock_state_cb(options.sock_state_cb_data,
		    rd != ARES_SOCKET_BAD ? rd : wr, 0, 0);
	next = NULL;
}

struct timeval *
in_place_of_timeout(void *c, struct timeval *max, struct timeval *tv)
{
	ck_assert(c == CHAN && max == NULL);
	*tv = next_tv;
	return next == NULL ? NULL : tv;
}

/* --- the tests --- */

static void
on_addresses(void *arg, const struct netaddr *list, size_t n)
{
	char	 text[300], address[NETHOST_MAX];
	size_t	 i, len;

	len = (size_t)snprintf(text, sizeof(text), "%s:", (const char *)arg);
	for (i = 0; i < n; i++) {
		netaddr_text(&list[i], address);
		len += (size_t)snprintf(text + len, sizeof(text) - len, " %s",
		    address);
	}
	tell("%s", text);
}

static struct proxy_query *
find(const char *name)
{
	return proxy_names_find(names, name, on_addresses,
	    (void *)(uintptr_t)name);
}

static void
turn(void)
{
	ck_assert_int_ne(event_base_loop(base, EVLOOP_NONBLOCK), -1);
}

static void
setup(void)
{
	ck_assert_ptr_nonnull(base = event_base_new());
	now = 100000;
	is_late = false;
	did[0] = '\0';
	init_status = ARES_SUCCESS;
	next = NULL;
	nasked = nfreed = 0;
	ck_assert_ptr_nonnull(names = proxy_names_new(base));
}

static void
teardown(void)
{
	proxy_names_free(&names);
	ck_assert_ptr_null(names);
	event_base_free(base);
}

/* So many addresses, of three kinds: of one it cannot be told what it is. */
#define MANY	(PROXY_NAMES_MAX + 6)
static struct ares_addrinfo_node	 nodes[MANY];
static struct sockaddr_in		 four[MANY];
static struct sockaddr_in6		 six;

static struct ares_addrinfo *
addresses(unsigned n)
{
	static struct ares_addrinfo	 ai;
	unsigned			 i;

	memset(nodes, 0, sizeof(nodes));
	for (i = 0; i < n; i++) {
		nodes[i].ai_next = i + 1 < n ? &nodes[i + 1] : NULL;
		nodes[i].ai_family = AF_INET;
		four[i].sin_addr.s_addr = htonl(0x0a000001 + i);
		nodes[i].ai_addr = (struct sockaddr *)(void *)&four[i];
	}
	nodes[1].ai_family = AF_UNIX;
	nodes[2].ai_family = AF_INET6;
	ck_assert_int_eq(inet_pton(AF_INET6, "2001:db8::7", &six.sin6_addr), 1);
	nodes[2].ai_addr = (struct sockaddr *)(void *)&six;
	memset(&ai, 0, sizeof(ai));
	ai.nodes = n > 0 ? nodes : NULL;
	return &ai;
}

/* Told in the next turn, once. */
START_TEST(test_answers)
{
	ck_assert_ptr_nonnull(find("a"));
	DID("init 2000 3; ask a; ");
	ck_assert_uint_eq(timer_ms, LIMIT_NET_RESOLVE);
	answer(0, ARES_SUCCESS, addresses(4));
	ck_assert_uint_eq(nfreed, 1);
	DID("");
	turn();
	DID("a: 10.0.0.1 2001:db8::7 10.0.0.4; ");
	turn();
	find("b");
	find("c");
	find("d");
	did[0] = '\0';
	answer(1, ARES_ENOTFOUND, NULL);
	turn();
	answer(2, ARES_ENOMEM, addresses(1));
	turn();
	answer(3, ARES_SUCCESS, addresses(0));
	turn();
	DID("b:; c:; d:; ");
	ck_assert_uint_eq(nfreed, 3);
}
END_TEST

/* No more than there is room for. */
START_TEST(test_many)
{
	find("a");
	did[0] = '\0';
	answer(0, ARES_SUCCESS, addresses(MANY));
	turn();
	DID("a: 10.0.0.1 2001:db8::7 10.0.0.4 10.0.0.5 10.0.0.6 10.0.0.7 "
	    "10.0.0.8 10.0.0.9 10.0.0.10 10.0.0.11 10.0.0.12 10.0.0.13 "
	    "10.0.0.14 10.0.0.15 10.0.0.16 10.0.0.17; ");
}
END_TEST

/* Time is up: none, and what comes later is nobody's. */
START_TEST(test_late)
{
	is_late = true;
	find("a");
	did[0] = '\0';
	turn();
	DID("a:; ");
	answer(0, ARES_SUCCESS, addresses(4));
	turn();
	DID("");
}
END_TEST

START_TEST(test_cancelled)
{
	struct proxy_query	*none = NULL, *q, *r;

	proxy_names_cancel(&none);
	q = find("a");
	r = find("b");
	answer(1, ARES_SUCCESS, addresses(4));
	did[0] = '\0';
	proxy_names_cancel(&q);
	proxy_names_cancel(&r);
	ck_assert(q == NULL && r == NULL);
	turn();
	answer(0, ARES_SUCCESS, addresses(4));
	turn();
	DID("");
	ck_assert_uint_eq(nfreed, 2);
}
END_TEST

/* Again after a while, if nothing is under way. */
START_TEST(test_reread)
{
	find("a");
	did[0] = '\0';
	now += 5000;
	find("b");
	DID("ask b; ");
	answer(0, ARES_ENOTFOUND, NULL);
	answer(1, ARES_ENOTFOUND, NULL);
	turn();
	did[0] = '\0';
	now--;
	find("c");
	DID("ask c; ");
	answer(2, ARES_ENOTFOUND, NULL);
	turn();
	did[0] = '\0';
	now++;
	find("d");
	DID("destroy; init 2000 3; ask d; ");
	answer(0, ARES_ENOTFOUND, NULL);
	turn();
	now += 5000;
	did[0] = '\0';
	init_status = ARES_ENOMEM;
	ck_assert_ptr_null(find("e"));
	DID("destroy; init 2000 3; ");
	/* There is none that could be destroyed. */
	init_status = ARES_SUCCESS;
	ck_assert_ptr_nonnull(find("f"));
	DID("init 2000 3; ask f; ");
}
END_TEST

/* With what is under way and what is answered, but not told. */
START_TEST(test_freed)
{
	struct proxy_names	*none = NULL;

	proxy_names_free(&none);
	find("a");
	find("b");
	answer(0, ARES_SUCCESS, addresses(4));
	did[0] = '\0';
	proxy_names_free(&names);
	DID("destroy; ");
	turn();
	DID("");
}
END_TEST

/* Descriptors and the time that c-ares names. */
START_TEST(test_loop)
{
	int	 pair[2];

	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	next = &next_tv;
	next_tv.tv_sec = 2;
	next_tv.tv_usec = 30999;
	find("a");
	ck_assert_uint_eq(timer_ms, 2031);
	did[0] = '\0';
	/* Nobody it knows: nothing. */
	options.sock_state_cb(options.sock_state_cb_data, pair[0], 0, 0);
	options.sock_state_cb(options.sock_state_cb_data, pair[0], 1, 0);
	turn();
	DID("");
	ck_assert_int_eq(write(pair[1], "x", 1), 1);
	turn();
	DID("process r-; ");
	turn();
	DID("");
	options.sock_state_cb(options.sock_state_cb_data, pair[0], 1, 1);
	options.sock_state_cb(options.sock_state_cb_data, pair[0], 0, 1);
	turn();
	DID("process -w; ");
	options.sock_state_cb(options.sock_state_cb_data, pair[0], 1, 0);
	options.sock_state_cb(options.sock_state_cb_data, pair[0], 0, 0);
	turn();
	DID("");
	is_late = true;
	next = &next_tv;
	answer(0, ARES_ENOTFOUND, NULL);
	turn();
	find("b");
	did[0] = '\0';
	turn();
	ck_assert_ptr_nonnull(strstr(did, "process --; "));
	fd_close(&pair[0]);
	fd_close(&pair[1]);
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("proxy_names");
	TCase	*t = tcase_create("proxy_names");
	SRunner	*sr;
	int	 failed;

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, test_answers);
	tcase_add_test(t, test_many);
	tcase_add_test(t, test_late);
	tcase_add_test(t, test_cancelled);
	tcase_add_test(t, test_reread);
	tcase_add_test(t, test_freed);
	tcase_add_test(t, test_loop);
	suite_add_tcase(s, t);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
