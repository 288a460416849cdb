/*
 * common/conf/conf_match.c and what conf.c does with blocks: patterns, what is
 * in force for a client, and what a reload keeps.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "t/unit/conf_help.h"

START_TEST(test_patterns)
{
	static const struct {
		const char	*list, *text;
		int		 result;
	} cases[] = {
		{ "a", "a", 1 }, { "a", "A", 0 }, { "a", "ab", 0 },
		{ "*", "", 1 }, { "?", "", 0 }, { "a*b*c", "aXbYc", 1 },
		{ "a*b*c", "aXbY", 0 }, { "*a", "bab", 0 },
		{ "**a**", "bab", 1 }, { "?b", "ab", 1 }, { "a,b", "b", 1 },
		{ "!a", "b", 0 }, { "!a,*", "b", 1 }, { "!a,*", "a", -1 },
		{ "*,!a", "a", -1 }, { "", "", -2 }, { "a,", "a", -2 },
		{ ",a", "a", -2 }, { "!", "a", -2 },
		{ "*a*a*a*a*a*a*a*b", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", 0 },
	};
	size_t	 i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		ck_assert_msg(conf_pattern_list(cases[i].list, cases[i].text)
		    == cases[i].result, "%s: %s", cases[i].list,
		    cases[i].text);
}
END_TEST

START_TEST(test_addresses)
{
	static const struct {
		const char	*list, *text;
		int		 result;
	} cases[] = {
		{ "10.0.0.0/8", "10.1.2.3", 1 },
		{ "10.0.0.0/8", "11.0.0.1", 0 },
		{ "10.0.0.0/8", "::1", 0 }, { "0.0.0.0/0", "1.2.3.4", 1 },
		{ "0.0.0.0/0", "::1", 0 }, { "10.0.0.128/25", "10.0.0.127", 0 },
		{ "10.0.0.128/25", "10.0.0.129", 1 },
		{ "10.0.0.1/32", "10.0.0.1", 1 }, { "10.0.0.1", "10.0.0.1", 1 },
		{ "10.0.0.*", "10.0.0.7", 1 }, { "::/0", "1.2.3.4", 0 },
		{ "fe80::/10", "febf::1", 1 }, { "fe80::/10", "fec0::1", 0 },
		{ "::1", "0:0:0:0:0:0:0:1", 1 },
		{ "10.0.0.0/8", "::ffff:10.1.1.1", 1 },
		{ "!10.0.0.1,10.0.0.0/8", "10.0.0.1", -1 },
		{ "!10.0.0.1,10.0.0.0/8", "10.0.0.2", 1 },
		{ "10.0.0.0/8", "unix", 0 }, { "unix,127.0.0.0/8", "unix", 1 },
		{ "10.0.0.1/8", "10.0.0.1", -2 }, { "10.0.0.0/33", "x", -2 },
		{ "10.0.0.0/", "x", -2 }, { "10.0.0.0/-1", "x", -2 },
		{ "10.0.0.0/8x", "x", -2 }, { "x/8", "x", -2 },
		{ "::/129", "x", -2 }, { "10.0.0/8", "x", -2 },
		{ "10.0.0.300", "10.0.0.3", -2 }, { "unixx", "unix", -2 },
		{ "host.example.org", "unix", -2 }, { "1::2::3", "::1", -2 },
		{ "!10.0.0.300,*", "unix", -2 }, { "u*", "unix", 1 },
		{ "stdio", "remote", 0 }, { "remote", "remote", 1 },
	};
	size_t	 i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		ck_assert_msg(conf_address_list(cases[i].list, cases[i].text)
		    == cases[i].result, "%s: %s", cases[i].list,
		    cases[i].text);
}
END_TEST

/* What MaxProcesses is for a client. */
static uint64_t
limit_for(const char *spec)
{
	struct conf_spec	 s;
	struct conf		 one;
	uint64_t		 n;

	ck_assert_msg(conf_spec_parse(&s, spec, &e) == 0, "%s", e.text);
	ck_assert_int_eq(conf_resolve(&c, &s.client, &one), 0);
	ck_assert_uint_eq(one.nmatch, 0);
	ck_assert_str_eq(one.pid_file, "/pid");
	ck_assert_uint_eq(one.listen.n, 1);
	n = one.max_processes;
	conf_fini(&one);
	conf_spec_fini(&s);
	return n;
}

