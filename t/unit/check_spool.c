/*
 * worker/proc/spool.c: pieces under random allocation beside what was written
 * to them, and that the disk gets back what is freed.
 */
#include <sys/resource.h>
#include <sys/stat.h>

#include <check.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "worker/proc/spool.h"

#define PIECES		64
#define STEPS		20000
#define BIG		70000

static struct {
	uint8_t			*at;
	size_t			 len;
	int			 fill;
	struct spool_part	*part;
} pieces[PIECES];

static off_t
on_disk(const struct spool *s)
{
	struct stat	 st;

	ck_assert_int_eq(fstat(s->fd, &st), 0);
	return st.st_blocks * 512;
}

static void
look(size_t i)
{
	size_t	 k;

	for (k = 0; k < pieces[i].len; k += 997)
		if (pieces[i].at[k] != pieces[i].fill)
			ck_abort_msg("piece %zu, byte %zu", i, k);
}

START_TEST(test_random)
{
	struct spool	 s;
	size_t		 i, step;

	srand((unsigned)_i);
	spool_init(&s);
	memset(pieces, 0, sizeof(pieces));
	for (step = 0; step < STEPS; step++) {
		i = (size_t)rand() % PIECES;
		if (pieces[i].at != NULL) {
			look(i);
			spool_free(&s, pieces[i].part);
			pieces[i].at = NULL;
			continue;
		}
		pieces[i].len = (size_t)rand() % BIG + 1;
		pieces[i].fill = rand() % 256;
		pieces[i].at = spool_alloc(&s, pieces[i].len, &pieces[i].part);
		ck_assert_ptr_nonnull(pieces[i].at);
		ck_assert_uint_eq((uintptr_t)pieces[i].at %
		    sizeof(max_align_t), 0);
		memset(pieces[i].at, pieces[i].fill, pieces[i].len);
	}
	/* Each piece may keep a part, and one is in use. */
	ck_assert_int_le(on_disk(&s), (PIECES + 1) * (off_t)SPOOL_PART);
	for (i = 0; i < PIECES; i++)
		if (pieces[i].at != NULL) {
			look(i);
			spool_free(&s, pieces[i].part);
		}
	ck_assert_int_lt(on_disk(&s), 2 * (off_t)SPOOL_PART);
	spool_fini(&s);
	ck_assert_int_eq(s.fd, -1);
}
END_TEST

static long
faults(void)
{
	struct rusage	 ru;

	ck_assert_int_eq(getrusage(RUSAGE_SELF, &ru), 0);
	return ru.ru_minflt;
}

/* What is copied is there, without a page fault for each page. */
START_TEST(test_write)
{
	static uint8_t		 data[64 * 1024 - 5];
	struct spool		 s;
	struct spool_part	*part;
	uint8_t			*first, *at = NULL;
	long			 before = 0;
	size_t			 i;

	spool_init(&s);
	memset(data, 'a', sizeof(data));
	first = spool_alloc(&s, sizeof(data), &part);
	ck_assert_ptr_nonnull(first);
	spool_write(&s, part, first, data, sizeof(data));
	memset(data, 'b', sizeof(data));
	before = faults();
	for (i = 0; i < 100; i++) {
		at = spool_alloc(&s, sizeof(data), &part);
		ck_assert_ptr_nonnull(at);
		spool_write(&s, part, at, data, sizeof(data));
	}
	ck_assert_int_lt(faults() - before, 200);
	ck_assert_mem_eq(at, data, sizeof(data));
	memset(data, 'a', sizeof(data));
	ck_assert_mem_eq(first, data, sizeof(data));
	spool_fini(&s);
}
END_TEST

/* What the kernel writes not at all, or in part, is there as well. */
START_TEST(test_write_fails)
{
	static uint8_t		 data[64 * 1024];
	struct spool		 s;
	struct spool_part	*part;
	struct rlimit		 most;
	uint8_t			*at[2];
	size_t			 i;

	spool_init(&s);
	memset(data, 'a', sizeof(data));
	for (i = 0; i < 2; i++)
		ck_assert_ptr_nonnull(at[i] = spool_alloc(&s, sizeof(data),
		    &part));
	ck_assert(s.is_coherent);
	ck_assert_ptr_ne(signal(SIGXFSZ, SIG_IGN), SIG_ERR);
	ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &most), 0);
	most.rlim_cur = sizeof(data) / 2;
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &most), 0);
	for (i = 0; i < 2; i++) {
		spool_write(&s, part, at[i], data, sizeof(data));
		ck_assert_mem_eq(at[i], data, sizeof(data));
	}
	spool_fini(&s);
}
END_TEST

/* A file that the memory does not show, as a file system might do it. */
START_TEST(test_coherent)
{
	struct spool		 s;
	struct spool_part	*part;
	FILE			*other = tmpfile();
	uint8_t			 data[100];
	uint8_t			*at;

	ck_assert_ptr_nonnull(other);
	spool_init(&s);
	at = spool_alloc(&s, sizeof(data), &part);
	ck_assert_ptr_nonnull(at);
	ck_assert(spool_is_coherent(s.fd, part));
	ck_assert(!spool_is_coherent(fileno(other), part));
	/* Then it is not written to. */
	s.is_coherent = false;
	ck_assert_int_ne(dup2(fileno(other), s.fd), -1);
	memset(data, 'a', sizeof(data));
	spool_write(&s, part, at, data, sizeof(data));
	ck_assert_mem_eq(at, data, sizeof(data));
	spool_fini(&s);
	fclose(other);
}
END_TEST

/* First in, first out, as it is used: the file does not grow. */
START_TEST(test_in_turn)
{
	struct spool		 s;
	struct spool_part	*parts[32];
	size_t			 i;

	spool_init(&s);
	for (i = 0; i < 4000; i++) {
		if (i >= 32)
			spool_free(&s, parts[i % 32]);
		ck_assert_ptr_nonnull(spool_alloc(&s, SPOOL_PART / 8,
		    &parts[i % 32]));
	}
	ck_assert_uint_le(s.size, 8 * SPOOL_PART);
	spool_fini(&s);
}
END_TEST

START_TEST(test_limits)
{
	struct spool_part	*part;
	struct spool		 s;

	spool_init(&s);
	spool_fini(&s);
	spool_init(&s);
	ck_assert_ptr_null(spool_alloc(&s, SPOOL_PART + 1, &part));
	ck_assert_int_eq(errno, EFBIG);
	ck_assert_ptr_nonnull(spool_alloc(&s, SPOOL_PART, &part));
	spool_free(&s, part);
	spool_fini(&s);
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("spool");
	TCase	*t = tcase_create("spool");
	SRunner	*r;
	int	 failed;

	tcase_set_timeout(t, 60);
	tcase_add_loop_test(t, test_random, 0, 4);
	tcase_add_test(t, test_write);
	tcase_add_test(t, test_write_fails);
	tcase_add_test(t, test_coherent);
	tcase_add_test(t, test_in_turn);
	tcase_add_test(t, test_limits);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed == 0 ? 0 : 1;
}
