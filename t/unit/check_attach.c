/*
 * A process that another client started (execsrv_process_attach()): where what
 * the server still has begins, and how it ended.
 */
#include <stdlib.h>
#include <string.h>

#include <check.h>

#include "t/unit/peer_help.h"

static struct execsrv_process	*p;

static void
on_answer(void *arg, enum execsrv_request what, const struct execsrv_error *e)
{
	(void)arg;
	peer_note("[%d %s]", (int)what, e == NULL ? "ok" : e->text);
}

static void
on_output(void *arg, enum execsrv_stream stream, const void *data, size_t len)
{
	(void)arg;
	peer_note("%d:%.*s ", (int)stream, (int)len, (const char *)data);
}

static void
on_exited(void *arg, int exit_code, bool sandbox_denied)
{
	(void)arg;
	(void)sandbox_denied;
	peer_note("exit %d ", exit_code);
}

static void
on_closed(void *arg)
{
	(void)arg;
	peer_note("closed");
}

static void
on_lost(void *arg, const struct execsrv_error *e)
{
	(void)arg;
	peer_note("lost: %s", e->text);
}

static const struct execsrv_hooks	 hooks = {
	.on_answer = on_answer, .on_output = on_output,
	.on_exited = on_exited, .on_closed = on_closed, .on_lost = on_lost,
};

#define READ(id, after)							\
	"{\"id\":" #id ",\"method\":\"process/read\",\"params\":"	\
	"{\"processId\":\"build\",\"afterSeq\":" #after			\
	",\"waitMs\":0,\"maxBytes\":1048576}}"

static void
setup(void)
{
	peer_start();
	p = execsrv_process_attach(x, "build", &hooks, NULL);
	ck_assert_ptr_nonnull(p);
	peer_ck_heard(READ(1, 0));
}

static void
say_output(unsigned seq, const char *b64)
{
	peer_say("{\"method\":\"process/output\",\"params\":{\"processId\":"
	    "\"build\",\"seq\":%u,\"stream\":\"stdout\",\"chunk\":\"%s\"}}",
	    seq, b64);
}

#define CHUNK(seq, b64)							\
	"{\"seq\":" #seq ",\"stream\":\"stdout\",\"chunk\":\"" b64 "\"}"

START_TEST(goes_on)
{
	peer_say("{\"id\":1,\"result\":{\"chunks\":[" CHUNK(4, "ZA==") ","
	    CHUNK(5, "ZQ==") "],\"nextSeq\":6,\"exited\":false,"
	    "\"exitCode\":null,\"closed\":false}}");
	ck_assert_int_eq(peer_turn(), 0);
	peer_ck_trace("[0 ok]0:d 0:e ");
	peer_ck_heard(READ(2, 5));
	peer_say("{\"id\":2,\"result\":{\"chunks\":[],\"nextSeq\":6,"
	    "\"exited\":false,\"exitCode\":null,\"closed\":false}}");
	say_output(6, "Zg==");
	ck_assert_int_eq(peer_turn(), 0);
	peer_ck_trace("0:f ");
}
END_TEST

/* What the server sends before its answer is part of that. */
START_TEST(meanwhile)
{
	say_output(9, "aQ==");
	say_output(10, "ag==");
	ck_assert_int_eq(peer_turn(), 0);
	peer_ck_trace("");
	peer_say("{\"id\":1,\"result\":{\"chunks\":[" CHUNK(8, "aA==") ","
	    CHUNK(9, "aQ==") "],\"nextSeq\":10,\"exited\":false,"
	    "\"exitCode\":null,\"closed\":false}}");
	ck_assert_int_eq(peer_turn(), 0);
	peer_ck_trace("[0 ok]0:h 0:i 0:j ");
}
END_TEST

/* The same where nothing was kept: it begins with what comes. */
START_TEST(nothing_kept)
{
	say_output(3, "Yw==");
	peer_say("{\"id\":1,\"result\":{\"chunks\":[],\"nextSeq\":3,"
	    "\"exited\":false,\"exitCode\":null,\"closed\":false}}");
	ck_assert_int_eq(peer_turn(), 0);
	peer_ck_trace("[0 ok]0:c ");
}
END_TEST

