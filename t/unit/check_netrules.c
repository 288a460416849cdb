/*
 * common/net/nethost.c, netpattern.c, netrules.c: which host a text is, which
 * addresses are local, what patterns match, and the order of decisions.
 */
#include <sys/socket.h>

#include <arpa/inet.h>

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/limit.h"
#include "common/net/netpattern.h"
#include "common/net/netrules.h"

#define N(rows)	(int)(sizeof(rows) / sizeof((rows)[0]))

static struct nethost
host(const char *text)
{
	struct nethost	 h;

	ck_assert_msg(nethost_set(&h, text, strlen(text)) == 0, "%s", text);
	return h;
}

/* --- hosts -----------------------------------------------------------------*/

static const struct {
	const char	*text, *want;		/* NULL: refused */
	bool		 is_name;
} hosts[] = {
	{ "a.test", "a.test", true },
	{ "A.TeSt..", "a.test", true },
	{ "a_b-c", "a_b-c", true },
	{ "127.1", "127.1", true },
	{ "2130706433", "2130706433", true },
	{ "0x7f000001", "0x7f000001", true },
	{ "127.0.0.01", "127.0.0.01", true },
	{ "8.8.8.8", "8.8.8.8", false },
	{ "8.8.8.8.", "8.8.8.8", false },
	{ "[2001:4860::8888]", "2001:4860::8888", false },
	{ "2001:4860:0:0::8888", "2001:4860::8888", false },
	{ "[::8.8.8.8]", "::808:808", false },
	{ "[::FFFF:8.8.8.8]", "::ffff:8.8.8.8", false },
	{ "::1", "::1", false },
	{ "", NULL, false }, { ".", NULL, false }, { "..", NULL, false },
	{ ".a", NULL, false }, { "a..b", NULL, false }, { "[]", NULL, false },
	{ "[a.test]", NULL, false }, { "[8.8.8.8]", NULL, false },
	{ "[::1", NULL, false }, { "::1]", NULL, false },
	{ "fe80::1%eth0", NULL, false }, { "[fe80::1%25lo]", NULL, false },
	{ "a b", NULL, false }, { "a\tb", NULL, false }, { "a/b", NULL, false },
	{ "a\\b", NULL, false }, { "a@b", NULL, false }, { "a#b", NULL, false },
	{ "a?b", NULL, false }, { "a%2eb", NULL, false }, { "*", NULL, false },
	{ "a:80", NULL, false }, { "\xc3\xa4.test", NULL, false },
	{ "a,b", NULL, false },
	{ "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
	    NULL, false },
};

START_TEST(test_hosts)
{
	struct nethost	 h;
	int		 r;

	r = nethost_set(&h, hosts[_i].text, strlen(hosts[_i].text));
	ck_assert_msg((r == 0) == (hosts[_i].want != NULL), "%s",
	    hosts[_i].text);
	if (r == -1)
		return;
	ck_assert_str_eq(h.text, hosts[_i].want);
	ck_assert(nethost_is_name(&h) == hosts[_i].is_name);
}
END_TEST

START_TEST(test_host_lengths)
{
	struct nethost	 h;
	char		 text[300];
	size_t		 i;

	for (i = 0; i < sizeof(text); i++)
		text[i] = i % 50 == 49 ? '.' : 'a';
	ck_assert(nethost_set(&h, text, 253) == 0);
	ck_assert(nethost_set(&h, text, 254) == -1);
	ck_assert(nethost_set(&h, "a\0b", 3) == -1);
}
END_TEST

static const char *const local[] = {
	"localhost", "LOCALHOST.", "0.0.0.0", "0.1.2.3", "10.0.0.1",
	"10.255.255.255", "100.64.0.1", "100.127.255.255", "127.0.0.1",
	"127.9.9.9", "169.254.169.254", "172.16.0.1", "172.31.255.255",
	"192.0.0.1", "192.0.2.1", "192.168.1.1", "198.18.0.1",
	"198.19.255.255", "198.51.100.1", "203.0.113.1", "224.0.0.1",
	"239.1.2.3", "240.0.0.1", "255.255.255.255",
	"::", "::1", "fc00::1", "fd00::1", "fe80::1", "febf::1", "fec0::1",
	"feff::1", "ff02::1", "ff0e::1", "2001:db8::1", "100::1", "3fff::1",
	"::ffff:10.0.0.1", "::ffff:127.0.0.1", "::ffff:0.0.0.0",
	"::127.0.0.1", "::a00:1", "::2", "::ffff:0:127.0.0.1",
	"64:ff9b::127.0.0.1", "64:ff9b::a00:1", "64:ff9b::c0a8:101",
	"64:ff9b::a9fe:a9fe", "64:ff9b:1::1", "64:ff9b:1:ffff::8.8.8.8",
	"2002:7f00:1::1", "2002:a00:1::", "2002:c0a8:101:1::1",
	"2001:0:808:808::80ff:fffe",		/* Teredo of 127.0.0.1 */
	"2001:0:7f00:1::f7f7:f7f7",		/* its server is local */
	"2a00::5efe:10.0.0.1", "2a00::200:5efe:127.0.0.1"
};