START_TEST(test_match)
{
	ck_assert_msg(load("MaxProcesses 1\nPidFile /pid\nListen unix:/x\n"
	    "Match User a,b* Group !no,g Address 10.0.0.0/8\n"
	    "\tMaxProcesses 2\n\tMaxProcesses 3\n"
	    "match identity remote:*\nmaxprocesses 4\n"
	    "Match Listener \"unix:/a b\"\nMaxProcesses 5\n"
	    "Match User a\nMaxProcesses 6\nDetachedTtl 1\n"
	    "Match all\nMaxProcesses 7\n") == 0, "%s", e.text);
	ck_assert_uint_eq(c.nmatch, 5);
	ck_assert_uint_eq(limit_for("user=a,group=g,addr=10.0.0.1"), 2);
	ck_assert_uint_eq(limit_for("user=bx,group=x,group=g,addr=10.9.9.9"),
	    2);
	ck_assert_uint_eq(limit_for("user=bx,group=g,group=no,addr=10.0.0.1"),
	    7);
	ck_assert_uint_eq(limit_for("user=a,group=g,address=11.0.0.1"), 6);
	ck_assert_uint_eq(limit_for("user=a,addr=10.0.0.1"), 6);
	ck_assert_uint_eq(limit_for("identity=remote:x,user=a"), 4);
	ck_assert_uint_eq(limit_for("listener=unix:/a b"), 5);
	ck_assert_uint_eq(limit_for(""), 7);
}
END_TEST

START_TEST(test_match_printed)
{
	char	*text, *again;

	ck_assert_int_eq(load("Match User a Listener \"b c\\\"\"\n"
	    "SessionUser \" x\"\nMatch all\nUplink u\nRemoteUser v\n"), 0);
	text = printed();
	ck_assert_ptr_nonnull(strstr(text, "\nMatch all\n"));
	conf_fini(&c);
	ck_assert_int_eq(conf_init(&c), 0);
	ck_assert_msg(load(text) == 0, "%s", e.text);
	ck_assert_uint_eq(c.nmatch, 2);
	ck_assert_str_eq(c.match[0].pattern[CONF_MATCH_listener], "b c\"");
	ck_assert_str_eq(c.match[0].value[0].text, " x");
	again = printed();
	ck_assert_str_eq(again, text);
	free(again);
	free(text);
}
END_TEST

START_TEST(test_match_bad)
{
	ck_fails("Match\n", "expected all, or");
	ck_fails("Match Usr a\n", "\"Usr\" is none of");
	ck_fails("Match User\n", "User without a pattern");
	ck_fails("Match User a,\n", "bad pattern");
	ck_fails("Match User a User b\n", "User twice");
	ck_fails("Match Address 10.0.0.1/8\n", "bad pattern \"10.0.0.1/8\"");
	ck_fails("Match Address 10.0.0.300\n", "bad pattern \"10.0.0.300\"");
	ck_fails("Match User !bob\n", "Match User: \"!bob\" matches nobody");
	ck_fails("Match all\nMatch Group !a,!b\n",
	    ":2: Match Group: \"!a,!b\"");
	ck_assert_int_eq(load("Match User !bob,*\nMatch User *,!bob # not he\n"
	    "Match User !bob,!a,b\n"), 0);
	ck_fails("Match all User a\n", "stands alone");
	ck_fails("Match User a all\n", "stands alone");
	ck_fails("Match User \"a\n", "quote");
	ck_fails("Match User a\nMaxProcesses x\n", ":2: MaxProcesses: bad");
	ck_fails("Match User a\nMaxProceses 1\n", "mean \"MaxProcesses\"?");
	ck_fails("Match User a\nRegistryUrl x\n", "Uplink block");
}
END_TEST

/* Whether a keyword can be in a block is in its row. */
START_TEST(test_match_row)
{
	char	 text[128];

	snprintf(text, sizeof(text), "Match all\n%s %s\n", rows[_i].keyword,
	    good(rows[_i].type));
	if (rows[_i].when == WHEN_MATCH)
		ck_assert_msg(load(text) == 0, "%s", e.text);
	else
		ck_fails(text, "cannot be in a Match block");
}
END_TEST

START_TEST(test_spec_bad)
{
	struct conf_spec	 s;

	ck_assert_int_eq(conf_spec_parse(&s, "user", &e), -1);
	ck_assert_int_eq(conf_spec_parse(&s, "host=x", &e), -1);
	ck_assert_ptr_nonnull(strstr(e.text, "host"));
	ck_assert_int_eq(conf_spec_parse(&s, "user=a,addr=999.1.1.1", &e),
	    -1);
	ck_assert_ptr_nonnull(strstr(e.text, "999.1.1.1"));
	ck_assert_int_eq(conf_spec_parse(&s, "address=unixx", &e), -1);
	ck_assert_int_eq(conf_spec_parse(&s, "addr=::ffff:1.2.3.4", &e), 0);
	conf_spec_fini(&s);
	ck_assert_int_eq(conf_spec_parse(&s, "addr=remote", &e), 0);
	conf_spec_fini(&s);
	ck_assert_int_eq(conf_spec_parse(&s, ",,user=,", &e), 0);
	conf_spec_fini(&s);
}
END_TEST

