/*
 * worker/conn/openmetrics.c: figures as text; t/sys/740 reads it as a program
 * does.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <check.h>

#include "worker/conn/openmetrics.h"

#define ROOM	65536

enum {
#define STAT(name, metric, meaning)	STAT_##name,
#include "proto/stat.def"
#undef STAT
	STATS
};

enum {
#define GAUGE(name, family, state, help)	GAUGE_##name,
#include "proto/gauge.def"
#undef GAUGE
	GAUGES
};

static uint64_t		 stats[STATS + 1], gauges[GAUGES + 1];
static Ipc__Figures	 figures;
static struct buf	 b;

static void
setup(void)
{
	size_t	 i;

	ipc__figures__init(&figures);
	for (i = 0; i < STATS; i++)
		stats[i] = 1000 + i;
	for (i = 0; i < GAUGES; i++)
		gauges[i] = 2000 + i;
	stats[0] = UINT64_MAX;
	figures.stat = stats;
	figures.n_stat = STATS;
	figures.gauge = gauges;
	figures.n_gauge = GAUGES;
	buf_init(&b, ROOM);
}

static void
teardown(void)
{
	buf_fini(&b);
}

/* The text, ended with a NUL. */
static const char *
text(void)
{
	ck_assert_int_eq(openmetrics_put(&b, &figures), 0);
	ck_assert_int_eq(buf_put(&b, "", 1), 0);
	return (const char *)buf_data(&b);
}

START_TEST(test_rows)
{
	static const char	*const want[] = {
#define STAT(name, metric, meaning)					\
		"\n# TYPE execsrv_" #metric " counter\n"		\
		"# HELP execsrv_" #metric " " meaning ".\n"		\
		"execsrv_" #metric "_total ",
#include "proto/stat.def"
#undef STAT
	};
	char		 line[512];
	const char	*all = text();
	size_t		 i;

	for (i = 0; i < STATS; i++) {
		snprintf(line, sizeof(line), "%s%llu\n", want[i],
		    (unsigned long long)stats[i]);
		ck_assert_msg(strstr(all, line) != NULL, "no %s", line);
	}
}
END_TEST

START_TEST(test_gauges)
{
	const char	*all = text();
	char		 line[256];

	snprintf(line, sizeof(line), "# TYPE execsrv_start_time_seconds gauge\n"
	    "# UNIT execsrv_start_time_seconds seconds\n"
	    "# HELP execsrv_start_time_seconds time at which the server was "
	    "started, in Unix time.\nexecsrv_start_time_seconds %d\n",
	    2000 + GAUGE_start_time);
	ck_assert_ptr_nonnull(strstr(all, line));
	/* A family is said once, its states stand together. */
	snprintf(line, sizeof(line), "# TYPE execsrv_sessions gauge\n"
	    "# HELP execsrv_sessions sessions by state.\n"
	    "execsrv_sessions{state=\"attached\"} %d\n"
	    "execsrv_sessions{state=\"detached\"} %d\n"
	    "execsrv_sessions{state=\"kept\"} %d\n# TYPE ",
	    2000 + GAUGE_sessions_attached, 2000 + GAUGE_sessions_detached,
	    2000 + GAUGE_sessions_kept);
	ck_assert_ptr_nonnull(strstr(all, line));
	ck_assert_str_eq(all + strlen(all) - strlen("\n# EOF\n"),
	    "\n# EOF\n");
}
END_TEST

/* Figures of another version are none. */
START_TEST(test_mismatch)
{
	figures.n_stat = STATS - 1;
	ck_assert_int_eq(openmetrics_put(&b, &figures), -1);
	ck_assert_int_eq(errno, EINVAL);
	figures.n_stat = STATS;
	figures.n_gauge = GAUGES + 1;
	ck_assert_int_eq(openmetrics_put(&b, &figures), -1);
	ck_assert_int_eq(errno, EINVAL);
	ck_assert_uint_eq(b.len, 0);
}
END_TEST

START_TEST(test_no_room)
{
	size_t	 size, whole;

	ck_assert_int_eq(openmetrics_put(&b, &figures), 0);
	whole = b.len;
	for (size = 0; size < whole; size += 97) {
		buf_fini(&b);
		buf_init(&b, size);
		ck_assert_int_eq(openmetrics_put(&b, &figures), -1);
		ck_assert_int_eq(errno, EFBIG);
	}
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("openmetrics");
	TCase	*t = tcase_create("all");
	SRunner	*sr = srunner_create(s);
	int	 failed;

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, test_rows);
	tcase_add_test(t, test_gauges);
	tcase_add_test(t, test_mismatch);
	tcase_add_test(t, test_no_room);
	suite_add_tcase(s, t);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