static const char *const public[] = {
	"a.test", "localhost.test", "1.1.1.1", "8.8.8.8", "9.255.255.255",
	"11.0.0.1", "100.63.255.255", "100.128.0.0", "126.255.255.255",
	"128.0.0.1", "169.253.1.1", "169.255.1.1", "172.15.255.255",
	"172.32.0.1", "191.255.255.255", "192.0.1.1", "192.0.3.1",
	"192.167.255.255", "192.169.0.1", "198.17.255.255", "198.20.0.1",
	"198.51.99.1", "198.51.101.1", "203.0.112.1", "203.0.114.1",
	"223.255.255.255",
	"2001:4860::8888", "2a00::1", "2001:db7::1", "2001:db9::1",
	"100:0:0:1::1", "3ffe::1", "4000::1", "fbff::1", "fe00::1", "fe7f::1",
	"::ffff:8.8.8.8", "::808:808", "64:ff9b::808:808",
	"64:ff9b:0:1::7f00:1", "2002:808:808::1", "2003:7f00:1::1",
	"2001:0:808:808::f7f7:f7f7", "2a00::5efe:8.8.8.8"
};

START_TEST(test_local)
{
	struct nethost	 h = host(local[_i]);

	ck_assert_msg(nethost_is_local(&h), "%s", local[_i]);
}
END_TEST

START_TEST(test_public)
{
	struct nethost	 h = host(public[_i]);

	ck_assert_msg(!nethost_is_local(&h), "%s", public[_i]);
}
END_TEST

START_TEST(test_authority)
{
	struct nethost	 six = host("::1"), name = host("A.test");
	char		 out[NETHOST_MAX + 16];

	ck_assert_str_eq(nethost_authority(&six, 80, 80, out), "[::1]");
	ck_assert_str_eq(nethost_authority(&six, 81, 80, out), "[::1]:81");
	ck_assert_str_eq(nethost_authority(&name, 80, 0, out), "a.test:80");
}
END_TEST

/* --- patterns --------------------------------------------------------------*/

static const struct {
	const char	*text, *want;		/* NULL: invalid */
} patterns[] = {
	{ "a.test", "a.test" }, { " A.Test.. ", "a.test" },
	{ "a.test:80", "a.test" }, { "a.test.:80", "a.test" },
	{ "*.A.test", "*.a.test" }, { "**.a.test", "**.a.test" },
	{ "*", "*" }, { "*.*", "*.*" }, { "**.*", "*" }, { "[*]", "*" },
	{ "*:443", "*" }, { "*a.test", "*a.test" }, { "pub.*", "pub.*" },
	{ "a?.test", "a?.test" }, { "10.1.2.*", "10.1.2.*" },
	{ "[::1]", "::1" }, { "0:0::1", "::1" }, { "[2001:DB8:0::1]",
	    "2001:db8::1" }, { "fd00:*", "fd00" }, { "fd00::*", "fd00::*" },
	{ "127.0.0.1", "127.0.0.1" }, { "127.0.0.1:8080", "127.0.0.1" },
	{ "", NULL }, { " ", NULL }, { ".", NULL }, { ":80", NULL },
	{ "*.", NULL }, { "**.", NULL }, { "**", NULL }, { "**.**.a", NULL },
	{ "a.**", NULL }, { "***.a", NULL }, { "*.**", NULL },
	{ "a b", NULL }, { "a/b", NULL }, { "{a,b}", NULL }, { "a,b", NULL },
	{ "[a]", NULL }, { "[::1", NULL }, { "[]", NULL }, { "[1.2.3.4]",
	    NULL }, { "[a-z].test", NULL }, { "a\\.test", NULL },
	{ "\xc3\xa4.test", NULL }, { "http://a.test", NULL },
};

