/*
 * worker/rpc/netjobs.c: which rules the network of a process gets, and what its
 * client is asked and told.  execsrv-proxy, namespaces and connection are ours.
 */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/limit.h"
#include "worker/conn/conn.h"
#include "worker/os/env.h"
#include "worker/os/helper.h"
#include "worker/proc/proc.h"
#include "worker/proxy/proxy_env.h"
#include "worker/proxy/proxy_link.h"
#include "worker/rpc/netjobs.h"
#include "worker/rpc/netrefused.h"
#include "worker/sandbox/netns.h"
#include "worker/session/link.h"
#include "t/unit/did_help.h"

#define CONN	((struct conn *)8)

static struct env	 env;
static struct rpc	 rpc;
static struct proc	 proc;
static struct spawn	 sp;
static struct nsset	 nsset;
static struct net	*net;
static struct net_opened *opened;
static char		*envp[] = { NULL }, **variables;
static size_t		 behind;
static size_t		 n_env;		/* ports of proxies in it */

/* --- in the place of others --- */

static struct proxied			*proxied;
static const struct proxied_events	*to;
static struct proxy_wish		 wish;
static struct proxy_listener		 listener[NETNS_LISTENERS];
static size_t				 nlistener;
static int				 ns_user;

struct proxy_link *
proxy_link_new(struct event_base *base, int exe, unsigned session,
    bool (*is_ending)(const void *), const void *arg)
{
	ck_assert(base == env.base && exe == 5 && session == 6);
	ck_assert(arg == rpc.session && is_ending != NULL);
	return (struct proxy_link *)16;
}

void
proxy_link_free(struct proxy_link **lp)
{
	*lp = NULL;
	if (proxied != NULL)
		to->on_gone(proxied, true);
	proxied = NULL;
}

int
proxy_link_add(struct proxy_link *l, struct proxied *p,
    const struct proxied_events *events, const struct proxy_wish *w,
    const struct proxy_listener *listeners, size_t n)
{
	ck_assert_ptr_eq(l, (struct proxy_link *)16);
	ck_assert_ptr_null(proxied);
	proxied = p;
	to = events;
	wish = *w;
	nlistener = n;
	memcpy(listener, listeners, n * sizeof(*listeners));
	return 0;
}

void
proxied_answer(struct proxied *p, uint64_t id, Ipc__ProxyVerdict verdict,
    const char *reason)
{
	ck_assert_ptr_eq(p, proxied);
	did("answer %u %d %s", (unsigned)id, verdict,
	    strlen(reason) > 100 ? "(long)" : reason);
}

void
proxied_drop(struct proxied *p)
{
	ck_assert(p == proxied && !p->is_dropped);
	p->is_dropped = true;
	did("drop");
}

struct helper *
proxy_link_helper(struct proxy_link *l)
{
	(void)l;
	return NULL;
}

bool
helper_reaped(struct helper *h, pid_t pid, int status, bool is_ending)
{
	(void)h;
	(void)pid;
	(void)status;
	(void)is_ending;
	return true;
}

void
netns_init(struct netns *s)
{
	memset(s, 0, sizeof(*s));
	s->ns = -1;
}

void
netns_fini(struct netns *s)
{
	(void)s;
}

int
netns_make(struct netns *s, int user, size_t n)
{
	size_t	 i;

	ns_user = user;
	s->ns = user == -1 ? -1 : 30;
	s->n = n;
	for (i = 0; i < n; i++) {
		s->listener[i].fd = (int)(50 + i);
		s->listener[i].port = (uint16_t)(60 + i);
	}
	return 0;
}

int
proxy_env_set(char ***list, const struct proxy_ports *ports)
{
	ck_assert_ptr_eq(list, &variables);
	did("env %u %u %d", ports->http, ports->socks, ports->allows_local);
	return 0;
}

size_t
proxy_env_find(char *const *list, uint16_t *ports, size_t max)
{
	size_t	 i;

	ck_assert(list == variables && max == NETNS_LISTENERS);
	for (i = 0; i < n_env; i++)
		ports[i] = (uint16_t)(70 + i);
	return n_env;
}

