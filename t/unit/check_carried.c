/*
 * common/client/carry/carried.c: a session whose messages are carried, over
 * more than one connection: what its client hears, what the server is sent.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <check.h>

#include "common/client/carry/carried.h"
#include "common/client/error.h"

static struct carried		 c;
static struct opening		 o;
static struct execsrv_error	 e;
static char			 said[8192];	/* "C..." "S...", lines */

static bool	 is_silent;	/* too much to keep */

static int
note(char to, const char *text, size_t len)
{
	size_t	 n = strlen(said);

	if (is_silent)
		return 0;
	ck_assert_uint_lt(n + len + 3, sizeof(said));
	snprintf(said + n, sizeof(said) - n, "%c%.*s\n", to, (int)len, text);
	return 0;
}

static int
to_client(void *arg, const char *text, size_t len)
{
	ck_assert_ptr_eq(arg, &c);
	return note('C', text, len);
}

static int
to_server(void *arg, const char *text, size_t len)
{
	ck_assert_ptr_eq(arg, &c);
	return note('S', text, len);
}

static const struct carried_ops	 ops = {
	.to_client = to_client, .to_server = to_server
};

static void
heard(const char *want)
{
	ck_assert_str_eq(said, want);
	said[0] = '\0';
}

static void
client(const char *text)
{
	ck_assert_int_eq(carried_from_client(&c, text, strlen(text)), 0);
}

static int
server(const char *text)
{
	memset(&e, 0, sizeof(e));
	return carried_from_server(&c, text, strlen(text), &e);
}

static void
server_ok(const char *text)
{
	if (server(text) == -1)
		ck_abort_msg("%s: %s", text, e.text);
}

/* A message that reaches the other side as it is. */
static void
passes(char from, const char *text)
{
	char	 want[1024];

	said[0] = '\0';
	if (from == 'C')
		client(text);
	else
		server_ok(text);
	snprintf(want, sizeof(want), "%c%s\n", from == 'C' ? 'S' : 'C', text);
	heard(want);
}

static void
setup(void)
{
	opening_init(&o);
	carried_init(&c, &o, &ops, &c);
	said[0] = '\0';
}

static void
teardown(void)
{
	carried_fini(&c);
	opening_fini(&o);
}

#define INITIALIZED	"{\"method\":\"initialized\"}"

static void
open_with(const char *initialize, const char *caps)
{
	char	 text[512];

	ck_assert(!carried_can_resume(&c));
	passes('C', initialize);
	snprintf(text, sizeof(text), "{\"id\":1,\"result\":{\"sessionId\":"
	    "\"s1\",\"environmentInfo\":{\"capabilities\":{%s}}}}", caps);
	passes('S', text);
	passes('C', INITIALIZED);
	ck_assert(carried_is_ready(&c));
}

static void
start(const char *caps)
{
	open_with("{\"id\":1,\"method\":\"initialize\",\"params\":"
	    "{\"clientName\":\"me\",\"resumeSessionId\":null}}", caps);
	ck_assert(carried_can_resume(&c));
}

static void
start_process(const char *id)
{
	char	 text[256];

	snprintf(text, sizeof(text), "{\"id\":\"a\",\"method\":"
	    "\"process/start\",\"params\":{\"processId\":\"%s\"}}", id);
	passes('C', text);
	passes('S', "{\"id\":\"a\",\"result\":{\"processId\":\"x\"}}");
}

static void
lose(void)
{
	said[0] = '\0';
	ck_assert_int_eq(carried_lose(&c), 0);
	ck_assert(!carried_is_ready(&c));
	ck_assert(carried_can_resume(&c));
}

#define READ(id, process, after, more)					\
	"S{\"id\":" id ",\"method\":\"process/read\",\"params\":{"	\
	"\"processId\":\"" process "\",\"afterSeq\":" after ",\"waitMs\":0" \
	more "}}\n"
#define OUTPUT(process, seq, chunk)					\
	"{\"method\":\"process/output\",\"params\":{\"processId\":\""	\
	process "\",\"seq\":" seq ",\"stream\":\"stdout\",\"chunk\":\""	\
	chunk "\"}}"
#define CHUNK(seq, chunk)						\
	"{\"seq\":" seq ",\"stream\":\"stdout\",\"chunk\":\"" chunk "\"}"

