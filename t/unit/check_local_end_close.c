/* master/uplink/local_end_worker.c: how a worker may end, or misbehave. */
#include <sys/socket.h>

#include <fcntl.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/limit.h"
#include "t/unit/local_end_help.h"

/* --- the end ---------------------------------------------------------------*/

START_TEST(test_close)
{
	rig_frame(true, WS_TEXT, "last", 4);
	rig_frame(true, WS_CLOSE, "\x03\xe8" "bye", 5);
	rig_frame(true, WS_TEXT, "beyond", 6);
	WAIT(rig.outputs == 1);
	ck_assert(IS_OUTPUT("last"));
	ck_assert(!local_end_is_over(rig.local_end));
	local_end_take(rig.local_end);
	ck_assert_uint_eq(rig.outputs, 2);
	ck_assert(local_end_is_over(rig.local_end));
	/* Nothing works any more, and nothing breaks. */
	rig_say("x", 1);
	local_end_pong(rig.local_end);
	local_end_push(rig.local_end);
	rig_idle();
	rig_hear(SIZE_MAX);
	ck_assert(local_end_is_over(rig.local_end) && rig.got == 0 &&
	    rig.pongs == 0);
	ck_assert_uint_eq(rig.outputs, 2);
}
END_TEST

static const struct {
	const char	*data;
	size_t		 len;
} garbage[] = {
#define G(text)	{ text, sizeof(text) - 1 }
	G("HTTP/1.1 101 Switching Protocols\r\n\r\n"),
	G("\x81\x81\0\0\0\0x"),			/* masked */
	G("\xc1\x01x"), G("\xa1\x01x"), G("\x91\x01x"),	/* RSV 1 to 3 */
	G("\x83\x00"), G("\x87\x00"), G("\x8b\x00"), G("\x8f\x00"),
	G("\x80\x01x"),				/* nothing to continue */
	G("\x01\x01x\x81\x01y"),
	G("\x09\x00"), G("\x89\x7e\x00\x7e"),	/* pings cut, and too long */
	G("\x81\x7e\x00\x01x"),			/* lengths not minimal */
	G("\x81\x7f\x00\x00\x00\x00\x00\x00\xff\xff"),
	G("\x81\x7f\x80\x00\x00\x00\x00\x00\x00\x00"),
	G("\x81\x7f\x7f\xff\xff\xff\xff\xff\xff\xff"),
	G("\x88\x01x"), G("\x88\x02\x03\xed"),	/* close of one byte, 1005 */
	G("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"),
#undef G
};

/* The local end is over, once, whatever follows. */
START_TEST(test_garbage)
{
	rig_raw("\x81\x02ok", 4);
	rig_raw(garbage[_i].data, garbage[_i].len);
	WAIT(rig.outputs == 1);
	ck_assert(IS_OUTPUT("ok"));
	local_end_take(rig.local_end);
	ck_assert_uint_eq(rig.outputs, 2);
	ck_assert(local_end_is_over(rig.local_end));
	rig_raw("\x81\x02{}", 4);
	rig_idle();
	ck_assert_uint_eq(rig.outputs, 2);
}
END_TEST

START_TEST(test_noise)
{
	uint8_t	 noise[4096];

	randombytes_buf(noise, sizeof(noise));
	noise[0] = 0x70;
	rig_raw(noise, sizeof(noise));
	WAIT(local_end_is_over(rig.local_end));
	ck_assert_uint_eq(rig.outputs, 1);
}
END_TEST

