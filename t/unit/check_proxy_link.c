/*
 * worker/proxy/proxy_link.c: networks of processes go to execsrv-proxy, whose
 * questions and decisions are looked at; what ends with it.  The process is
 * ours.
 */
#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/limit.h"
#include "t/unit/fault.h"
#include "t/unit/helper_stand_in.h"
#include "worker/proxy/proxy_link.h"

#define EXE	98

static struct event_base	*base;
static struct proxy_link	*l;
static bool			 is_ending;
static struct proxied		 a, b;
static struct proxy_wish	 wish;

/* --- what the owner hears --- */

static char
name_of(const struct proxied *p)
{
	return p == &a ? 'a' : 'b';
}

static void
on_ask(struct proxied *p, const Ipc__ProxyAsk *ask)
{
	did("%c asked %.9s:%u", name_of(p), ask->host, ask->port);
}

static void
on_decision(struct proxied *p, const Ipc__ProxyDecision *d)
{
	did("%c decided %.9s:%u", name_of(p), d->host, d->port);
}

static void
on_gone(struct proxied *p, bool is_lost)
{
	did("%c %s", name_of(p), is_lost ? "lost" : "gone");
}

static const struct proxied_events	 events = {
	on_ask, on_decision, on_gone
};

static bool
ends(const void *arg)
{
	ck_assert_ptr_eq(arg, &is_ending);
	return is_ending;
}

/* --- */

static void
add(struct proxied *p)
{
	ck_assert_int_eq(proxy_link_add(l, p, &events, &wish, NULL, 0), 0);
}

static Ipc__ProxyAsk
make_ask(uint64_t key)
{
	Ipc__ProxyAsk	 m = IPC__PROXY_ASK__INIT;

	m.key = key;
	m.id = 1;
	m.host = (char *)(uintptr_t)"h";
	m.port = UINT16_MAX;
	m.protocol = IPC__PROXY_PROTOCOL__SOCKS5_TCP;
	return m;
}

static Ipc__ProxyDecision
make_decision(uint64_t key)
{
	Ipc__ProxyDecision	 m = IPC__PROXY_DECISION__INIT;

	m.key = key;
	m.host = m.method = m.client = m.reason = (char *)(uintptr_t)"h";
	m.port = UINT16_MAX;
	m.protocol = IPC__PROXY_PROTOCOL__SOCKS5_TCP;
	m.verdict = IPC__PROXY_VERDICT__PROXY_ASKED;
	m.source = IPC__PROXY_SOURCE__PROXY_STATE;
	return m;
}

static int
dropped(uint64_t key)
{
	Ipc__ProxyDropped	 m = IPC__PROXY_DROPPED__INIT;

	m.key = key;
	return helper_comes(IPC_proxy_dropped, &m);
}

static void
setup(void)
{
	is_ending = false;
	memset(&wish, 0, sizeof(wish));
	ck_assert_ptr_nonnull(base = event_base_new());
	ck_assert_ptr_nonnull(l = proxy_link_new(base, EXE, 5, ends,
	    &is_ending));
	ck_did("init execsrv-proxy 98 5");
	ck_assert_uint_eq(helper.program->role, IPC_ROLE_PROXY);
	ck_assert_uint_eq(helper.program->idle_ms, LIMIT_NET_UNUSED);
	ck_assert_uint_eq(helper.program->queue_max, (size_t)NETRULES_LISTS *
	    LIMIT_NET_RULES * (NETHOST_MAX + 8) + LIMIT_NET_QUEUE);
	ck_assert_ptr_eq(proxy_link_helper(l), helper.it);
}

static void
teardown(void)
{
	proxy_link_free(&l);
	ck_assert_ptr_null(l);
	proxy_link_free(&l);
	did_forget();
	netrules_fini(&wish.rules);
	event_base_free(base);
}

/* --- the tests --- */

START_TEST(test_add)
{
	static const char *const words[] = {
		"", " allows_local", " is_limited", " asks", " is_bound",
		" uses_upstream", " checks_peer"
	};
	char	 want[60];

	wish.rules.allows_local = _i == 1;
	wish.rules.is_limited = _i == 2;
	wish.rules.asks = _i == 3;
	wish.rules.is_bound = _i == 4;
	wish.uses_upstream = _i == 5;
	wish.checks_peer = _i == 6;
	add(&a);
	snprintf(want, sizeof(want), "need; proxy_add key=1%s", words[_i]);
	ck_did(want);
	add(&b);
	snprintf(want, sizeof(want), "need; proxy_add key=2%s", words[_i]);
	ck_did(want);
	helper.need_error = EMFILE;
	errno = 0;
	ck_assert_int_eq(proxy_link_add(l, &a, &events, &wish, NULL, 0), -1);
	ck_assert_int_eq(errno, EMFILE);
	ck_did("need");
}
END_TEST

