/*
 * master/hub/fleet/natslink.c: which servers it takes, and what it says to one,
 * waits for, and makes of what comes.  Connections and names are ours.
 */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/fd.h"
#include "common/log.h"
#include "master/hub/fleet/natslink.h"
#include "master/hub/relay/hubdial.h"
#include "t/unit/did_help.h"
#include "t/unit/timer_help.h"

static struct event_base		*base;
static struct natslink_how		 how;
static struct natslink			*l;
static const struct hubconn_events	*conn_events;
static void				*conn_arg;
static hubnames_fn			*on_name;
static void				*on_name_arg;
static const char			*came;	/* NULL: broken */
static bool				 has_route, is_secure, has_tls,
					 has_names, has_memory;
static int				 logs[2];
static char				 conn, names, tls;

/* --- in the place of others --- */

int
hubdial(struct hubconn_loop *conns, const char *host, uint16_t port,
    struct hubconn **out)
{
	ck_assert_ptr_null(conns);
	did("dial %s %u", host, port);
	errno = ENETUNREACH;
	if (has_route)
		*out = (struct hubconn *)&conn;
	return has_route ? 0 : -1;
}

void
hubconn_own(struct hubconn *c, const struct hubconn_events *e, void *arg)
{
	ck_assert_ptr_eq(c, (struct hubconn *)&conn);
	conn_events = e;
	conn_arg = arg;
}

void
hubconn_free(struct hubconn **cp)
{
	if (*cp != NULL)
		did("close");
	*cp = NULL;
	is_secure = false;
}

void
hubconn_finish(struct hubconn **cp)
{
	did("finish");
	*cp = NULL;
}

bool
hubconn_is_secure(const struct hubconn *c)
{
	ck_assert_ptr_eq(c, (const struct hubconn *)&conn);
	return is_secure;
}

int
hubconn_secure(struct hubconn *c, SSL_CTX *ctx, const char *name)
{
	ck_assert(c == (struct hubconn *)&conn && ctx == (SSL_CTX *)&tls);
	did("secure %s", name);
	return has_tls ? 0 : -1;
}

ssize_t
hubconn_read(struct hubconn *c, void *out, size_t size)
{
	size_t	 n;

	ck_assert_ptr_eq(c, (struct hubconn *)&conn);
	if (came == NULL)
		return -1;
	n = strlen(came);
	ck_assert_uint_le(n, size);
	memcpy(out, came, n);
	came = "";
	return (ssize_t)n;
}

int
hubconn_write(struct hubconn *c, const struct iovec *iov, int n)
{
	ck_assert(c == (struct hubconn *)&conn && n == 1);
	did("write %.*s", (int)iov->iov_len, (const char *)iov->iov_base);
	return 0;
}

size_t
hubconn_queued(const struct hubconn *c)
{
	ck_assert_ptr_eq(c, (const struct hubconn *)&conn);
	return 77;
}

int
hubnames_attach(struct hubnames *n, struct event_base *loop, hubnames_fn *fn,
    void *arg)
{
	ck_assert(n == (struct hubnames *)&names && loop == base);
	on_name = fn;
	on_name_arg = arg;
	return has_names ? 0 : -1;
}

void
hubnames_free(struct hubnames **np)
{
	if (*np != NULL)
		did("free names");
	*np = NULL;
}

int
hubnames_ask(struct hubnames *n, const char *host)
{
	ck_assert_ptr_eq(n, (struct hubnames *)&names);
	did("ask %s", host);
	return has_names ? 0 : -1;
}

int
natscred_connect(const struct natscred *c, struct span nonce,
    const char *name, struct buf *out)
{
	ck_assert_ptr_null(c);
	if (!has_memory)
		return -1;
	ck_assert_int_eq(buf_put(out, name, strlen(name)), 0);
	return buf_put(out, nonce.at, nonce.len);
}

void
natscred_free(struct natscred **cp)
{
	ck_assert_ptr_null(*cp);
	did("free cred");
}

void
SSL_CTX_free(SSL_CTX *ctx)
{
	ck_assert_ptr_eq(ctx, how.tls);
	did("free tls");
}

