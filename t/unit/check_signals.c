/* common/signals.c: signals by name. */
#include <signal.h>
#include <stdlib.h>

#include <check.h>

#include "common/signals.h"

START_TEST(test_names)
{
	const struct {
		const char	*name;
		int		 number;
	} rows[] = {
#define SIGNAL_NAME(n)	{ "SIG" #n, SIG##n },
#include "proto/signal.def"
#undef SIGNAL_NAME
		{ "SIGRTMIN", SIGRTMIN }, { "SIGRTMIN+0", SIGRTMIN },
		{ "SIGRTMIN+7", SIGRTMIN + 7 },
		{ "SIGRTMIN+99", 0 }, { "SIGRTMIN+-1", 0 },
		{ "SIGRTMIN+1x", 0 }, { "SIGRTMIN+", 0 }, { "SIGRTMIN1", 0 },
		{ "TERM", 0 }, { "SIGterm", 0 }, { "SIGTERM ", 0 },
		{ "SIG", 0 }, { "", 0 }, { "15", 0 },
	};
	size_t	 i;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		ck_assert_msg(signals_number(rows[i].name) == rows[i].number,
		    "\"%s\": %d", rows[i].name, signals_number(rows[i].name));
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("signals");
	TCase	*t = tcase_create("all");
	SRunner	*sr = srunner_create(s);
	int	 failed;

	tcase_add_test(t, test_names);
	suite_add_tcase(s, t);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
