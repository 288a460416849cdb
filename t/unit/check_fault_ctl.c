/*
 * Tables of execsrvctl when a call fails: no crash, nothing left, and the table
 * is as it was.
 */
#include <check.h>

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

static const struct scenario	 list[] = {
	SCENARIO(loads),
};

int
main(void)
{
	return fault_main("fault_ctl", list, sizeof(list) / sizeof(list[0]));
}
