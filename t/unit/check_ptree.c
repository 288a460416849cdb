/*
 * common/linux/ptree.c on trees of our own: who hides, who is left out, marks.
 */
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <check.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/linux/ptree.h"

/* Those of a tree write a byte here when they are where they belong. */
static int	 ready[2];

/* Not for ever: a failed test must not leave them. */
static void NORETURN
stay(void)
{
	alarm(20);
	if (write(ready[1], "", 1) != 1)
		_exit(1);
	for (;;)
		pause();
}

static void
wait_ready(unsigned n)
{
	char	 byte;

	while (n-- > 0)
		ck_assert_int_eq(read(ready[0], &byte, 1), 1);
}

static pid_t
spawn(void (*fn)(void))
{
	pid_t	 pid = fork();

	ck_assert_int_ne(pid, -1);
	if (pid == 0) {
		fn();
		_exit(0);
	}
	return pid;
}

static void
in_session(void)
{
	setsid();
	stay();
}

static void
twice(void)
{
	setsid();
	if (fork() == 0)
		stay();
	_exit(0);
}

static void
stopped(void)
{
	if (write(ready[1], "", 1) == 1)
		raise(SIGSTOP);
	stay();
}

static void
deep(void)
{
	int	 i;

	for (i = 0; i < 20; i++)
		if (fork() != 0)
			stay();
	stay();
}

static void
subreaper(void)
{
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	if (fork() == 0)
		twice();
	stay();
}

static void *
thread_child(void *arg)
{
	if (fork() == 0)
		stay();
	for (;;)
		pause();
	return arg;
}

static void
threads(void)
{
	pthread_t	 t;

	pthread_create(&t, NULL, thread_child, NULL);
	stay();
}

static void *
thread_stay(void *arg)
{
	stay();
	return arg;
}

/* The first thread ends, the process goes on. */
static void
headless(void)
{
	pthread_t	 t;

	pthread_create(&t, NULL, thread_stay, NULL);
	syscall(SYS_exit, 0);
}

static void
setup(void)
{
	ck_assert_int_eq(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
	ck_assert_int_eq(pipe(ready), 0);
}

static void
reap(void)
{
	while (waitpid(-1, NULL, WNOHANG) > 0)
		continue;
}

/* Pass after pass until a time has been without anybody. */
static void
kill_all(void)
{
	int	 empty = 0, passes = 0;

	while (empty < 3) {
		ck_assert_int_lt(passes++, 2000);
		empty = ptree_kill(SIGKILL, NULL, NULL, NULL) > 0 ? 0 :
		    empty + 1;
		usleep(2000);
		reap();
	}
	ck_assert_int_eq(waitpid(-1, NULL, 0), -1);	/* ECHILD */
}

static const struct {
	void		(*fn)(void);
	unsigned	 bytes, size;
} ways[] = {
	{ in_session, 1, 1 }, { twice, 1, 1 }, { stopped, 1, 1 },
	{ deep, 21, 21 }, { subreaper, 2, 2 }, { threads, 2, 2 },
	{ headless, 1, 1 },
};

START_TEST(test_ways)
{
	spawn(ways[_i].fn);
	wait_ready(ways[_i].bytes);
	while (ptree_kill(0, NULL, NULL, NULL) > ways[_i].size)
		usleep(1000);		/* one in between is not gone yet */
	ck_assert_uint_eq(ptree_kill(0, NULL, NULL, NULL), ways[_i].size);
	kill_all();
}
END_TEST

START_TEST(test_nobody)
{
	ck_assert_uint_eq(ptree_kill(SIGKILL, NULL, NULL, NULL), 0);
	spawn(in_session);
	wait_ready(1);
	ck_assert_uint_eq(ptree_kill(SIGKILL, NULL, NULL, NULL), 1);
	kill_all();
}
END_TEST

static bool
is_pid(pid_t pid, void *arg)
{
	return pid == *(pid_t *)arg;
}

/* A child that is skipped is so with all of its own. */
START_TEST(test_skip)
{
	pid_t	 kept = spawn(deep);

	spawn(in_session);
	wait_ready(22);
	ck_assert_uint_eq(ptree_kill(SIGKILL, is_pid, NULL, &kept), 1);
	for (; ptree_kill(0, NULL, NULL, NULL) > 21; usleep(1000))
		reap();
	ck_assert_uint_eq(ptree_kill(0, NULL, NULL, NULL), 21);
	ck_assert_uint_eq(ptree_kill(0, is_pid, NULL, &kept), 0);
	/* match: that process only, wherever it is. */
	ck_assert_uint_eq(ptree_kill(0, NULL, is_pid, &kept), 1);
	kill_all();
}
END_TEST

/* The clock of starts is the kernel's, to the tick. */
START_TEST(test_now)
{
	struct ptree_stat	 st;
	uint64_t		 before = ptree_now(), after, last;
	pid_t			 pid;

	ck_assert_int_ne(pid = fork(), -1);
	if (pid == 0) {
		pause();
		_exit(0);
	}
	after = ptree_now();
	ck_assert_int_eq(ptree_stat(pid, &st), 0);
	ck_assert_uint_ge(st.start, before);
	ck_assert_uint_le(st.start, after);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	/* One that begins in a later tick is later. */
	last = ptree_now();
	while (ptree_now() == last)
		usleep(1000);
	ck_assert_int_ne(pid = fork(), -1);
	if (pid == 0) {
		pause();
		_exit(0);
	}
	ck_assert_int_eq(ptree_stat(pid, &st), 0);
	ck_assert_uint_gt(st.start, last);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}
END_TEST

/* Without descriptors nobody knows who the children are, but whether any is. */
START_TEST(test_blind)
{
	struct rlimit	 rl, none = { 0, 0 };
	size_t		 alone, found;

	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &rl), 0);
	none.rlim_max = rl.rlim_max;
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
	alone = ptree_kill(0, NULL, NULL, NULL);
	spawn(stay);
	found = ptree_kill(0, NULL, NULL, NULL);
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &rl), 0);
	ck_assert_uint_eq(alone, 0);
	ck_assert_uint_eq(found, 1);
	kill_all();
}
END_TEST

