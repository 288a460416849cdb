/*
 * worker/proc/sink.c: all hear of it, in their order, whoever leaves meanwhile.
 */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "worker/proc/sink.h"

#define SINKS	4

struct listener {
	struct sink	 sink;
	char		 name;
	struct sink	*leaves;	/* when this one is told, or NULL */
	bool		 is_full;
	bool		 again;		/* tells all of an exit meanwhile */
};

static struct sinks	 sinks;
static struct listener	 l[SINKS];
static char		 heard[64];

static void
hear(struct sink *k, char what)
{
	struct listener	*me = (struct listener *)k;
	size_t		 n = strlen(heard);

	heard[n] = what;
	heard[n + 1] = me->name;
	heard[n + 2] = '\0';
	if (me->leaves != NULL && me->leaves->sinks != NULL)
		sink_remove(me->leaves);
	if (me->again) {
		me->again = false;
		sinks_exit(&sinks);
	}
}

static void
on_output(struct sink *k, const struct output *o)
{
	ck_assert_uint_eq(o->len, 3);
	ck_assert_mem_eq(o->data, "abc", 3);
	hear(k, 'o');
}

static void
on_resize(struct sink *k, uint16_t rows, uint16_t cols)
{
	ck_assert_uint_eq(rows, 24);
	ck_assert_uint_eq(cols, 80);
	hear(k, 'r');
}

static void
on_exited(struct sink *k)
{
	hear(k, 'x');
}

static void
on_close(struct sink *k)
{
	hear(k, 'c');
}

static void
on_killed(struct sink *k)
{
	hear(k, 'k');
}

static void
on_renumber(struct sink *k, uint64_t after, uint64_t by)
{
	ck_assert_uint_eq(after, 7);
	ck_assert_uint_eq(by, 2);
	hear(k, 'n');
}

static void
on_gone(struct sink *k)
{
	ck_assert_ptr_null(k->sinks);
	hear(k, 'g');
}

static bool
is_full(const struct sink *k)
{
	return ((const struct listener *)k)->is_full;
}

static const struct sink_ops	 all_ops = {
	on_output, on_resize, on_exited, on_close, on_killed, on_renumber,
	on_gone, is_full
};
static const struct sink_ops	 no_ops;

static void
setup(void)
{
	int	 i;

	sinks_init(&sinks);
	memset(l, 0, sizeof(l));
	for (i = 0; i < SINKS; i++) {
		l[i].name = (char)('1' + i);
		/* The second cares for nothing. */
		sink_add(&sinks, &l[i].sink, i == 1 ? &no_ops : &all_ops);
	}
	heard[0] = '\0';
}

START_TEST(test_all)
{
	struct output	 o = { 0, "abc", 3, NULL };

	sinks_output(&sinks, &o);
	ck_assert_str_eq(heard, "o1o3o4");
	heard[0] = '\0';
	sinks_resize(&sinks, 24, 80);
	sinks_exit(&sinks);
	sinks_close(&sinks);
	ck_assert_str_eq(heard, "r1r3r4x1x3x4c1c3c4");
	heard[0] = '\0';
	sinks_killed(&sinks);
	sinks_renumber(&sinks, 7, 2);
	sinks_fini(&sinks);
	ck_assert_str_eq(heard, "k1k3k4n1n3n4g1g3g4");
	ck_assert_ptr_null(sinks_find(&sinks, &all_ops));
}
END_TEST

/* Row: who leaves when whom is told, and who hears of the exit. */
static const struct {
	int		 told, leaves;
	const char	*heard;
} leaving[] = {
	{ 0, 0, "x1x3x4" },
	{ 0, 1, "x1x3x4" },
	{ 0, 2, "x1x4" },
	{ 2, 0, "x1x3x4" },
	{ 2, 3, "x1x3" },
	{ 3, 3, "x1x3x4" },
};

START_TEST(test_leave)
{
	l[leaving[_i].told].leaves = &l[leaving[_i].leaves].sink;
	sinks_exit(&sinks);
	ck_assert_str_eq(heard, leaving[_i].heard);
	ck_assert_ptr_null(sinks.walks);
	heard[0] = '\0';
	l[leaving[_i].told].leaves = NULL;
	l[leaving[_i].leaves].name = '!';
	sinks_exit(&sinks);
	ck_assert_ptr_null(strchr(heard, '!'));
}
END_TEST

/* Being told may bring about more of it, and then somebody leaves. */
START_TEST(test_nested)
{
	l[0].again = true;
	l[2].leaves = &l[3].sink;
	sinks_exit(&sinks);
	ck_assert_str_eq(heard, "x1x1x3x3");
	ck_assert_ptr_null(sinks.walks);
}
END_TEST

START_TEST(test_full)
{
	ck_assert(!sinks_full(&sinks));
	l[1].is_full = true;		/* which has no row for that */
	ck_assert(!sinks_full(&sinks));
	l[3].is_full = true;
	ck_assert(sinks_full(&sinks));
	sink_remove(&l[3].sink);
	ck_assert(!sinks_full(&sinks));
}
END_TEST

START_TEST(test_find)
{
	ck_assert_ptr_eq(sinks_find(&sinks, &all_ops), &l[0].sink);
	ck_assert_ptr_eq(sinks_find(&sinks, &no_ops), &l[1].sink);
	sink_remove(&l[1].sink);
	ck_assert_ptr_null(sinks_find(&sinks, &no_ops));
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("sink");
	TCase	*t = tcase_create("sink");
	SRunner	*r;
	int	 failed;

	tcase_add_checked_fixture(t, setup, NULL);
	tcase_add_test(t, test_all);
	tcase_add_loop_test(t, test_leave, 0,
	    sizeof(leaving) / sizeof(leaving[0]));
	tcase_add_test(t, test_nested);
	tcase_add_test(t, test_full);
	tcase_add_test(t, test_find);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_ENV);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed != 0;
}