START_TEST(test_patterns)
{
	char		 out[NETHOST_MAX];
	const char	*why;

	why = netpattern_make(patterns[_i].text, strlen(patterns[_i].text),
	    out);
	ck_assert_msg((why == NULL) == (patterns[_i].want != NULL), "%s: %s",
	    patterns[_i].text, why != NULL ? why : out);
	if (why == NULL)
		ck_assert_str_eq(out, patterns[_i].want);
}
END_TEST

static const struct {
	const char	*pattern, *host;
	bool		 matches;
} matches[] = {
	{ "a.test", "a.test", true }, { "a.test", "A.TEST.", true },
	{ "a.test", "b.a.test", false }, { "a.test", "xa.test", false },
	{ "a.test", "a.test.b", false },
	{ "*.a.test", "b.a.test", true }, { "*.a.test", "c.b.a.test", true },
	{ "*.a.test", "a.test", false }, { "*.a.test", "xa.test", false },
	{ "**.a.test", "a.test", true }, { "**.a.test", "b.a.test", true },
	{ "**.a.test", "c.b.a.test", true }, { "**.a.test", "xa.test", false },
	{ "*", "a.test", true }, { "*", "10.0.0.1", true },
	{ "*", "::1", true },
	{ "*a.test", "a.test", true }, { "*a.test", "xa.test", true },
	{ "*a.test", "x.a.test", true }, { "*a.test", "a.b", false },
	{ "a?.test", "ab.test", true }, { "a?.test", "a.test", false },
	{ "a?.test", "abc.test", false }, { "pub.*", "pub.a.b", true },
	{ "10.1.2.*", "10.1.2.3", true }, { "10.1.2.*", "10.1.22.3", false },
	{ "::1", "[0:0::1]", true }, { "8.8.8.8", "::ffff:8.8.8.8", false },
};

START_TEST(test_matches)
{
	struct nethost	 h = host(matches[_i].host);
	char		 p[NETHOST_MAX];

	ck_assert(netpattern_make(matches[_i].pattern,
	    strlen(matches[_i].pattern), p) == NULL);
	ck_assert_msg(netpattern_matches(p, &h) == matches[_i].matches,
	    "%s %s", matches[_i].pattern, matches[_i].host);
}
END_TEST

/* --- decisions -------------------------------------------------------------*/

/* Words: a=, d=, r= of the client, b=, f= of the administrator; flags. */
static void
parse(struct netrules *r, const char *text)
{
	static const char	 letters[] = "adrbf";
	char			*copy = strdup(text), *w, *save, p[NETHOST_MAX];

	memset(r, 0, sizeof(*r));
	for (w = strtok_r(copy, " ", &save); w != NULL;
	    w = strtok_r(NULL, " ", &save)) {
		if (strcmp(w, "local") == 0)
			r->allows_local = true;
		else if (strcmp(w, "asks") == 0)
			r->asks = true;
		else if (strcmp(w, "bound") == 0)
			r->is_bound = true;
		else {
			ck_assert(netpattern_make(w + 2, strlen(w + 2), p) ==
			    NULL);
			ck_assert(netrules_add(r, (enum netrules_list)
			    (strchr(letters, w[0]) - letters), p) == 0);
		}
	}
	free(copy);
}

#define ASK	NET_REASONS

