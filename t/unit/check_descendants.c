/*
 * worker/proc/descendants.c: who belongs to a process, with its mark and
 * without.
 */
#include <sys/resource.h>
#include <sys/wait.h>

#include <check.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/linux/ptree.h"
#include "worker/proc/descendants.h"

static struct descendants	 descendants;
static uint64_t		 mark, others_mark;
static pid_t		 others_pid;
static int		 up[2], down[2];	/* from and to a child */

static bool
have_mark(const void *arg, uint64_t m)
{
	ck_assert_ptr_eq(arg, &descendants);
	return m == others_mark;
}

static bool
have_pid(const void *arg, pid_t pid)
{
	ck_assert_ptr_eq(arg, &descendants);
	return pid == others_pid;
}

static const struct descendants_others	 others = { have_mark, have_pid };

static void
set_mark(uint64_t m)
{
	struct rlimit	 rl = { (rlim_t)m, (rlim_t)m };

	if (setrlimit(RLIMIT_LOCKS, &rl) == -1)
		_exit(1);
}

/* Say that it is done, and wait for what is next; but not for ever. */
static void
step(void)
{
	char	 byte;

	alarm(20);
	if (write(up[1], "", 1) != 1 || read(down[0], &byte, 1) != 1)
		_exit(1);
}

static void
wait_step(void)
{
	char	 byte;

	ck_assert_int_eq(read(up[0], &byte, 1), 1);
}

static void
go_on(void)
{
	ck_assert_int_eq(write(down[1], "", 1), 1);
}

static void
end(pid_t pid)
{
	int	 status;

	go_on();
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
}

static void
setup(void)
{
	ck_assert_int_eq(pipe(up), 0);
	ck_assert_int_eq(pipe(down), 0);
	mark = ptree_new_mark();
	/* A limit can be lowered only. */
	others_mark = mark / 2;
	others_pid = -1;
	descendants_init(&descendants, &others, &descendants);
	descendants_start(&descendants, -1, mark);
}

static void
teardown(void)
{
	descendants_fini(&descendants);
}

START_TEST(test_mark)
{
	pid_t	 pid = fork();

	if (pid == 0) {
		set_mark(mark);
		step();
		_exit(0);
	}
	wait_step();
	ck_assert(descendants_has(pid, &descendants));
	ck_assert(!descendants_has(getpid(), &descendants));
	/* Nothing has to be remembered of it. */
	ck_assert_uint_eq(descendants.n, 0);
	end(pid);
}
END_TEST

/* Without the mark: by its group or session, and from then on by itself. */
START_TEST(test_group)
{
	pid_t	 pid = fork();

	if (pid == 0) {
		if (_i == 0 ? setpgid(0, 0) == -1 : setsid() == -1)
			_exit(1);
		step();
		if (_i == 0 && setpgid(0, getpgid(getppid())) == -1)
			_exit(1);
		step();
		_exit(0);
	}
	wait_step();
	ck_assert(!descendants_has(pid, &descendants));
	descendants_start(&descendants, pid, mark);
	ck_assert(descendants_has(pid, &descendants));
	ck_assert_uint_eq(descendants.n, 1);
	go_on();
	wait_step();
	descendants_start(&descendants, -1, mark);
	ck_assert(descendants_has(pid, &descendants));
	ck_assert_uint_eq(descendants.n, 1);
	end(pid);
	ck_assert(!descendants_has(pid, &descendants));
}
END_TEST

/* Whose parent belongs to it; not who has the mark of another process. */
START_TEST(test_parent)
{
	pid_t	 pid = fork(), child;

	if (pid == 0) {
		set_mark(mark);
		if ((child = fork()) == 0) {
			set_mark(_i == 0 ? others_mark / 2 : others_mark);
			if (setsid() == -1 || write(up[1], &(pid_t){ getpid() },
			    sizeof(pid_t)) != sizeof(pid_t))
				_exit(1);
			step();
			_exit(0);
		}
		alarm(20);
		_exit(waitpid(child, NULL, 0) == child ? 0 : 1);
	}
	ck_assert_int_eq(read(up[0], &child, sizeof(child)), sizeof(child));
	wait_step();
	ck_assert(descendants_has(child, &descendants) == (_i == 0));
	ck_assert_uint_eq(descendants.n, _i == 0);
	end(pid);
}
END_TEST

START_TEST(test_skips)
{
	others_pid = 4711;
	ck_assert(descendants_skips(4711, &descendants));
	ck_assert(!descendants_skips(4712, &descendants));
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("descendants");
	TCase	*t = tcase_create("descendants");
	SRunner	*r;
	int	 failed;

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, test_mark);
	tcase_add_loop_test(t, test_group, 0, 2);
	tcase_add_loop_test(t, test_parent, 0, 2);
	tcase_add_test(t, test_skips);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_ENV);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
