/*
 * master/execsrvctl/control_far.c: questions to a server as its client, and
 * what it answers, which may be anything.  The client's calls are ours.
 */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/client/execsrv.h"
#include "master/execsrvctl/control.h"
#include "t/unit/did_help.h"

#define X	((struct execsrv *)8)
#define REQUEST	77

static bool			 can, is_called, is_cancelled;
static const char		*answer;	/* NULL: none comes */
static struct execsrv_error	 refusal, why;
static enum execsrv_status	 state;
static execsrv_json_fn		*on_answer;
static void			*on_answer_arg;
static int			 waits;		/* ms, of the last one */

static struct control_request	 q;
static struct control_error	 e;
static struct table		*t;
static bool			 has_output;

/* --- in the place of the client --- */

bool
execsrv_can(const struct execsrv *x, const char *name)
{
	ck_assert_ptr_eq(x, X);
	ck_assert_str_eq(name, "execsrvOperate");
	return can;
}

int
execsrv_call_json(struct execsrv *x, const char *method, const char *params,
    size_t len, execsrv_json_fn *fn, void *arg)
{
	ck_assert_ptr_eq(x, X);
	did("%s %.*s", method, (int)len, params);
	on_answer = fn;
	on_answer_arg = arg;
	errno = ENOMEM;
	return is_called ? 0 : -1;
}

const struct execsrv_error *
execsrv_why(const struct execsrv *x)
{
	ck_assert_ptr_eq(x, X);
	return &why;
}

int
execsrv_wait(struct execsrv *x, int ms)
{
	ck_assert_ptr_eq(x, X);
	waits = ms;
	if (refusal.text[0] != '\0')
		on_answer(on_answer_arg, NULL, 0, &refusal);
	else if (answer != NULL)
		on_answer(on_answer_arg, answer, strlen(answer), NULL);
	return answer != NULL || refusal.text[0] != '\0' ? 0 : -1;
}

uint64_t
execsrv_last_request(const struct execsrv *x)
{
	ck_assert_ptr_eq(x, X);
	return REQUEST;
}

int
execsrv_cancel(struct execsrv *x, uint64_t request)
{
	ck_assert_ptr_eq(x, X);
	ck_assert_uint_eq(request, REQUEST);
	did("cancel");
	return is_cancelled ? 0 : -1;
}

enum execsrv_status
execsrv_status(const struct execsrv *x)
{
	ck_assert_ptr_eq(x, X);
	return state;
}

/* --- questions --- */

static void
setup(void)
{
	static char	 first[] = "7", second[] = "a\"b";
	static char	*arg[] = { first, second };

	memset(&q, 0, sizeof(q));
	memset(&refusal, 0, sizeof(refusal));
	memset(&why, 0, sizeof(why));
	q.x = X;
	q.command = "show";
	q.arg = arg;
	q.narg = 2;
	can = is_called = is_cancelled = true;
	answer = NULL;
	state = EXECSRV_CONNECTED;
	did_forget();
}

/* Ask; what it says in the end, and the exit status. */
static void
ck_ask(const char *text, int status, const char *reason)
{
	answer = text;
	t = NULL;
	memset(&e, 0, sizeof(e));
	has_output = true;
	ck_assert_int_eq(control_far_ask(&q, &t, &has_output, &e), status);
	ck_assert_str_eq(e.text, reason);
}

static void
ck_table(const char *want)
{
	char	*text;
	size_t	 size;
	FILE	*out = open_memstream(&text, &size);

	ck_assert_ptr_nonnull(out);
	ck_assert_ptr_nonnull(t);
	ck_assert_int_eq(table_print_json(t, false, out), 0);
	ck_assert_int_eq(fclose(out), 0);
	ck_assert_str_eq(text, want);
	free(text);
	table_free(&t);
}

#define ASKED	"session/operate {\"command\":\"show\",\"arguments\":[\"7\","\
		"\"a\\\"b\"],\"option\":false}"
#define COLUMN(name, kind) "{\"name\":\"" name "\",\"kind\":\"" kind "\"}"
#define HEAD	"\"columns\":[" COLUMN("n", "number") "," COLUMN("t", "text") \
		"," COLUMN("l", "list") "," COLUMN("f", "flag") "]"

