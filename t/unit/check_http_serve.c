/*
 * worker/http/helper/http_serve.c: what the worker may ask for, and what it is
 * told of transfers.  These, their loop and the channel are ours.
 */
#include <check.h>
#include <curl/curl.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/limit.h"
#include "t/unit/fault.h"
#include "t/unit/serve_stand_in.h"
#include "worker/http/helper/http_serve.h"
#include "worker/http/helper/http_transfer.h"

#define SOCK	99
#define ERROR	"log_warnx: unexpected message http_"

static const struct trust	 trust = { "ca.pem", "certs" };
static struct http_loop		*const loop = (void *)(uintptr_t)&trust;
static http_loop_done_fn	*on_done;
static void			*on_done_arg;
static bool			 has_loop, start_fails;
static enum http_url_result	 result;
static struct http_transfer	*last;
static const char		*done_error;
static int			 done_result;
static unsigned			 nlive;

/* --- in the place of transfers and their loop --- */

struct http_loop *
http_loop_new(struct event_base *base, http_loop_done_fn *fn, void *arg)
{
	ck_assert_ptr_nonnull(base);
	on_done = fn;
	on_done_arg = arg;
	return has_loop ? loop : NULL;
}

void
http_loop_free(struct http_loop **lp)
{
	ck_assert(*lp == loop && nlive == 0);
	did("loop_free");
	*lp = NULL;
}

enum http_url_result
http_transfer_new(struct http_transfer **out, const char *method,
    const char *url)
{
	did("new %s %s", method, url);
	if (result != HTTP_URL_OK)
		return result;
	ck_assert_ptr_nonnull(last = calloc(1, sizeof(*last)));
	ck_assert_ptr_nonnull(last->easy = curl_easy_init());
	curl_easy_setopt(last->easy, CURLOPT_PRIVATE, last);
	http_fields_init(&last->headers);
	last->room = LIMIT_HTTP_WINDOW;
	*out = last;
	nlive++;
	return HTTP_URL_OK;
}

void
http_transfer_free(struct http_transfer **tp)
{
	struct http_transfer	*t = *tp;

	ck_assert_ptr_nonnull(t);
	did("free %u", (unsigned)t->id);
	curl_easy_cleanup(t->easy);
	http_fields_clear(&t->headers);
	free(t->body);
	free(t);
	*tp = NULL;
	nlive--;
}

int
http_transfer_start(struct http_transfer *t)
{
	did("start %u %zu", (unsigned)t->id, t->headers.n);
	t->is_added = !start_fails;
	return start_fails ? -1 : 0;
}

void
http_transfer_give_room(struct http_transfer *t, size_t bytes)
{
	did("room %u %zu", (unsigned)t->id, bytes);
}

int
http_transfer_done(struct http_transfer *t, CURLcode code,
    const char **error_out)
{
	did("done %u %d", (unsigned)t->id, code);
	*error_out = done_error;
	return done_result;
}

/* --- the worker's messages --- */

static void
request(uint64_t id, uint32_t headers, uint64_t body)
{
	Ipc__HttpRequest	 m = IPC__HTTP_REQUEST__INIT;

	m.id = id;
	m.method = (char *)(uintptr_t)"GET";
	m.url = (char *)(uintptr_t)"u";
	m.headers = headers;
	m.body = body;
	chan_comes(IPC_http_request, &m, -1);
}

static void
header(uint64_t id, bool is_secret)
{
	Ipc__HttpHeader	 m = IPC__HTTP_HEADER__INIT;

	m.id = id;
	m.name = (char *)(uintptr_t)"N";
	m.value = (char *)(uintptr_t)"v";
	m.secret = is_secret;
	chan_comes(IPC_http_header, &m, -1);
}

static void
upload(uint64_t id, const char *data, size_t len)
{
	Ipc__HttpUpload	 m = IPC__HTTP_UPLOAD__INIT;

	m.id = id;
	m.data.data = (uint8_t *)(uintptr_t)data;
	m.data.len = len;
	chan_comes(IPC_http_upload, &m, -1);
}

static void
room(uint64_t id, uint32_t bytes)
{
	Ipc__HttpRoom	 m = IPC__HTTP_ROOM__INIT;

	m.id = id;
	m.bytes = bytes;
	chan_comes(IPC_http_room, &m, -1);
}

static void
cancel(uint64_t id)
{
	Ipc__HttpCancel	 m = IPC__HTTP_CANCEL__INIT;

	m.id = id;
	chan_comes(IPC_http_cancel, &m, -1);
}

static void
serve(void (*what)(void), int status)
{
	script = what;
	ck_assert_int_eq(http_serve(SOCK, &trust), status);
	ck_assert(the_chan.base == NULL && the_chan.sock == SOCK);
	ck_assert(the_chan.self == IPC_ROLE_HTTP &&
	    the_chan.peer == IPC_ROLE_WORKER);
	ck_assert_uint_eq(the_chan.limit, 2 * (size_t)LIMIT_HTTP_ACTIVE *
	    (LIMIT_HTTP_WINDOW + LIMIT_HTTP_HEAD));
	ck_assert_uint_eq(nlive, 0);
}