static pid_t	 order[32];
static unsigned	 norder;

static bool
note_order(pid_t pid, void *arg)
{
	(void)arg;
	ck_assert_uint_lt(norder, sizeof(order) / sizeof(order[0]));
	order[norder++] = pid;
	return true;
}

/* Parents before their children, and of these the youngest first. */
START_TEST(test_order)
{
	pid_t	 first, second, third;

	first = spawn(deep);
	wait_ready(21);
	second = spawn(in_session);
	wait_ready(1);
	third = spawn(in_session);
	wait_ready(1);
	norder = 0;
	ck_assert_uint_eq(ptree_kill(0, NULL, note_order, NULL), 23);
	ck_assert_uint_eq(norder, 23);
	ck_assert_int_eq(order[0], third);
	ck_assert_int_eq(order[1], second);
	ck_assert_int_eq(order[2], first);
	kill_all();
}
END_TEST

static int	 more[2];

/* Forks when it is told to. */
static void
forks_later(void)
{
	char	 byte;

	if (write(ready[1], "", 1) == 1 && read(more[0], &byte, 1) == 1 &&
	    fork() == 0)
		stay();
	for (;;)
		pause();
}

static bool
let_fork(pid_t pid, void *arg)
{
	pid_t	*parent = arg;

	if (pid == *parent) {
		ck_assert_int_eq(write(more[1], "", 1), 1);
		wait_ready(1);
	}
	return true;
}

/* Whoever is forked until its parent was struck is found in the same pass. */
START_TEST(test_forked_meanwhile)
{
	pid_t	 parent;

	ck_assert_int_eq(pipe(more), 0);
	parent = spawn(forks_later);
	wait_ready(1);
	ck_assert_uint_eq(ptree_kill(0, NULL, let_fork, &parent), 2);
	kill_all();
}
END_TEST

static unsigned	 nreaps, pause_us;

static void
count_reap(void *arg)
{
	ck_assert_ptr_eq(arg, order);
	nreaps++;
	reap();
	usleep(pause_us);
}

static bool
is_second_look(pid_t pid, void *arg)
{
	(void)pid;
	return ++*(unsigned *)arg == 2;
}

