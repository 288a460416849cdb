/* worker/rpc/netrefused.c: what is told of refused connections, and when. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "worker/rpc/netrefused.h"

static struct netrefused	 r;
static struct event_base	*base;
static char			 did[500];

static void
on_told(void *arg, const struct netrefused_row *row, uint64_t count)
{
	size_t	 len = strlen(did);

	ck_assert_ptr_eq(arg, &did);
	ck_assert_uint_lt(len + 60, sizeof(did));
	snprintf(did + len, sizeof(did) - len, "%s:%u %s %u; ", row->host,
	    row->port, row->why, (unsigned)count);
}

static void
ck_did(const char *what)
{
	ck_assert_str_eq(did, what);
	did[0] = '\0';
}

static void
setup(void)
{
	ck_assert_ptr_nonnull(base = event_base_new());
	netrefused_init(&r, base, on_told, &did);
	did[0] = '\0';
}

static void
teardown(void)
{
	netrefused_fini(&r);
	ck_assert(r.row == NULL && r.n == 0);
	event_base_free(base);
}

/* The first at once, the others together. */
START_TEST(test_told)
{
	netrefused_add(&r, "a", 1, "w");
	ck_did("a:1 w 1; ");
	ck_assert(!timer_is_set(&r.timer));
	netrefused_add(&r, "a", 1, "w");
	netrefused_add(&r, "a", 1, "w");
	ck_did("");
	ck_assert(timer_is_set(&r.timer));
	netrefused_flush(&r);
	ck_did("a:1 w 2; ");
	netrefused_flush(&r);
	ck_did("");
	ck_assert_uint_eq(r.row[0].count, 3);
	netrefused_add(&r, "a", 1, "w");
	timer_set(&r.timer, 0);
	ck_assert_int_ne(event_base_loop(base, EVLOOP_ONCE), -1);
	ck_did("a:1 w 1; ");
}
END_TEST

/* Each of the three makes another kind. */
START_TEST(test_kinds)
{
	netrefused_add(&r, "a", 1, "w");
	netrefused_add(&r, "b", 1, "w");
	netrefused_add(&r, "a", 2, "w");
	netrefused_add(&r, "a", 1, "x");
	netrefused_add(&r, "a", 1, "w");
	ck_did("a:1 w 1; b:1 w 1; a:2 w 1; a:1 x 1; ");
	ck_assert_uint_eq(r.n, 4);
}
END_TEST

/* A reason is a client's: it is cut, and nothing of it is a control. */
START_TEST(test_why)
{
	char	 text[200], want[200];

	netrefused_add(&r, "a", 1, "\x1f \n~\x7f\xc3");
	ck_did("a:1 ? ?~?? 1; ");
	memset(text, 'x', sizeof(text));
	text[NETREFUSED_WHY] = '\0';
	netrefused_add(&r, "a", 1, text);
	snprintf(want, sizeof(want), "a:1 %.*s 1; ", NETREFUSED_WHY - 1, text);
	ck_did(want);
	/* The same, as far as it is kept. */
	text[NETREFUSED_WHY - 1] = 'y';
	netrefused_add(&r, "a", 1, text);
	ck_did("");
}
END_TEST

/* When there are too many kinds the last row is for all others. */
START_TEST(test_others)
{
	unsigned	 i;

	for (i = 1; i < LIMIT_NET_REFUSED; i++) {
		did[0] = '\0';
		netrefused_add(&r, "a", (uint16_t)i, "w");
	}
	ck_did("a:63 w 1; ");
	netrefused_add(&r, "a", 64, "w");
	ck_did("(others):0  1; ");
	netrefused_add(&r, "b", 65, "w");
	netrefused_add(&r, "a", 64, "w");
	netrefused_add(&r, "a", 63, "w");
	ck_assert_uint_eq(r.n, LIMIT_NET_REFUSED);
	netrefused_flush(&r);
	ck_did("a:63 w 1; (others):0  2; ");
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("netrefused");
	TCase	*t = tcase_create("netrefused");
	SRunner	*sr;
	int	 failed;

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, test_told);
	tcase_add_test(t, test_kinds);
	tcase_add_test(t, test_why);
	tcase_add_test(t, test_others);
	suite_add_tcase(s, t);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
