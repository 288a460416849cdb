/* worker/proc/procin.c behind a pipe or terminal: order, limits, the end. */
#include <sys/resource.h>

#include <check.h>
#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/limit.h"
#include "worker/proc/procin.h"

#define MANY	8

/* Requests are only ever passed on: numbers that look like pointers. */
static char		 tokens[MANY];
static unsigned		 told[MANY];
static size_t		 parked;
static struct event_base *base;
static struct procin	 in;
static int		 ends[2];

static struct rpc_req *
req(unsigned i)
{
	return (struct rpc_req *)(void *)&tokens[i];
}

static void
on_room(void *arg, struct rpc_req *r)
{
	(void)arg;
	told[(char *)(void *)r - tokens]++;
}

static void
setup(void)
{
	signal(SIGPIPE, SIG_IGN);
	memset(told, 0, sizeof(told));
	parked = 0;
	ck_assert((base = event_base_new()) != NULL);
	ck_assert_int_eq(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
	procin_init(&in, base, ends[1], false, &parked, on_room,
	    NULL);
}

static void
teardown(void)
{
	procin_fini(&in);
	fd_close(&ends[0]);
	event_base_free(base);
}

/* Fill the pipe, and the queue up to len bytes, which takes patience. */
static void
fill(size_t len)
{
	char	*data = calloc(1, LIMIT_STDIN_QUEUE);

	while (in.queue.len == 0)
		ck_assert_int_eq(procin_write(&in, data, 4096, NULL),
		    PROCIN_ACCEPTED);
	while (in.queue.len < len) {
		procin_write(&in, data, len - in.queue.len, NULL);
		while (parked > 0)
			event_base_loop(base, EVLOOP_ONCE);
	}
	ck_assert_uint_eq(in.queue.len, len);
	free(data);
}

static size_t
drain_pipe(void)
{
	char	 sink[65536];
	ssize_t	 n;
	size_t	 sum = 0;

	while ((n = read(ends[0], sink, sizeof(sink))) > 0)
		sum += (size_t)n;
	return sum;
}

/* 1 when the id is known, else what remembering it says. */
static int
remember(const char *id, size_t len)
{
	return procin_has_id(&in, id, len) ? 1 : procin_remember(&in, id, len);
}

START_TEST(test_order)
{
	unsigned char	*got, next = 0;
	size_t		 total = 0, len, k;
	ssize_t		 n;
	unsigned char	 piece[5000], value = 0;
	unsigned	 i;

	for (i = 0; i < 400; i++) {
		len = i * 37 % sizeof(piece) + 1;
		for (k = 0; k < len; k++)
			piece[k] = value++;
		ck_assert_int_le(procin_write(&in, piece, len, NULL),
		    PROCIN_PARKED);
		total += len;
	}
	got = malloc(65536);
	while (total > 0) {
		event_base_loop(base, EVLOOP_NONBLOCK);
		if ((n = read(ends[0], got, 65536)) <= 0)
			continue;
		for (k = 0; k < (size_t)n; k++)
			if (got[k] != next++)
				ck_abort_msg("out of order");
		total -= (size_t)n;
	}
	free(got);
	ck_assert_uint_eq(in.queue.len, 0);
	ck_assert_uint_eq(parked, 0);
}
END_TEST

/* Without room a request waits, is told once, and its data keep their turn. */
START_TEST(test_parked)
{
	char	*data = calloc(1, LIMIT_STDIN_QUEUE);
	size_t	 sum = 0, want;

	fill(LIMIT_STDIN_QUEUE);
	want = in.written + in.queue.len;
	ck_assert(!procin_has_room(&in, 1));
	ck_assert_int_eq(procin_write(&in, data, 1000, req(0)), PROCIN_PARKED);
	ck_assert_int_eq(procin_write(&in, data, 1, req(1)), PROCIN_PARKED);
	ck_assert_int_eq(procin_write(&in, data, 1, NULL), PROCIN_PARKED);
	ck_assert_uint_eq(parked, 1002);
	while (parked > 0 || in.queue.len > 0) {
		sum += drain_pipe();
		event_base_loop(base, EVLOOP_NONBLOCK);
	}
	sum += drain_pipe();
	ck_assert_uint_eq(sum, want + 1002);
	ck_assert_uint_eq(told[0], 1);
	ck_assert_uint_eq(told[1], 1);
	free(data);
}
END_TEST

/* Of a reader that keeps up little is queued, and nothing waits for long. */
START_TEST(test_keeps_up)
{
	char	*data = calloc(1, 65536);
	size_t	 sum = 0, n = 0, waits = 0;

	while (waits < 3) {
		while (parked == 0) {
			waits += procin_write(&in, data, 65536, req(0)) ==
			    PROCIN_PARKED;
			n++;
			ck_assert_uint_le(in.queue.len, LIMIT_STDIN_READ);
		}
		ck_assert_uint_gt(in.queue.len, LIMIT_STDIN_READ - 65536);
		ck_assert(timer_is_set(&in.patience));
		while (parked > 0) {
			sum += drain_pipe();
			io_fire(&in.write_ev);
			event_base_loop(base, EVLOOP_NONBLOCK);
		}
		ck_assert(!timer_is_set(&in.patience));
		ck_assert_uint_eq(told[0], waits);
	}
	procin_end(&in);
	while (in.fd != -1) {
		sum += drain_pipe();
		event_base_loop(base, EVLOOP_NONBLOCK);
	}
	ck_assert_uint_eq(sum + drain_pipe(), n * 65536);
	free(data);
}
END_TEST

/* Of one that does not, as much as the limit says; until it does again. */
START_TEST(test_patience)
{
	char	*data = calloc(1, LIMIT_STDIN_QUEUE);

	fill(LIMIT_STDIN_READ);
	ck_assert(!procin_has_room(&in, 1));
	ck_assert_int_eq(procin_write(&in, data, 1, req(0)), PROCIN_PARKED);
	event_base_loop(base, EVLOOP_NONBLOCK);
	ck_assert_uint_eq(told[0], 0);
	while (told[0] == 0)
		event_base_loop(base, EVLOOP_ONCE);
	ck_assert_uint_eq(in.queue.len, LIMIT_STDIN_READ + 1);
	ck_assert(procin_has_room(&in, LIMIT_STDIN_QUEUE - in.queue.len));
	ck_assert(!procin_has_room(&in, LIMIT_STDIN_QUEUE - in.queue.len + 1));
	while (in.queue.len >= LIMIT_STDIN_READ / 2) {
		ck_assert(procin_has_room(&in, LIMIT_STDIN_QUEUE / 2));
		drain_pipe();
		event_base_loop(base, EVLOOP_ONCE);
	}
	ck_assert(!procin_has_room(&in, LIMIT_STDIN_READ - in.queue.len + 1));
	/* It reads again before the patience of one that waits is over. */
	ck_assert_int_eq(procin_write(&in, data, LIMIT_STDIN_READ, req(1)),
	    PROCIN_PARKED);
	while (in.queue.len > 0 && told[1] == 0) {
		drain_pipe();
		io_fire(&in.write_ev);
		event_base_loop(base, EVLOOP_NONBLOCK);
	}
	ck_assert_uint_eq(in.queue_max, LIMIT_STDIN_READ);
	free(data);
}
END_TEST

START_TEST(test_full)
{
	char		*data = calloc(1, LIMIT_STDIN_PARKED);

	fill(LIMIT_STDIN_QUEUE);
	ck_assert_int_eq(procin_write(&in, data, LIMIT_STDIN_PARKED, req(0)),
	    PROCIN_PARKED);
	ck_assert_int_eq(procin_write(&in, data, 1, req(1)), PROCIN_FULL);
	free(data);
	procin_discard(&in);
	ck_assert_uint_eq(parked, 0);
	ck_assert_uint_eq(told[0], 1);
	ck_assert_uint_eq(told[1], 0);
}
END_TEST

START_TEST(test_end)
{
	char	 byte;

	ck_assert_int_eq(procin_write(&in, "abc", 3, NULL), PROCIN_ACCEPTED);
	procin_end(&in);
	ck_assert_int_eq(in.fd, -1);
	ck_assert_uint_eq(drain_pipe(), 3);
	ck_assert_int_eq(read(ends[0], &byte, 1), 0);
	/* Accepted and lost. */
	ck_assert_int_eq(procin_write(&in, "abc", 3, NULL), PROCIN_ACCEPTED);
}
END_TEST

/* The end comes behind all that waits. */
START_TEST(test_end_behind)
{
	char	*data = calloc(1, 5000), byte;
	size_t	 sum = 0, want;

	fill(LIMIT_STDIN_QUEUE);
	ck_assert_int_eq(procin_write(&in, data, 5000, req(0)), PROCIN_PARKED);
	want = in.written + in.queue.len + 5000;
	procin_end(&in);
	ck_assert(in.fd != -1 && in.closing);
	while (in.fd != -1) {
		sum += drain_pipe();
		event_base_loop(base, EVLOOP_NONBLOCK);
	}
	sum += drain_pipe();
	ck_assert_uint_eq(sum, want);
	ck_assert_int_eq(read(ends[0], &byte, 1), 0);
	ck_assert_uint_eq(told[0], 1);
	free(data);
}
END_TEST

START_TEST(test_reader_gone)
{
	fill(LIMIT_STDIN_QUEUE);
	ck_assert_int_eq(procin_write(&in, "x", 1, req(0)), PROCIN_PARKED);
	fd_close(&ends[0]);
	event_base_loop(base, EVLOOP_ONCE);
	ck_assert_int_eq(in.fd, -1);
	ck_assert_uint_eq(in.queue.len, 0);
	ck_assert_uint_eq(parked, 0);
	ck_assert_uint_eq(told[0], 1);
	ck_assert_int_eq(procin_write(&in, "x", 1, NULL), PROCIN_ACCEPTED);
}
END_TEST

/*
 * The reader takes all of the queue and is gone at the next write, which is
 * that of a request that waits.  A file with a size limit stands for it.
 */
START_TEST(test_reader_gone_between)
{
	char		 name[] = "/tmp/check_input.XXXXXX";
	char		*data = calloc(1, LIMIT_STDIN_QUEUE);
	struct rlimit	 rl;
	int		 file;

	fill(LIMIT_STDIN_QUEUE / 2);
	ck_assert_int_eq(procin_write(&in, data, LIMIT_STDIN_QUEUE, req(0)),
	    PROCIN_PARKED);
	ck_assert_int_eq(procin_write(&in, data, 10, req(1)), PROCIN_PARKED);
	signal(SIGXFSZ, SIG_IGN);
	rl.rlim_cur = rl.rlim_max = in.queue.len;
	ck_assert((file = mkstemp(name)) != -1);
	unlink(name);
	ck_assert_int_ne(dup2(file, in.fd), -1);
	close(file);
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &rl), 0);
	io_fire(&in.write_ev);
	event_base_loop(base, EVLOOP_NONBLOCK);
	ck_assert_int_eq(in.fd, -1);
	ck_assert_uint_eq(told[0], 1);
	ck_assert_uint_eq(told[1], 1);
	ck_assert_uint_eq(parked, 0);
	free(data);
}
END_TEST