static void
on_up(void *arg)
{
	ck_assert_ptr_eq(arg, &how);
	ck_assert(natslink_is_up(l));
	did("up");
}

static void
on_down(void *arg)
{
	ck_assert_ptr_eq(arg, &how);
	ck_assert(!natslink_is_up(l));
	did("down");
}

static void
on_message(void *arg, const struct natswire *m)
{
	ck_assert_ptr_eq(arg, &how);
	did("message %.*s", (int)m->data.len, m->data.at);
}

static void
on_drained(void *arg)
{
	ck_assert_ptr_eq(arg, &how);
	did("drained");
}

static const struct natslink_events events = {
	.on_up = on_up, .on_down = on_down, .on_message = on_message,
	.on_drained = on_drained,
};

/* --- the link --- */

static void
setup(void)
{
	memset(&how, 0, sizeof(how));
	ck_assert_int_ne(sodium_init(), -1);
	ck_assert_ptr_nonnull(base = event_base_new());
	ck_assert_int_eq(pipe2(logs, O_CLOEXEC | O_NONBLOCK), 0);
	log_init("t", LOG_LEVEL_WARNING, "file");
	log_set_fd(logs[1]);
	how.base = base;
	how.name = "me";
	how.nserver = 1;
	strcpy(how.server[0].host, "192.0.2.1");
	how.server[0].port = 4222;
	has_route = has_tls = has_names = has_memory = true;
	is_secure = false;
	came = "";
	l = NULL;
	did_forget();
}

static void
teardown(void)
{
	natslink_free(&l);
	event_base_free(base);
	log_set_fd(STDERR_FILENO);
	fd_close(&logs[0]);
	fd_close(&logs[1]);
}

/* It is new, and begins at once. */
static void
begin(void)
{
	uint64_t	 before = timer_help_now();

	ck_assert_ptr_nonnull(l = natslink_new(&how, &events, &how));
	ck_assert(timer_help_is_due(base, before, 0, 0));
	ck_assert_ptr_eq(natslink_base(l), base);
	timer_help_fire(base);
}

static void
read_from(const char *text)
{
	came = text;
	conn_events->on_readable(conn_arg);
}

#define INFO	"INFO {\"headers\":true}\r\n"
#define HELLO	"write mePING\r\n"

static void
begin_up(void)
{
	begin();
	read_from(INFO);
	read_from("PONG\r\n");
	ck_did("dial 192.0.2.1 4222; " HELLO "; up");
}

/* What was logged; NULL: nothing. */
static void
ck_logged(const char *why)
{
	char	 text[1000], line[500];
	ssize_t	 n = read(logs[0], text, sizeof(text) - 1);

	if (why == NULL) {
		ck_assert_int_eq(n, -1);
		return;
	}
	ck_assert_int_gt(n, 0);
	text[n] = '\0';
	snprintf(line, sizeof(line), ": %s\n", why);
	ck_assert_msg(strstr(text, line) != NULL, "%s", text);
}

/* It has given up, and waits for about as long. */
static void
ck_apart(uint64_t before, uint64_t ms, const char *why)
{
	char	 line[400];

	ck_assert(!natslink_is_up(l));
	ck_assert(timer_help_is_due(base, before, ms / 2, ms / 2 + ms - 1));
	snprintf(line, sizeof(line), "engine %s:%u: %s", how.server[0].host,
	    how.server[0].port, why);
	ck_logged(line);
}

#define X9	"xxxxxxxxx"
#define X63	X9 X9 X9 X9 X9 X9 X9
#define L252	X63 X63 X63 X63

