/*
 * master/reaper.c: who is told of a child's end, and who is killed: orphans,
 * but neither our own children nor those that were there before.
 */
#include <sys/prctl.h>
#include <sys/wait.h>

#include <check.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/linux/ptree.h"
#include "master/reaper.h"
#include "master/workers/reserve.h"

static struct event_base	*base;
static struct reserve		 reserve;
static struct reaper		 r;
static pid_t			 own, known_pid, known_status, killed;
static unsigned			 orphans, done;
static bool			 knows_all;

static bool
on_exit_of(void *arg, pid_t pid, int status)
{
	ck_assert_ptr_eq(arg, &r);
	if (pid == own) {
		known_pid = pid;
		known_status = status;
		event_base_loopbreak(base);
		return true;
	}
	killed = pid;
	return false;
}

static void
on_orphan(void *arg)
{
	(void)arg;
	orphans++;
}

static bool
is_ours(void *arg, pid_t pid)
{
	(void)arg;
	return pid == own;
}

static bool
knows(void *arg)
{
	(void)arg;
	return knows_all;
}

static void
on_done(void *arg)
{
	(void)arg;
	done++;
	event_base_loopbreak(base);
}

static const struct reaper_events	 events = {
	on_exit_of, on_orphan, is_ours, knows, on_done
};

/* A child that sleeps until it is killed, or ends with a status. */
static pid_t
child(int status)
{
	pid_t	 pid = fork();

	ck_assert_int_ne(pid, -1);
	if (pid != 0)
		return pid;
	if (status >= 0)
		_exit(status);
	for (;;)
		pause();
}

static bool
is_alive(pid_t pid)
{
	return kill(pid, 0) == 0;
}

static void
begin(bool adopts)
{
	ck_assert_int_eq(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
	base = event_base_new();
	ck_assert_ptr_nonnull(base);
	reserve_init(&reserve);
	r = (struct reaper){ .events = NULL };
	own = known_pid = killed = -1;
	orphans = done = 0;
	knows_all = true;
	reaper_init(&r, base, &reserve, adopts, &events, &r);
}

static void
end(void)
{
	reaper_fini(&r);
	reserve_fini(&reserve);
	event_base_free(base);
}

static void
finish(pid_t pid)
{
	kill(pid, SIGKILL);
	ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
}

/* The end of an own child is told with its status, and no orphan's. */
START_TEST(test_own)
{
	begin(false);
	own = child(7);
	reaper_reap_soon(&r);
	ck_assert_int_eq(event_base_dispatch(base), 0);
	ck_assert_int_eq(known_pid, own);
	ck_assert(WIFEXITED(known_status));
	ck_assert_int_eq(WEXITSTATUS(known_status), 7);
	ck_assert_uint_eq(orphans, 0);
	end();
}
END_TEST

/* Orphans are killed; our own child and one from before the start are not. */
START_TEST(test_kill)
{
	pid_t	 foreign = child(-1), orphan;

	begin(false);
	own = child(-1);
	orphan = child(-1);
	ck_assert(!reaper_has_no_orphans(&r));
	reaper_kill_orphans(&r);
	ck_assert_int_eq(event_base_dispatch(base), 0);
	ck_assert_uint_eq(done, 1);
	ck_assert(reaper_has_no_orphans(&r));
	ck_assert_int_eq(killed, orphan);
	ck_assert_uint_eq(orphans, 1);
	ck_assert_int_eq(waitpid(orphan, NULL, 0), -1);
	ck_assert_int_eq(errno, ECHILD);
	ck_assert(is_alive(own));
	ck_assert(is_alive(foreign));
	finish(own);
	finish(foreign);
	end();
}
END_TEST

/* As PID 1 only those with a mark are ours to kill. */
START_TEST(test_adopts)
{
	pid_t	 stranger;

	begin(true);
	stranger = child(-1);
	ck_assert(!ptree_is_marked(stranger));
	reaper_kill_orphans(&r);
	ck_assert_int_eq(event_base_dispatch(base), 0);
	ck_assert_uint_eq(done, 1);
	ck_assert(is_alive(stranger));
	ck_assert_uint_eq(orphans, 0);
	finish(stranger);
	end();
}
END_TEST

static void
on_later(void *arg)
{
	(void)arg;
	event_base_loopbreak(base);
}

/* A worker whose pid is not known yet would be taken for an orphan. */
START_TEST(test_unknown_worker)
{
	struct timer	 later;
	pid_t		 worker;

	begin(false);
	knows_all = false;
	worker = child(-1);
	reaper_kill_orphans(&r);
	timer_init(&later, base, on_later, NULL);
	timer_set(&later, 50);
	ck_assert_int_eq(event_base_dispatch(base), 0);
	ck_assert_uint_eq(done, 0);
	ck_assert(is_alive(worker));
	knows_all = true;
	own = worker;
	ck_assert_int_eq(event_base_dispatch(base), 0);
	ck_assert_uint_eq(done, 1);
	ck_assert(is_alive(worker));
	finish(worker);
	end();
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("reaper");
	TCase	*t = tcase_create("reaper");
	SRunner	*sr;
	int	 failed;

	tcase_add_test(t, test_own);
	tcase_add_test(t, test_kill);
	tcase_add_test(t, test_adopts);
	tcase_add_test(t, test_unknown_worker);
	tcase_set_timeout(t, 60);
	suite_add_tcase(s, t);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