static void
resume(const char *id)
{
	char	 want[256];

	said[0] = '\0';
	ck_assert_int_eq(carried_resume(&c, 1000), 0);
	snprintf(want, sizeof(want), "S{\"id\":%s,\"method\":\"initialize\","
	    "\"params\":{\"clientName\":\"me\",\"resumeSessionId\":\"s1\"%s}}"
	    "\n",
	    id, opening_can(&o, "execsrvHold") ? ",\"execsrvHold\":true" : "");
	heard(want);
	snprintf(want, sizeof(want), "{\"id\":%s,\"result\":{\"sessionId\":"
	    "\"s1\"}}", id);
	server_ok(want);
}

/* Nothing is under way: only the session is resumed. */
START_TEST(test_quiet)
{
	start("");
	lose();
	heard("");
	resume("1");
	heard("S" INITIALIZED "\n");
	ck_assert(carried_is_ready(&c));
	passes('C', "{\"id\":2,\"method\":\"environment/info\"}");
	passes('S', "{\"id\":2,\"result\":{}}");
}
END_TEST

/* What was put out meanwhile is told with its numbers, the ends as well. */
START_TEST(test_missed)
{
	start("");
	start_process("p");
	passes('S', OUTPUT("p", "1", "YQ=="));
	lose();
	heard("");
	resume("1");
	heard("S" INITIALIZED "\n" READ("2", "p", "1", ""));
	/* It is in the answer as well. */
	server_ok(OUTPUT("p", "3", "Yw=="));
	heard("");
	server_ok("{\"id\":2,\"result\":{\"chunks\":[" CHUNK("1", "YQ==") ","
	    CHUNK("2", "Yg==") "," CHUNK("4", "Yw==") "],\"nextSeq\":6,"
	    "\"exited\":true,\"exitCode\":3,\"closed\":true,\"failure\":null,"
	    "\"sandboxDenied\":false}}");
	heard("C" OUTPUT("p", "2", "Yg==") "\n"
	    "C{\"method\":\"process/exited\",\"params\":{\"processId\":\"p\","
	    "\"seq\":3,\"exitCode\":3,\"sandboxDenied\":false}}\n"
	    "C" OUTPUT("p", "4", "Yw==") "\n"
	    "C{\"method\":\"process/closed\",\"params\":{\"processId\":\"p\","
	    "\"seq\":5}}\n");
	ck_assert(carried_is_ready(&c));
	/* It is over: nobody asks for it again. */
	lose();
	resume("3");
	heard("S" INITIALIZED "\n");
}
END_TEST

/* A server that holds back is read in pieces, to the last. */
START_TEST(test_pieces)
{
	static const char	 more[] = ",\"maxBytes\":1000,"
				    "\"execsrvHold\":true";
	char			 want[512];

	start("\"execsrvHold\":true");
	start_process("p");
	lose();
	resume("1");
	snprintf(want, sizeof(want), "S" INITIALIZED "\n" READ("2", "p", "0",
	    "%s"), more);
	heard(want);
	server_ok("{\"id\":2,\"result\":{\"chunks\":[" CHUNK("1", "YQ==")
	    "],\"nextSeq\":2,\"exited\":true,\"exitCode\":0,\"closed\":false,"
	    "\"sandboxDenied\":true}}");
	snprintf(want, sizeof(want), "C" OUTPUT("p", "1", "YQ==") "\n"
	    READ("3", "p", "1", "%s"), more);
	heard(want);
	ck_assert(!carried_is_ready(&c));
	server_ok("{\"id\":3,\"result\":{\"chunks\":[],\"nextSeq\":3,"
	    "\"exited\":true,\"exitCode\":0,\"closed\":false,"
	    "\"sandboxDenied\":true}}");
	heard("C{\"method\":\"process/exited\",\"params\":{\"processId\":\"p\","
	    "\"seq\":2,\"exitCode\":0,\"sandboxDenied\":true}}\n");
	ck_assert(carried_is_ready(&c));
	passes('S', "{\"method\":\"process/closed\",\"params\":{\"processId\":"
	    "\"p\",\"seq\":3}}");
}
END_TEST

