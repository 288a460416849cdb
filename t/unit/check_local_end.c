/* master/uplink/local_end_worker.c: messages and pings, both ways. */
#include <sys/socket.h>
#include <sys/wait.h>

#include <errno.h>
#include <signal.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/limit.h"
#include "t/unit/local_end_help.h"

/* --- to the worker ---------------------------------------------------------*/

static const size_t	 lengths[] = {
	1, 0, 125, 126, 127, 65535, 65536, 200000, LIMIT_FRAGMENT - 1,
	LIMIT_FRAGMENT, LIMIT_FRAGMENT + 1, 2 * LIMIT_FRAGMENT,
	2 * LIMIT_FRAGMENT + 1, 0, 1
};
#define NLENGTHS	(sizeof(lengths) / sizeof(lengths[0]))

START_TEST(test_messages)
{
	size_t	 i;

	for (i = 0; i < NLENGTHS; i++) {
		rig_say_random(lengths[i]);
		WAIT(rig.got == i + 1 && rig.at == i + 1);
	}
	/* Several at once. */
	for (i = 0; i < NLENGTHS; i++)
		rig_say_random(lengths[i]);
	WAIT(rig.got == 2 * NLENGTHS && rig.at == rig.nto);
	ck_assert(!rig.is_bad && rig.outputs == 0);
	ck_assert(!local_end_is_over(rig.local_end));
	rig_ck_calm();
}
END_TEST

/* Bit by bit, from another place each time, and asked for too often. */
START_TEST(test_partial_writes)
{
	size_t	 i;

	rig_shrink();
	rig.is_moving = true;
	for (i = 0; i < NLENGTHS; i++) {
		rig_say_random(lengths[i] <= 65536 ||
		    lengths[i] == LIMIT_FRAGMENT + 1 ? lengths[i] : 100000);
		local_end_push(rig.local_end);
	}
	WAIT_READING((local_end_push(rig.local_end), rig.got == rig.nto),
	    1 + randombytes_uniform(10000));
	ck_assert_uint_eq(rig.at, rig.nto);
	ck_assert(!rig.is_bad);
}
END_TEST

/* A worker that does not read: nothing is asked for meanwhile. */
START_TEST(test_full)
{
	unsigned	 before;

	rig_say_random(4 * LIMIT_FRAGMENT);
	rig_say_random(1);
	rig_idle();
	before = rig.firsts;
	rig_ck_calm();
	ck_assert_uint_eq(rig.firsts, before);
	ck_assert_uint_eq(rig.at, 0);
	WAIT(rig.got == 2);
}
END_TEST

/* The longest, in parts of 1 MiB; one frame of more would be refused. */
START_TEST(test_longest)
{
	uint8_t	*data = malloc(LIMIT_MESSAGE);

	ck_assert_ptr_nonnull(data);
	memset(data, 'x', LIMIT_MESSAGE);
	memcpy(data + 12345678, "needle", 6);
	rig_say(data, LIMIT_MESSAGE);
	rig_say("{}", 2);
	free(data);
	WAIT(rig.got == 2);
	ck_assert(!rig.is_bad);
}
END_TEST

/* --- from the worker -------------------------------------------------------*/

START_TEST(test_output)
{
	const uint8_t	*data;
	size_t		 len;

	ck_assert(!local_end_output(rig.local_end, &data, &len));
	rig_frame(true, WS_TEXT, "one", 3);
	rig_frame(false, WS_TEXT, "t", 1);
	rig_frame(false, WS_CONTINUATION, "", 0);
	rig_frame(true, WS_CONTINUATION, "wo", 2);
	rig_frame(true, WS_BINARY, "three", 5);
	rig_frame(true, WS_TEXT, "", 0);
	WAIT(rig.outputs == 1);
	/* One at a time, until it is taken. */
	rig_idle();
	ck_assert_uint_eq(rig.outputs, 1);
	ck_assert(IS_OUTPUT("one"));
	local_end_take(rig.local_end);
	ck_assert_uint_eq(rig.outputs, 2);
	ck_assert(IS_OUTPUT("two"));
	local_end_take(rig.local_end);
	ck_assert(IS_OUTPUT("three"));
	local_end_take(rig.local_end);
	ck_assert(IS_OUTPUT(""));
	local_end_take(rig.local_end);
	ck_assert(!local_end_output(rig.local_end, &data, &len));
	ck_assert_uint_eq(rig.outputs, 4);
	rig_frame(true, WS_TEXT, "later", 5);
	WAIT(rig.outputs == 5);
	ck_assert(IS_OUTPUT("later"));
	ck_assert(!local_end_is_over(rig.local_end));
}
END_TEST

