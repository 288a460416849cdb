/*
 * worker/fs/writeback.c: which files are written back, and when.  Clock and
 * kernel are ours.
 */
#include <sys/stat.h>

#include <check.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "worker/fs/writeback.h"

static struct writeback	 b;
static uint64_t		 now;
static char		 did[200];
static int		 removed;	/* a descriptor; or -1 */
static bool		 is_unreadable;

/* --- in the place of clock and kernel --- */

uint64_t
clock_ms(void)
{
	return now;
}

int
fstat(int fd, struct stat *st)
{
	memset(st, 0, sizeof(*st));
	st->st_nlink = fd != removed;
	return is_unreadable ? -1 : 0;
}

int
sync_file_range(int fd, off64_t offset, off64_t n, unsigned flags)
{
	size_t	 len = strlen(did);

	ck_assert(offset == 0 && n == 0 && flags == SYNC_FILE_RANGE_WRITE);
	ck_assert_uint_lt(len + 10, sizeof(did));
	snprintf(did + len, sizeof(did) - len, "%d ", fd - STDERR_FILENO);
	return -1;
}

/* --- the tests --- */

static void
setup(void)
{
	memset(&b, 0, sizeof(b));
	now = 1000;
	did[0] = '\0';
	removed = -1;
	is_unreadable = false;
}

static void
ck_did(const char *what)
{
	ck_assert_str_eq(did, what);
	did[0] = '\0';
}

/* Open the descriptor with this number after standard error, and give it. */
static void
add(int n)
{
	int	 fd = n + STDERR_FILENO;

	ck_assert_int_eq(dup2(STDERR_FILENO, fd), fd);
	writeback_add(&b, &fd);
	ck_assert_int_eq(fd, -1);
}

static bool
is_open(int n)
{
	return fcntl(n + STDERR_FILENO, F_GETFD) != -1;
}

/* In time counted from the first; all of them, and only once. */
START_TEST(test_due)
{
	int	 none = -1;

	writeback_add(&b, &none);
	writeback_flush(&b);
	ck_assert_int_eq(writeback_wait_ms(&b), -1);
	add(50);
	ck_assert_int_eq(writeback_wait_ms(&b), WRITEBACK_MS);
	now += WRITEBACK_MS - 1;
	ck_assert_int_eq(writeback_wait_ms(&b), 1);
	add(51);
	ck_assert_int_eq(writeback_wait_ms(&b), 1);
	now += 1;
	ck_assert_int_eq(writeback_wait_ms(&b), 0);
	now += 5;
	ck_assert_int_eq(writeback_wait_ms(&b), 0);
	ck_did("");
	ck_assert(is_open(50) && is_open(51));
	writeback_flush(&b);
	ck_did("51 50 ");
	ck_assert(!is_open(50) && !is_open(51));
	ck_assert_int_eq(writeback_wait_ms(&b), -1);
	writeback_flush(&b);
	ck_did("");
	/* The time begins anew. */
	add(50);
	ck_assert_int_eq(writeback_wait_ms(&b), WRITEBACK_MS);
	writeback_flush(&b);
}
END_TEST

/* With one more than there is room for all others are begun. */
START_TEST(test_full)
{
	int	 i;

	for (i = 0; i < WRITEBACK_FILES; i++)
		add(50 + i);
	ck_did("");
	now += 7;
	add(90);
	ck_did("65 64 63 62 61 60 59 58 57 56 55 54 53 52 51 50 ");
	for (i = 0; i < WRITEBACK_FILES; i++)
		ck_assert(!is_open(50 + i));
	ck_assert(is_open(90));
	ck_assert_int_eq(writeback_wait_ms(&b), WRITEBACK_MS);
	writeback_flush(&b);
	ck_did("90 ");
}
END_TEST

/* Not for a file that nobody can find any more; it is closed all the same. */
START_TEST(test_removed)
{
	removed = 50 + STDERR_FILENO;
	add(50);
	add(51);
	writeback_flush(&b);
	ck_did("51 ");
	ck_assert(!is_open(50) && !is_open(51));
	is_unreadable = true;
	add(52);
	writeback_flush(&b);
	ck_did("");
	ck_assert(!is_open(52));
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("writeback");
	TCase	*t = tcase_create("writeback");
	SRunner	*sr;
	int	 failed;

	tcase_add_checked_fixture(t, setup, NULL);
	tcase_add_test(t, test_due);
	tcase_add_test(t, test_full);
	tcase_add_test(t, test_removed);
	suite_add_tcase(s, t);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
