#include "common/buf.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <check.h>

static struct buf	 b;

static void
start(void)
{
	buf_init(&b, 4096);
}

static void
stop(void)
{
	buf_fini(&b);
}

START_TEST(test_empty)
{
	ck_assert_ptr_null(b.base);
	ck_assert_uint_eq(b.len, 0);
	ck_assert_uint_eq(b.max, 4096);
	ck_assert_int_eq(buf_put(&b, NULL, 0), 0);
	ck_assert_ptr_null(b.base);
	buf_drain(&b, 0);
	buf_trim(&b, 0);
	buf_commit(&b, 0);
	ck_assert_uint_eq(b.len, 0);
}
END_TEST

START_TEST(test_put_and_drain)
{
	ck_assert_int_eq(buf_put(&b, "hello ", 6), 0);
	ck_assert_int_eq(buf_put(&b, "world", 5), 0);
	ck_assert_uint_eq(b.len, 11);
	ck_assert_mem_eq(buf_data(&b), "hello world", 11);
	buf_drain(&b, 6);
	ck_assert_uint_eq(b.len, 5);
	ck_assert_mem_eq(buf_data(&b), "world", 5);
	buf_drain(&b, 5);
	ck_assert_uint_eq(b.len, 0);
	ck_assert_uint_eq(b.off, 0);
}
END_TEST

START_TEST(test_move)
{
	struct buf	 from;
	uint8_t		*base;

	buf_init(&from, 100);
	ck_assert_int_eq(buf_put(&from, "xhello", 6), 0);
	buf_drain(&from, 1);
	base = from.base;
	ck_assert_int_eq(buf_put(&b, "old", 3), 0);
	buf_move(&b, &from);
	ck_assert_ptr_eq(b.base, base);
	ck_assert_uint_eq(b.len, 5);
	ck_assert_mem_eq(buf_data(&b), "hello", 5);
	ck_assert_uint_eq(b.max, 4096);
	ck_assert_ptr_null(from.base);
	ck_assert_uint_eq(from.len, 0);
	ck_assert_uint_eq(from.max, 100);
	buf_move(&b, &from);
	ck_assert_uint_eq(b.len, 0);
	ck_assert_ptr_null(b.base);
}
END_TEST

START_TEST(test_reserve)
{
	char	*room;

	room = buf_reserve(&b, 100);
	ck_assert_ptr_nonnull(room);
	ck_assert_uint_eq(b.len, 0);
	memset(room, 'x', 100);
	buf_commit(&b, 3);
	ck_assert_uint_eq(b.len, 3);
	ck_assert_mem_eq(buf_data(&b), "xxx", 3);
	ck_assert_ptr_nonnull(buf_reserve(&b, 0));
	ck_assert_int_eq(buf_put(&b, "y", 1), 0);
	ck_assert_mem_eq(buf_data(&b), "xxxy", 4);
}
END_TEST

/* The ceiling holds to the byte, and a refusal changes nothing. */
START_TEST(test_ceiling)
{
	static char	 big[4097];

	errno = 0;
	ck_assert_int_eq(buf_put(&b, big, 4097), -1);
	ck_assert_int_eq(errno, EFBIG);
	ck_assert_ptr_null(b.base);
	ck_assert_int_eq(buf_put(&b, "first", 5), 0);
	ck_assert_int_eq(buf_put(&b, big, 4092), -1);
	ck_assert_ptr_null(buf_reserve(&b, SIZE_MAX));
	ck_assert_int_eq(errno, EFBIG);
	ck_assert_uint_eq(b.len, 5);
	ck_assert_mem_eq(buf_data(&b), "first", 5);
	ck_assert_int_eq(buf_put(&b, big, 4091), 0);
	ck_assert_int_eq(buf_put(&b, "x", 1), -1);
	ck_assert_ptr_null(buf_reserve(&b, 1));
	ck_assert_ptr_nonnull(buf_reserve(&b, 0));
	/* it is for what is held, not for what went through */
	buf_drain(&b, 1000);
	ck_assert_int_eq(buf_put(&b, big, 1000), 0);
	ck_assert_int_eq(buf_put(&b, "x", 1), -1);
}
END_TEST

START_TEST(test_ceiling_zero)
{
	buf_init(&b, 0);
	ck_assert_int_eq(buf_put(&b, "x", 1), -1);
	ck_assert_int_eq(errno, EFBIG);
	ck_assert_int_eq(buf_put(&b, "x", 0), 0);
}
END_TEST

