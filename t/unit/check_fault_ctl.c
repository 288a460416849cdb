/*
 * execsrvctl when a call fails: no crash, nothing left; a table is as it was,
 * and commands that could not even begin say so.
 */
#include <check.h>
#include <signal.h>

#include "master/execsrvctl/control.h"
#include "master/execsrvctl/run/fanout.h"
#include "master/execsrvctl/table.h"
#include "t/unit/fault.h"

/* The load of sessions, a column that is added. */
static bool
loads(void)
{
	static char			 session[] = "session", age[] = "age",
					 cpu[] = "cpu_ms", n[] = "7";
	static char *const		 names[] = { session, age, cpu };
	static char *const		 cells[] = { n, n, n };
	static const enum table_kind	 kinds[3] = { TABLE_NUMBER };
	struct table			*t;
	size_t				 i;
	bool				 ok;

	ck_assert_ptr_nonnull(t = table_new(3, names, kinds));
	for (i = 0; i < 4; i++)
		ck_assert_int_eq(table_add(t, 3, cells), 0);
	fault_begin();
	ok = table_add_load(t, NULL, 0) == 0;
	fault_end();
	ck_assert_uint_eq(table_columns(t), ok ? 4 : 3);
	ck_assert_uint_eq(table_rows(t), 4);
	table_free(&t);
	return ok;
}

/* On no servers at all: without memory, or signals, it does not begin. */
static bool
fanouts(void)
{
	const struct run_options	 run = { .argv = NULL };
	const struct fanout_options	 o = { .parallel = 1, .run = &run };
	static unsigned			 refused, runs;	/* without a fault */
	sigset_t			 before;
	int				 r;

	ck_assert_int_eq(sigprocmask(SIG_BLOCK, NULL, &before), 0);
	fault_begin();
	r = fanout_command(&o);
	fault_end();
	ck_assert_int_eq(sigprocmask(SIG_SETMASK, &before, NULL), 0);
	/* The output can do without what it asks first. */
	refused += r == EXIT_RUN;
	ck_assert(r == EXIT_RUN || r == EXIT_OK);
	if (fault_error() == 0 && runs++ > 0)
		ck_assert_uint_eq(refused, 4);
	return r == EXIT_OK;
}

static const struct scenario	 list[] = {
	SCENARIO(fanouts),
	SCENARIO(loads),
};

int
main(void)
{
	return fault_main("fault_ctl", list, sizeof(list) / sizeof(list[0]));
}
