/* common/process/sigfd.c: signals as events. */
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <check.h>

#include "common/process/sigfd.h"

#define MANY	100

static int	 came[NSIG];

static void
on_signal(void *arg, int sig, pid_t from)
{
	ck_assert_int_eq(from, getpid());
	ck_assert_ptr_eq(arg, came);
	came[sig]++;
}

/* What was ignored, too; what comes twice before a look may come once. */
START_TEST(test_all)
{
	static const int	 list[] = { SIGUSR1, SIGHUP, SIGCHLD, 0 };
	struct event_base	*base = event_base_new();
	struct sigfd		*s;

	signal(SIGUSR1, SIG_IGN);
	signal(SIGCHLD, SIG_IGN);
	ck_assert_ptr_nonnull(s = sigfd_new(base, list, on_signal, came));
	event_base_loop(base, EVLOOP_NONBLOCK);
	kill(getpid(), SIGUSR1);
	kill(getpid(), SIGUSR1);
	kill(getpid(), SIGHUP);
	kill(getpid(), SIGCHLD);
	event_base_loop(base, EVLOOP_NONBLOCK);
	ck_assert_int_eq(came[SIGUSR1], 1);
	ck_assert_int_eq(came[SIGHUP], 1);
	ck_assert_int_eq(came[SIGCHLD], 1);
	kill(getpid(), SIGUSR1);
	event_base_loop(base, EVLOOP_NONBLOCK);
	ck_assert_int_eq(came[SIGUSR1], 2);
	ck_assert_int_eq(came[SIGHUP], 1);
	sigfd_free(&s);
	ck_assert_ptr_null(s);
	/* Still blocked: not the end of us. */
	kill(getpid(), SIGHUP);
	sigfd_free(&s);
	event_base_free(base);
}
END_TEST

/* More of them than are read at once. */
START_TEST(test_many)
{
	int			 list[NSIG], n = 0, sig, i, sum = 0;
	struct event_base	*base = event_base_new();
	struct sigfd		*s;

	for (sig = SIGRTMIN; sig <= SIGRTMAX; sig++)
		list[n++] = sig;
	list[n] = 0;
	ck_assert_ptr_nonnull(s = sigfd_new(base, list, on_signal, came));
	for (i = 0; i < MANY; i++)
		kill(getpid(), list[i % n]);
	for (i = 0; i < MANY; i++)
		event_base_loop(base, EVLOOP_NONBLOCK);
	for (i = 0; i < n; i++)
		sum += came[list[i]];
	ck_assert_int_eq(sum, MANY);	/* those are queued, not merged */
	sigfd_free(&s);
	event_base_free(base);
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("sigfd");
	TCase	*t = tcase_create("all");
	SRunner	*sr = srunner_create(s);
	int	 failed;

	tcase_add_test(t, test_all);
	tcase_add_test(t, test_many);
	suite_add_tcase(s, t);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed == 0 ? 0 : 1;
}
