/* worker/os/idlemem.c: what is not used goes, what is used stays. */
#include <check.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "worker/os/idlemem.h"

#define DEEP	((size_t)64 * 1024)
#define BLOCKS	256
#define BLOCK	4096

/* Dirty memory of the stack, in KiB. */
static long
stack_kib(void)
{
	char	 line[512];
	bool	 is_stack = false;
	long	 kib = -1;
	FILE	*f;

	ck_assert_ptr_nonnull(f = fopen("/proc/self/smaps", "re"));
	while (fgets(line, sizeof(line), f) != NULL) {
		if (strstr(line, "[stack]") != NULL)
			is_stack = true;
		if (is_stack && sscanf(line, "Private_Dirty: %ld", &kib) == 1)
			break;
	}
	fclose(f);
	ck_assert_int_ne(kib, -1);
	return kib;
}

/* Use much of the stack, and leave it. */
static int __attribute__((noinline))
go_deep(int with)
{
	volatile char	 room[DEEP];
	size_t		 i;
	int		 sum = 0;

	for (i = 0; i < sizeof(room); i += 512)
		room[i] = (char)with;
	for (i = 0; i < sizeof(room); i += 512)
		sum += room[i];
	return sum;
}

START_TEST(test_stack)
{
	char	 mine[8192];
	long	 before, after;
	size_t	 i;

	memset(mine, 'm', sizeof(mine));
	ck_assert_int_eq(go_deep(1), (int)(DEEP / 512));
	before = stack_kib();
	idlemem_give_back();
	after = stack_kib();
#ifndef __SANITIZE_ADDRESS__		/* its stacks are elsewhere */
	ck_assert_int_le(after, before - (long)(DEEP / 2 / 1024));
#endif
	for (i = 0; i < sizeof(mine); i++)
		ck_assert_int_eq(mine[i], 'm');
	ck_assert_int_eq(go_deep(2), (int)(2 * DEEP / 512));
	ck_assert_int_le(after, before);
}
END_TEST

/* What is allocated is as it was. */
START_TEST(test_heap)
{
	char	*blocks[BLOCKS];
	size_t	 i;

	for (i = 0; i < BLOCKS; i++) {
		ck_assert_ptr_nonnull(blocks[i] = malloc(BLOCK));
		memset(blocks[i], (int)i, BLOCK);
	}
	for (i = 0; i < BLOCKS; i += 2)
		free(blocks[i]);
	idlemem_give_back();
	for (i = 1; i < BLOCKS; i += 2) {
		ck_assert_int_eq(blocks[i][BLOCK - 1], (char)i);
		free(blocks[i]);
	}
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("idlemem");
	TCase	*t = tcase_create("all");
	SRunner	*r;
	int	 failed;

	tcase_add_test(t, test_stack);
	tcase_add_test(t, test_heap);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_ENV);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed > 0;
}