START_TEST(test_rules)
{
	static const struct proxy_listener	 listeners[] = {
		{ STDIN_FILENO, IPC__PROXY_KIND__PROXY_SOCKS, 0 },
		{ STDIN_FILENO, IPC__PROXY_KIND__PROXY_BRIDGE, 81 },
	};
	int	 i;
	char	 text[10];

	for (i = 0; i < NETRULES_LISTS; i++) {
		snprintf(text, sizeof(text), "l%d.test", i);
		ck_assert_int_eq(netrules_add(&wish.rules,
		    (enum netrules_list)i, text), 0);
	}
	ck_assert_int_eq(netrules_add(&wish.rules, NETRULES_DENY, "x.test"), 0);
	ck_assert_int_eq(proxy_link_add(l, &a, &events, &wish, listeners, 2),
	    0);
	ck_did("need; proxy_add key=1; "
	    "proxy_rules key=1 pattern='l0.test'; "
	    "proxy_rules key=1 list=1 pattern='l1.test' pattern='x.test'; "
	    "proxy_rules key=1 list=2 pattern='l2.test'; "
	    "proxy_rules key=1 list=3 pattern='l3.test'; "
	    "proxy_rules key=1 list=4 pattern='l4.test'; "
	    "proxy_listen key=1 kind=1 +fd; "
	    "proxy_listen key=1 kind=2 port=81 +fd");
}
END_TEST

/* Many are sent in packets, which are filled to the last byte. */
START_TEST(test_many_rules)
{
	unsigned	 i;
	char		 text[NETHOST_MAX];

	ck_assert_int_eq(LIMIT_CONTROL_MESSAGE, 96 * 1024);
	memset(text, 'a', sizeof(text));
	text[98 + _i] = '\0';
	for (i = 0; i < 250; i++) {
		ck_assert_int_eq(netrules_add(&wish.rules, NETRULES_ALLOW,
		    text), 0);
		text[98 + _i] = 'a';
		snprintf(text + 225, sizeof(text) - 225, "-%010u.example", i);
		/* 245 bytes with its end, and 4 more. */
		ck_assert_uint_eq(strlen(text), 244);
	}
	add(&a);
	ck_did(_i == 0 ? "need; proxy_add key=1; "
	    "proxy_rules key=1 pattern:198; proxy_rules key=1 pattern:52" :
	    "need; proxy_add key=1; "
	    "proxy_rules key=1 pattern:197; proxy_rules key=1 pattern:53");
}
END_TEST

START_TEST(test_no_memory)
{
	ck_assert_int_eq(netrules_add(&wish.rules, NETRULES_DENY, "x.test"), 0);
	want_fatal = "rules of a network";
	fault_call("calloc", 1);
	add(&a);
}
END_TEST

START_TEST(test_asked)
{
	static char	 host[NETHOST_MAX + 1];
	Ipc__ProxyAsk	 m;

	add(&a);
	add(&b);
	did_forget();
	m = make_ask(2);
	ck_assert_int_eq(helper_comes(IPC_proxy_ask, &m), 0);
	ck_did("b asked h:65535");
	m = make_ask(3);
	ck_assert_int_eq(helper_comes(IPC_proxy_ask, &m), -1);
	m = make_ask(1);
	m.id = 0;
	ck_assert_int_eq(helper_comes(IPC_proxy_ask, &m), -1);
	m = make_ask(1);
	m.port++;
	ck_assert_int_eq(helper_comes(IPC_proxy_ask, &m), -1);
	m = make_ask(1);
	m.protocol = (Ipc__ProxyProtocol)3;
	ck_assert_int_eq(helper_comes(IPC_proxy_ask, &m), -1);
	m.protocol = (Ipc__ProxyProtocol)-1;
	ck_assert_int_eq(helper_comes(IPC_proxy_ask, &m), -1);
	m = make_ask(1);
	memset(host, 'h', NETHOST_MAX);
	m.host = host;
	ck_assert_int_eq(helper_comes(IPC_proxy_ask, &m), -1);
	ck_did("");
	host[NETHOST_MAX - 1] = '\0';
	m.protocol = IPC__PROXY_PROTOCOL__PLAIN_HTTP;
	ck_assert_int_eq(helper_comes(IPC_proxy_ask, &m), 0);
	ck_did("a asked hhhhhhhhh:65535");
}
END_TEST