START_TEST(has_ended)
{
	peer_say("{\"id\":1,\"result\":{\"chunks\":[],\"nextSeq\":7,"
	    "\"exited\":true,\"exitCode\":3,\"closed\":true}}");
	ck_assert_int_eq(peer_turn(), 0);
	peer_ck_trace("[0 ok]exit 3 closed");
}
END_TEST

START_TEST(has_exited)
{
	peer_say("{\"id\":1,\"result\":{\"chunks\":[],\"nextSeq\":2,"
	    "\"exited\":true,\"exitCode\":0,\"closed\":false}}");
	ck_assert_int_eq(peer_turn(), 0);
	peer_ck_trace("[0 ok]exit 0 ");
	peer_say("{\"method\":\"process/closed\",\"params\":{\"processId\":"
	    "\"build\",\"seq\":2}}");
	ck_assert_int_eq(peer_turn(), 0);
	peer_ck_trace("closed");
}
END_TEST

/* Its number, 6, is between those of output. */
START_TEST(exited_in_between)
{
	peer_say("{\"id\":1,\"result\":{\"chunks\":[" CHUNK(5, "ZQ==") ","
	    CHUNK(7, "Zw==") "],\"nextSeq\":8,\"exited\":true,"
	    "\"exitCode\":1,\"closed\":true}}");
	ck_assert_int_eq(peer_turn(), 0);
	peer_ck_heard(READ(2, 7));
	peer_say("{\"id\":2,\"result\":{\"chunks\":[],\"nextSeq\":9,"
	    "\"exited\":true,\"exitCode\":1,\"closed\":true}}");
	ck_assert_int_eq(peer_turn(), 0);
	peer_ck_trace("[0 ok]0:e exit 1 0:g closed");
}
END_TEST

/* It was before all that the server still has. */
START_TEST(exited_before)
{
	peer_say("{\"id\":1,\"result\":{\"chunks\":[" CHUNK(8, "aA==")
	    "],\"nextSeq\":9,\"exited\":true,\"exitCode\":2,"
	    "\"closed\":true}}");
	ck_assert_int_eq(peer_turn(), 0);
	peer_ck_heard(READ(2, 8));
	peer_say("{\"id\":2,\"result\":{\"chunks\":[],\"nextSeq\":10,"
	    "\"exited\":true,\"exitCode\":2,\"closed\":true}}");
	ck_assert_int_eq(peer_turn(), 0);
	peer_ck_trace("[0 ok]0:h exit 2 closed");
}
END_TEST

START_TEST(unknown)
{
	peer_say("{\"id\":1,\"error\":{\"code\":-32600,\"message\":\"no\"}}");
	ck_assert_int_eq(peer_turn(), 0);
	peer_ck_trace("[0 no]");
	say_output(1, "YQ==");
	ck_assert_int_eq(peer_turn(), 0);
	peer_ck_trace("");
}
END_TEST

START_TEST(bad_ids)
{
	char	 name[EXECSRV_PROCESS_ID + 1];

	memset(name, 'a', EXECSRV_PROCESS_ID);
	name[EXECSRV_PROCESS_ID] = '\0';
	ck_assert_ptr_null(execsrv_process_attach(x, name, &hooks, NULL));
	ck_assert_ptr_null(execsrv_process_attach(x, "", &hooks, NULL));
	ck_assert_ptr_null(execsrv_process_attach(x, "\xff", &hooks, NULL));
	peer_say("{\"id\":1,\"result\":{\"chunks\":[{\"seq\":0}],"
	    "\"nextSeq\":1,\"exited\":false,\"closed\":false}}");
	ck_assert_int_eq(peer_turn(), -1);
	peer_ck_trace("lost: the server sent a malformed answer to "
	    "process/read");
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("attach");
	TCase	*t = tcase_create("process");
	SRunner	*r;
	int	 failed;

	tcase_add_checked_fixture(t, setup, peer_stop);
	tcase_add_test(t, goes_on);
	tcase_add_test(t, meanwhile);
	tcase_add_test(t, nothing_kept);
	tcase_add_test(t, has_ended);
	tcase_add_test(t, has_exited);
	tcase_add_test(t, exited_in_between);
	tcase_add_test(t, exited_before);
	tcase_add_test(t, unknown);
	tcase_add_test(t, bad_ids);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
