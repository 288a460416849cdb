/*
 * common/client/calls.c: which requests go to the next connection, which are
 * answered when one is lost, and what is kept of them meanwhile.
 */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/client/calls.h"

static struct calls	 cs;
static char		 sent[512], answered[1024];

static int
send_text(void *arg, const char *text, size_t len)
{
	const char	*m = memmem(text, len, "\"method\":\"", 10);
	size_t		 n = strlen(sent);

	ck_assert_ptr_eq(arg, &cs);
	ck_assert_ptr_nonnull(m);
	m += 10;
	snprintf(sent + n, sizeof(sent) - n, "%.*s ", (int)strcspn(m, "\""), m);
	return 0;
}

static void
ignore(void *arg)
{
	(void)arg;
}

static void
on_note(void *arg, const struct json *j, const char *method, uint32_t params)
{
	(void)arg, (void)j, (void)method, (void)params;
}

static bool
on_other(void *arg, const struct json *j)
{
	(void)arg, (void)j;
	return false;
}

static void
on_bad(void *arg, const struct execsrv_error *why)
{
	(void)arg;
	ck_abort_msg("%s", why->text);
}

static const struct calls_events	 events = {
	send_text, ignore, on_note, on_other, on_bad, on_bad
};

static void
on_answer(void *arg, const struct execsrv_answer *a)
{
	size_t	 n = strlen(answered);

	snprintf(answered + n, sizeof(answered) - n, "%s:%.99s ",
	    (const char *)arg, a->error == NULL ? "result" :
	    a->is_unconfirmed ? "unconfirmed" : a->error->text);
}

static void
request(const char *method, bool is_safe, bool is_quiet, bool is_open)
{
	struct execsrv_call_opts	 opts = { .fn = on_answer,
					    .arg = (void *)(uintptr_t)method,
					    .is_safe = is_safe,
					    .is_quiet = is_quiet };
	struct json_out			 o;

	calls_begin(&cs, method, &o);
	json_out_open(&o, '{');
	json_out_close(&o, '}');
	ck_assert_int_eq(calls_end(&cs, &opts, is_open, true, &o), 0);
}

static void
ck_told(const char *to_server, const char *to_caller)
{
	ck_assert_str_eq(sent, to_server);
	ck_assert_str_eq(answered, to_caller);
	sent[0] = answered[0] = '\0';
}

static void
setup(void)
{
	calls_init(&cs, &events, &cs);
	ck_told("", "");
}

static void
teardown(void)
{
	calls_fini(&cs);
}

/* One that is safe is sent until it is answered, on however many. */
START_TEST(test_safe)
{
	char	 text[] = "{\"id\":1,\"result\":{}}";
	int	 i;

	request("safe", true, false, _i == 1);
	ck_told(_i == 1 ? "safe " : "", "");
	for (i = 0; i < 3; i++) {
		calls_connected(&cs);
		ck_told(_i == 1 && i == 0 ? "" : "safe ", "");
		calls_connected(&cs);
		ck_told("", "");
		ck_assert_uint_gt(cs.kept, 0);
		calls_disconnected(&cs);
		ck_told("", "");
	}
	calls_connected(&cs);
	ck_told("safe ", "");
	calls_take(&cs, text, strlen(text));
	ck_told("", "safe:result ");
	ck_assert(calls_is_empty(&cs));
	ck_assert_uint_eq(cs.kept, 0);
}
END_TEST

/* Any other is sent once; its text is not kept when it has been. */
START_TEST(test_once)
{
	request("now", false, false, true);
	ck_assert_uint_eq(cs.kept, 0);
	calls_disconnected(&cs);
	ck_told("now ", "now:unconfirmed ");
	request("later", false, false, false);
	ck_assert_uint_gt(cs.kept, 0);
	/* Not sent, it is not lost with a connection. */
	calls_disconnected(&cs);
	ck_told("", "");
	calls_connected(&cs);
	ck_told("later ", "");
	ck_assert_uint_eq(cs.kept, 0);
	calls_disconnected(&cs);
	ck_told("", "later:unconfirmed ");
	calls_connected(&cs);
	ck_told("", "");
	ck_assert(calls_is_empty(&cs));
}
END_TEST

/* In the order in which they were made. */
START_TEST(test_order)
{
	request("a", true, false, true);
	request("b", false, false, true);
	request("c", true, false, true);
	calls_disconnected(&cs);
	request("d", false, false, false);
	ck_told("a b c ", "b:unconfirmed ");
	calls_connected(&cs);
	ck_told("a c d ", "");
}
END_TEST

/* When the client fails, all but quiet ones are told why. */
START_TEST(test_fail)
{
	struct execsrv_error	 e = { .code = 5, .text = "why" };

	request("a", true, false, true);
	request("quiet", false, true, true);
	request("b", false, false, false);
	ck_told("a quiet ", "");
	calls_fail(&cs, &e);
	ck_told("", "a:why b:why ");
	ck_assert(!calls_is_empty(&cs));
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("resend");
	TCase	*t = tcase_create("resend");
	SRunner	*r = srunner_create(s);
	int	 failed;

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_loop_test(t, test_safe, 0, 2);
	tcase_add_test(t, test_once);
	tcase_add_test(t, test_order);
	tcase_add_test(t, test_fail);
	suite_add_tcase(s, t);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed != 0;
}