START_TEST(test_table)
{
	ck_ask("{" HEAD ",\"rows\":[[\"1\",\"a\\u001b[2J\\nb\","
	    "\"x\\ny\\u0007\",\"yes\"],[\"\",\"\",\"\",\"\"]],\"exitCode\":0}",
	    EXIT_OK, "");
	ck_did(ASKED);
	ck_assert_int_le(waits, 10000);
	ck_assert_int_gt(waits, 0);
	ck_assert(!has_output);
	ck_table("[{\"n\":1,\"t\":\"a?[2J?b\",\"l\":[\"x\",\"y?\"],\"f\":true},"
	    "{\"n\":null,\"t\":\"\",\"l\":[],\"f\":null}]\n");
	/* Without columns there is no table. */
	q.option = q.is_patient = true;
	q.narg = 0;
	ck_ask("{\"columns\":[],\"rows\":[],\"exitCode\":0,\"hasOutput\":true}",
	    EXIT_OK, "");
	ck_did("session/operate {\"command\":\"show\",\"arguments\":[],"
	    "\"option\":true}");
	ck_assert_ptr_null(t);
	ck_assert(has_output);
	ck_assert_int_eq(waits, EXECSRV_FOREVER);
	ck_ask("{\"columns\":[],\"rows\":[],\"exitCode\":0,\"hasOutput\":1}",
	    EXIT_OK, "");
	ck_assert(!has_output);
}
END_TEST

/* Rows go where they are wanted. */
static void
on_row(void *arg, char *const *cell, size_t n)
{
	ck_assert_ptr_eq(arg, &q);
	ck_assert_uint_eq(n, 1);
	did("row %s", cell[0]);
}

START_TEST(test_rows)
{
	q.on_row = on_row;
	q.arg_of_row = &q;
	ck_ask("{\"columns\":[" COLUMN("n", "number") "],\"rows\":[[\"1\"],"
	    "[\"2\"]],\"exitCode\":0}", EXIT_OK, "");
	ck_did(ASKED "; row 1; row 2");
	ck_table("[]\n");
	/* One that lacks a cell goes nowhere. */
	ck_ask("{\"columns\":[" COLUMN("n", "number") "],\"rows\":[[]],"
	    "\"exitCode\":0}", EXIT_OTHER, "the server's answer is "
	    "malformed");
	ck_did(ASKED);
	table_free(&t);
}
END_TEST

#define BAD	"the server's answer is malformed"
#define ONE	"\"columns\":[" COLUMN("n", "text") "],"

static const char	*const malformed[] = {
	"{}", "{\"columns\":[],\"rows\":[]}", "{\"columns\":[],\"exitCode\":0}",
	"{\"rows\":[],\"exitCode\":0}",
	"{\"columns\":{},\"rows\":[],\"exitCode\":0}",
	"{\"columns\":[],\"rows\":{},\"exitCode\":0}",
	"{\"columns\":[],\"rows\":[[]],\"exitCode\":0}",
	"{\"columns\":[],\"rows\":[],\"exitCode\":256}",
	"{\"columns\":[],\"rows\":[],\"exitCode\":-1}",
	"{\"columns\":[],\"rows\":[],\"exitCode\":\"0\"}",
	"{\"columns\":[{\"name\":\"n\"}],\"rows\":[],\"exitCode\":0}",
	"{\"columns\":[{\"kind\":\"text\"}],\"rows\":[],\"exitCode\":0}",
	"{\"columns\":[" COLUMN("a\\u0000b", "text") "],\"rows\":[],"
	    "\"exitCode\":0}",
	"{" ONE "\"rows\":[[]],\"exitCode\":0}",
	"{" ONE "\"rows\":[[\"1\",\"2\"]],\"exitCode\":0}",
	"{" ONE "\"rows\":[[1]],\"exitCode\":0}",
	"{" ONE "\"rows\":[[null]],\"exitCode\":0}",
	"{" ONE "\"rows\":[[\"a\\u0000\"]],\"exitCode\":0}",
	"{" ONE "\"rows\":[\"1\"],\"exitCode\":0}",
};

START_TEST(test_malformed)
{
	size_t	 i;

	for (i = 0; i < sizeof(malformed) / sizeof(malformed[0]); i++) {
		ck_ask(malformed[i], EXIT_OTHER, BAD);
		ck_assert(!has_output);
		table_free(&t);
		did_forget();
	}
	ck_ask("{", EXIT_OTHER, "the server's answer cannot be read: "
	    "Invalid argument");
}
END_TEST

/* 256 columns, and no more. */
START_TEST(test_columns)
{
	static char	 text[20000];
	size_t		 i, n = 256 + (size_t)_i;

	strcpy(text, "{\"columns\":[");
	for (i = 0; i < n; i++)
		sprintf(text + strlen(text), "%s{\"name\":\"n%zu\",\"kind\":"
		    "\"text\"}", i > 0 ? "," : "", i);
	strcat(text, "],\"rows\":[],\"exitCode\":0}");
	ck_ask(text, _i == 0 ? EXIT_OK : EXIT_OTHER, _i == 0 ? "" : BAD);
	table_free(&t);
}
END_TEST

/* The server says why not. */
START_TEST(test_refused)
{
#define EMPTY	"{\"columns\":[],\"rows\":[],"
	ck_ask(EMPTY "\"exitCode\":4,\"error\":\"no \\u001bsuch\"}", 4,
	    "no ?such");
	ck_ask(EMPTY "\"exitCode\":255,\"error\":\"\",\"hasOutput\":true}", 255,
	    "the server refused");
	ck_assert(!has_output);
	ck_ask(EMPTY "\"exitCode\":1}", 1, "the server refused");
	ck_ask(EMPTY "\"exitCode\":1,\"error\":7}", 1, "the server refused");
	strcpy(refusal.text, "not for you");
	ck_ask(NULL, EXIT_OTHER, "not for you");
}
END_TEST