/* One write larger than the queue may be is taken by an empty one. */
START_TEST(test_large)
{
	size_t	 len = (size_t)LIMIT_STDIN_QUEUE * 2, sum = 0;
	char	*data = calloc(1, len);

	ck_assert_int_eq(procin_write(&in, data, len, req(0)), PROCIN_ACCEPTED);
	ck_assert(!procin_has_room(&in, 1));
	while (in.queue.len > 0) {
		sum += drain_pipe();
		event_base_loop(base, EVLOOP_NONBLOCK);
	}
	ck_assert_uint_eq(sum + drain_pipe(), len);
	free(data);
}
END_TEST

START_TEST(test_write_ids)
{
	char		 id[200], longer[300];
	unsigned	 i;

	memset(longer, 'x', sizeof(longer));
	ck_assert_int_eq(remember("a", 1), 0);
	ck_assert_int_eq(remember("a", 1), 1);
	ck_assert_int_eq(remember("a\0b", 3), 0);
	ck_assert_int_eq(remember(longer, 300), 0);
	ck_assert_int_eq(remember(longer, 299), 0);
	ck_assert_int_eq(remember(longer, 300), 1);
	for (i = 0; i < LIMIT_WRITE_IDS; i++) {
		snprintf(id, sizeof(id), "id %u", i);
		ck_assert_int_eq(remember(id, strlen(id)), 0);
	}
	ck_assert_uint_eq(in.nids, LIMIT_WRITE_IDS);
	ck_assert_int_eq(remember("id 0", 4), 1);
	ck_assert_int_eq(remember("a", 1), 0);
	/* That one took the place of the oldest. */
	ck_assert_int_eq(remember("id 0", 4), 0);
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("procin");
	TCase	*t = tcase_create("procin");
	SRunner	*r;
	int	 failed;

	tcase_set_timeout(t, 60);
	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, test_order);
	tcase_add_test(t, test_parked);
	tcase_add_test(t, test_keeps_up);
	tcase_add_test(t, test_patience);
	tcase_add_test(t, test_full);
	tcase_add_test(t, test_end);
	tcase_add_test(t, test_end_behind);
	tcase_add_test(t, test_reader_gone);
	tcase_add_test(t, test_reader_gone_between);
	tcase_add_test(t, test_large);
	tcase_add_test(t, test_write_ids);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed != 0;
}