/* --- another one -----------------------------------------------------------*/

static unsigned	 nkept;
static char	 kept[64];

static void
on_kept(void *arg, const char *keyword)
{
	ck_assert_ptr_eq(arg, &nkept);
	nkept++;
	snprintf(kept, sizeof(kept), "%s", keyword);
}

/* By its row a change is taken over, or what was before stays. */
START_TEST(test_keep_row)
{
	struct conf	 old;
	char		*before, *after;
	bool		 is_kept = rows[_i].when == WHEN_START;

	ck_assert_int_eq(conf_init(&old), 0);
	before = printed();
	ck_assert_int_eq(conf_set(&c, rows[_i].keyword, good(rows[_i].type),
	    &e), 0);
	after = printed();
	/* What is good may be what it is by default. */
	if (strcmp(before, after) == 0)
		ck_assert_int_eq(conf_set(&c, rows[_i].keyword, "no", &e), 0);
	free(after);
	nkept = 0;
	ck_assert_int_eq(conf_keep(&c, &old, on_kept, &nkept), 0);
	ck_assert_uint_eq(nkept, is_kept);
	if (is_kept)
		ck_assert_str_eq(kept, rows[_i].keyword);
	after = printed();
	ck_assert_int_eq(strcmp(before, after) == 0, is_kept);
	free(before);
	free(after);
	conf_fini(&old);
}
END_TEST

/* Where it is set is kept with it. */
START_TEST(test_keep_place)
{
	struct conf	 old;

	ck_assert_int_eq(load("\nPidFile /a\n"), 0);
	old = c;
	ck_assert_int_eq(conf_init(&c), 0);
	ck_assert_int_eq(load("\n\n\nPidFile /b\n"), 0);
	nkept = 0;
	ck_assert_int_eq(conf_keep(&c, &old, on_kept, &nkept), 0);
	ck_assert_uint_eq(nkept, 1);
	ck_assert_str_eq(c.pid_file, "/a");
	ck_assert_ptr_nonnull(strstr(conf_where(&c, CONF_ROW_pid_file, 0),
	    ":2"));
	ck_assert_ptr_nonnull(strstr(conf_where(&old, CONF_ROW_pid_file, 0),
	    ":4"));
	conf_fini(&old);
}
END_TEST

START_TEST(test_keep_uplinks)
{
	struct conf_uplink	*at;
	struct conf		 old;

	ck_assert_int_eq(conf_init(&old), 0);
	ck_assert_int_eq(conf_set(&old, "Uplink", "a", &e), 0);
	ck_assert_int_eq(load("Uplink a\n"), 0);
	at = old.uplink;
	nkept = 0;
	ck_assert_int_eq(conf_keep(&c, &old, on_kept, &nkept), 0);
	ck_assert_uint_eq(nkept, 0);
	ck_assert_ptr_eq(c.uplink, at);
	conf_fini(&old);
	old = c;
	ck_assert_int_eq(conf_init(&c), 0);
	ck_assert_int_eq(conf_keep(&c, &old, on_kept, &nkept), 0);
	ck_assert_uint_eq(nkept, 1);
	ck_assert_str_eq(kept, "Uplink");
	ck_assert_ptr_eq(c.uplink, at);
	ck_assert_uint_eq(old.nuplink, 0);
	conf_fini(&old);
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("conf_match");
	TCase	*t = tcase_create("conf_match");
	SRunner	*r;
	int	 failed;

	tcase_set_timeout(t, 20);
	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, test_patterns);
	tcase_add_test(t, test_addresses);
	tcase_add_test(t, test_match);
	tcase_add_test(t, test_match_printed);
	tcase_add_test(t, test_match_bad);
	tcase_add_loop_test(t, test_match_row, 0, CONF_ROWS);
	tcase_add_test(t, test_spec_bad);
	tcase_add_loop_test(t, test_keep_row, 0, CONF_ROWS);
	tcase_add_test(t, test_keep_place);
	tcase_add_test(t, test_keep_uplinks);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed != 0;
}