int
proxy_env_change(char **list, const uint16_t *from, const uint16_t *into,
    size_t n)
{
	ck_assert_ptr_eq(list, variables);
	did("env %zu: %u to %u", n, from[n - 1], into[n - 1]);
	return 0;
}

size_t
conn_behind(const struct conn *c)
{
	ck_assert_ptr_eq(c, CONN);
	return behind;
}

int
conn_send(struct conn *c, const char *text, size_t len)
{
	char		 all[1000];
	const char	*time;

	ck_assert_ptr_eq(c, CONN);
	snprintf(all, sizeof(all), "%.*s", (int)len, text);
	/* What it is cannot be known. */
	if ((time = strstr(all, ",\"timestamp\":\"")) != NULL)
		memmove(strchr(all, '\0') - strlen(time), strstr(time + 14,
		    ",\""), strlen(strstr(time + 14, ",\"")) + 1);
	did("%s", all);
	return 0;
}

void
conn_close(struct conn *c, uint16_t code, const char *why)
{
	ck_abort_msg("%p closed: %u %s", (void *)c, code, why);
}

void
link_net_refused(struct link *l, Ipc__NetRefused *out)
{
	(void)l;
	did("refused %s:%u %s %u", out->host,
	    out->port, out->why, (unsigned)out->count);
}

bool
session_is_closing(const struct session *s)
{
	(void)s;
	return false;
}

/* --- a process --- */

static struct process_start_params	 p;
static struct param_pair		 domain[3], path[1];
static struct param_text		 review[1];

static struct param_text
text_of(const char *s)
{
	return (struct param_text){ (char *)(uintptr_t)s, strlen(s) };
}

static void
set_domain(size_t i, const char *name, const char *value)
{
	domain[i].name = text_of(name);
	domain[i].value = text_of(value);
	p.proxy.proxy.domains.v = domain;
	if (p.proxy.proxy.domains.n <= i)
		p.proxy.proxy.domains.n = i + 1;
}

static void
setup(void)
{
	memset(&env, 0, sizeof(env));
	memset(&rpc, 0, sizeof(rpc));
	memset(&proc, 0, sizeof(proc));
	memset(&sp, 0, sizeof(sp));
	memset(&p, 0, sizeof(p));
	nsset_init(&nsset);
	nsset.fds[NSSET_USER] = 20;
	nsset.net_off = true;
	ck_assert_ptr_nonnull(env.base = event_base_new());
	env.number = 6;
	ipc__settings__init(&env.set);
	rpc.env = &env;
	rpc.proxy_exe = 5;
	rpc.conn = CONN;
	rpc.phase = PHASE_READY;
	buf_init(&rpc.scratch, LIMIT_MESSAGE);
	json_init(&rpc.json);
	sinks_init(&proc.sinks);
	p.process_id = text_of("p1");
	p.proxy.given = p.proxy.proxy.enabled = true;
	p.proxy.proxy.mode = text_of("full");
	proxied = NULL;
	net = NULL;
	opened = NULL;
	variables = envp;
	behind = 0;
	n_env = 1;
	did_forget();
}

static void
teardown(void)
{
	sinks_fini(&proc.sinks);
	net_opened_fini(&opened);
	netjobs_free(&rpc);
	buf_fini(&rpc.scratch);
	json_fini(&rpc.json);
	event_base_free(env.base);
}

/* Of a process that has started. */
static void
start(void)
{
	ck_assert_ptr_null(net_make(&rpc, &p, true, &net));
	ck_assert_ptr_nonnull(net);
	sp.nsset = &nsset;
	ck_assert_int_eq(net_open(net, &variables, &sp, &opened), 0);
	net_attach(net, &proc);
}

static void
ck_wrong(const char *why)
{
	const char	*got = net_make(&rpc, &p, true, &net);

	ck_assert_ptr_null(net);
	ck_assert_ptr_nonnull(got);
	ck_assert_str_eq(got, why);
}

/* --- parameters --- */

