/*
 * worker/proxy/helper/proxy_serve.c: what the worker may ask for, which
 * connections are accepted, and what the worker is told, when.  Connections,
 * names and the channel are ours.
 */
#include <sys/socket.h>

#include <netinet/in.h>

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/limit.h"
#include "common/net/sockdiag.h"
#include "t/unit/fault.h"
#include "t/unit/serve_stand_in.h"
#include "worker/proxy/helper/proxy_conn.h"
#include "worker/proxy/helper/proxy_serve.h"

#define SOCK	99
#define DIAG	98

static struct proxy_net		*net;		/* of the last call */
static struct proxy_env		 upstream;
static int			 conns[1000];	/* descriptors of connections */
static int			 names, start_result, diag;
static struct sockdiag		 found;
static int			 find_result;
static int			 clients[1000];
static unsigned			 nclients;

/* --- in the place of connections, names and the kernel's word --- */

int
proxy_conn_start(struct proxy_net *n, int fd, const struct sockaddr_in *from,
    Ipc__ProxyKind kind, uint16_t port)
{
	if (start_result == -1)
		return -1;
	ck_assert(from->sin_family == AF_INET && from->sin_port != 0);
	ck_assert_uint_eq(ntohl(from->sin_addr.s_addr), INADDR_LOOPBACK);
	ck_assert((fcntl(fd, F_GETFL) & O_NONBLOCK) != 0 &&
	    (fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0);
	ck_assert(n->arg != NULL && n->shared != NULL);
	net = n;
	conns[n->n++] = fd;
	if (n->n == 1 || kind != IPC__PROXY_KIND__PROXY_HTTP)
		did("conn %d %u", kind, port);
	return 0;
}

void
proxy_conn_answer(struct proxy_net *n, uint64_t question,
    Ipc__ProxyVerdict verdict, const char *reason)
{
	net = n;
	did("answer %u %d %s", (unsigned)question, verdict, reason);
}

void
proxy_conn_end_all(struct proxy_net *n)
{
	ck_assert(TAILQ_EMPTY(&n->conns));
	did("end all %u", n->n);
	while (n->n > 0)
		fd_close(&conns[--n->n]);
}

void
proxy_conn_go_on(struct proxy_net *n)
{
	net = n;
	did("go on");
}

struct proxy_names *
proxy_names_new(struct event_base *base)
{
	ck_assert_ptr_nonnull(base);
	return names == -1 ? NULL : (struct proxy_names *)(void *)&names;
}

void
proxy_names_free(struct proxy_names **np)
{
	ck_assert_ptr_eq(*np, &names);
	*np = NULL;
	did("names_free");
}

int
sockdiag_find(int sock, const struct sockaddr *ours,
    const struct sockaddr *theirs, struct sockdiag *out)
{
	const struct sockaddr_in	*a = (const void *)ours,
					*b = (const void *)theirs;

	ck_assert(sock == DIAG && a->sin_port != b->sin_port);
	ck_assert_uint_eq(ntohl(b->sin_addr.s_addr), INADDR_LOOPBACK);
	*out = found;
	return find_result;
}

/* --- the worker's messages --- */

static void
add(uint64_t key)
{
	Ipc__ProxyAdd	 m = IPC__PROXY_ADD__INIT;

	m.key = key;
	m.checks_peer = diag == DIAG;
	chan_comes(IPC_proxy_add, &m, -1);
}

static void
rule(uint64_t key, Ipc__ProxyList list, const char *pattern)
{
	Ipc__ProxyRules	 m = IPC__PROXY_RULES__INIT;
	char		*one = (char *)(uintptr_t)pattern;

	m.key = key;
	m.list = list;
	m.n_pattern = 1;
	m.pattern = &one;
	chan_comes(IPC_proxy_rules, &m, -1);
}

static int
give(uint64_t key, int fd, Ipc__ProxyKind kind, uint32_t port)
{
	Ipc__ProxyListen	 m = IPC__PROXY_LISTEN__INIT;

	m.key = key;
	m.kind = kind;
	m.port = port;
	return chan_comes(IPC_proxy_listen, &m, fd);
}

static void
drop(uint64_t key)
{
	Ipc__ProxyDrop	 m = IPC__PROXY_DROP__INIT;

	m.key = key;
	chan_comes(IPC_proxy_drop, &m, -1);
}

static void
answer(uint64_t key, uint64_t id)
{
	Ipc__ProxyAnswer	 m = IPC__PROXY_ANSWER__INIT;

	m.key = key;
	m.id = id;
	m.verdict = IPC__PROXY_VERDICT__PROXY_DENY;
	m.reason = (char *)(uintptr_t)"no";
	chan_comes(IPC_proxy_answer, &m, -1);
}

#define CK_VIOLATION(name)						\
	ck_did("log_warnx: unexpected message proxy_" name		\
	    " from the worker; leave")

/* A listener on loopback, still without O_NONBLOCK. */
static int
listener(struct sockaddr_in *at)
{
	socklen_t	 len = sizeof(*at);
	int		 fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	memset(at, 0, sizeof(*at));
	at->sin_family = AF_INET;
	at->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	ck_assert_int_ne(fd, -1);
	ck_assert_int_eq(bind(fd, (struct sockaddr *)at, len), 0);
	ck_assert_int_eq(getsockname(fd, (struct sockaddr *)at, &len), 0);
	ck_assert_int_eq(listen(fd, 1000), 0);
	return fd;
}

static void
come(const struct sockaddr_in *at, unsigned n)
{
	int	 fd;

	for (; n > 0; n--) {
		ck_assert_int_ne(fd = socket(AF_INET, SOCK_STREAM |
		    SOCK_CLOEXEC, 0), -1);
		ck_assert_int_eq(connect(fd, (const struct sockaddr *)at,
		    sizeof(*at)), 0);
		clients[nclients++] = fd;
	}
}

/* Process 1, with a listener there. */
static void
begin(struct sockaddr_in *at)
{
	add(1);
	ck_assert_int_eq(give(1, listener(at), IPC__PROXY_KIND__PROXY_HTTP, 0),
	    -1);
	ck_did("");
}

static unsigned
count_fds(void)
{
	unsigned	 n = 0;
	int		 fd;

	for (fd = 0; fd < 1000; fd++)
		n += fcntl(fd, F_GETFD) != -1;
	return n;
}

static void
serve(void (*what)(void), int status)
{
	unsigned	 before = count_fds();

	names = start_result = find_result = dispatch_result = 0;
	memset(&found, 0, sizeof(found));
	nclients = 0;
	script = what;
	ck_assert_int_eq(proxy_serve(SOCK, &upstream, diag), status);
	ck_assert(the_chan.base == NULL && the_chan.sock == SOCK);
	ck_assert(the_chan.self == IPC_ROLE_PROXY &&
	    the_chan.peer == IPC_ROLE_WORKER);
	ck_assert_uint_eq(the_chan.limit, 2 * LIMIT_NET_QUEUE +
	    LIMIT_NET_CONNECTIONS * LIMIT_NET_DECISION);
	while (nclients > 0)
		close(clients[--nclients]);
	/* All that it had is closed. */
	ck_assert_uint_eq(count_fds(), before);
}

static void
setup(void)
{
	diag = -1;
}

/* --- the tests --- */

/* Its key is above all that were there. */
static void
do_keys(void)
{
	add(3);
	add(4);
	ck_did("");
	add(4);
	CK_VIOLATION("add");
	drop(4);
	ck_did("end all 0; proxy_dropped key=4");
	add(4);
	CK_VIOLATION("add");
	drop(4);
	CK_VIOLATION("drop");
	add(0);
	CK_VIOLATION("add");
	drop(3);
	ck_did("end all 0; proxy_dropped key=3");
}

START_TEST(test_keys)
{
	serve(do_keys, 1);
	ck_did("names_free; chan_free");
}
END_TEST

static void
do_add(void)
{
	struct sockaddr_in	 at;
	Ipc__ProxyAdd		 m = IPC__PROXY_ADD__INIT;
	uint64_t		 i;

	begin(&at);
	come(&at, 1);
	turn();
	net->shared->last_question = 1;
	ck_did("conn 0 0");
	for (i = 2; i < 8; i++) {
		m.key = i;
		m.allows_local = i == 2;
		m.is_limited = i == 3;
		m.asks = i == 4;
		m.is_bound = i == 5;
		m.uses_upstream = i == 6;
		chan_comes(IPC_proxy_add, &m, -1);
		answer(i, 1);
		ck_did("answer 1 1 no");
		ck_assert_int_eq(net->rules.allows_local, i == 2);
		ck_assert_int_eq(net->rules.is_limited, i == 3);
		ck_assert_int_eq(net->rules.asks, i == 4);
		ck_assert_int_eq(net->rules.is_bound, i == 5);
		ck_assert_int_eq(net->uses_upstream, i == 6);
		ck_assert_ptr_eq(net->shared->base, the_chan.base);
		ck_assert_ptr_eq(net->shared->names, &names);
		ck_assert_str_eq(net->shared->upstream.http, "up");
		/* Room for as much as is read at once. */
		memset(net->shared->scratch, 'x', LIMIT_NET_BUFFER);
		ck_assert_int_eq(write(net->shared->pipe[1], "x", 1), 1);
		ck_assert((fcntl(net->shared->pipe[0], F_GETFL) & O_NONBLOCK) !=
		    0 && (fcntl(net->shared->pipe[1], F_GETFD) & FD_CLOEXEC) !=
		    0);
	}
	/* What was not asked has no answer. */
	answer(9, 1);
	CK_VIOLATION("answer");
	answer(2, 0);
	CK_VIOLATION("answer");
	answer(2, 2);
	CK_VIOLATION("answer");
}

START_TEST(test_add)
{
	upstream.http = (char *)(uintptr_t)"up";
	serve(do_add, 1);
	ck_did("end all 1; end all 0; end all 0; end all 0; end all 0; "
	    "end all 0; end all 0; names_free; chan_free");
}
END_TEST

static void
do_rules(void)
{
	struct sockaddr_in	 at;
	char			 text[32];
	int			 i;

	add(1);
	for (i = 0; i < 5; i++) {
		snprintf(text, sizeof(text), "L%d.test.", i);
		rule(1, (Ipc__ProxyList)i, text);
	}
	ck_did("");
	rule(1, (Ipc__ProxyList)5, "a.test");
	CK_VIOLATION("rules");
	rule(2, IPC__PROXY_LIST__CLIENT_ALLOW, "a.test");
	CK_VIOLATION("rules");
	rule(1, IPC__PROXY_LIST__CLIENT_ALLOW, "a b");
	CK_VIOLATION("rules");
	fault_call("realloc", 1);
	rule(1, IPC__PROXY_LIST__CLIENT_ALLOW, "**.a-name-that-is-so-long-that-"
	    "it-wants-some-more-memory.and-a-part-more-to-be-sure.test");
	if (fault_came())
		CK_VIOLATION("rules");
	fault_call("realloc", 100);
	give(1, listener(&at), IPC__PROXY_KIND__PROXY_HTTP, 0);
	/* Too late now. */
	rule(1, IPC__PROXY_LIST__CLIENT_ALLOW, "a.test");
	CK_VIOLATION("rules");
	come(&at, 1);
	turn();
	ck_did("conn 0 0");
	ck_assert_str_eq(net->rules.list[NETRULES_ALLOW].text, "l0.test");
	ck_assert_str_eq(net->rules.list[NETRULES_DENY].text, "l1.test");
	ck_assert_str_eq(net->rules.list[NETRULES_REVIEW].text, "l2.test");
	ck_assert_str_eq(net->rules.list[NETRULES_BOUND].text, "l3.test");
	ck_assert_str_eq(net->rules.list[NETRULES_FORBID].text, "l4.test");
}

START_TEST(test_rules)
{
	serve(do_rules, 1);
	ck_did("end all 1; names_free; chan_free");
}
END_TEST

static void
do_listen(void)
{
	struct sockaddr_in	 at, other;
	int			 i, fd, pair[2];

	begin(&at);
	ck_assert_int_ne(fd = listener(&other), -1);
	/* What is refused stays the caller's. */
	ck_assert_int_eq(give(2, fd, IPC__PROXY_KIND__PROXY_HTTP, 0), fd);
	CK_VIOLATION("listen");
	ck_assert_int_eq(give(1, fd, IPC__PROXY_KIND__PROXY_BRIDGE, 65536), fd);
	CK_VIOLATION("listen");
	ck_assert_int_eq(pipe2(pair, O_CLOEXEC), 0);
	ck_assert_int_eq(give(1, pair[0], IPC__PROXY_KIND__PROXY_HTTP, 0),
	    pair[0]);
	CK_VIOLATION("listen");
	close(pair[0]);
	close(pair[1]);
	fault_call("setsockopt", 2);
	give(1, fd, IPC__PROXY_KIND__PROXY_HTTP, 0);
	CK_VIOLATION("listen");
	fault_call("fcntl", 1);
	give(1, fd, IPC__PROXY_KIND__PROXY_HTTP, 0);
	CK_VIOLATION("listen");
	/* Lost on its way. */
	give(1, -1, IPC__PROXY_KIND__PROXY_HTTP, 0);
	ck_did("");
	ck_assert_int_eq(give(1, fd, IPC__PROXY_KIND__PROXY_BRIDGE, 65535), -1);
	come(&other, 1);
	come(&at, 1);
	turn();
	ck_assert(did_begins("conn "));
	did_forget();
	ck_assert_uint_eq(net->n, 2);
	for (i = 2; i < 32; i++)
		give(1, listener(&other), IPC__PROXY_KIND__PROXY_SOCKS, 7);
	ck_did("");
	come(&other, 1);
	turn();
	ck_did("conn 1 7");
	fd = listener(&other);
	ck_assert_int_eq(give(1, fd, IPC__PROXY_KIND__PROXY_HTTP, 0), fd);
	CK_VIOLATION("listen");
	close(fd);
	drop(1);
	ck_did("end all 3; proxy_dropped key=1");
}

START_TEST(test_listen)
{
	serve(do_listen, 1);
	ck_did("names_free; chan_free");
}
END_TEST

/* So many in a turn, and at all. */
static void
do_many(void)
{
	struct sockaddr_in	 at;
	unsigned		 n;

	begin(&at);
	come(&at, 33);
	turn();
	ck_assert_uint_eq(net->n, 32);
	turn();
	ck_assert_uint_eq(net->n, 33);
	for (n = 33; n < LIMIT_NET_CONNECTIONS + 2; n++)
		come(&at, 1);
	for (n = 0; n < 12; n++)
		turn();
	ck_assert_uint_eq(net->n, LIMIT_NET_CONNECTIONS);
	fd_close(&conns[--net->n]);
	net->events->on_end(net->arg);
	turn();
	ck_assert_uint_eq(net->n, LIMIT_NET_CONNECTIONS);
	fd_close(&conns[--net->n]);
	fault_call("event_add", 1);
	did_forget();
	net->events->on_end(net->arg);
	ck_did("log_warn: no memory for a listener");
}

START_TEST(test_many)
{
	serve(do_many, 0);
	ck_did("end all 255; names_free; chan_free");
}
END_TEST

static void
do_refused(void)
{
	struct sockaddr_in	 at;
	char			 c;

	begin(&at);
	start_result = -1;
	come(&at, 1);
	turn();
	ck_assert_int_eq(recv(clients[0], &c, 1, MSG_DONTWAIT), 0);
	ck_did("");
	/* None is there after all. */
	fault_call("accept4", 1);
	start_result = 0;
	come(&at, 1);
	turn();
	ck_did("");
	turn();
	ck_did("conn 0 0");
}

START_TEST(test_refused)
{
	serve(do_refused, 0);
	ck_did("end all 1; names_free; chan_free");
}
END_TEST

/* Only our own user's, by the kernel's word. */
static void
do_peer(void)
{
	struct sockaddr_in	 at;
	int			 i;

	begin(&at);
	for (i = 0; i < 4; i++) {
		found.is_found = i != 0;
		found.uid = geteuid() + (i == 1);
		find_result = i == 2 ? -1 : 0;
		if (i == 3)
			fault_call("getsockname", 1);
		come(&at, 1);
		turn();
		ck_did("log_info: a connection of another user was refused");
	}
	come(&at, 1);
	turn();
	ck_did("conn 0 0");
}

START_TEST(test_peer)
{
	diag = DIAG;
	serve(do_peer, 0);
	ck_did("end all 1; names_free; chan_free");
}
END_TEST

/* Without the kernel's word nobody is. */
static void
do_no_diag(void)
{
	Ipc__ProxyAdd		 m = IPC__PROXY_ADD__INIT;
	struct sockaddr_in	 at;

	m.key = 1;
	m.checks_peer = true;
	chan_comes(IPC_proxy_add, &m, -1);
	give(1, listener(&at), IPC__PROXY_KIND__PROXY_HTTP, 0);
	found.is_found = true;
	found.uid = geteuid();
	come(&at, 1);
	turn();
	ck_did("log_info: a connection of another user was refused");
}

START_TEST(test_no_diag)
{
	serve(do_no_diag, 0);
	ck_did("end all 0; names_free; chan_free");
}
END_TEST

/* The worker is told at the end of the turn. */
static void
do_tell(void)
{
	struct sockaddr_in	 at;
	Ipc__ProxyAsk		 ask = IPC__PROXY_ASK__INIT;
	Ipc__ProxyDecision	 d = IPC__PROXY_DECISION__INIT;

	begin(&at);
	come(&at, 1);
	turn();
	did_forget();
	ask.id = 3;
	ask.host = (char *)(uintptr_t)"a.test";
	d.host = ask.host;
	d.port = 80;
	net->events->on_ask(net->arg, &ask);
	ck_did("hold; proxy_ask key=1 id=3 host='a.test'");
	net->events->on_decision(net->arg, &d);
	ck_did("hold; proxy_decision key=1 host='a.test' port=80");
	turn();
	ck_did("let go");
	turn();
	ck_did("");
}

START_TEST(test_tell)
{
	serve(do_tell, 0);
	ck_did("end all 1; names_free; chan_free");
}
END_TEST

/* Of what the worker has not read there is so much, then nothing is read. */
static void
do_full(void)
{
	struct sockaddr_in	 at;
	int			 i;

	begin(&at);
	add(2);
	come(&at, 1);
	turn();
	ck_did("conn 0 0");
	the_chan.waiting = LIMIT_NET_QUEUE - 1;
	ck_assert(!net->events->is_full(net->arg));
	turn();
	ck_did("");
	the_chan.waiting = LIMIT_NET_QUEUE;
	ck_assert(net->events->is_full(net->arg));
	ck_assert(net->events->is_full(net->arg));
	for (i = 0; i < 100 && !did_begins("go on"); i++)
		ck_assert_int_eq(event_base_loop(the_chan.base, EVLOOP_ONCE),
		    0);
	ck_did("go on; go on");
}

START_TEST(test_full)
{
	serve(do_full, 0);
	ck_did("end all 1; end all 0; names_free; chan_free");
}
END_TEST

/* --- the end --- */

static void
do_close(void)
{
	the_chan.on_end(the_chan.arg, 0);
	ck_did("leave");
}

static void
do_fail(void)
{
	the_chan.on_end(the_chan.arg, EPROTO);
	ck_did("log_warnx: channel: Protocol error; leave");
}

/* What is not for this program. */
static void
do_foreign(void)
{
	Ipc__ProxyDropped	 m = IPC__PROXY_DROPPED__INIT;

	chan_comes(IPC_proxy_dropped, &m, -1);
	CK_VIOLATION("dropped");
}

START_TEST(test_end)
{
	static const struct {
		void	(*what)(void);
		int	 status;
	}			 ends[] = {
		{ do_close, 0 }, { do_fail, 1 }, { do_foreign, 1 }
	};

	serve(ends[_i].what, ends[_i].status);
	ck_did("names_free; chan_free");
}
END_TEST

/* --- nothing goes on without these --- */

static void
do_no_memory(void)
{
	want_fatal = "the network of a process";
	fault_call("calloc", 1);
	add(1);
}

START_TEST(test_no_memory)
{
	serve(do_no_memory, 0);
}
END_TEST

START_TEST(test_no_loop)
{
	want_fatal = _i == 0 ? "pipe" : "event loop";
	names = _i == 3 ? -1 : 0;
	chan_fails = _i == 4;
	dispatch_result = _i == 5 ? -1 : 0;
	if (_i < 3)
		fault_call(_i == 0 ? "pipe2" : _i == 1 ? "event_base_new" :
		    "malloc", 1);
	proxy_serve(SOCK, &upstream, -1);
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("proxy_serve");
	TCase	*t = tcase_create("proxy_serve");
	SRunner	*r;
	int	 failed;

	tcase_add_checked_fixture(t, setup, NULL);
	tcase_add_test(t, test_keys);
	tcase_add_test(t, test_add);
	tcase_add_test(t, test_rules);
	tcase_add_test(t, test_listen);
	tcase_add_test(t, test_many);
	tcase_add_test(t, test_refused);
	tcase_add_test(t, test_peer);
	tcase_add_test(t, test_no_diag);
	tcase_add_test(t, test_tell);
	tcase_add_test(t, test_full);
	tcase_add_loop_test(t, test_end, 0, 3);
	tcase_add_exit_test(t, test_no_memory, FATAL_EXIT);
	tcase_add_loop_exit_test(t, test_no_loop, FATAL_EXIT, 0, 6);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_ENV);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed != 0;
}