static const struct {
	const char	*rules, *host;
	enum net_reason	 want;
} verdicts[] = {
	{ "", "a.test", NET_UNLISTED },
	{ "", "127.0.0.1", NET_LOCAL },
	{ "local", "127.0.0.1", NET_UNLISTED },
	{ "asks", "a.test", ASK },
	{ "asks", "127.0.0.1", NET_LOCAL },
	{ "asks local", "127.0.0.1", ASK },
	{ "a=a.test", "a.test", NET_ALLOW },
	{ "a=* d=*.b.test", "x.b.test", NET_DENIED },
	{ "a=b.test d=b.test", "b.test", NET_DENIED },
	{ "asks d=b.test", "b.test", NET_DENIED },
	{ "a=127.0.0.1 d=127.0.0.1", "127.0.0.1", NET_DENIED },
	{ "a=*", "127.0.0.1", NET_LOCAL },
	{ "a=*", "localhost", NET_LOCAL },
	{ "a=127.0.0.1", "127.0.0.1", NET_ALLOW },
	{ "a=127.0.0.1", "localhost", NET_LOCAL },
	{ "a=127.0.0.1", "127.0.0.2", NET_LOCAL },
	{ "a=127.0.0.1", "::ffff:127.0.0.1", NET_LOCAL },
	{ "a=127.0.0.*", "127.0.0.1", NET_LOCAL },
	{ "a=localhost", "LOCALHOST.", NET_ALLOW },
	{ "a=[::1]", "[::1]", NET_ALLOW },
	{ "local a=*", "127.0.0.1", NET_ALLOW },
	{ "local a=10.0.0.*", "10.0.0.9", NET_ALLOW },
	{ "a=* r=a.test", "a.test", NET_UNLISTED },
	{ "a=* r=a.test asks", "a.test", ASK },
	{ "a=* r=a.test asks", "b.test", NET_ALLOW },
	{ "a=* r=a.test d=a.test asks", "a.test", NET_DENIED },
	{ "a=* r=*", "127.0.0.1", NET_LOCAL },
	/* Addresses of IPv6 that lead to one of IPv4. */
	{ "a=* d=8.8.8.8", "::ffff:8.8.8.8", NET_DENIED },
	{ "a=* d=8.8.*", "[::ffff:8.8.8.8]", NET_DENIED },
	{ "a=* d=8.8.8.8", "64:ff9b::808:808", NET_DENIED },
	{ "a=* d=8.8.8.8", "2002:808:808::1", NET_DENIED },
	{ "a=* d=8.8.8.8", "::ffff:8.8.8.9", NET_ALLOW },
	{ "a=* f=8.8.8.8", "::ffff:0:8.8.8.8", NET_DENIED },
	{ "a=* r=8.8.8.8 asks", "::ffff:8.8.8.8", ASK },
	{ "a=8.8.8.8", "64:ff9b::808:808", NET_UNLISTED },
	{ "a=*.*", "a.test", NET_ALLOW }, { "a=*.*", "a", NET_UNLISTED },
	{ "a=*.*", "2001:4860::8", NET_UNLISTED },
	{ "a=**.*", "a", NET_ALLOW },
	/* The administrator's are an upper bound. */
	{ "a=* f=b.test", "b.test", NET_DENIED },
	{ "a=* f=b.test", "a.test", NET_ALLOW },
	{ "asks f=b.test", "b.test", NET_DENIED },
	{ "a=* bound", "a.test", NET_UNLISTED },
	{ "asks bound", "a.test", NET_UNLISTED },
	{ "a=* bound b=a.test", "a.test", NET_ALLOW },
	{ "a=* bound b=a.test", "b.test", NET_UNLISTED },
	{ "asks bound b=a.test", "a.test", ASK },
	{ "bound b=a.test", "a.test", NET_UNLISTED },
	{ "local a=* bound b=*", "127.0.0.1", NET_LOCAL },
	{ "local a=127.0.0.1 bound b=*", "127.0.0.1", NET_LOCAL },
	{ "local a=* bound b=127.0.0.1", "127.0.0.1", NET_ALLOW },
	{ "a=127.0.0.1 bound b=127.0.0.1", "127.0.0.1", NET_ALLOW },
	{ "a=* bound b=127.0.0.1", "127.0.0.1", NET_LOCAL },
};

START_TEST(test_verdicts)
{
	struct nethost	 h = host(verdicts[_i].host);
	enum net_reason	 why;
	enum net_verdict v;
	struct netrules	 r;

	parse(&r, verdicts[_i].rules);
	v = netrules_judge(&r, &h, &why);
	if (v == NETRULES_UNDECIDED)
		why = ASK;
	else
		ck_assert((v == NETRULES_ALLOWED) == (why == NET_ALLOW));
	ck_assert_msg(why == verdicts[_i].want, "%s: %s: %d",
	    verdicts[_i].rules, verdicts[_i].host, why);
	netrules_fini(&r);
}
END_TEST