static const struct {
	const char	*url, *host;	/* NULL: it is none */
	uint16_t	 port;
	bool		 needs_tls, is_name;
} urls[] = {
	{ "nats://127.0.0.1:4222", "127.0.0.1", 4222, false, false },
	{ "tls://[::1]:1", "::1", 1, true, false },
	{ "nats://a-b.C_1:65535", "a-b.C_1", 65535, false, true },
	{ "tls://localhost:9", "localhost", 9, true, true },
	{ "nats://" L252 "xxx:9", L252 "xxx", 9, false, true },
	{ "nats://" L252 "xxxx:9", NULL, 0, false, false },
	{ "nats://a:65536", NULL, 0, false, false },
	{ "nats://a:0", NULL, 0, false, false },
	{ "nats://127.0.0.1:0", NULL, 0, false, false },
	{ "nats://a:01", NULL, 0, false, false },
	{ "nats://a:+1", NULL, 0, false, false },
	{ "nats://a:1x", NULL, 0, false, false },
	{ "nats://a:", NULL, 0, false, false },
	{ "nats://a", NULL, 0, false, false },
	{ "nats://:1", NULL, 0, false, false },
	{ "nats://a b:1", NULL, 0, false, false },
	{ "nats://a@b:1", NULL, 0, false, false },
	{ "nats://127.0.0.1:1/", NULL, 0, false, false },
	{ "nats://a:1/x", NULL, 0, false, false },
	{ "http://a:1", NULL, 0, false, false },
	{ "a:1", NULL, 0, false, false },
	{ "", NULL, 0, false, false },
};

START_TEST(test_parse)
{
	struct natslink_server	 s;

	ck_assert_int_eq(natslink_parse(&s, urls[_i].url),
	    urls[_i].host != NULL ? 0 : -1);
	if (urls[_i].host == NULL)
		return;
	ck_assert_str_eq(s.host, urls[_i].host);
	ck_assert_uint_eq(s.port, urls[_i].port);
	ck_assert(s.needs_tls == urls[_i].needs_tls);
	ck_assert(s.is_name == urls[_i].is_name);
}
END_TEST

/* Not before it has answered what was asked last is it up. */
START_TEST(test_up)
{
	uint64_t	 before = timer_help_now();
	struct buf	 b;

	buf_init(&b, 100);
	ck_assert_int_eq(buf_put(&b, "text", 4), 0);
	begin();
	ck_did("dial 192.0.2.1 4222");
	ck_assert(timer_help_is_due(base, before, 5000, 5000));
	natslink_send(l, &b);
	natslink_doubt(l);
	conn_events->on_drained(conn_arg);
	read_from("MSG a 1 1\r\nx\r\nPONG\r\n");
	ck_did("");
	read_from("INFO {\"headers\":true,\"nonce\":\"n1\"}\r\n");
	ck_did("write men1PING\r\n");
	ck_assert(!natslink_is_up(l));
	before = timer_help_now();
	read_from("+OK\r\nPONG\r\nMSG a 1 1\r\nx\r\n");
	ck_did("up; message x");
	ck_assert(timer_help_is_due(base, before, 5000, 5000));
	read_from(INFO "PING\r\nPIN");
	ck_did("write PONG\r\n");
	read_from("G\r\n");
	ck_did("write PONG\r\n");
	natslink_send(l, &b);
	ck_did("write text");
	buf_drain(&b, b.len);
	natslink_send(l, &b);
	ck_did("");
	conn_events->on_drained(conn_arg);
	ck_did("drained");
	ck_assert_uint_eq(natslink_queued(l), 77);
	ck_logged(NULL);
	buf_fini(&b);
	natslink_free(&l);
	ck_did("finish; free cred; free tls");
}
END_TEST

/* It is asked, and asked soon if there is doubt. */
START_TEST(test_pings)
{
	uint64_t	 before;

	begin_up();
	before = timer_help_now();
	timer_help_fire(base);
	ck_did("write PING\r\n");
	ck_assert(timer_help_is_due(base, before, 5000, 5000));
	natslink_doubt(l);
	ck_did("");
	read_from("PONG\r\n");
	before = timer_help_now();
	natslink_doubt(l);
	ck_did("write PING\r\n");
	ck_assert(timer_help_is_due(base, before, 1000, 1000));
	before = timer_help_now();
	timer_help_fire(base);
	ck_did("close; down");
	ck_apart(before, 500, "it does not answer");
	ck_assert_uint_eq(natslink_queued(l), 0);
}
END_TEST