START_TEST(test_wrong)
{
	p.proxy.proxy.enabled = false;
	ck_wrong("networkProxy.proxy is not enabled");
	p.proxy.proxy.enabled = p.proxy.proxy.all_unix = true;
	ck_wrong("dangerouslyAllowAllUnixSockets is not implemented");
	p.proxy.proxy.all_unix = false;
	p.proxy.proxy.masking = true;
	ck_wrong("credential masking is not implemented");
	p.proxy.proxy.masking = false;
	p.proxy.proxy.mode = text_of("half");
	ck_wrong("networkProxy.proxy.mode is neither full nor limited");
	p.proxy.proxy.mode = text_of("limited");
	p.proxy.timeout_ms.given = true;
	ck_wrong("policyDecisionTimeoutMs is 0");
	p.proxy.timeout_ms.n = 1;
	p.proxy.proxy.unix_sockets.v = path;
	p.proxy.proxy.unix_sockets.n = 1;
	path[0].name = text_of("s");
	path[0].value = text_of("allow");
	ck_wrong("a path in unixSockets is not absolute");
	path[0].name = (struct param_text){ (char[]){ "/s\0t" }, 4 };
	ck_wrong("a path in unixSockets is not absolute");
	path[0].name = text_of("/s");
	path[0].value = text_of("none");
	ck_wrong("a socket is neither allow nor deny");
	path[0].value = text_of("deny");
	set_domain(0, "a.test", "perhaps");
	ck_wrong("a domain is neither allow, deny nor none");
	set_domain(0, "*", "deny");
	ck_wrong("a deny rule cannot be for every domain");
	set_domain(0, "*", "allow");
	ck_assert_ptr_null(net_make(&rpc, &p, true, &net));
	net_cancel(net);
}
END_TEST

static void
managed(const char *ports)
{
	static char	 text[100];

	snprintf(text, sizeof(text), "{\"ports\":%s}", ports);
	json_fini(&rpc.json);
	json_init(&rpc.json);
	ck_assert_int_eq(json_parse(&rpc.json, text, strlen(text)), 0);
	p.managed.given = true;
	p.managed.ports = json_find(&rpc.json, 0, "ports");
	p.proxy.given = false;
	ck_assert_uint_ne(p.managed.ports, 0);
}

START_TEST(test_managed)
{
	static const char *const wrong[] = {
		"[65536]", "[\"1\"]", "[1.5]", "[-1]", "[1,65536]"
	};
	size_t			 i;

	for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		managed(wrong[i]);
		ck_wrong("managedNetwork.loopbackPorts has no port");
	}
	managed("[0,65535]");
	ck_assert_ptr_null(net_make(&rpc, &p, true, &net));
	ck_assert_ptr_null(net);
	p.managed.all_unix = true;
	ck_wrong("dangerouslyAllowAllUnixSockets is not implemented");
}
END_TEST

/* Who has a network of its own, and who cannot leave it. */
START_TEST(test_which)
{
	bool	 is_given = _i & 1, is_enforced = _i & 2, sandboxed = _i & 4;

	env.set.network_managed = _i & 8;
	p.proxy.given = is_given;
	p.is_enforced = is_enforced;
	ck_assert_ptr_null(net_make(&rpc, &p, sandboxed, &net));
	ck_assert_int_eq(net != NULL, is_given ||
	    (is_enforced && sandboxed) || (_i & 8));
	ck_assert_int_eq(net_is_enforced(net), (is_enforced && sandboxed) ||
	    (_i & 8));
	net_cancel(net);
}
END_TEST

static bool
allows(const char *name, enum net_reason *why)
{
	struct nethost	 h;

	ck_assert_int_eq(nethost_set(&h, name, strlen(name)), 0);
	return netrules_judge(&wish.rules, &h, why) == NETRULES_ALLOWED;
}