/* All that it said counts, also what was not read when it went. */
START_TEST(test_hangup)
{
	int	 i;

	rig_frame(true, WS_TEXT, "one", 3);
	if (_i == 1) {
		WAIT(rig.outputs == 1);
	}
	for (i = 0; i < 100; i++)
		rig_frame(true, WS_TEXT, &"0123456789"[i % 10], 1);
	rig_frame(true, WS_TEXT, "cut off", 7);
	rig_raw("\x81\x7dhalf", 6);
	fd_close(&rig.worker);
	rig_idle();
	WAIT(rig.outputs == 1);
	ck_assert_uint_eq(rig.outputs, 1);
	ck_assert(IS_OUTPUT("one"));
	ck_assert(!local_end_is_over(rig.local_end));
	for (i = 0; i < 100; i++) {
		local_end_take(rig.local_end);
		ck_assert(rig_is_output(&"0123456789"[i % 10], 1));
		if (i % 10 == 0)
			rig_idle();
	}
	local_end_take(rig.local_end);
	ck_assert(IS_OUTPUT("cut off"));
	local_end_take(rig.local_end);
	ck_assert(local_end_is_over(rig.local_end));
	ck_assert_uint_eq(rig.outputs, 103);
}
END_TEST

/* With nothing said, and with half of something. */
START_TEST(test_hangup_only)
{
	if (_i == 1)
		rig_frame(false, WS_TEXT, "half", 4);
	if (_i == 2)
		rig_idle();
	fd_close(&rig.worker);
	WAIT(local_end_is_over(rig.local_end));
	rig_idle();
	ck_assert_uint_eq(rig.outputs, 1);
}
END_TEST

/* While it is being written to; what was not delivered stays where it was. */
START_TEST(test_hangup_writing)
{
	rig_say_random(4 * LIMIT_FRAGMENT);
	WAIT_READING(rig.firsts > 0, 1000);
	rig_frame(true, WS_TEXT, "why", 3);
	fd_close(&rig.worker);
	WAIT(rig.outputs == 1);
	ck_assert(IS_OUTPUT("why"));
	local_end_push(rig.local_end);
	local_end_take(rig.local_end);
	ck_assert(local_end_is_over(rig.local_end) && rig.at == 0);
	rig_ck_calm();
}
END_TEST

/* It still talks. */
START_TEST(test_half_closed)
{
	rig_frame(true, WS_TEXT, "x", 1);
	ck_assert_int_eq(shutdown(rig.worker, SHUT_WR), 0);
	WAIT(rig.outputs == 1);
	local_end_take(rig.local_end);
	ck_assert(local_end_is_over(rig.local_end));
	rig_ck_calm();
}
END_TEST

/*
 * A worker that will never read again, and stays: no reason to ask and ask
 * whether it can be written to.
 */
START_TEST(test_deaf)
{
	ck_assert_int_eq(shutdown(rig.worker, SHUT_RD), 0);
	rig_say("x", 1);
	rig_idle();
	rig_ck_calm();
}
END_TEST

/* --- others ----------------------------------------------------------------*/

static const char	 ping[127] = "\x89\x7d" "again";
static unsigned		 more;

/* The next one is there when this one was read. */
static void
on_ping_again(void *arg)
{
	MUST(arg == &rig);
	rig.pings++;
	if (more > 0 && --more > 0)
		MUST(write(rig.worker, ping, sizeof(ping)) == sizeof(ping));
}

static const struct local_end_events	 again_events = {
	NULL, NULL, NULL, on_ping_again
};

/* One that never stops to talk does not stop everybody else. */
START_TEST(test_talker)
{
	rig_stop();
	rig_start(&again_events);
	more = 32 * 1024 * 1024 / sizeof(ping);
	rig_raw(ping, sizeof(ping));
	while (rig.pings == 0)
		rig_turn();
	ck_assert_msg(more > 0, "%u pings in one turn", rig.pings);
	more = 1;
	WAIT(more == 0);
	ck_assert(!local_end_is_over(rig.local_end));
}
END_TEST

#define LEGS	200		/* LIMIT_STREAMS, and more */

struct one {
	struct local_end	*local_end;
	int		 fd;
	bool		 is_told;
	unsigned	 outputs;
};

static bool
one_first(void *arg, uint8_t **data_out, size_t *len_out)
{
	static uint8_t	 text[] = "hello";

	*data_out = text;
	*len_out = sizeof(text) - 1;
	return !((struct one *)arg)->is_told;
}