/* What it says first, and why it is left. */
static const struct {
	bool		 needs_tls, has_tls;
	const char	*info, *did, *why;	/* logged; NULL: it goes on */
} infos[] = {
	{ false, false, "INFO {}\r\n", "close",
	    "it knows no headers: too old" },
	{ false, false, "INFO {\"headers\":1}\r\n", "close",
	    "it knows no headers: too old" },
	{ false, false, "INFO []\r\n", "close", "its INFO is malformed" },
	{ false, false, "INFO {\"a\":\"\xff\"}\r\n", "close",
	    "its INFO is malformed" },
	{ false, false, "INFO x\r\n", "close", "its INFO is malformed" },
	{ true, true, INFO, "close", "it has no TLS" },
	{ false, false, "INFO {\"headers\":true,\"tls_required\":true}\r\n",
	    "close", "it wants TLS: CaFile is needed" },
	{ false, true,
	    "INFO {\"headers\":true,\"tls_required\":true}\r\n",
	    "secure 192.0.2.1", NULL },
	{ true, true,
	    "INFO {\"headers\":true,\"tls_available\":true}\r\n",
	    "secure 192.0.2.1", NULL },
	{ false, true,
	    "INFO {\"headers\":true,\"tls_available\":true}\r\n",
	    HELLO, NULL },
	{ true, true, "INFO {\"headers\":true,\"tls_required\":true}\r\n"
	    "PING\r\n", "secure 192.0.2.1; close",
	    "it sent something before TLS" },
	{ false, false, "GET / HTTP/1.1\r\n", "close",
	    "what it sends is no NATS" },
	{ false, false, "-ERR 'Authorization Violation'\r\n", "close",
	    "it says 'Authorization Violation'" },
	{ false, false, NULL, "close", "no connection" },
};

START_TEST(test_info)
{
	uint64_t	 before;

	how.server[0].needs_tls = infos[_i].needs_tls;
	how.tls = infos[_i].has_tls ? (SSL_CTX *)&tls : NULL;
	begin();
	did_forget();
	before = timer_help_now();
	read_from(infos[_i].info);
	ck_did(infos[_i].did);
	if (infos[_i].why != NULL)
		ck_apart(before, 250, infos[_i].why);
	else
		ck_logged(NULL);
}
END_TEST

START_TEST(test_tls)
{
	uint64_t	 before = timer_help_now();

	how.tls = (SSL_CTX *)&tls;
	begin();
	read_from("INFO {\"headers\":true,\"tls_required\":true}\r\n");
	ck_did("dial 192.0.2.1 4222; secure 192.0.2.1");
	is_secure = true;
	read_from("");
	ck_did(HELLO);
	read_from(NULL);
	ck_did("close");
	ck_apart(before, 250, "the connection is lost");
	timer_help_fire(base);
	read_from("INFO {\"headers\":true,\"tls_required\":true}\r\n");
	read_from(NULL);
	ck_did("dial 192.0.2.1 4222; secure 192.0.2.1; close");
	ck_apart(before, 250, "TLS: its certificate is not good for its name, "
	    "or by CaFile");
	has_tls = false;
	timer_help_fire(base);
	read_from("INFO {\"headers\":true,\"tls_required\":true}\r\n");
	ck_did("dial 192.0.2.1 4222; secure 192.0.2.1; close");
	ck_apart(before, 250, "TLS");
}
END_TEST

START_TEST(test_names)
{
	uint64_t	 before;

	how.names = (struct hubnames *)&names;
	how.server[0].is_name = true;
	strcpy(how.server[0].host, "n");
	before = timer_help_now();
	begin();
	ck_did("ask n");
	ck_assert(timer_help_is_due(base, before, 5000, 5000));
	on_name(on_name_arg, "192.0.2.7");
	ck_did("dial 192.0.2.7 4222");
	on_name(on_name_arg, "192.0.2.8");	/* of an attempt before */
	ck_did("");
	before = timer_help_now();
	conn_events->on_broken(conn_arg);
	ck_did("close");
	ck_apart(before, 250, "the connection is lost");
	timer_help_fire(base);
	on_name(on_name_arg, "");
	ck_did("ask n");
	ck_apart(before, 250, "there is no such host");
	has_names = false;
	timer_help_fire(base);
	ck_did("ask n");
	ck_apart(before, 250, "names cannot be looked up");
	natslink_free(&l);
	ck_did("free names; free cred; free tls");
	ck_assert_ptr_null(natslink_new(&how, &events, &how));
	ck_assert(!timer_help_is_set(base));
}
END_TEST