/* What is not retained any more ends it: the client would wait for ever. */
START_TEST(test_gap)
{
	start("");
	start_process("p");
	lose();
	resume("1");
	ck_assert_int_eq(server("{\"id\":2,\"result\":{\"chunks\":["
	    CHUNK("4", "YQ==") "],\"nextSeq\":5,\"exited\":false,"
	    "\"closed\":false}}"), -1);
	ck_assert_int_eq(e.reason, EXECSRV_WHY_GAP);
	ck_assert_str_eq(e.text, "output was lost: the server no longer has "
	    "it");
}
END_TEST

#define LOST	"\"error\":{\"code\":-32603,\"message\":\"the connection to " \
		"the server was lost before the answer\"}"
#define WRITE	"{\"id\":3,\"method\":\"process/write\",\"params\":" \
		"{\"processId\":\"p\",\"chunk\":\"YQ==\",\"writeId\":\"w\"}}"
#define PLAIN_WRITE	"{\"id\":4,\"method\":\"process/write\",\"params\":" \
		"{\"processId\":\"p\",\"chunk\":\"YQ==\"}}"
#define REMOVE	"{\"id\":5,\"method\":\"fs/remove\",\"params\":{}}"
#define INFO	"{\"method\":\"environment/info\",\"id\":-6}"

/* What may be sent twice is; of the rest the client is told, and once. */
START_TEST(test_requests)
{
	start("");
	passes('C', WRITE);
	passes('C', PLAIN_WRITE);
	passes('C', REMOVE);
	passes('C', INFO);
	lose();
	heard("C{\"id\":4," LOST "}\nC{\"id\":5," LOST "}\n");
	lose();
	heard("");
	resume("1");
	heard("S" INITIALIZED "\nS" WRITE "\nS" INFO "\n");
	passes('S', "{\"id\":3,\"result\":{\"status\":\"accepted\"}}");
	lose();
	heard("");
	resume("2");
	heard("S" INITIALIZED "\nS" INFO "\n");
	passes('S', "{\"id\":-6,\"error\":{\"code\":1,\"message\":\"\"}}");
	ck_assert_uint_eq(c.kept, 0);
}
END_TEST

/* A start that was not answered is reported, and what it started ended. */
START_TEST(test_start)
{
	start("");
	passes('C', "{\"id\":\"a\",\"method\":\"process/start\",\"params\":"
	    "{\"processId\":\"p\\n\"}}");
	lose();
	heard("C{\"id\":\"a\"," LOST "}\n");
	resume("1");
	heard("S" INITIALIZED "\nS{\"id\":2,\"method\":\"process/terminate\","
	    "\"params\":{\"processId\":\"p\\n\"}}\n");
	ck_assert(!carried_is_ready(&c));
	/* The answer is ours, and its notifications are nobody's. */
	server_ok("{\"id\":2,\"result\":{\"running\":true}}");
	heard("");
	ck_assert(carried_is_ready(&c));
}
END_TEST

/* Streams and watches are of a connection: their client hears of the end. */
START_TEST(test_of_connection)
{
	start("");
	passes('C', "{\"id\":2,\"method\":\"http/request\",\"params\":"
	    "{\"requestId\":\"r\",\"streamResponse\":true}}");
	passes('S', "{\"id\":2,\"result\":{\"status\":200}}");
	passes('S', "{\"method\":\"http/request/bodyDelta\",\"params\":"
	    "{\"requestId\":\"r\",\"seq\":1,\"deltaBase64\":\"YQ==\","
	    "\"done\":false,\"error\":null}}");
	passes('C', "{\"id\":3,\"method\":\"fs/watchMissing\",\"params\":"
	    "{\"watchId\":7,\"missing\":[]}}");
	passes('S', "{\"id\":3,\"result\":{\"watching\":true}}");
	lose();
	heard("C{\"method\":\"http/request/bodyDelta\",\"params\":"
	    "{\"requestId\":\"r\",\"seq\":2,\"deltaBase64\":\"\",\"done\":true,"
	    "\"error\":\"the connection to the server was lost\"}}\n"
	    "C{\"method\":\"fs/missingChanged\",\"params\":{\"watchId\":7}}\n");
	lose();
	heard("");
}
END_TEST

/* The server asks: only who was asked on this connection answers. */
START_TEST(test_question)
{
	start("");
	passes('S', "{\"id\":1,\"method\":\"network/policyRequest\"}");
	lose();
	resume("1");
	said[0] = '\0';
	client("{\"id\":1,\"result\":{}}");
	heard("");
	passes('S', "{\"id\":1,\"method\":\"network/policyRequest\"}");
	passes('C', "{\"id\":1,\"result\":{}}");
	client("{\"id\":1,\"result\":{}}");
	heard("");
}
END_TEST

