/* common/process/signals.c: signals by name. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include <check.h>

#include "common/process/signals.h"

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

/* As people write them. */
START_TEST(test_read)
{
	const struct {
		const char	*text, *name;
		int		 number;
	} rows[] = {
		{ "TERM", "SIGTERM", SIGTERM }, { "term", "SIGTERM", SIGTERM },
		{ "SIGTERM", "SIGTERM", SIGTERM },
		{ "sigusr1", "SIGUSR1", SIGUSR1 }, { "9", "SIGKILL", SIGKILL },
		{ "rtmin+7", "SIGRTMIN+7", SIGRTMIN + 7 },
		{ "0", NULL, 0 }, { "-9", NULL, 0 }, { "999", NULL, 0 },
		{ "9x", NULL, 0 }, { "", NULL, 0 }, { "SIG", NULL, 0 },
		{ "interrupt", NULL, 0 },
		{ "SIGTERMSIGTERMSIGTERM", NULL, 0 },
	};
	char	 name[SIGNALS_NAME], number[16];
	size_t	 i;
	int	 n;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		n = signals_read(rows[i].text, name);
		ck_assert_msg(n == rows[i].number, "\"%s\": %d",
		    rows[i].text, n);
		if (n != 0)
			ck_assert_str_eq(name, rows[i].name);
	}
	snprintf(number, sizeof(number), "%d", SIGRTMIN + 3);
	ck_assert_int_eq(signals_read(number, name), SIGRTMIN + 3);
	ck_assert_str_eq(name, "SIGRTMIN+3");
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
	tcase_add_test(t, test_read);
	suite_add_tcase(s, t);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
