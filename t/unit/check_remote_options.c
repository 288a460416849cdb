/*
 * master/remote/remote_options.c: the switches of remote mode, and the block
 * that they make.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "master/remote/remote_options.h"

static struct remote_options	 o;
static struct conf		 c;
static struct conf_error	 e;

static void
setup(void)
{
	memset(&o, 0, sizeof(o));
	memset(&e, 0, sizeof(e));
	ck_assert_int_eq(conf_init(&c), 0);
}

static void
teardown(void)
{
	conf_fini(&c);
}

static void
ck_wrong(const char *why)
{
	ck_assert_int_eq(remote_options_apply(&o, &c, &e), -1);
	ck_assert_str_eq(e.text, why);
	ck_assert_uint_eq(c.nuplink, 0);
}

/* Each switch sets what is its own. */
START_TEST(test_switches)
{
	static const int	 texts[] = { OPT_REMOTE, OPT_ENVIRONMENT,
				    OPT_EXECUTOR, OPT_NAME, OPT_TRANSPORT,
				    OPT_CONNECT };
	const char		*const *at[] = { &o.url, &o.environment,
				    &o.executor, &o.name, &o.transport,
				    &o.connect };
	static const int	 flags[] = { OPT_BEARER_STDIN,
				    OPT_FRAMES_STDIN, OPT_EXIT_ON_STDIN };
	const bool		*is[] = { &o.bearer_stdin, &o.frames_stdin,
				    &o.exit_on_stdin };
	size_t			 i, j;

	for (i = 0; i < 6; i++) {
		memset(&o, 0, sizeof(o));
		ck_assert(remote_options_take(&o, texts[i], "x"));
		for (j = 0; j < 6; j++)
			ck_assert_int_eq(*at[j] != NULL, i == j);
	}
	for (i = 0; i < 3; i++) {
		memset(&o, 0, sizeof(o));
		ck_assert(remote_options_take(&o, flags[i], NULL));
		for (j = 0; j < 3; j++)
			ck_assert_int_eq(*is[j], i == j);
	}
	ck_assert(!remote_options_take(&o, -1, "x"));
}
END_TEST

START_TEST(test_none)
{
	ck_assert_int_eq(remote_options_apply(&o, &c, &e), 0);
	/* By itself this is no remote mode. */
	o.exit_on_stdin = true;
	ck_assert_int_eq(remote_options_apply(&o, &c, &e), 0);
	ck_assert_uint_eq(c.nuplink, 0);
}
END_TEST

static const struct {
	struct remote_options	 o;
	const char		*why;
} wrong[] = {
#define NEEDS(name)	name " needs --remote"
	{ { .is_forward = true }, NEEDS("forward") },
	{ { .environment = "e" }, NEEDS("--environment-id") },
	{ { .executor = "e" }, NEEDS("--executor-id") },
	{ { .name = "n" }, NEEDS("--name") },
	{ { .transport = "plain" }, NEEDS("--remote-transport") },
	{ { .connect = "c" }, NEEDS("--connect") },
	{ { .bearer_stdin = true }, NEEDS("--registration-bearer-stdin") },
	{ { .frames_stdin = true }, NEEDS("--executor-credential-stdin") },
	{ { .url = "https://a/" }, "--remote needs --environment-id, or "
	    "--executor-id for a registry of May 2026" },
	{ { .url = "https://a/", .environment = "e", .executor = "x" },
	    "--remote needs --environment-id, or --executor-id for a registry "
	    "of May 2026" },
	{ { .url = "https://a/", .executor = "x", .transport = "noise" },
	    "--executor-id means --remote-transport plain" },
	{ { .url = "https://a/", .environment = "e", .connect = "c" },
	    "forward needs --connect, and --connect needs forward" },
	{ { .url = "https://a/", .environment = "e", .is_forward = true },
	    "forward needs --connect, and --connect needs forward" },
	{ { .url = "https://a/", .environment = "e", .bearer_stdin = true,
	    .frames_stdin = true }, "two credentials on standard input" },
};

START_TEST(test_wrong)
{
	o = wrong[_i].o;
	ck_wrong(wrong[_i].why);
}
END_TEST

START_TEST(test_block)
{
	static const int	 from[] = {
		CONF_STDIN_NO, CONF_STDIN_BEARER, CONF_STDIN_FRAMES
	};

	o.url = " https://a.test/ \n";
	o.environment = "env";
	o.name = "me";
	o.bearer_stdin = _i == 1;
	o.frames_stdin = _i == 2;
	ck_assert_int_eq(remote_options_apply(&o, &c, &e), 0);
	ck_assert_uint_eq(c.nuplink, 1);
	ck_assert_str_eq(c.uplink[0].url, "https://a.test/");
	ck_assert_str_eq(c.uplink[0].environment, "env");
	ck_assert_str_eq(c.uplink[0].name, "me");
	ck_assert_int_eq(c.uplink[0].from_stdin, from[_i]);
	ck_assert_int_eq(c.uplink[0].transport, CONF_TRANSPORT_NOISE);
}
END_TEST

START_TEST(test_executor)
{
	o.url = "https://a.test/";
	o.executor = "x";
	o.transport = _i == 0 ? NULL : "plain";
	ck_assert_int_eq(remote_options_apply(&o, &c, &e), 0);
	ck_assert_str_eq(c.uplink[0].environment, "x");
	ck_assert_int_eq(c.uplink[0].transport, CONF_TRANSPORT_PLAIN);
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("remote_options");
	TCase	*t = tcase_create("remote_options");
	SRunner	*r;
	int	 failed;

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, test_switches);
	tcase_add_test(t, test_none);
	tcase_add_loop_test(t, test_wrong, 0, sizeof(wrong) / sizeof(wrong[0]));
	tcase_add_loop_test(t, test_block, 0, 3);
	tcase_add_loop_test(t, test_executor, 0, 2);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_ENV);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
