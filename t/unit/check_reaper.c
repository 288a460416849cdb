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

#include "common/clock.h"
#include "common/linux/ptree.h"
#include "master/reaper.h"
#include "master/workers/reserve.h"

static struct event_base	*base;
static struct reserve		 reserve;
static struct reaper		 r;
static pid_t			 own, known_pid, known_status, killed, next;
static unsigned			 orphans, done, asked, passes;
static bool			 knows_all;

static bool
on_exit_of(void *arg, pid_t pid, int status)
{
	ck_assert_ptr_eq(arg, &r);
	if (pid == own) {
		known_pid = pid;
		next = 0;
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
	asked += pid == own;
	return pid == own;
}

static bool
knows(void *arg)
{
	(void)arg;
	passes++;
	return knows_all;
}

static void
on_done(void *arg)
{
	(void)arg;
	done++;
	event_base_loopbreak(base);
}

static pid_t
next_exit(void *arg)
{
	(void)arg;
	return next;
}

static const struct reaper_events	 events = {
	on_exit_of, on_orphan, is_ours, next_exit, knows, on_done
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
	next = 0;
	orphans = done = asked = passes = 0;
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
	reaper_schedule(&r);
	ck_assert_int_eq(event_base_dispatch(base), 0);
	ck_assert_int_eq(known_pid, own);
	ck_assert(WIFEXITED(known_status));
	ck_assert_int_eq(WEXITSTATUS(known_status), 7);
	ck_assert_uint_eq(orphans, 0);
	end();
}
END_TEST

/*
 * One that is named is reaped at once, also one that is known to exit; others
 * when all are looked at.
 */
START_TEST(test_signal)
{
	pid_t		 pid;
	siginfo_t	 info;

	begin(false);
	r.reap_rest = clock_ms() + 1000000;
	pid = own = child(7);
	ck_assert_int_eq(waitid(P_PID, (id_t)own, &info, WEXITED | WNOWAIT), 0);
	next = _i == 2 ? own : 0;
	reaper_on_signal(&r, _i == 0 ? own : getpid());
	event_base_loop(base, EVLOOP_NONBLOCK);
	ck_assert_int_eq(known_pid, _i == 1 ? -1 : own);
	if (_i == 1) {
		r.reap_rest = 0;
		r.is_scheduled = false;
		reaper_on_signal(&r, getpid());
		event_base_loop(base, EVLOOP_NONBLOCK);
	}
	ck_assert_int_eq(known_pid, pid);
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

/*
 * It is over when three passes in a row found none, or the time is.  A pass
 * looks at the list once at least, and again while its time lasts.
 */
START_TEST(test_passes)
{
	begin(false);
	own = child(-1);
	reaper_kill_orphans(&r);
	r.until = 1;
	ck_assert_int_eq(event_base_dispatch(base), 0);
	ck_assert_uint_eq(done, 1);
	ck_assert(reaper_has_no_orphans(&r));
	ck_assert_uint_eq(passes, 1);
	ck_assert_uint_ge(asked, 1);
	passes = asked = 0;
	reaper_kill_orphans(&r);
	ck_assert(!reaper_has_no_orphans(&r));
	ck_assert_int_eq(event_base_dispatch(base), 0);
	ck_assert_uint_eq(done, 2);
	ck_assert(reaper_has_no_orphans(&r));
	ck_assert_uint_eq(passes, 3);
	ck_assert_uint_ge(asked, 3);
	finish(own);
	end();
}
END_TEST

/* A look that finds an orphan, alive or not, ends with its death. */
START_TEST(test_look)
{
	pid_t		 orphan;
	siginfo_t	 info;

	begin(false);
	own = child(-1);
	orphan = child(_i == 0 ? -1 : 0);
	if (_i == 1)
		ck_assert_int_eq(waitid(P_PID, (id_t)orphan, &info,
		    WEXITED | WNOWAIT), 0);
	reaper_look(&r, false);
	ck_assert_int_eq(event_base_dispatch(base), 0);
	ck_assert_uint_eq(done, 1);
	ck_assert_int_eq(killed, orphan);
	ck_assert_uint_eq(orphans, 1);
	ck_assert(is_alive(own));
	finish(own);
	end();
}
END_TEST

static void
on_end_of_looks(void *arg)
{
	(void)arg;
	event_base_loopexit(base, NULL);
}

/* However many workers end, the list is read once in a while. */
START_TEST(test_looks)
{
	struct timer	 over;
	unsigned	 begun;

	begin(false);
	own = child(-1);
	timer_init(&over, base, on_end_of_looks, NULL);
	timer_set(&over, 5 * REAPER_PAUSE_MS);
	begun = 0;
	while (!event_base_got_exit(base)) {
		reaper_look(&r, false);
		event_base_loop(base, EVLOOP_ONCE | EVLOOP_NONBLOCK);
		begun++;
	}
	/* Each look asks about our child, once. */
	ck_assert_uint_ge(asked, 1);
	ck_assert_uint_le(asked, 6);
	ck_assert_uint_gt(begun, asked);
	ck_assert_uint_eq(done + orphans, 0);
	finish(own);
	end();
}
END_TEST

/* What is to end at once does not wait for that. */
START_TEST(test_at_once)
{
	begin(false);
	own = child(-1);
	r.rest = clock_ms() + 1000000;
	reaper_look(&r, false);
	event_base_loop(base, EVLOOP_NONBLOCK);
	ck_assert_uint_eq(done + asked, 0);
	reaper_look(&r, true);
	event_base_loop(base, EVLOOP_NONBLOCK);
	ck_assert_uint_eq(asked, 1);
	r.rest = clock_ms() + 1000000;
	reaper_look(&r, false);
	reaper_kill_orphans(&r);
	ck_assert_int_eq(event_base_dispatch(base), 0);
	ck_assert_uint_eq(done, 1);
	ck_assert(reaper_has_no_orphans(&r));
	finish(own);
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
	tcase_add_loop_test(t, test_signal, 0, 3);
	tcase_add_test(t, test_kill);
	tcase_add_test(t, test_passes);
	tcase_add_loop_test(t, test_look, 0, 2);
	tcase_add_test(t, test_looks);
	tcase_add_test(t, test_at_once);
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