static void
setup(void)
{
	has_loop = true;
	result = HTTP_URL_OK;
	start_fails = chan_fails = false;
	done_error = NULL;
	done_result = dispatch_result = 0;
}

/* --- requests --- */

static void
do_requests(void)
{
	Ipc__HttpRequest	 m = IPC__HTTP_REQUEST__INIT;

	request(0, 0, 0);
	ck_did(ERROR "request from the worker; leave");
	request(2, 0, 0);
	ck_did("new GET u; start 2 0");
	ck_assert(!last->follow && last->loop == loop && last->body == NULL);
	ck_assert_str_eq(last->ca_file, "ca.pem");
	ck_assert_str_eq(last->ca_folder, "certs");
	/* Later ones have greater numbers. */
	request(2, 0, 0);
	ck_did(ERROR "request from the worker; leave");
	request(1, 0, 0);
	ck_did(ERROR "request from the worker; leave");
	m.id = 3;
	m.method = m.url = (char *)(uintptr_t)"m";
	m.follow = true;
	chan_comes(IPC_http_request, &m, -1);
	ck_did("new m m; start 3 0");
	ck_assert(last->follow);
	request(4, 0, LIMIT_MESSAGE + (uint64_t)1);
	ck_did(ERROR "request from the worker; leave");
	request(4, 0, LIMIT_MESSAGE);
	ck_did("new GET u");
	/* None without memory for its body. */
	fault_call("malloc", 1);
	request(5, 0, 1);
	ck_did("new GET u; http_done id=5 error='out of memory'; free 5");
}

START_TEST(test_requests)
{
	serve(do_requests, 1);
	ck_did("free 2; free 3; free 4; chan_free; loop_free");
}
END_TEST

static void
do_bad_url(void)
{
	result = HTTP_URL_BAD;
	request(1, 0, 0);
	ck_did("new GET u; http_done id=1 error='url is invalid' refused");
	result = HTTP_URL_SCHEME;
	request(2, 0, 0);
	ck_did("new GET u; http_done id=2 "
	    "error='only supports http and https URLs' refused");
	result = HTTP_URL_MEMORY;
	request(3, 0, 0);
	ck_did("new GET u; http_done id=3 error='out of memory'");
	result = HTTP_URL_OK;
	request(3, 0, 0);
	ck_did(ERROR "request from the worker; leave");
	start_fails = true;
	request(4, 0, 0);
	ck_did("new GET u; start 4 0; "
	    "http_done id=4 error='out of memory'; free 4");
}

START_TEST(test_bad_url)
{
	serve(do_bad_url, 1);
	ck_did("chan_free; loop_free");
}
END_TEST

static void
do_many(void)
{
	uint64_t	 i;

	for (i = 1; i <= LIMIT_HTTP_ACTIVE; i++) {
		request(i, 0, 0);
		did_forget();
	}
	request(i, 0, 0);
	ck_did(ERROR "request from the worker; leave");
	cancel(1);
	ck_did("free 1");
	request(i, 0, 0);
	ck_did("new GET u; start 257 0");
	on_done(on_done_arg, last->easy, CURLE_OK);
	ck_did("done 257 0; http_done id=257; free 257");
	request(i + 1, 0, 0);
	ck_did("new GET u; start 258 0");
	for (i = 2; i <= LIMIT_HTTP_ACTIVE; i++) {
		cancel(i);
		did_forget();
	}
}

START_TEST(test_many)
{
	ck_assert_int_eq(LIMIT_HTTP_ACTIVE, 256);
	serve(do_many, 1);
	ck_did("free 258; chan_free; loop_free");
}
END_TEST

/* It starts when all has come. */
static void
do_parts(void)
{
	static char	 data[LIMIT_HTTP_WINDOW];

	request(1, 2, 3);
	ck_did("new GET u");
	upload(1, "x", 1);
	ck_did(ERROR "upload from the worker; leave");
	header(1, true);
	header(1, false);
	ck_did("");
	ck_assert(TAILQ_FIRST(&last->headers.list)->is_secret);
	ck_assert(!TAILQ_NEXT(TAILQ_FIRST(&last->headers.list),
	    entry)->is_secret);
	ck_assert_str_eq(TAILQ_FIRST(&last->headers.list)->name, "n");
	ck_assert_str_eq(TAILQ_FIRST(&last->headers.list)->value, "v");
	header(1, true);
	ck_did(ERROR "header from the worker; leave");
	upload(1, "ab", 2);
	ck_did("");
	upload(1, "", 0);
	ck_did(ERROR "upload from the worker; leave");
	upload(1, "cd", 2);
	ck_did(ERROR "upload from the worker; leave");
	upload(1, "c", 1);
	ck_did("start 1 2");
	ck_assert_int_eq(memcmp(last->body, "abc", 3), 0);
	upload(1, "c", 1);
	ck_did(ERROR "upload from the worker; leave");
	/* More is asked for in steps. */
	request(2, 0, LIMIT_HTTP_WINDOW + 2);
	did_forget();
	upload(2, data, LIMIT_HTTP_WINDOW / 2 - 1);
	ck_did("");
	upload(2, data, 1);
	ck_did("http_ask id=2 bytes=65536");
	upload(2, data, 1);
	ck_did("");
	upload(2, data, LIMIT_HTTP_WINDOW / 2);
	ck_did("http_ask id=2 bytes=65537");
	/* But not for what there is not. */
	upload(2, data, 1);
	ck_did("start 2 0");
	request(3, 0, LIMIT_HTTP_WINDOW / 2);
	did_forget();
	upload(3, data, LIMIT_HTTP_WINDOW / 2);
	ck_did("start 3 0");
	/* No memory for a header. */
	request(4, 1, 0);
	did_forget();
	fault_call("calloc", 1);
	header(4, false);
	ck_did("http_done id=4 error='out of memory'; free 4");
}