/* A client's list, and that of the administrator, which bounds it. */
START_TEST(test_rules)
{
	char		*may[] = { (char[]){ "*.test" } };
	char		*not[] = { (char[]){ "no.test" } };
	enum net_reason	 why;

	set_domain(0, "a.test", "allow");
	set_domain(1, "a.other", "allow");
	set_domain(2, "no.test", "allow");
	p.proxy.proxy.local = p.proxy.proxy.upstream = true;
	if (_i > 0) {
		env.set.allow_domain = may;
		env.set.n_allow_domain = 1;
		env.set.deny_domain = not;
		env.set.n_deny_domain = 1;
	}
	if (_i == 2) {
		p.proxy.given = false;
		env.set.network_managed = true;
	}
	start();
	ck_assert_int_eq(wish.rules.is_bound, _i > 0);
	ck_assert_int_eq(wish.rules.allows_local, _i < 2);
	ck_assert(wish.uses_upstream && !wish.rules.asks);
	ck_assert_int_eq(wish.checks_peer, _i < 2);
	ck_assert(allows("a.test", &why));
	ck_assert_int_eq(allows("b.test", &why), _i == 2);
	ck_assert_int_eq(allows("a.other", &why), _i == 0);
	ck_assert_int_eq(allows("no.test", &why), _i == 0);
	ck_assert(_i == 0 || why == NET_DENIED);
}
END_TEST

START_TEST(test_review)
{
	set_domain(0, "a.test", "allow");
	set_domain(1, "b.test", "none");
	review[0] = text_of("a.test");
	p.proxy.proxy.review.v = review;
	p.proxy.proxy.review.n = 1;
	p.proxy.timeout_ms.given = true;
	p.proxy.timeout_ms.n = 1;
	p.proxy.proxy.mode = text_of("limited");
	start();
	ck_assert_uint_eq(wish.rules.list[NETRULES_ALLOW].n, 1);
	ck_assert_uint_eq(wish.rules.list[NETRULES_DENY].n, 0);
	ck_assert_uint_eq(wish.rules.list[NETRULES_REVIEW].n, 1);
	ck_assert(wish.rules.asks && wish.rules.is_limited);
	ck_assert(!wish.rules.allows_local && !wish.uses_upstream);
}
END_TEST

/* --- before the start --- */

START_TEST(test_open)
{
	p.proxy.proxy.socks = _i % 2 == 1;
	p.is_enforced = _i >= 2;
	start();
	ck_did(_i % 2 == 1 ? "env 60 61 0" : "env 60 0 0");
	ck_assert_uint_eq(nlistener, _i % 2 == 1 ? 2 : 1);
	ck_assert_int_eq(listener[0].kind, IPC__PROXY_KIND__PROXY_HTTP);
	ck_assert(listener[0].fd == 50 && listener[0].port == 0);
	if (_i % 2 == 1)
		ck_assert_int_eq(listener[1].kind,
		    IPC__PROXY_KIND__PROXY_SOCKS);
	ck_assert_int_eq(ns_user, _i >= 2 ? 20 : -1);
	ck_assert_int_eq(sp.nsset != &nsset, _i >= 2);
	if (_i >= 2) {
		ck_assert_int_eq(sp.nsset->fds[NSSET_NET], 30);
		ck_assert_int_eq(sp.nsset->fds[NSSET_USER], 20);
		ck_assert(sp.nsset->is_managed && !sp.nsset->net_off);
	}
	ck_assert(!sp.refused && sp.envp == variables);
}
END_TEST

/* What enforces it is a namespace: without one it does not start. */
START_TEST(test_not_enforced)
{
	p.is_enforced = true;
	ck_assert_ptr_null(net_make(&rpc, &p, true, &net));
	nsset.fds[NSSET_USER] = -1;
	sp.nsset = _i == 0 ? NULL : &nsset;
	ck_assert_int_eq(net_open(net, &variables, &sp, &opened), -1);
	ck_assert_int_eq(errno, EOPNOTSUPP);
	ck_assert_ptr_null(proxied);
	net_cancel(net);
}
END_TEST

/* The way to a proxy that its variables name, unless there are rules. */
START_TEST(test_bridge)
{
	char	*may[] = { (char[]){ "a.test" } };

	p.proxy.given = false;
	p.is_enforced = true;
	n_env = _i == 0 ? 2 : _i == 1 ? 0 : 1;
	if (_i == 2) {
		env.set.allow_domain = may;
		env.set.n_allow_domain = 1;
	}
	start();
	ck_assert_int_eq(sp.refused, _i > 0);
	ck_did(_i == 0 ? "env 2: 71 to 61" : "");
	if (_i > 0)
		return;
	ck_assert_uint_eq(nlistener, 2);
	ck_assert_int_eq(listener[1].kind, IPC__PROXY_KIND__PROXY_BRIDGE);
	ck_assert_uint_eq(listener[1].port, 71);
}
END_TEST