START_TEST(test_failures)
{
	uint64_t	 before = timer_help_now();

	has_route = false;
	begin();
	ck_did("dial 192.0.2.1 4222");
	ck_apart(before, 250, "Network is unreachable");
	timer_help_fire(base);
	ck_logged(NULL);		/* the same again */
	has_route = true;
	has_memory = false;
	timer_help_fire(base);
	read_from(INFO);
	ck_apart(before, 250, "Cannot allocate memory");
	timer_help_fire(base);
	timer_help_fire(base);
	ck_apart(before, 250, "it does not answer");
}
END_TEST

/* What it may not do is no reason to leave; that is said once. */
START_TEST(test_denied)
{
	begin_up();
	read_from("-ERR 'Permissions Violation for x'\r\n");
	ck_logged("engine: it says 'Permissions Violation for x'");
	read_from("-ERR 'Permissions Violation for y'\r\n");
	ck_logged(NULL);
	ck_assert(natslink_is_up(l));
	read_from("-ERR 'Stale Connection'\r\n");
	ck_did("close; down");
	ck_logged("engine 192.0.2.1:4222: it says 'Stale Connection'");
}
END_TEST

/* One that takes us and fails soon is tried more and more rarely. */
START_TEST(test_again)
{
	static const unsigned	 ms[] = { 500, 1000, 2000, 4000, 4000 };
	uint64_t		 before;
	size_t			 i;

	for (i = 0; i < sizeof(ms) / sizeof(ms[0]); i++) {
		if (i == 0) {
			begin_up();
		} else {
			timer_help_fire(base);
			read_from(INFO "PONG\r\n");
			ck_did("dial 192.0.2.1 4222; " HELLO "; up");
		}
		before = timer_help_now();
		conn_events->on_broken(conn_arg);
		ck_did("close; down");
		ck_apart(before, ms[i], "the connection is lost");
	}
}
END_TEST

/* The next server, and the first one again; not all begin with the same. */
START_TEST(test_turns)
{
	static const char	*const want[] = {
		"dial 192.0.2.1 4222; dial 192.0.2.2 5; dial 192.0.2.1 4222",
		"dial 192.0.2.2 5; dial 192.0.2.1 4222; dial 192.0.2.2 5"
	};
	unsigned		 i, n[2] = { 0, 0 }, first;

	how.nserver = 2;
	strcpy(how.server[1].host, "192.0.2.2");
	how.server[1].port = 5;
	has_route = false;
	for (i = 0; i < 100; i++) {
		begin();
		timer_help_fire(base);
		timer_help_fire(base);
		first = did_begins(want[0]) ? 0 : 1;
		n[first]++;
		ck_did(want[first]);
		natslink_free(&l);
		did_forget();
	}
	ck_assert(n[0] > 0 && n[1] > 0);
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("natslink");
	TCase	*t = tcase_create("natslink");
	SRunner	*r;
	int	 failed;

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_loop_test(t, test_parse, 0, sizeof(urls) / sizeof(urls[0]));
	tcase_add_test(t, test_up);
	tcase_add_test(t, test_pings);
	tcase_add_loop_test(t, test_info, 0,
	    sizeof(infos) / sizeof(infos[0]));
	tcase_add_test(t, test_tls);
	tcase_add_test(t, test_names);
	tcase_add_test(t, test_failures);
	tcase_add_test(t, test_denied);
	tcase_add_test(t, test_again);
	tcase_add_test(t, test_turns);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_set_fork_status(r, CK_NOFORK);
	srunner_run_all(r, CK_ENV);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