/* A byte at a time. */
START_TEST(test_bytes)
{
	static const char	 text[] = "\x01\x02{\"\x89\x02pi\x80\x02\"}"
	    "\x81\x01x";
	size_t			 i;

	for (i = 0; i < sizeof(text) - 1; i++) {
		rig_raw(text + i, 1);
		rig_turn();
		rig_idle();
	}
	WAIT(rig.outputs == 1 && rig.pings == 1);
	ck_assert(IS_OUTPUT("{\"\"}"));
	WAIT(rig.pongs == 1);
	local_end_take(rig.local_end);
	WAIT(rig.outputs == 2);
	ck_assert(IS_OUTPUT("x"));
}
END_TEST

/* A child writes head, n bytes of "x" and tail, and waits for our end. */
static pid_t
writer(const void *head, size_t head_len, size_t n, const void *tail,
    size_t tail_len)
{
	static char	 some[65536];
	size_t		 part;
	pid_t		 pid;

	memset(some, 'x', sizeof(some));
	ck_assert_int_ne(pid = fork(), -1);
	if (pid != 0)
		return pid;
	if (send(rig.worker, head, head_len, MSG_NOSIGNAL) != (ssize_t)head_len)
		_exit(1);
	for (; n > 0; n -= part) {
		part = n < sizeof(some) ? n : sizeof(some);
		if (send(rig.worker, some, part, MSG_NOSIGNAL) != (ssize_t)part)
			_exit(2);
	}
	if (send(rig.worker, tail, tail_len, MSG_NOSIGNAL) != (ssize_t)tail_len)
		_exit(3);
	_exit(0);
}

static int
reaped(pid_t pid)
{
	int	 status;

	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	return status;
}

START_TEST(test_longest_output)
{
	uint8_t		 head[WS_HEADER_MAX];
	const uint8_t	*data;
	size_t		 n, len;
	pid_t		 pid;

	n = ws_header(head, true, WS_TEXT, LIMIT_MESSAGE, NULL);
	pid = writer(head, n, LIMIT_MESSAGE, "\x81\x02{}", 4);
	WAIT(rig.outputs == 1);
	ck_assert(local_end_output(rig.local_end, &data, &len));
	ck_assert_uint_eq(len, LIMIT_MESSAGE);
	ck_assert(data[0] == 'x' && memcmp(data, data + 1, len - 1) == 0);
	local_end_take(rig.local_end);
	WAIT(rig.outputs == 2);
	ck_assert(IS_OUTPUT("{}"));
	ck_assert_int_eq(reaped(pid), 0);
}
END_TEST

/* One byte more, in one frame or in several. */
START_TEST(test_too_long)
{
	uint8_t	 head[WS_HEADER_MAX], tail[WS_HEADER_MAX];
	size_t	 n, m;
	pid_t	 pid;
	bool	 is_one = _i == 0;

	n = ws_header(head, is_one, WS_TEXT, LIMIT_MESSAGE + (size_t)is_one,
	    NULL);
	m = ws_header(tail, true, WS_CONTINUATION, 1, NULL);
	pid = writer(head, n, LIMIT_MESSAGE, tail, is_one ? 0 : m);
	WAIT(local_end_is_over(rig.local_end));
	ck_assert_uint_eq(rig.outputs, 1);
	/* It has both ends, as we have, and would wait for us. */
	kill(pid, SIGKILL);
	(void)reaped(pid);
}
END_TEST

/* --- pings -----------------------------------------------------------------*/

START_TEST(test_pings)
{
	uint8_t	 payload[WS_CONTROL_MAX];
	size_t	 i, sizes[] = { 0, 1, 2, 124, 125 };

	for (i = 0; i < 5; i++) {
		randombytes_buf(payload, sizeof(payload));
		rig_frame(true, WS_PING, payload, sizes[i]);
		WAIT(rig.pongs == i + 1);
		ck_assert_uint_eq(rig.pong_len[i], sizes[i]);
		ck_assert_mem_eq(rig.pong_data[i], payload, sizes[i]);
	}
	ck_assert(rig.pings == 5 && rig.outputs == 0);
	/* Many at once: in order. */
	for (i = 0; i < 50; i++)
		rig_frame(true, WS_PING, &i, sizeof(i));
	WAIT(rig.pongs == 55);
	for (i = 0; i < 50; i++)
		ck_assert_mem_eq(rig.pong_data[5 + i], &i, sizeof(i));
	/* Pongs say nothing. */
	rig_frame(true, WS_PONG, "x", 1);
	rig_frame(true, WS_TEXT, "y", 1);
	WAIT(rig.outputs == 1);
	ck_assert(IS_OUTPUT("y"));
}
END_TEST

