/* common/client/reach: what to reach, as a line; lines on the socket. */
#include <sys/socket.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <check.h>

#include "common/client/reach/reach_conn.h"
#include "common/limit.h"

#define COUNT(a)	(sizeof(a) / sizeof((a)[0]))

/* --- what to reach --- */

static struct reach_target	 reach_target;
static char		 text[2 * REACH_TARGET_MAX];

static int
take(const char *line)
{
	strcpy(text, line);
	errno = 0;
	return reach_target_read(&reach_target, text, strlen(text));
}

#define SILENCE	"\"silenceMs\":2"
#define TIMES	"\"connectMs\":1," SILENCE

START_TEST(test_goal)
{
	ck_assert_int_eq(take("{\"url\":\"wss://h\"," TIMES "}"), 0);
	ck_assert_str_eq(reach_target.url, "wss://h");
	ck_assert_uint_eq(reach_target.connect_ms, 1);
	ck_assert_uint_eq(reach_target.silence_ms, 2);
	ck_assert_ptr_null(reach_target.environment);
	ck_assert_ptr_null(reach_target.token);
	ck_assert_ptr_null(reach_target.ca_file);
	ck_assert_int_eq(take(" {\"connectMs\": 2147483647 ,"
	    "\"silenceMs\":2147483646,\"token\":"
	    "\"\\\"\\\\t\\u0041\",\"caFile\":\"/\\u00e4\",\"environment\":"
	    "\"e\",\"url\":\"x\"} "), 0);
	ck_assert_uint_eq(reach_target.connect_ms, 2147483647);
	ck_assert_uint_eq(reach_target.silence_ms, 2147483646);
	ck_assert_str_eq(reach_target.token, "\"\\tA");
	ck_assert_str_eq(reach_target.ca_file, "/\xc3\xa4");
	ck_assert_str_eq(reach_target.environment, "e");
	ck_assert_str_eq(reach_target.url, "x");
}
END_TEST

static const char *const	 bad[] = {
	"{\"url\":\"u\",\"connectMs\":1}", "{\"url\":\"u\"," SILENCE "}",
	"{\"url\":\"u\",\"connectMs\":1,\"silenceMs\":0}",
	"{\"url\":\"u\",\"connectMs\":1,\"silenceMs\":2147483648}",
	"", "{}", "[]", "1", "null", "{\"url\":\"u\"}", "{" TIMES "}",
	"{\"url\":\"u\",\"connectMs\":0," SILENCE "}",
	"{\"url\":\"u\",\"connectMs\":-1," SILENCE "}",
	"{\"url\":\"u\",\"connectMs\":1.5," SILENCE "}",
	"{\"url\":\"u\",\"connectMs\":2147483648," SILENCE "}",
	"{\"url\":\"u\",\"connectMs\":\"1\"," SILENCE "}",
	"{\"url\":\"\"," TIMES "}", "{\"url\":1," TIMES "}",
	"{\"url\":\"a\\u0000b\"," TIMES "}",
	"{\"url\":\"u\",\"url\":\"u\"," TIMES "}",
	"{\"url\":\"u\"," TIMES ",\"more\":1}",
	"{\"url\":\"u\"," TIMES ",\"token\":null}",
	"{\"url\":\"u\"," TIMES ",\"token\":\"\"}",
	"{\"url\":\"u\"," TIMES "}x", "{\"url\":\"u\"," TIMES,
	"{\"url\":\"\xff\"," TIMES "}",
};

START_TEST(test_bad_goal)
{
	ck_assert_int_eq(take(bad[_i]), -1);
	ck_assert_int_eq(errno, EINVAL);
}
END_TEST

START_TEST(test_long_goal)
{
	size_t	 n = strlen("{\"url\":\"u\"," TIMES "}");

	memset(text, ' ', sizeof(text));
	memcpy(text, "{\"url\":\"u\"," TIMES "}", n);
	ck_assert_int_eq(reach_target_read(&reach_target, text,
	    REACH_TARGET_MAX), 0);
	memcpy(text, "{\"url\":\"u\"," TIMES "}", n);
	ck_assert_int_eq(reach_target_read(&reach_target, text,
	    REACH_TARGET_MAX + 1), -1);
}
END_TEST

/* --- lines --- */

static struct wsloop	 loop;
static struct stdio_peer	 stdio_peer;
static int		 other;		/* the library's end */
static int		 ours;
static unsigned		 lines, rooms;

static void
on_line(void *arg)
{
	ck_assert_ptr_eq(arg, &stdio_peer);
	lines++;
}

static void
on_room(void *arg)
{
	ck_assert_ptr_eq(arg, &stdio_peer);
	rooms++;
}

static const struct stdio_peer_events	 events = { on_line, on_room };

static void
start(void)
{
	int	 fds[2];

	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
	ours = fds[0];
	other = fds[1];
	ck_assert_int_eq(wsloop_init(&loop), 0);
	ck_assert_int_eq(stdio_peer_init(&stdio_peer, ours, &loop, &events,
	    &stdio_peer), 0);
	lines = rooms = 0;
}

static void
stop(void)
{
	stdio_peer_fini(&stdio_peer);
	wsloop_fini(&loop);
	close(ours);
	close(other);
}

static void
on_tick(void *arg)
{
	(void)arg;
}

static void
turn(void)
{
	struct wsloop_timer	 t;
	int			 i;

	memset(&t, 0, sizeof(t));
	for (i = 0; i < 3; i++) {
		wsloop_timer_set(&loop, &t, 2, on_tick, NULL);
		lws_service(loop.lws, 0);
	}
	wsloop_timer_clear(&loop, &t);
}