static const struct {
	const char	*rules, *host, *address;
	bool		 is_own;
	enum net_reason	 want;
} addresses[] = {
	{ "a=*", "a.test", "8.8.8.8", false, NET_ALLOW },
	{ "a=*", "a.test", "8.8.8.8", true, NET_LOCAL },
	{ "a=*", "a.test", "127.0.0.1", false, NET_LOCAL },
	{ "a=*", "a.test", "64:ff9b::7f00:1", false, NET_LOCAL },
	{ "a=a.test a=127.0.0.1", "a.test", "127.0.0.1", false, NET_LOCAL },
	{ "a=* a=8.8.8.8", "a.test", "8.8.8.8", true, NET_LOCAL },
	{ "a=8.8.8.8", "8.8.8.8", "8.8.8.8", true, NET_ALLOW },
	{ "a=8.8.8.*", "8.8.8.8", "8.8.8.8", true, NET_LOCAL },
	{ "a=127.0.0.1", "127.0.0.1", "127.0.0.1", true, NET_ALLOW },
	{ "a=localhost", "localhost", "::1", true, NET_ALLOW },
	{ "a=* d=8.8.*", "a.test", "8.8.8.8", false, NET_POLICY },
	{ "a=* f=8.8.8.8", "a.test", "8.8.8.8", false, NET_POLICY },
	{ "a=* d=8.8.*", "a.test", "::ffff:8.8.8.8", false, NET_POLICY },
	{ "a=* f=8.8.8.8", "a.test", "64:ff9b::808:808", false, NET_POLICY },
	{ "local a=* d=10.0.0.1", "a.test", "10.0.0.1", false, NET_POLICY },
	{ "local a=* d=::1", "localhost", "::1", true, NET_POLICY },
	{ "local a=*", "a.test", "10.0.0.1", false, NET_ALLOW },
	{ "local a=*", "a.test", "8.8.8.8", true, NET_ALLOW },
	{ "local a=* bound b=*", "a.test", "10.0.0.1", false, NET_LOCAL },
	{ "local a=* bound b=*", "a.test", "8.8.8.8", true, NET_LOCAL },
};

START_TEST(test_addresses)
{
	struct nethost	 h = host(addresses[_i].host);
	struct nethost	 a = host(addresses[_i].address);
	struct netrules	 r;

	parse(&r, addresses[_i].rules);
	ck_assert_msg(netrules_address(&r, &h, &a.addr, addresses[_i].is_own)
	    == addresses[_i].want, "%s: %s: %s", addresses[_i].rules,
	    addresses[_i].host, addresses[_i].address);
	netrules_fini(&r);
}
END_TEST

START_TEST(test_modes)
{
	static const char *const	 no[] = {
		"get", "POST", "PUT", "DELETE", "GETS", "TRACE", ""
	};
	struct netrules			 r = { .is_limited = true };
	int				 i;

	ck_assert(netrules_mode(&r, "GET") == NET_ALLOW);
	ck_assert(netrules_mode(&r, "HEAD") == NET_ALLOW);
	ck_assert(netrules_mode(&r, "OPTIONS") == NET_ALLOW);
	ck_assert(netrules_mode(&r, "CONNECT") == NET_TUNNEL);
	ck_assert(netrules_mode(&r, NULL) == NET_METHOD);
	for (i = 0; i < N(no); i++)
		ck_assert(netrules_mode(&r, no[i]) == NET_METHOD);
	r.is_limited = false;
	ck_assert(netrules_mode(&r, NULL) == NET_ALLOW);
	ck_assert(netrules_mode(&r, "CONNECT") == NET_ALLOW);
}
END_TEST

START_TEST(test_many)
{
	struct nethost	 h = host("x4095.test");
	struct netrules	 r = { 0 };
	char		 text[32];
	int		 i;

	for (i = 0; i < LIMIT_NET_RULES; i++) {
		snprintf(text, sizeof(text), "x%d.test", i);
		ck_assert(netrules_add(&r, NETRULES_ALLOW, text) == 0);
	}
	ck_assert(netrules_add(&r, NETRULES_ALLOW, "a") == -1);
	ck_assert(netrules_add(&r, NETRULES_DENY, "a") == 0);
	ck_assert(netrules_lists(&r, &h));
	netrules_fini(&r);
	ck_assert(!netrules_lists(&r, &h));
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("netrules");
	TCase	*t = tcase_create("all");
	SRunner	*sr;
	int	 failed;

	tcase_add_loop_test(t, test_hosts, 0, N(hosts));
	tcase_add_test(t, test_host_lengths);
	tcase_add_loop_test(t, test_local, 0, N(local));
	tcase_add_loop_test(t, test_public, 0, N(public));
	tcase_add_test(t, test_authority);
	tcase_add_loop_test(t, test_patterns, 0, N(patterns));
	tcase_add_loop_test(t, test_matches, 0, N(matches));
	tcase_add_loop_test(t, test_verdicts, 0, N(verdicts));
	tcase_add_loop_test(t, test_addresses, 0, N(addresses));
	tcase_add_test(t, test_modes);
	tcase_add_test(t, test_many);
	suite_add_tcase(s, t);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed != 0;
}