/* A ping asks about what was sent before it: that has to be taken first. */
START_TEST(test_ping_waits)
{
	rig.answers_pings = false;
	rig_frame(true, WS_TEXT, "one", 3);
	rig_frame(true, WS_PING, "p", 1);
	rig_frame(false, WS_TEXT, "t", 1);
	rig_frame(true, WS_PING, "q", 1);
	rig_frame(true, WS_CONTINUATION, "wo", 2);
	WAIT(rig.outputs == 1);
	rig_idle();
	ck_assert_uint_eq(rig.pings, 0);
	local_end_take(rig.local_end);
	ck_assert_uint_eq(rig.pings, 2);
	ck_assert(IS_OUTPUT("two"));
	rig_idle();
	rig_hear(SIZE_MAX);
	ck_assert_uint_eq(rig.pongs, 0);
	/* The oldest first, and no more than there are. */
	for (unsigned i = 0; i < 3; i++)
		local_end_pong(rig.local_end);
	WAIT(rig.pongs == 2);
	ck_assert(rig.pong_len[0] == 1 && rig.pong_data[0][0] == 'p');
	ck_assert(rig.pong_len[1] == 1 && rig.pong_data[1][0] == 'q');
	rig_idle();
	ck_assert_uint_eq(rig.pongs, 2);
}
END_TEST

/* Of too many that wait the first ones are answered, and the last. */
START_TEST(test_pings_replaced)
{
	uint8_t	 i;

	rig.answers_pings = false;
	for (i = 0; i < LOCAL_END_PINGS + 3; i++)
		rig_frame(true, WS_PING, &i, 1);
	WAIT(rig.pings == LOCAL_END_PINGS + 3);
	for (i = 0; i < LOCAL_END_PINGS + 3; i++)
		local_end_pong(rig.local_end);
	WAIT(rig.pongs == LOCAL_END_PINGS);
	for (i = 0; i < LOCAL_END_PINGS - 1; i++)
		ck_assert_uint_eq(rig.pong_data[i][0], i);
	ck_assert_uint_eq(rig.pong_data[i][0], LOCAL_END_PINGS + 2);
}
END_TEST

/* Pongs wait for the end of a frame, and not for that of a message. */
START_TEST(test_pong_between)
{
	static const char	 one = 1;

	rig_shrink();
	rig_say_random(8 * LIMIT_FRAGMENT);
	rig_idle();
	rig_frame(true, WS_PING, &one, 1);
	WAIT_READING(rig.pongs == 1, 100000);
	ck_assert_uint_eq(rig.got, 0);
	WAIT(rig.got == 1);
	ck_assert(!rig.is_bad && rig.at == 1);
}
END_TEST

/* A worker that asks and asks, and reads nothing: some answers get lost. */
START_TEST(test_ping_flood)
{
	size_t	 i;

	rig_shrink();
	rig_say_random(LIMIT_FRAGMENT);
	for (i = 0; i < 20000; i++) {
		rig_frame(true, WS_PING, &i, sizeof(i));
		if (i % 50 == 49)
			WAIT_READING(rig.pings == i + 1, 0);
	}
	rig_frame(true, WS_TEXT, "still here", 10);
	WAIT(rig.outputs == 1);
	ck_assert(IS_OUTPUT("still here"));
	WAIT(rig.got == 1);
	ck_assert(!rig.is_bad && !local_end_is_over(rig.local_end));
}
END_TEST

static TCase *
all_tests(void)
{
	TCase	*tc = tcase_create("all");

	tcase_set_timeout(tc, 120);
	tcase_add_checked_fixture(tc, rig_setup, rig_teardown);
	tcase_add_test(tc, test_messages);
	tcase_add_test(tc, test_partial_writes);
	tcase_add_test(tc, test_full);
	tcase_add_test(tc, test_longest);
	tcase_add_test(tc, test_output);
	tcase_add_test(tc, test_bytes);
	tcase_add_test(tc, test_longest_output);
	tcase_add_loop_test(tc, test_too_long, 0, 2);
	tcase_add_test(tc, test_pings);
	tcase_add_test(tc, test_ping_waits);
	tcase_add_test(tc, test_pings_replaced);
	tcase_add_test(tc, test_pong_between);
	tcase_add_test(tc, test_ping_flood);
	return tc;
}

int
main(void)
{
	Suite	*s = suite_create("local_end");
	SRunner	*sr;
	int	 failed;

	suite_add_tcase(s, all_tests());
	sr = srunner_create(s);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed == 0 ? 0 : 1;
}