/* It looks twice, but two hundred times for one that leaves traces only. */
START_TEST(test_purge)
{
	unsigned	 looks = 0;

	nreaps = 0;
	ck_assert(!ptree_purge(NULL, NULL, NULL, false, 20000, count_reap,
	    order));
	ck_assert_uint_eq(nreaps, 2);
	nreaps = 0;
	ck_assert(ptree_purge(NULL, NULL, NULL, true, 20000, count_reap,
	    order));
	ck_assert_uint_eq(nreaps, 200);
	/* No longer than it may. */
	nreaps = 0;
	pause_us = 5000;
	ck_assert(ptree_purge(NULL, NULL, NULL, true, 50, count_reap, order));
	ck_assert_uint_le(nreaps, 11);
	pause_us = 0;
	/* Once even if that was over before (it wraps around). */
	nreaps = 0;
	ck_assert(!ptree_purge(NULL, NULL, NULL, false, UINT64_MAX,
	    count_reap, order));
	ck_assert_uint_eq(nreaps, 1);
	/* Twice anew after each that is found. */
	nreaps = 0;
	spawn(in_session);
	wait_ready(1);
	ck_assert(ptree_purge(NULL, is_second_look, &looks, false, 20000,
	    count_reap, order));
	ck_assert_uint_eq(nreaps, 4);
	spawn(deep);
	spawn(twice);
	wait_ready(22);
	ck_assert(ptree_purge(NULL, NULL, NULL, false, 20000, count_reap,
	    order));
	ck_assert_int_eq(waitpid(-1, NULL, 0), -1);	/* ECHILD */
}
END_TEST

static void
set_mark(uint64_t mark)
{
	struct rlimit	 rl = { mark, mark };

	ck_assert_int_eq(setrlimit(RLIMIT_LOCKS, &rl), 0);
}

static bool
has_mark(pid_t pid, void *arg)
{
	return ptree_mark_of(pid) == *(uint64_t *)arg;
}

static uint64_t	 first_mark, second_mark;

static void
marked_first(void)
{
	set_mark(first_mark);
	twice();
}

static void
marked_second(void)
{
	set_mark(second_mark);
	setsid();
	execlp("sh", "sh", "-c", "printf x >&9; exec sleep 1000",
	    (char *)NULL);
	_exit(1);
}

START_TEST(test_marks)
{
	pid_t	 first;

	first_mark = ptree_new_mark();
	second_mark = ptree_new_mark();
	ck_assert_uint_ne(first_mark, second_mark);
	ck_assert(!ptree_is_marked(getpid()));
	first = spawn(marked_first);
	wait_ready(1);
	ck_assert(ptree_is_marked(first));
	ck_assert_int_eq(dup2(ready[1], 9), 9);
	spawn(marked_second);
	wait_ready(1);
	while (ptree_kill(0, NULL, NULL, NULL) > 2)
		usleep(1000);
	ck_assert_uint_eq(ptree_kill(0, NULL, has_mark, &first_mark), 1);
	ck_assert_uint_eq(ptree_kill(SIGKILL, NULL, has_mark, &second_mark),
	    1);
	for (; ptree_kill(0, NULL, has_mark, &second_mark) > 0; usleep(1000))
		reap();
	ck_assert_uint_eq(ptree_kill(0, NULL, has_mark, &first_mark), 1);
	kill_all();
}
END_TEST

/* A session inside a session: its marks fit in the limit that it has. */
START_TEST(test_marks_nest)
{
	uint64_t	 mark, outer = UINT64_MAX;
	int		 i;

	for (i = 0; i < 20; i++) {
		mark = ptree_new_mark();
		ck_assert(mark < outer && mark > 0);
		set_mark(mark);
		ck_assert_uint_eq(ptree_mark_of(getpid()), mark);
		/* That is what we have from outside, and others have too. */
		ck_assert(!ptree_is_marked(getpid()));
		outer = mark;
	}
	ck_assert_uint_eq(ptree_mark_of(0x7fffffff), RLIM_INFINITY);
}
END_TEST

/* Until there is no room for one more: then that of outside is its own, too. */
START_TEST(test_marks_end)
{
	set_mark(4);
	ck_assert_uint_eq(ptree_new_mark(), 2);
	set_mark(3);
	ck_assert_uint_eq(ptree_new_mark(), 3);
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("ptree");
	TCase	*t = tcase_create("ptree");
	SRunner	*r;
	int	 failed;

	tcase_set_timeout(t, 30);
	tcase_add_checked_fixture(t, setup, NULL);
	tcase_add_loop_test(t, test_ways, 0,
	    (int)(sizeof(ways) / sizeof(ways[0])));
	tcase_add_test(t, test_nobody);
	tcase_add_test(t, test_skip);
	tcase_add_test(t, test_now);
	tcase_add_test(t, test_blind);
	tcase_add_test(t, test_order);
	tcase_add_test(t, test_forked_meanwhile);
	tcase_add_test(t, test_purge);
	tcase_add_test(t, test_marks);
	tcase_add_test(t, test_marks_nest);
	tcase_add_test(t, test_marks_end);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed != 0;
}
