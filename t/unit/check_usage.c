/* common/linux/usage.c, crowd.c: texts of /proc, and what our processes use. */
#include <sys/mman.h>
#include <sys/wait.h>

#include <check.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "common/linux/crowd.h"
#include "common/linux/usage.h"
#include "worker/session/session_usage.h"

START_TEST(test_number)
{
	static const char	 text[] = "low 1\noom 2\noom_kill 3\nx";
	uint64_t		 n = 9;

	ck_assert_int_eq(usage_number(text, "oom ", &n), 0);
	ck_assert_uint_eq(n, 2);
	ck_assert_int_eq(usage_number(text, "oom_kill ", &n), 0);
	ck_assert_uint_eq(n, 3);
	ck_assert_int_eq(usage_number(text, "high ", &n), -1);
	ck_assert_int_eq(usage_number(text, "x", &n), -1);
	ck_assert_int_eq(usage_number("", "x", &n), -1);
	ck_assert_int_eq(usage_number("\n\n", "x", &n), -1);
}
END_TEST

/* A session's account has what its worker used; its peak is told apart. */
START_TEST(test_session)
{
	Ipc__Settings		 set = IPC__SETTINGS__INIT;
	struct session_usage	 u;
	uint64_t		 ms;

	do {
		ms = (uint64_t)clock() / (CLOCKS_PER_SEC / 1000);
	} while (ms < 60);
	session_usage_take(NULL, &set, false, &u);
	ck_assert_uint_ge(u.used.cpu_ms + 20, ms);
	ck_assert_uint_eq(u.used.peak_kib, 0);
	ck_assert_uint_gt(u.worker_kib, 0);
	ck_assert(!u.has_oom);
}
END_TEST

START_TEST(test_texts)
{
	struct usage	 u = { 1, 2, 3, 4, 5 };

	usage_parse_stat("7 (a) b) S 1 2 3 4 5 6 7 8 9 10 100 20 3 7 20 0 1",
	    100, &u);
	ck_assert_uint_eq(u.cpu_ms, 1300);
	usage_parse_stat("7 (a) S 1", 100, &u);
	usage_parse_stat("", 100, &u);
	ck_assert_uint_eq(u.cpu_ms, 1300);
	usage_parse_io("rchar: 1\nread_bytes: 4096\nwrite_bytes: 8192\n"
	    "cancelled_write_bytes: 1\n", &u);
	ck_assert_uint_eq(u.read, 4096);
	ck_assert_uint_eq(u.written, 8192);
	usage_parse_io("", &u);
	ck_assert_uint_eq(u.read + u.written, 0);
	usage_parse_status("Name:\tx\nVmHWM:\t    1234 kB\nVmRSS: 1 kB\n", &u);
	ck_assert_uint_eq(u.peak_kib, 1234);
	ck_assert_uint_eq(u.rss_kib, 1);
	/* A zombie has none. */
	usage_parse_status("Name:\tx\n", &u);
	ck_assert_uint_eq(u.peak_kib, 0);
	ck_assert_uint_eq(u.rss_kib, 0);
}
END_TEST

START_TEST(test_add)
{
	struct usage	 sum = { 1, 2, 3, 4, 5 }, a = { 10, 20, 30, 3, 50 };

	usage_add(&sum, &a);
	ck_assert_uint_eq(sum.rss_kib, 55);
	ck_assert_uint_eq(sum.cpu_ms, 11);
	ck_assert_uint_eq(sum.read, 22);
	ck_assert_uint_eq(sum.written, 33);
	ck_assert_uint_eq(sum.peak_kib, 4);
}
END_TEST

static uint64_t
cpu_ms(void)
{
	struct timespec	 ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

/* A child of a child uses 200 ms and 32 MiB, says so and stays. */
static void
work(int said)
{
	alarm(60);
	if (fork() == 0) {
		alarm(60);
		if (mmap(NULL, 32 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE |
		    MAP_ANONYMOUS | MAP_POPULATE, -1, 0) == MAP_FAILED)
			_exit(1);
		while (cpu_ms() < 200)
			continue;
		if (write(said, "", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	for (;;)
		pause();
}

START_TEST(test_crowd)
{
	ck_assert_uint_eq(crowd_parse("0.1 0.2 0.3 12/345 678\n", 2), 6);
	ck_assert_uint_eq(crowd_parse("0.1 0.2 0.3 7/345 678\n", 2), 3);
	ck_assert_uint_eq(crowd_parse("0.1 0.2 0.3 1/345 678\n", 2), 1);
	ck_assert_uint_eq(crowd_parse("0.1 0.2 0.3 0/345 678\n", 2), 1);
	ck_assert_uint_eq(crowd_parse("0.1 0.2 0.3 12/345 678\n", 0), 1);
	ck_assert_uint_eq(crowd_parse("0.1 0.2 0.3", 2), 1);
	ck_assert_uint_eq(crowd_parse("", 2), 1);
	ck_assert_uint_ge(crowd_now(), 1);
}
END_TEST

START_TEST(test_living)
{
	struct usage	 u = { 0, 0, 0, 0, 0 }, own, gone;
	int		 said[2];
	char		 byte;
	pid_t		 pid;

	ck_assert_int_eq(pipe(said), 0);
	ck_assert_int_ne(pid = fork(), -1);
	if (pid == 0) {
		setpgid(0, 0);
		work(said[1]);
	}
	setpgid(pid, pid);
	ck_assert_int_eq(read(said[0], &byte, 1), 1);
	usage_add_living(&u);
	ck_assert_uint_ge(u.cpu_ms, 150);
	ck_assert_uint_ge(u.peak_kib, 32 << 10);
	usage_self(&own, &gone);
	ck_assert_uint_lt(gone.peak_kib, 32 << 10);
	ck_assert_int_eq(kill(-pid, SIGKILL), 0);
	ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
}
END_TEST

START_TEST(test_gone)
{
	struct usage	 own, gone;
	pid_t		 pid = fork();

	ck_assert_int_ne(pid, -1);
	if (pid == 0) {
		while (cpu_ms() < 200)
			continue;
		_exit(0);
	}
	ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
	usage_self(&own, &gone);
	ck_assert_uint_ge(gone.cpu_ms, 190);
	ck_assert_uint_gt(own.peak_kib, 0);
	ck_assert_uint_gt(gone.peak_kib, 0);
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("usage");
	TCase	*t = tcase_create("usage");
	SRunner	*r;
	int	 failed;

	tcase_set_timeout(t, 60);
	tcase_add_test(t, test_number);
	tcase_add_test(t, test_session);
	tcase_add_test(t, test_texts);
	tcase_add_test(t, test_add);
	tcase_add_test(t, test_crowd);
	tcase_add_test(t, test_living);
	tcase_add_test(t, test_gone);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed != 0;
}