START_TEST(test_no_answer)
{
	ck_ask(NULL, EXIT_OTHER, "the server does not answer");
	ck_did(ASKED "; cancel");
	strcpy(why.text, "it is gone");
	state = EXECSRV_FAILED;
	ck_ask(NULL, EXIT_OTHER, "it is gone");
	state = EXECSRV_CONNECTED;
	is_cancelled = false;
	ck_ask(NULL, EXIT_OTHER, "it is gone");
	is_called = false;
	ck_ask(NULL, EXIT_OTHER, "it is gone");
	why.text[0] = '\0';
	did_forget();
	ck_ask(NULL, EXIT_OTHER, "Cannot allocate memory");
	ck_did(ASKED);
	can = false;
	ck_ask("{}", EXIT_OTHER, "this server cannot be asked for sessions (it "
	    "does not announce execsrvOperate)");
	ck_did("");
	ck_assert(!has_output);
}
END_TEST

/* --- output --- */

static int	 takes;		/* pieces, before it wants no more */

static int
on_piece(void *arg, const struct control_piece *p)
{
	ck_assert_ptr_eq(arg, &q);
	did("%s %llu %.*s", p->stream, (unsigned long long)p->seq, (int)p->len,
	    (char *)p->data);
	return takes-- > 0 ? 0 : -1;
}

static int
read_far(const char *text, struct execsrv_error *error)
{
	answer = text;
	takes = 2;
	memset(error, 'x', sizeof(*error));
	return control_far_read(X, on_piece, &q, error);
}

#define TAIL	"session/tail {\"waitMs\":20000}"
#define PIECE(seq, chunk) "{\"stream\":\"stdout\",\"seq\":" seq		\
		",\"chunk\":\"" chunk "\"}"

START_TEST(test_read)
{
	struct execsrv_error	 error;

	ck_assert_int_eq(read_far("{\"pieces\":[]}", &error), 1);
	ck_did(TAIL);
	ck_assert_int_le(waits, 40000);
	ck_assert_int_gt(waits, 20000);
	ck_assert_int_eq(read_far("{\"isOver\":true,\"pieces\":["
	    PIECE("1", "YWI=") "," PIECE("3", "") "]}", &error), 0);
	ck_did(TAIL "; stdout 1 ab; stdout 3 ");
	ck_assert_str_eq(error.text, "");
	/* One more than it takes. */
	ck_assert_int_eq(read_far("{\"isOver\":true,\"pieces\":["
	    PIECE("1", "YQ==") "," PIECE("2", "YQ==") "," PIECE("3", "YQ==")
	    "," PIECE("4", "YQ==") "]}", &error), -1);
	ck_did(TAIL "; stdout 1 a; stdout 2 a; stdout 3 a");
	strcpy(refusal.text, "it is over");
	ck_assert_int_eq(read_far(NULL, &error), -1);
	ck_assert_str_eq(error.text, "it is over");
}
END_TEST

START_TEST(test_read_malformed)
{
	static const char	*const bad[] = { "{}", "{\"pieces\":{}}",
		"{\"pieces\":[{}]}", "{\"pieces\":[" PIECE("1", "Y") "]}",
		"{\"pieces\":[" PIECE("-1", "") "]}",
		"{\"pieces\":[{\"seq\":1,\"chunk\":\"\"}]}",
		"{\"pieces\":[{\"stream\":\"pty\",\"chunk\":\"\"}]}",
		"{\"pieces\":[{\"stream\":\"pty\",\"seq\":1}]}",
		"{\"pieces\":[{\"stream\":\"pty\",\"seq\":1,\"chunk\":1}]}",
	};
	struct execsrv_error	 error;
	size_t			 i;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		ck_assert_int_eq(read_far(bad[i], &error), -1);
		ck_assert_str_eq(error.text, "");
		ck_did(TAIL);
	}
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("control_far");
	TCase	*tc = tcase_create("control_far");
	SRunner	*r;
	int	 failed;

	tcase_add_checked_fixture(tc, setup, NULL);
	tcase_add_test(tc, test_table);
	tcase_add_test(tc, test_rows);
	tcase_add_test(tc, test_malformed);
	tcase_add_loop_test(tc, test_columns, 0, 2);
	tcase_add_test(tc, test_refused);
	tcase_add_test(tc, test_no_answer);
	tcase_add_test(tc, test_read);
	tcase_add_test(tc, test_read_malformed);
	suite_add_tcase(s, tc);
	r = srunner_create(s);
	srunner_set_fork_status(r, CK_NOFORK);
	srunner_run_all(r, CK_ENV);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