START_TEST(test_fini_and_again)
{
	ck_assert_int_eq(buf_put(&b, "x", 1), 0);
	buf_fini(&b);
	ck_assert_ptr_null(b.base);
	ck_assert_uint_eq(b.len, 0);
	ck_assert_uint_eq(b.cap, 0);
	ck_assert_uint_eq(b.max, 4096);
	ck_assert_int_eq(buf_put(&b, "y", 1), 0);
	ck_assert_mem_eq(buf_data(&b), "y", 1);
	buf_fini(&b);
	buf_fini(&b);
}
END_TEST

/* Memory goes only when nothing is held and it is more than said. */
START_TEST(test_trim)
{
	static char	 big[3000];

	ck_assert_int_eq(buf_put(&b, big, sizeof(big)), 0);
	buf_trim(&b, 0);
	ck_assert_uint_eq(b.len, sizeof(big));
	buf_drain(&b, sizeof(big));
	buf_trim(&b, b.cap);
	ck_assert_ptr_nonnull(b.base);
	buf_trim(&b, b.cap - 1);
	ck_assert_ptr_null(b.base);
	ck_assert_uint_eq(b.max, 4096);
	ck_assert_int_eq(buf_put(&b, "x", 1), 0);
}
END_TEST

/* A queue that never holds much never allocates much. */
START_TEST(test_steady_queue_stays_small)
{
	char	 chunk[100];
	int	 i;

	memset(chunk, 'c', sizeof(chunk));
	ck_assert_int_eq(buf_put(&b, chunk, sizeof(chunk)), 0);
	for (i = 0; i < 10000; i++) {
		ck_assert_int_eq(buf_put(&b, chunk, sizeof(chunk)), 0);
		buf_drain(&b, sizeof(chunk));
	}
	ck_assert_uint_eq(b.len, sizeof(chunk));
	ck_assert_uint_le(b.cap, 2048);
}
END_TEST

/* Anything in any order, beside a plain array that says what must be held. */
START_TEST(test_model)
{
	static uint8_t	 model[4096], chunk[4096];
	size_t		 held = 0, n, i;
	unsigned int	 seed = (unsigned int)_i + 1;
	uint8_t		 next = 0, *room;
	int		 step;

	for (step = 0; step < 20000; step++) {
		/* mostly small, at times up to the ceiling and beyond */
		n = (size_t)rand_r(&seed) % (step % 7 == 0 ? 4200 : 300);
		switch (rand_r(&seed) % 4) {
		case 0:
		case 1:
			if (n > sizeof(chunk) || held + n > sizeof(model)) {
				ck_assert_ptr_null(buf_reserve(&b, n));
				break;
			}
			for (i = 0; i < n; i++)
				chunk[i] = next++;
			memcpy(model + held, chunk, n);
			held += n;
			if (step % 2 == 0) {
				ck_assert_int_eq(buf_put(&b, chunk, n), 0);
				break;
			}
			room = buf_reserve(&b, n);
			ck_assert_ptr_nonnull(room);
			memcpy(room, chunk, n);
			buf_commit(&b, n);
			break;
		case 2:
			n = n > held ? held : n;
			buf_drain(&b, n);
			held -= n;
			memmove(model, model + n, held);
			break;
		default:
			buf_trim(&b, 600);
		}
		ck_assert_uint_eq(b.len, held);
		ck_assert_uint_le(b.off + b.len, b.cap);
		if (held > 0)
			ck_assert_mem_eq(buf_data(&b), model, held);
	}
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("buf");
	TCase	*tc = tcase_create("buf");
	SRunner	*sr;
	int	 failed;

	tcase_add_checked_fixture(tc, start, stop);
	tcase_set_timeout(tc, 60);
	tcase_add_test(tc, test_empty);
	tcase_add_test(tc, test_put_and_drain);
	tcase_add_test(tc, test_move);
	tcase_add_test(tc, test_reserve);
	tcase_add_test(tc, test_ceiling);
	tcase_add_test(tc, test_ceiling_zero);
	tcase_add_test(tc, test_fini_and_again);
	tcase_add_test(tc, test_trim);
	tcase_add_test(tc, test_steady_queue_stays_small);
	tcase_add_loop_test(tc, test_model, 0, 8);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
