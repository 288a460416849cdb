/*
 * common/client/ongoing/http.c: an HTTP request of the library: its answer, and
 * the pieces of the body in order however they come.  The client is ours.
 */
#include <check.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/client/calls.h"
#include "common/client/ongoing/http.h"
#include "common/json/json.h"

#define DELTA	"http/request/bodyDelta"
#define MIB	((size_t)1024 * 1024)

static struct execsrv		 x;
static struct execsrv_http	*h, *other;
static execsrv_answer_fn	*answer_fn;
static void			*answer_arg;
static char			 sent[500], said[300], lost[200];
static unsigned			 nforgotten, nprogress;
static bool			 fails;
static struct execsrv_http	**frees;	/* what a hook frees */

/* --- in the place of the client --- */

int
execsrv_call(struct execsrv *to, const char *method, const char *params,
    size_t len, execsrv_answer_fn *fn, void *arg)
{
	ck_assert_ptr_eq(to, &x);
	ck_assert_str_eq(method, "http/request");
	snprintf(sent, sizeof(sent), "%.*s", (int)len, params);
	answer_fn = fn;
	answer_arg = arg;
	errno = EPIPE;
	return fails ? -1 : 0;
}

void
execsrv_forget(struct execsrv *of, execsrv_answer_fn *fn, const void *arg)
{
	ck_assert(of == &x && fn == answer_fn && arg != NULL);
	nforgotten++;
}

int
execsrv_lose(struct execsrv *of, enum execsrv_reason why, const char *fmt,
    ...)
{
	va_list	 ap;

	ck_assert_int_eq(why, EXECSRV_WHY_PROTOCOL);
	ck_assert_ptr_eq(of, &x);
	va_start(ap, fmt);
	vsnprintf(lost, sizeof(lost), fmt, ap);
	va_end(ap);
	return -1;
}

void
execsrv_progress(struct execsrv *of)
{
	ck_assert_ptr_eq(of, &x);
	nprogress++;
}

/* --- hooks --- */

static void
tell(const char *text)
{
	ck_assert_uint_lt(strlen(said) + strlen(text), sizeof(said));
	strcat(said, text);
}

static void
on_head(void *arg, const struct execsrv_http_head *head)
{
	char	 text[32];

	ck_assert_ptr_eq(arg, said);
	snprintf(text, sizeof(text), "[%u]", (unsigned)head->status);
	tell(text);
}

static void
on_body(void *arg, const void *data, size_t len)
{
	ck_assert_ptr_eq(arg, said);
	if (len > 100)
		tell("+");
	else
		strncat(said, data, len);
}

static void
on_done(void *arg, const struct execsrv_error *e)
{
	ck_assert_ptr_eq(arg, said);
	tell(e == NULL ? "." : "!");
	if (e != NULL)
		tell(e->text);
	if (frees != NULL)
		execsrv_http_free(frees);
}

static const struct execsrv_http_hooks	 hooks = {
	.on_head = on_head, .on_body = on_body, .on_done = on_done
};
static const struct execsrv_http_request get = {
	.method = "GET", .url = "http://a/"
};

/* --- */

static void
setup(void)
{
	memset(&x, 0, sizeof(x));
	TAILQ_INIT(&x.https.live);
	TAILQ_INIT(&x.https.freed);
	said[0] = lost[0] = '\0';
	nforgotten = nprogress = 0;
	fails = false;
	frees = NULL;
	ck_assert_ptr_nonnull(h = execsrv_http_request(&x, &get, &hooks,
	    said));
}

static void
teardown(void)
{
	execsrv_http_free_all(&x);
	ck_assert(TAILQ_EMPTY(&x.https.live) && TAILQ_EMPTY(&x.https.freed));
}

static void
ck_said(const char *what)
{
	ck_assert_str_eq(said, what);
	said[0] = '\0';
}

static void
parse(struct json *j, char *copy, size_t size, const char *text)
{
	ck_assert_uint_lt(strlen(text), size);
	strcpy(copy, text);
	ck_assert_int_eq(json_parse(j, copy, strlen(copy)), 0);
}