static void
one_drop(void *arg)
{
	((struct one *)arg)->is_told = true;
}

static void
one_output(void *arg)
{
	((struct one *)arg)->outputs++;
}

static const struct local_end_events	 one_events = {
	one_first, one_drop, one_output, one_output
};

static size_t
count_fds(void)
{
	size_t	 n = 0;
	int	 fd;

	for (fd = 0; fd < 1024; fd++)
		n += fcntl(fd, F_GETFD) != -1;
	return n;
}

/* Many at a time; nothing is left of them. */
START_TEST(test_many)
{
	static struct one	 all[LEGS];
	char			 room[64];
	const uint8_t		*data;
	size_t			 i, n, len, before = count_fds();

	for (i = 0; i < LEGS; i++) {
		all[i].local_end = local_end_to_worker(&rig.loop, &one_events,
		    &all[i], &all[i].fd);
		ck_assert_ptr_nonnull(all[i].local_end);
		local_end_push(all[i].local_end);
		ck_assert(all[i].is_told);
		ck_assert_int_eq(write(all[i].fd, "\x81\x01y", 3), 3);
	}
	WAIT(all[0].outputs == 1 && all[LEGS - 1].outputs == 1);
	rig_idle();
	for (i = 0; i < LEGS; i++) {
		n = i * 7 % LEGS;
		ck_assert_uint_eq(all[n].outputs, 1);
		ck_assert(local_end_output(all[n].local_end, &data, &len) &&
		    len == 1);
		ck_assert_int_eq(read(all[n].fd, room, sizeof(room)), 11);
		if (i % 2 == 0)
			local_end_take(all[n].local_end);
		if (i % 3 == 0)
			fd_close(&all[n].fd);
		local_end_free(&all[n].local_end);
		fd_close(&all[n].fd);
	}
	WAIT(count_fds() == before);
	/* The first of all did not notice. */
	rig_say("x", 1);
	WAIT(rig.got == 1);
}
END_TEST

/* In the middle of anything. */
START_TEST(test_free)
{
	int	 i;

	for (i = 0; i < 200; i++) {
		rig_say_random(i % 2 == 0 ? 2 * LIMIT_FRAGMENT : 1);
		rig_frame(true, WS_PING, "p", 1);
		rig_frame(i % 3 != 0, WS_TEXT, "x", 1);
		if (i % 5 == 0)
			fd_close(&rig.worker);
		for (; i % 7 > 0; i++)
			rig_turn();
		rig_stop();
		if (i % 4 == 0)
			rig_idle();
		while (rig.nto > 0)
			free(rig.to[--rig.nto].data);
		rig.at = rig.got = 0;
		rig.is_bad = false;
		rig_start(NULL);
	}
}
END_TEST

static TCase *
all_tests(void)
{
	TCase	*tc = tcase_create("all");

	tcase_set_timeout(tc, 120);
	tcase_add_checked_fixture(tc, rig_setup, rig_teardown);
	tcase_add_test(tc, test_close);
	tcase_add_loop_test(tc, test_garbage, 0,
	    (int)(sizeof(garbage) / sizeof(garbage[0])));
	tcase_add_test(tc, test_noise);
	tcase_add_loop_test(tc, test_hangup, 0, 2);
	tcase_add_loop_test(tc, test_hangup_only, 0, 3);
	tcase_add_test(tc, test_hangup_writing);
	tcase_add_test(tc, test_half_closed);
	tcase_add_test(tc, test_deaf);
	tcase_add_test(tc, test_talker);
	tcase_add_test(tc, test_many);
	tcase_add_test(tc, test_free);
	return tc;
}

int
main(void)
{
	Suite	*s = suite_create("local_end_close");
	SRunner	*sr;
	int	 failed;

	suite_add_tcase(s, all_tests());
	sr = srunner_create(s);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed == 0 ? 0 : 1;
}