/* --- questions --- */

static void
ask(uint64_t id)
{
	Ipc__ProxyAsk	 in = IPC__PROXY_ASK__INIT;

	in.id = id;
	in.protocol = IPC__PROXY_PROTOCOL__HTTPS_CONNECT;
	in.host = (char[]){ "a.test" };
	in.port = 443;
	to->on_ask(proxied, &in);
}

static void
start_asking(void)
{
	p.proxy.timeout_ms.given = true;
	p.proxy.timeout_ms.n = 1000;
	start();
	did_forget();
}

static bool
say(int64_t id, const char *result)
{
	char	 text[2200];

	snprintf(text, sizeof(text), "{\"result\":%s}", result);
	json_fini(&rpc.json);
	json_init(&rpc.json);
	ck_assert_int_eq(json_parse(&rpc.json, text, strlen(text)), 0);
	return rpc.on_answer(&rpc, id, json_find(&rpc.json, 0, "result"));
}

#define DECISION(text)	"{\"decision\":{\"type\":" text "}}"
#define ASKED(n)							\
	"{\"id\":" n ",\"method\":\"network/policyRequest\",\"params\":" \
	"{\"processId\":\"p1\",\"request\":"				\
	"{\"protocol\":\"https_connect\",\"host\":\"a.test\","		\
	"\"port\":443}}}"

static const struct {
	const char	*result, *did;
} answers[] = {
	{ DECISION("\"allow\""), "answer 9 0 " },
	{ DECISION("\"deny\",\"reason\":\"because\""),
	  "answer 9 1 because" },
	{ DECISION("\"ask\",\"reason\":\"\""), "answer 9 2 policy_denied" },
	/* What is not understood allows nothing. */
	{ DECISION("\"deny\""), "answer 9 1 not_allowed" },
	{ DECISION("\"ask\",\"reason\":1"), "answer 9 1 not_allowed" },
	{ DECISION("\"allowed\""), "answer 9 1 not_allowed" },
	{ DECISION("true"), "answer 9 1 not_allowed" },
	{ "{\"decision\":\"allow\"}", "answer 9 1 not_allowed" },
	{ "{\"type\":\"allow\"}", "answer 9 1 not_allowed" },
	{ "{}", "answer 9 1 not_allowed" },
	{ "null", "answer 9 1 not_allowed" },
};

START_TEST(test_answers)
{
	start_asking();
	ask(9);
	ck_did(ASKED("1"));
	ck_assert(!say(0, "{}"));
	ck_assert(!say(2, "{}"));
	ck_did("");
	ck_assert(say(1, answers[_i].result));
	ck_did(answers[_i].did);
	/* A second time it is heard, and counts for nothing. */
	ck_assert(say(1, DECISION("\"allow\"")));
	ck_did("");
}
END_TEST

/* An error instead of a result. */
START_TEST(test_no_result)
{
	start_asking();
	ask(9);
	did_forget();
	ck_assert(rpc.on_answer(&rpc, 1, 0));
	ck_did("answer 9 1 not_allowed");
}
END_TEST

START_TEST(test_not_asked)
{
	start_asking();
	if (_i == 0)
		rpc.conn = NULL;
	else if (_i == 1)
		rpc.phase = PHASE_NEW;
	else
		proxied->is_dropped = true;
	ask(9);
	ck_did("answer 9 1 not_allowed");
	if (_i == 2)
		proxied->is_dropped = false;
}
END_TEST

/* The proxy is not trusted: it may ask only who wants to be asked. */
START_TEST(test_does_not_ask)
{
	start();
	did_forget();
	ask(9);
	ck_did("answer 9 1 not_allowed");
}
END_TEST