static void
answer(const char *text)
{
	struct execsrv_answer	 a = { .json = NULL };
	struct json		 j;
	char			 copy[200];

	json_init(&j);
	parse(&j, copy, sizeof(copy), text);
	a.json = &j;
	answer_fn(answer_arg, &a);
	json_fini(&j);
}

static void
note(const char *text)
{
	struct json	 j;
	char		 copy[200];

	json_init(&j);
	parse(&j, copy, sizeof(copy), text);
	/* The parameters are a member of the message. */
	ck_assert(execsrv_http_note(&x, &j, DELTA,
	    json_find(&j, 0, "params")));
	json_fini(&j);
}

#define PIECE(id, seq, base64, more)					\
	note("{\"params\":{\"requestId\":\"" id "\",\"seq\":" #seq	\
	    ",\"deltaBase64\":\"" base64 "\"" more "}}")
#define LOST	"!the connection was lost before the end of the body"
#define HEAD	"{\"status\":200,\"headers\":[]}"

/* Each has a name of its own. */
START_TEST(test_sent)
{
	ck_assert_str_eq(sent, "{\"requestId\":\"h1\",\"streamResponse\":true,"
	    "\"method\":\"GET\",\"url\":\"http://a/\"}");
	ck_assert_ptr_nonnull(other = execsrv_http_request(&x, &get, NULL,
	    NULL));
	ck_assert_ptr_nonnull(strstr(sent, "\"h2\""));
	/* Without hooks nobody is told. */
	answer(HEAD);
	PIECE("h2", 1, "YQ==", ",\"done\":true");
	ck_said("");
	execsrv_http_free(&other);
	ck_assert_ptr_null(other);
	ck_assert_uint_eq(nforgotten, 1);
	execsrv_http_free(&other);
	fails = true;
	errno = 0;
	ck_assert_ptr_null(execsrv_http_request(&x, &get, &hooks, said));
	ck_assert_int_eq(errno, EPIPE);
	ck_said("");
}
END_TEST

START_TEST(test_in_order)
{
	struct json	 j;

	json_init(&j);
	ck_assert(!execsrv_http_note(&x, &j, "process/output", 1));
	json_fini(&j);
	answer(HEAD);
	ck_said("[200]");
	PIECE("h1", 1, "YQ==", "");
	ck_said("a");
	ck_assert_uint_eq(nprogress, 1);
	PIECE("h1", 2, "", "");
	PIECE("h1", 3, "Yg==", ",\"done\":false");
	ck_said("b");
	/* Of another, and twice. */
	PIECE("h7", 4, "Yw==", "");
	PIECE("h1", 3, "Yw==", "");
	ck_said("");
	PIECE("h1", 4, "Yw==", ",\"done\":true");
	ck_said("c.");
	PIECE("h1", 5, "ZA==", ",\"done\":true");
	ck_said("");
	ck_assert_uint_eq(nprogress, 4);
	ck_assert_str_eq(lost, "");
	execsrv_http_lost(&x);
	ck_said("");
}
END_TEST

START_TEST(test_out_of_order)
{
	PIECE("h1", 3, "Yw==", "");
	PIECE("h1", 1, "YQ==", "");
	PIECE("h1", 3, "eA==", "");
	PIECE("h1", 5, "ZQ==", ",\"done\":true");
	ck_said("");
	answer(HEAD);
	ck_said("[200]a");
	PIECE("h1", 2, "Yg==", "");
	ck_said("bc");
	PIECE("h1", 4, "ZA==", "");
	ck_said("de.");
}
END_TEST

/* Nothing comes after the end. */
START_TEST(test_after_the_end)
{
	PIECE("h1", 2, "eA==", "");
	PIECE("h1", 1, "YQ==", ",\"error\":\"broken\"");
	answer(HEAD);
	ck_said("[200]a!broken");
	PIECE("h1", 2, "eA==", "");
	execsrv_http_lost(&x);
	ck_said("");
}
END_TEST

START_TEST(test_refused)
{
	struct execsrv_error	 e = { .code = 5, .text = "no" };
	struct execsrv_answer	 a = { .error = &e };

	answer_fn(answer_arg, &a);
	ck_said("!no");
	PIECE("h1", 1, "YQ==", "");
	ck_said("");
}
END_TEST

