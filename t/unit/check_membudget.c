/*
 * master/workers/membudget.c: who gets how much, and that no message waits for
 * ever.
 */
#include <check.h>
#include <stdlib.h>

#include "common/limit.h"
#include "master/workers/membudget.h"

#define MIB	((uint64_t)1024 * 1024)

static struct membudget	*b;

static void
setup(void)
{
	b = membudget_new();
	ck_assert_ptr_nonnull(b);
}

static void
teardown(void)
{
	membudget_free(&b);
	ck_assert_ptr_null(b);
}

/* 10 MiB for each identity, 16 for all. */
static struct held
wants(struct share **s, const char *identity, uint64_t output,
    uint64_t message)
{
	struct held	 h = { output * MIB, message * MIB };

	h = membudget_ask(b, s, identity, h, 10 * MIB, 16 * MIB);
	h.output /= MIB;
	h.message /= MIB;
	return h;
}

START_TEST(test_bounds)
{
	struct share	*s[4] = { NULL, NULL, NULL, NULL };

	ck_assert_uint_eq(wants(&s[0], "uid:1", 6, 0).output, 6);
	ck_assert_uint_eq(wants(&s[1], "uid:1", 6, 0).output, 4);
	ck_assert_uint_eq(wants(&s[2], "uid:2", 9, 0).output, 6);
	ck_assert_uint_eq(wants(&s[3], "uid:3", 1, 0).output, 0);
	ck_assert_uint_eq(membudget_total(b), 16 * MIB);
	/* Asked again it is the same; less is given back, and had by others. */
	ck_assert_uint_eq(wants(&s[2], "uid:2", 9, 0).output, 6);
	ck_assert_uint_eq(wants(&s[0], "uid:1", 2, 0).output, 2);
	ck_assert_uint_eq(wants(&s[1], "uid:1", 9, 0).output, 8);
	ck_assert_uint_eq(membudget_total(b), 16 * MIB);
	membudget_leave(b, &s[1]);
	ck_assert_ptr_null(s[1]);
	membudget_leave(b, &s[1]);
	ck_assert_uint_eq(wants(&s[3], "uid:3", 99, 0).output, 8);
	membudget_leave(b, &s[0]);
	membudget_leave(b, &s[2]);
	membudget_leave(b, &s[3]);
	ck_assert_uint_eq(membudget_total(b), 0);
}
END_TEST

/* What it has it may have filled: a bound that shrinks takes nothing away. */
START_TEST(test_shrunk)
{
	struct share	*s = NULL;
	struct held	 h = { 5 * MIB, 2 * MIB };

	h = membudget_ask(b, &s, "uid:1", h, 0, 0);
	ck_assert_uint_eq(h.output, 5 * MIB);
	ck_assert_uint_eq(h.message, 2 * MIB);
	h.output = 9 * MIB;
	h = membudget_ask(b, &s, "uid:1", h, MIB, MIB);
	ck_assert_uint_eq(h.output, 5 * MIB);
	ck_assert_uint_eq(h.message, 2 * MIB);
	membudget_leave(b, &s);
}
END_TEST

/* A message is let in whole, or not: but for one at a time. */
START_TEST(test_messages)
{
	struct share	*s[4] = { NULL, NULL, NULL, NULL };

	ck_assert_uint_eq(wants(&s[0], "uid:1", 9, 0).output, 9);
	ck_assert_uint_eq(wants(&s[1], "uid:1", 0, 1).message, 1);
	ck_assert_uint_eq(wants(&s[2], "uid:1", 0, 60).message, 60);
	ck_assert_uint_eq(wants(&s[3], "uid:1", 0, 60).message, 0);
	ck_assert_uint_eq(wants(&s[1], "uid:1", 0, 2).message, 1);
	/* It goes on while it grows. */
	ck_assert_uint_eq(wants(&s[2], "uid:1", 0, 64).message, 64);
	ck_assert_uint_eq(wants(&s[3], "uid:1", 0, 60).message, 0);
	ck_assert_uint_eq(wants(&s[2], "uid:1", 0, 0).message, 0);
	ck_assert_uint_eq(wants(&s[3], "uid:1", 0, 60).message, 60);
	membudget_leave(b, &s[3]);
	ck_assert_uint_eq(wants(&s[2], "uid:1", 0, 50).message, 50);
	membudget_leave(b, &s[2]);
	membudget_leave(b, &s[1]);
	membudget_leave(b, &s[0]);
}
END_TEST

/* One identity's does not let another's in as well: the server has a bound. */
START_TEST(test_one_in_all)
{
	struct share	*s[2] = { NULL, NULL };

	ck_assert_uint_eq(wants(&s[0], "uid:1", 0, 60).message, 60);
	ck_assert_uint_eq(wants(&s[1], "uid:2", 0, 60).message, 0);
	ck_assert_uint_eq(wants(&s[1], "uid:2", 3, 0).output, 0);
	membudget_leave(b, &s[0]);
	ck_assert_uint_eq(wants(&s[1], "uid:2", 3, 60).message, 60);
	ck_assert_uint_eq(membudget_total(b), 63 * MIB);
	membudget_leave(b, &s[1]);
}
END_TEST

/* An identity over its own limit keeps no other one waiting. */
START_TEST(test_one_in_each)
{
	struct share	*s[3] = { NULL, NULL, NULL };
	struct held	 h = { 0, 60 * MIB };
	uint64_t	 got[3];

	got[0] = membudget_ask(b, &s[0], "uid:1", h, 10 * MIB, 0).message;
	got[1] = membudget_ask(b, &s[1], "uid:1", h, 10 * MIB, 0).message;
	got[2] = membudget_ask(b, &s[2], "uid:2", h, 10 * MIB, 0).message;
	ck_assert_uint_eq(got[0], 60 * MIB);
	ck_assert_uint_eq(got[1], 0);
	ck_assert_uint_eq(got[2], 60 * MIB);
	membudget_leave(b, &s[0]);
	got[1] = membudget_ask(b, &s[1], "uid:1", h, 10 * MIB, 0).message;
	ck_assert_uint_eq(got[1], 60 * MIB);
	membudget_leave(b, &s[1]);
	membudget_leave(b, &s[2]);
}
END_TEST

/* Who lies gets no more than there is, and breaks no sum. */
START_TEST(test_lies)
{
	struct share	*s[2] = { NULL, NULL };
	struct held	 h = { UINT64_MAX, UINT64_MAX };

	h = membudget_ask(b, &s[0], "uid:1", h, 10 * MIB, 16 * MIB);
	ck_assert_uint_eq(h.output, 10 * MIB);
	ck_assert_uint_eq(h.message, LIMIT_MESSAGE);
	h.output = h.message = UINT64_MAX;
	h = membudget_ask(b, &s[1], "uid:2", h, 10 * MIB, 16 * MIB);
	ck_assert_uint_eq(h.output, 0);
	ck_assert_uint_eq(h.message, 0);
	membudget_leave(b, &s[0]);
	membudget_leave(b, &s[1]);
	ck_assert_uint_eq(membudget_total(b), 0);
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("membudget");
	TCase	*t = tcase_create("membudget");
	SRunner	*r;
	int	 failed;

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, test_bounds);
	tcase_add_test(t, test_shrunk);
	tcase_add_test(t, test_messages);
	tcase_add_test(t, test_one_in_all);
	tcase_add_test(t, test_one_in_each);
	tcase_add_test(t, test_lies);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed != 0;
}