START_TEST(test_most_questions)
{
	uint64_t	 i;

	start_asking();
	for (i = 1; i <= LIMIT_NET_QUESTIONS; i++) {
		did_forget();
		ask(i);
	}
	ck_did(ASKED("256"));
	ask(i);
	ck_did("answer 257 1 not_allowed");
	ck_assert(say(7, DECISION("\"allow\"")));
	ck_did("answer 7 0 ");
	ask(300);
	ck_did(ASKED("257"));
	/* The client has gone: nobody else may answer. */
	did_forget();
	rpc.conn = NULL;
	for (i = 0; i < 256; i++) {
		ck_assert(say((int64_t)i + 2, "{}"));
		did_forget();
	}
	netjobs_on_conn(&rpc, false);
	ck_did("answer 1 1 not_allowed");
}
END_TEST

/* Ids are of a connection; a new one begins anew. */
START_TEST(test_connections)
{
	start_asking();
	ask(9);
	did_forget();
	netjobs_on_conn(&rpc, false);
	ck_did("answer 9 1 not_allowed");
	ask(10);
	ck_did(ASKED("2"));
	netjobs_on_conn(&rpc, true);
	ck_did("answer 10 1 not_allowed");
	ck_assert(!say(1, "{}"));
	ask(11);
	ck_did(ASKED("1"));
	/* The process is closed. */
	sinks_close(&proc.sinks);
	ck_did("answer 11 1 not_allowed; drop");
	sinks_close(&proc.sinks);
	ck_did("");
}
END_TEST

/* --- decisions --- */

static void
decide(Ipc__ProxyVerdict v)
{
	Ipc__ProxyDecision	 d = IPC__PROXY_DECISION__INIT;

	d.verdict = v;
	d.source = IPC__PROXY_SOURCE__MODE_GUARD;
	d.reason = (char[]){ "why" };
	d.protocol = IPC__PROXY_PROTOCOL__SOCKS5_TCP;
	d.host = (char[]){ "a.test" };
	d.port = 1;
	d.client = (char[]){ "c" };
	d.is_general = true;
	to->on_decision(proxied, &d);
}

#define TOLD(decision)							\
	"{\"method\":\"network/policyDecision\",\"params\":"		\
	"{\"processId\":\"p1\",\"scope\":\"non_domain\","		\
	"\"decision\":\"" decision "\",\"source\":\"mode_guard\","	\
	"\"reason\":\"why\",\"protocol\":\"socks5_tcp\","		\
	"\"host\":\"a.test\",\"port\":1,\"client\":\"c\","		\
	"\"policyOverride\":false}}"

START_TEST(test_decisions)
{
	const struct netrefused_row	*row;
	unsigned			 n;

	start();
	did_forget();
	decide(IPC__PROXY_VERDICT__PROXY_ALLOW);
	ck_did(TOLD("allow"));
	decide(IPC__PROXY_VERDICT__PROXY_ASKED);
	ck_did("refused a.test:1 why 1; " TOLD("ask"));
	behind = LIMIT_NET_QUEUE;
	decide(IPC__PROXY_VERDICT__PROXY_DENY);
	ck_did(TOLD("deny"));
	behind++;
	decide(IPC__PROXY_VERDICT__PROXY_DENY);
	rpc.conn = NULL;
	decide(IPC__PROXY_VERDICT__PROXY_DENY);
	ck_did("");
	netjobs_flush(&rpc);
	ck_did("refused a.test:1 why 3");
	row = netjobs_refused(&rpc, &n);
	ck_assert(n == 1 && row->count == 4);
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("netjobs");
	TCase	*t = tcase_create("netjobs");
	SRunner	*r;
	int	 failed;

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, test_wrong);
	tcase_add_test(t, test_managed);
	tcase_add_loop_test(t, test_which, 0, 16);
	tcase_add_loop_test(t, test_rules, 0, 3);
	tcase_add_test(t, test_review);
	tcase_add_loop_test(t, test_open, 0, 4);
	tcase_add_loop_test(t, test_not_enforced, 0, 2);
	tcase_add_loop_test(t, test_bridge, 0, 3);
	tcase_add_loop_test(t, test_answers, 0,
	    sizeof(answers) / sizeof(answers[0]));
	tcase_add_test(t, test_no_result);
	tcase_add_loop_test(t, test_not_asked, 0, 3);
	tcase_add_test(t, test_does_not_ask);
	tcase_add_test(t, test_most_questions);
	tcase_add_test(t, test_connections);
	tcase_add_test(t, test_decisions);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_ENV);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