START_TEST(test_malformed)
{
	static const char	*const notes[] = {
		"{\"params\":{\"seq\":1,\"deltaBase64\":\"\"}}",
		"{\"params\":{\"requestId\":\"h1\",\"deltaBase64\":\"\"}}",
		"{\"params\":{\"requestId\":\"h1\",\"seq\":1}}",
		"{\"params\":{\"requestId\":\"h1\",\"seq\":1,"
		    "\"deltaBase64\":\"?\"}}",
		"{\"p\":{}}"
	};
	size_t	 i;

	answer("{\"headers\":[]}");
	ck_said("!the server's answer to http/request is malformed");
	for (i = 0; i < sizeof(notes) / sizeof(notes[0]); i++) {
		lost[0] = '\0';
		note(notes[i]);
		ck_assert_str_eq(lost, "the server sent a malformed " DELTA);
	}
	ck_said("");
}
END_TEST

/* So much is kept before the answer, and no more. */
START_TEST(test_too_early)
{
	struct json	 j;
	size_t		 size = MIB / 3 * 4 + 200, i, n;
	char		*text = malloc(size);

	ck_assert_ptr_nonnull(text);
	json_init(&j);
	for (i = 1; i <= 17; i++) {
		n = (size_t)sprintf(text, "{\"params\":{\"requestId\":\"h1\","
		    "\"seq\":%zu,\"deltaBase64\":\"", i);
		memset(text + n, 'A', MIB / 3 * 4);
		n += MIB / 3 * 4;
		/* All of them but the last are whole MiB together. */
		n += (size_t)sprintf(text + n, i < 17 ? "AA==\"}}" : "\"}}");
		ck_assert_uint_lt(n, size);
		ck_assert_int_eq(json_parse(&j, text, n), 0);
		ck_assert(execsrv_http_note(&x, &j, DELTA,
		    json_find(&j, 0, "params")));
		if (i == 16)
			ck_said("");
	}
	ck_said("!the server sent too much of the body before the head of "
	    "the response");
	json_fini(&j);
	free(text);
}
END_TEST

/* The connection is lost: what was not sent yet goes to the next one. */
START_TEST(test_lost)
{
	void	*first = answer_arg;

	ck_assert_ptr_nonnull(execsrv_http_request(&x, &get, &hooks, said));
	answer(HEAD);
	ck_assert_ptr_nonnull(other = execsrv_http_request(&x, &get, &hooks,
	    said));
	answer(HEAD);
	ck_said("[200][200]");
	/* The hook of the first may free the second, which is not told. */
	frees = _i == 0 ? NULL : &other;
	execsrv_http_lost(&x);
	ck_said(_i == 0 ? LOST LOST : LOST);
	ck_assert_int_eq(other == NULL, _i);
	answer_arg = first;
	answer(HEAD);
	ck_said("[200]");
}
END_TEST

/* A request that is freed inside a hook stays until the loop is left. */
START_TEST(test_freed)
{
	x.is_handling = true;
	frees = &h;
	answer(HEAD);
	PIECE("h1", 2, "eA==", "");
	PIECE("h1", 1, "YQ==", ",\"done\":true");
	ck_said("[200]a.");
	ck_assert_ptr_null(h);
	ck_assert(!TAILQ_EMPTY(&x.https.freed));
	execsrv_http_free_deferred(&x);
	ck_assert(!TAILQ_EMPTY(&x.https.freed));
	x.is_handling = false;
	execsrv_http_free_deferred(&x);
	ck_assert(TAILQ_EMPTY(&x.https.freed));
	ck_assert(TAILQ_EMPTY(&x.https.live));
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("http_requests");
	TCase	*t = tcase_create("all");
	SRunner	*r;
	int	 failed;

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, test_sent);
	tcase_add_test(t, test_in_order);
	tcase_add_test(t, test_out_of_order);
	tcase_add_test(t, test_after_the_end);
	tcase_add_test(t, test_refused);
	tcase_add_test(t, test_malformed);
	tcase_add_test(t, test_too_early);
	tcase_add_loop_test(t, test_lost, 0, 2);
	tcase_add_test(t, test_freed);
	tcase_set_timeout(t, 60);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed != 0;
}