START_TEST(test_parts)
{
	ck_assert_int_eq(LIMIT_HTTP_WINDOW, 131072);
	serve(do_parts, 1);
	ck_did("free 1; free 2; free 3; chan_free; loop_free");
}
END_TEST

/* What comes of one that has ended was on its way. */
static void
do_late(void)
{
	header(7, false);
	upload(7, "x", 1);
	room(7, 1);
	cancel(7);
	ck_did("");
	request(1, 0, 0);
	did_forget();
	room(1, 1);
	ck_did(ERROR "room from the worker; leave");
	last->room -= 5;
	room(1, 6);
	ck_did(ERROR "room from the worker; leave");
	room(1, 5);
	ck_did("room 1 5");
	request(2, 0, 0);
	did_forget();
	cancel(1);
	ck_did("free 1");
	room(1, 1);
	ck_did("");
}

START_TEST(test_late)
{
	serve(do_late, 1);
	ck_did("free 2; chan_free; loop_free");
}
END_TEST

/* --- answers --- */

static void
do_answer(void)
{
	static char		 data[2 * LIMIT_HTTP_PIECE + 1];
	struct http_fields	 f;

	request(6, 0, 0);
	did_forget();
	http_fields_init(&f);
	ck_assert_int_eq(http_fields_add(&f, "a", "1", false), 0);
	ck_assert_int_eq(http_fields_add(&f, "b", "2", false), 0);
	last->events->on_answer(last, 404, &f);
	ck_did("http_field id=6 name='a' value='1'; "
	    "http_field id=6 name='b' value='2'; "
	    "http_answer id=6 status=404");
	http_fields_clear(&f);
	last->is_answered = true;
	last->events->on_piece(last, "hello", 5);
	ck_did("http_piece id=6 data='hello'");
	data[sizeof(data) - 1] = 'z';
	last->events->on_piece(last, data, sizeof(data));
	ck_did("http_piece id=6 data:65536; http_piece id=6 data:65536; "
	    "http_piece id=6 data='z'");
	done_error = "gone";
	done_result = 1;
	on_done(on_done_arg, last->easy, CURLE_SEND_ERROR);
	ck_did("done 6 55");
	done_result = 0;
	on_done(on_done_arg, last->easy, CURLE_SEND_ERROR);
	ck_did("done 6 55; http_done id=6 error='gone'; free 6");
}

START_TEST(test_answer)
{
	ck_assert_int_eq(LIMIT_HTTP_PIECE, 65536);
	serve(do_answer, 0);
	ck_did("chan_free; loop_free");
}
END_TEST

/* --- the end --- */

static void
do_close(void)
{
	the_chan.on_end(the_chan.arg, 0);
	ck_did("leave");
}

static void
do_fail(void)
{
	the_chan.on_end(the_chan.arg, EPROTO);
	ck_did("log_warnx: channel: Protocol error; leave");
}

START_TEST(test_end)
{
	serve(_i == 0 ? do_close : do_fail, _i);
	ck_did("chan_free; loop_free");
}
END_TEST

START_TEST(test_no_loop)
{
	want_fatal = "event loop";
	if (_i == 0)
		fault_call("event_base_new", 1);
	has_loop = _i != 1;
	chan_fails = _i == 2;
	dispatch_result = _i == 3 ? -1 : 0;
	http_serve(SOCK, &trust);
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("http_serve");
	TCase	*t = tcase_create("http_serve");
	SRunner	*r;
	int	 failed;

	tcase_add_checked_fixture(t, setup, NULL);
	tcase_add_test(t, test_requests);
	tcase_add_test(t, test_bad_url);
	tcase_add_test(t, test_many);
	tcase_add_test(t, test_parts);
	tcase_add_test(t, test_late);
	tcase_add_test(t, test_answer);
	tcase_add_loop_test(t, test_end, 0, 2);
	tcase_add_loop_exit_test(t, test_no_loop, FATAL_EXIT, 0, 4);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_ENV);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed != 0;
}