START_TEST(test_decided)
{
	static char		 word[NETHOST_MAX + 1];
	static char		 reason[LIMIT_NET_DECISION + 2];
	Ipc__ProxyDecision	 m, bad[13];
	unsigned		 i;

	add(&a);
	did_forget();
	memset(word, 'h', NETHOST_MAX);
	memset(reason, 'r', LIMIT_NET_DECISION + 1);
	m = make_decision(1);
	ck_assert_int_eq(helper_comes(IPC_proxy_decision, &m), 0);
	ck_did("a decided h:65535");
	for (i = 0; i < 13; i++)
		bad[i] = make_decision(1);
	bad[0].host = bad[1].method = bad[2].client = word;
	bad[3].port++;
	bad[4].reason = reason;
	bad[5].protocol = (Ipc__ProxyProtocol)3;
	bad[6].protocol = (Ipc__ProxyProtocol)-1;
	bad[7].verdict = (Ipc__ProxyVerdict)3;
	bad[8].verdict = (Ipc__ProxyVerdict)-1;
	bad[9].source = (Ipc__ProxySource)4;
	bad[10].source = (Ipc__ProxySource)-1;
	bad[11].key = 0;
	bad[12].key = 2;
	for (i = 0; i < 13; i++)
		ck_assert_int_eq(helper_comes(IPC_proxy_decision, &bad[i]),
		    -1);
	ck_did("");
	word[NETHOST_MAX - 1] = reason[LIMIT_NET_DECISION] = '\0';
	for (i = 0; i < 5; i++) {
		if (i != 3)
			ck_assert_int_eq(helper_comes(IPC_proxy_decision,
			    &bad[i]), 0);
	}
	m.protocol = IPC__PROXY_PROTOCOL__PLAIN_HTTP;
	m.verdict = IPC__PROXY_VERDICT__PROXY_ALLOW;
	m.source = IPC__PROXY_SOURCE__BASELINE_POLICY;
	ck_assert_int_eq(helper_comes(IPC_proxy_decision, &m), 0);
	ck_did("a decided hhhhhhhhh:65535; a decided h:65535; "
	    "a decided h:65535; a decided h:65535; a decided h:65535");
}
END_TEST

/* What it must not send. */
START_TEST(test_foreign)
{
	Ipc__ProxyDrop	 m = IPC__PROXY_DROP__INIT;

	add(&a);
	m.key = 1;
	ck_assert_int_eq(helper_comes(IPC_proxy_drop, &m), -1);
	ck_assert_int_eq(dropped(1), -1);
}
END_TEST

START_TEST(test_answer)
{
	add(&a);
	did_forget();
	proxied_answer(&a, 4, IPC__PROXY_VERDICT__PROXY_DENY, "why");
	ck_did("proxy_answer key=1 id=4 verdict=1 reason='why'");
	proxied_drop(&a);
	ck_did("proxy_drop key=1");
	proxied_answer(&a, 4, IPC__PROXY_VERDICT__PROXY_DENY, "why");
	ck_did("");
	add(&b);
	did_forget();
	helper.it->chan = NULL;
	proxied_answer(&b, 4, IPC__PROXY_VERDICT__PROXY_DENY, "why");
	ck_did("");
}
END_TEST

START_TEST(test_dropped)
{
	add(&a);
	add(&b);
	proxied_drop(&a);
	did_forget();
	ck_assert_int_eq(dropped(1), 0);
	ck_did("a gone");
	ck_assert_int_eq(dropped(1), -1);
	add(&a);
	ck_did("need; proxy_add key=3");
	proxied_drop(&a);
	proxied_drop(&b);
	did_forget();
	ck_assert_int_eq(dropped(2), 0);
	ck_assert_int_eq(dropped(3), 0);
	ck_did("b gone; idle; a gone");
}
END_TEST

START_TEST(test_death)
{
	helper_dies();
	ck_did("");
	add(&a);
	add(&b);
	did_forget();
	is_ending = _i == 1;
	helper_dies();
	ck_did(_i == 1 ? "a lost; idle; b lost" :
	    "log_warnx: execsrv-proxy ended: commands with a managed network "
	    "have none any more; a lost; idle; b lost");
}
END_TEST

START_TEST(test_free)
{
	add(&a);
	add(&b);
	did_forget();
	proxy_link_free(&l);
	ck_did("stop; a gone; idle; b gone");
}
END_TEST

START_TEST(test_new)
{
	fault_call("calloc", 1);
	ck_assert_ptr_null(proxy_link_new(base, EXE, 5, ends, NULL));
	ck_assert_int_eq(proxy_link_program(), -1);
	ck_did("program execsrv-proxy");
}
END_TEST

START_TEST(test_kept)
{
	helper_ck_kept("ALL_PROXY ASAN_OPTIONS GCOV_PREFIX GCOV_PREFIX_STRIP "
	    "HTTPS_PROXY HTTP_PROXY LD_LIBRARY_PATH LOCALDOMAIN LSAN_OPTIONS "
	    "NO_PROXY RES_OPTIONS UBSAN_OPTIONS all_proxy http_proxy "
	    "https_proxy no_proxy");
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("proxy_link");
	TCase	*t = tcase_create("proxy_link");
	SRunner	*r;
	int	 failed;

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_loop_test(t, test_add, 0, 7);
	tcase_add_test(t, test_rules);
	tcase_add_loop_test(t, test_many_rules, 0, 2);
	tcase_add_exit_test(t, test_no_memory, FATAL_EXIT);
	tcase_add_test(t, test_asked);
	tcase_add_test(t, test_decided);
	tcase_add_test(t, test_foreign);
	tcase_add_test(t, test_answer);
	tcase_add_test(t, test_dropped);
	tcase_add_loop_test(t, test_death, 0, 2);
	tcase_add_test(t, test_free);
	tcase_add_test(t, test_new);
	tcase_add_test(t, test_kept);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_ENV);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed != 0;
}