/* Receipts count what came on this connection: they are the bridge's. */
START_TEST(test_receipts)
{
	open_with("{\"id\":1,\"method\":\"initialize\",\"params\":"
	    "{\"clientName\":\"me\",\"execsrvReceipts\":false}}",
	    "\"execsrvReceipts\":true");
	client("{\"method\":\"session/received\",\"params\":{\"bytes\":9}}");
	heard("");
	server_ok(OUTPUT("x", "1", ""));
	ck_assert_ptr_nonnull(strstr(said, "\nS{\"method\":"
	    "\"session/received\",\"params\":{\"bytes\":"));
	passes('S', OUTPUT("x", "2", ""));
	lose();
	resume("1");
	heard("S" INITIALIZED "\nS{\"method\":\"session/received\",\"params\":"
	    "{\"bytes\":36}}\n");
}
END_TEST

/* The server is not rid of the old connection yet; it knows nothing of it. */
START_TEST(test_refused)
{
	start("");
	lose();
	ck_assert_int_eq(carried_resume(&c, 1000), 0);
	ck_assert_int_eq(server("{\"id\":1,\"error\":{\"code\":-32010,"
	    "\"message\":\"attached\"}}"), -1);
	ck_assert_int_eq(e.code, CARRIED_ATTACHED);
	lose();
	ck_assert_int_eq(carried_resume(&c, 1000), 0);
	ck_assert_int_eq(server("{\"id\":2,\"error\":{\"code\":-32600,"
	    "\"message\":\"unknown session id\"}}"), -1);
	ck_assert_str_eq(e.text, "unknown session id");
}
END_TEST

/* Sessions that are over, or that their client resumes by itself. */
START_TEST(test_not_resumed)
{
	start("");
	passes('S', "{\"method\":\"session/ending\",\"params\":{}}");
	ck_assert(!carried_can_resume(&c));
	teardown();
	setup();
	start("");
	passes('C', "{\"id\":2,\"method\":\"session/close\"}");
	ck_assert(!carried_can_resume(&c));
	teardown();
	setup();
	open_with("{\"id\":1,\"method\":\"initialize\",\"params\":"
	    "{\"clientName\":\"me\",\"resumeSessionId\":\"s0\"}}", "");
	ck_assert(!carried_can_resume(&c));
}
END_TEST

/* What cannot be read passes, and an answer that is too much for the reader
   still ends its request. */
START_TEST(test_unread)
{
	size_t	 i, n, size = 600000;
	char	*text = malloc(size);

	ck_assert_ptr_nonnull(text);
	start("");
	passes('C', "nonsense");
	passes('S', "{\"id\":-1,\"error\":{\"code\":-32600,\"message\":\"\"}}");
	passes('S', "[]");
	passes('C', REMOVE);
	n = (size_t)snprintf(text, size, "{\"id\":5,\"result\":[1");
	for (i = 0; i < 270000; i++)
		n += (size_t)snprintf(text + n, size - n, ",1");
	n += (size_t)snprintf(text + n, size - n, "]}");
	ck_assert_uint_lt(n, size);
	is_silent = true;
	ck_assert_int_eq(carried_from_server(&c, text, n, &e), 0);
	is_silent = false;
	free(text);
	lose();
	heard("");
}
END_TEST

static Suite *
carried_suite(void)
{
	Suite	*s = suite_create("carried");
	TCase	*t = tcase_create("all");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, test_quiet);
	tcase_add_test(t, test_missed);
	tcase_add_test(t, test_pieces);
	tcase_add_test(t, test_gap);
	tcase_add_test(t, test_requests);
	tcase_add_test(t, test_start);
	tcase_add_test(t, test_of_connection);
	tcase_add_test(t, test_question);
	tcase_add_test(t, test_receipts);
	tcase_add_test(t, test_refused);
	tcase_add_test(t, test_not_resumed);
	tcase_add_test(t, test_unread);
	suite_add_tcase(s, t);
	return s;
}

int
main(void)
{
	SRunner	*sr = srunner_create(carried_suite());
	int	 failed;

	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed == 0 ? 0 : 1;
}
