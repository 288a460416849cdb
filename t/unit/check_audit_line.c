/* master/logs/audit_line.c: an event is one line of JSON, whatever is in it. */
#include <check.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "common/json/json.h"
#include "master/logs/audit_line.h"

static const struct audit_head	 head = {
	.time = { 1764000000, 7999999 }, .run = "00112233445566ff", .seq = 42
};

static struct buf	 b;

static void
setup(void)
{
	buf_init(&b, (size_t)1 << 20);
}

static void
teardown(void)
{
	buf_fini(&b);
}

/* The line, without its end. */
static const char *
line(const struct audit_what *what)
{
	char	*text;

	buf_drain(&b, b.len);
	ck_assert_int_eq(audit_line(&b, &head, what), 0);
	text = (char *)buf_data(&b);
	ck_assert_ptr_eq(memchr(text, '\n', b.len), text + b.len - 1);
	text[b.len - 1] = '\0';
	return text;
}

#define HEAD	"{\"time\":\"2025-11-24T16:00:00.007Z\",\"run\":"	\
		"\"00112233445566ff\",\"seq\":42,\"event\":"

START_TEST(test_empty)
{
	ck_assert_str_eq(line(&(struct audit_what){
	    .event = AUDIT_server_stopped }), HEAD "\"server-stopped\"}");
}
END_TEST

START_TEST(test_kinds)
{
	static char		 sh[] = "sh", c[] = "-c", none[] = "";
	static char		*args[] = { sh, c, none };
	struct audit_what	 what = {
		.event = AUDIT_process_started, .session = AUDIT_N(0),
		.uid = AUDIT_N((uid_t)-2), .pid = AUDIT_N(UINT64_MAX),
		.program = "/bin/sh", .arguments = { args, 3 },
		.terminal = AUDIT_N(true), .sandboxed = AUDIT_N(false)
	};

	ck_assert_str_eq(line(&what), HEAD "\"process-started\","
	    "\"session\":0,\"uid\":4294967294,"
	    "\"pid\":18446744073709551615,\"program\":\"/bin/sh\","
	    "\"arguments\":[\"sh\",\"-c\",\"\"],\"terminal\":true,"
	    "\"sandboxed\":false}");
	what.arguments.n = 0;
	ck_assert_ptr_nonnull(strstr(line(&what), "\"arguments\":[],"));
}
END_TEST

/* Whoever looks at it in a terminal gives it no orders. */
START_TEST(test_shown)
{
	struct audit_what	 what = { .event = AUDIT_session_ended };

	what.program = "\xc2\x9b" "1m\x7f\xe2\x80\xae";
	ck_assert_ptr_nonnull(strstr(line(&what),
	    "\"program\":\"\\u009b1m\\u007f\\u202e\""));
}
END_TEST

/* Nobody ends the line, or the text. */
START_TEST(test_hostile)
{
	struct audit_what	 what = { .event = AUDIT_session_ended };
	struct json		 j;
	const char		*text;

	what.why = "a\",\"seq\":1}\n{\"b\":\\\x1b[31m\xff\xc3(\xe2\x82";
	text = line(&what);
	ck_assert_ptr_nonnull(strstr(text, "\"why\":\"a\\\",\\\"seq\\\":1}"
	    "\\n{\\\"b\\\":\\\\\\u001b[31m\xef\xbf\xbd\xef\xbf\xbd("
	    "\xef\xbf\xbd\xef\xbf\xbd\""));
	json_init(&j);
	ck_assert_int_eq(json_parse(&j, (char *)(uintptr_t)text,
	    strlen(text)), 0);
	json_fini(&j);
}
END_TEST

START_TEST(test_long)
{
	struct audit_what	 what = { .event = AUDIT_session_ended };
	char			*text = malloc(PATH_MAX + 2);

	memset(text, 'x', PATH_MAX + 1);
	text[PATH_MAX + 1] = '\0';
	what.why = text;
	line(&what);
	ck_assert_uint_eq(b.len, sizeof(HEAD "\"session-ended\",\"why\":\"\"}"
	    "\n") - 1 + PATH_MAX);
	/* A ceiling is told. */
	buf_fini(&b);
	buf_init(&b, 100);
	ck_assert_int_eq(audit_line(&b, &head, &what), -1);
	ck_assert_int_eq(errno, EFBIG);
	free(text);
}
END_TEST

/* Every row has a name of its own, in one style. */
START_TEST(test_rows)
{
	static const char *const	 names[] = {
#define AUDIT(name, event, when)	event,
#define AUDIT_KEY(name, kind, meaning)
#include "proto/audit.def"
#undef AUDIT
#undef AUDIT_KEY
	};
	size_t	 i, k;

	for (i = 0; i < AUDIT_EVENTS; i++) {
		ck_assert_uint_eq(strspn(names[i],
		    "abcdefghijklmnopqrstuvwxyz-"), strlen(names[i]));
		for (k = 0; k < i; k++)
			ck_assert_str_ne(names[i], names[k]);
	}
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("audit_line");
	TCase	*t = tcase_create("audit_line");
	SRunner	*r;
	int	 failed;

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, test_empty);
	tcase_add_test(t, test_kinds);
	tcase_add_test(t, test_shown);
	tcase_add_test(t, test_hostile);
	tcase_add_test(t, test_long);
	tcase_add_test(t, test_rows);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_ENV);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed != 0;
}
