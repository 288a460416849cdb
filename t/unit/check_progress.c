/* A line about a copy (master/execsrvctl/cp/progress.h). */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "master/execsrvctl/cp/progress.h"

static const struct {
	unsigned	 width;
	uint64_t	 bytes, total, ms;
	const char	*want;
} lines[] = {
	{ 40, 0, 0, 0, "a name                        0 B  0 B/s" },
	{ 44, 512, 1024, 1000, " 50%  512 B  512 B/s  00:01 left" },
	{ 60, 1048576, 4194304, 1000,
	    " 25%  1.0 MiB  1.0 MiB/s  00:03 left" },
	{ 60, 1, 7200000, 1, " h left" },
	{ 60, 4194304, 4194304, 2000, "100%  4.0 MiB  2.0 MiB/s" },
	{ 60, UINT64_MAX, 1, 1, "100%" },
	{ 10, 1, 2, 3, "a name" },
};

START_TEST(line)
{
	char	 out[128];

	progress_line(out, sizeof(out), lines[_i].width, "a name",
	    lines[_i].bytes, lines[_i].total, lines[_i].ms);
	ck_assert_uint_le(strlen(out), lines[_i].width);
	ck_assert_msg(strstr(out, lines[_i].want) != NULL, "[%s]", out);
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("progress");
	TCase	*t = tcase_create("line");
	SRunner	*r;
	int	 failed;

	tcase_add_loop_test(t, line, 0, sizeof(lines) / sizeof(lines[0]));
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