static void
say(const char *words)
{
	ck_assert_int_eq(send(other, words, strlen(words), 0),
	    (ssize_t)strlen(words));
}

static void
ck_first(const char *want)
{
	const uint8_t	*data;
	size_t		 len;
	int		 i;

	for (i = 0; i < 1000 && !stdio_peer_first(&stdio_peer, &data,
	    &len); i++)
		turn();
	ck_assert(stdio_peer_first(&stdio_peer, &data, &len));
	ck_assert_uint_eq(len, strlen(want));
	ck_assert_int_eq(memcmp(data, want, len), 0);
	stdio_peer_drop(&stdio_peer);
}

START_TEST(test_lines)
{
	const uint8_t	*data;
	size_t		 len;

	start();
	say("one\ntw");
	ck_first("one");
	turn();
	ck_assert(!stdio_peer_first(&stdio_peer, &data, &len));
	say("o\n\nthree\nfour");
	ck_first("two");
	ck_first("");
	ck_first("three");
	turn();
	ck_assert(!stdio_peer_is_over(&stdio_peer));
	ck_assert(!stdio_peer_first(&stdio_peer, &data, &len));
	ck_assert_uint_ge(lines, 2);
	stop();
}
END_TEST

/* What was said before the end is there; a line without its end is none. */
START_TEST(test_end)
{
	int	 i;

	start();
	say("one\ntwo\nthree");
	close(other);
	other = -1;
	ck_first("one");
	ck_assert(!stdio_peer_is_over(&stdio_peer));
	ck_first("two");
	for (i = 0; i < 1000 && !stdio_peer_is_over(&stdio_peer); i++)
		turn();
	ck_assert(stdio_peer_is_over(&stdio_peer));
	/* Nobody hears it, and nothing waits. */
	ck_assert_int_eq(stdio_peer_put(&stdio_peer, (uint8_t *)text, 5), 0);
	ck_assert(!stdio_peer_is_full(&stdio_peer));
	stop();
}
END_TEST

/* A line that is longer than any message is the end. */
START_TEST(test_endless)
{
	size_t	 n = 1 << 20, sent = 0;
	char	*big = malloc(n);

	ck_assert_ptr_nonnull(big);
	memset(big, 'a', n);
	start();
	while (!stdio_peer_is_over(&stdio_peer)) {
		ssize_t	 k = send(other, big, n, MSG_DONTWAIT);

		sent += k > 0 ? (size_t)k : 0;
		ck_assert_uint_lt(sent, (size_t)LIMIT_MESSAGE + 4 * n);
		turn();
	}
	ck_assert_uint_ge(sent, (size_t)LIMIT_MESSAGE);
	free(big);
	stop();
}
END_TEST

/* Who does not read is not written to, and told when he did. */
START_TEST(test_room)
{
	static char	 got[1 << 20];
	size_t		 n = 1 << 20, at = 0;
	uint8_t		*big = malloc(n);
	ssize_t		 k;

	ck_assert_ptr_nonnull(big);
	memset(big, 'a', n);
	big[7] = big[n - 2] = '\n';
	start();
	ck_assert_int_eq(stdio_peer_put(&stdio_peer, (uint8_t *)memcpy(text,
	    "a\nb", 3), 3), 0);
	ck_assert(!stdio_peer_is_full(&stdio_peer));
	ck_assert_int_eq(recv(other, got, sizeof(got), 0), 4);
	ck_assert_int_eq(memcmp(got, "a b\n", 4), 0);
	ck_assert_int_eq(stdio_peer_put(&stdio_peer, big, n), 0);
	ck_assert(stdio_peer_is_full(&stdio_peer));
	turn();
	ck_assert_uint_eq(rooms, 0);
	/* A last word, behind it. */
	ck_assert_int_eq(stdio_peer_put(&stdio_peer, (uint8_t *)text, 3), 0);
	while (at < n + 1 + 4) {
		if ((k = recv(other, got, sizeof(got), MSG_DONTWAIT)) > 0)
			at += (size_t)k;
		turn();
	}
	ck_assert_uint_eq(at, n + 1 + 4);
	ck_assert_uint_eq(rooms, 1);
	ck_assert(!stdio_peer_is_full(&stdio_peer));
	ck_assert_int_eq(big[7], ' ');
	free(big);
	stop();
}
END_TEST

START_TEST(test_read_first)
{
	char	 out[16];

	start();
	say("one\ntwo\n0123456789abcdef");
	ck_assert_int_eq(stdio_peer_read_first(ours, out, sizeof(out)), 3);
	ck_assert_int_eq(memcmp(out, "one", 3), 0);
	ck_assert_int_eq(stdio_peer_read_first(ours, out, 4), 3);
	ck_assert_int_eq(stdio_peer_read_first(ours, out, sizeof(out)), -1);
	close(other);
	other = -1;
	ck_assert_int_eq(stdio_peer_read_first(ours, out, sizeof(out)), -1);
	stop();
}
END_TEST

static Suite *
goal_suite(void)
{
	Suite	*s = suite_create("goal");
	TCase	*t = tcase_create("all");

	tcase_set_timeout(t, 120);
	tcase_add_test(t, test_goal);
	tcase_add_loop_test(t, test_bad_goal, 0, (int)COUNT(bad));
	tcase_add_test(t, test_long_goal);
	tcase_add_test(t, test_lines);
	tcase_add_test(t, test_end);
	tcase_add_test(t, test_endless);
	tcase_add_test(t, test_room);
	tcase_add_test(t, test_read_first);
	suite_add_tcase(s, t);
	return s;
}

int
main(void)
{
	SRunner	*sr = srunner_create(goal_suite());
	int	 failed;

	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed == 0 ? 0 : 1;
}
