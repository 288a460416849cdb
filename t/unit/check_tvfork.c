/*
 * worker/os/tvfork.c: children that get there, fail, are held up, or are
 * killed.
 */
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"
#include "worker/os/rawsys.h"
#include "worker/os/tvfork.h"

#define SLACK_MS	1500	/* that a loaded machine may take */
#define TRIES		5	/* and one that stands still needs another */

struct baby {
	struct tvfork	 tvfork;		/* the first member */
	char		*argv[4];
	char		*envp[1];
	int		 pipe[2];
};

static struct baby *
baby_new(const char *script)
{
	static char	 sh[] = "sh", c[] = "-c";
	struct baby	*k;

	ck_assert_ptr_nonnull(k = calloc(1, sizeof(*k)));
	k->tvfork.size = sizeof(*k);
	k->argv[0] = sh;
	k->argv[1] = c;
	k->argv[2] = (char *)(uintptr_t)script;
	k->pipe[0] = k->pipe[1] = -1;
	return k;
}

static int
status_of(pid_t pid)
{
	int	 status;

	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) :
	    128 + WTERMSIG(status);
}

static void
nobody_is_left(void)
{
	ck_assert_int_eq(waitpid(-1, NULL, WNOHANG), -1);
	ck_assert_int_eq(errno, ECHILD);
}

/* --- what children do --- */

static int
run(void *arg)
{
	struct baby	*k = arg;
	int		 error;

	error = (int)-rawsys(SYS_execve, (long)"/bin/sh", (long)k->argv,
	    (long)k->envp, 0, 0);
	return tvfork_fail(&k->tvfork, error, "run");
}

static int
fall(void *arg)
{
	return tvfork_fail(arg, ENOTBLK, "fall");
}

static void
signal_self(int sig)
{
	rawsys(SYS_kill, rawsys(SYS_getpid, 0, 0, 0, 0, 0), sig, 0, 0, 0);
}

static int
stop_and_run(void *arg)
{
	signal_self(SIGSTOP);
	return run(arg);
}

static int
stop_and_fail(void *arg)
{
	struct baby	*k = arg;

	rawsys(SYS_dup3, k->pipe[1], STDERR_FILENO, 0, 0, 0);
	signal_self(SIGSTOP);
	return fall(arg);
}

static int
sleep_and_run(void *arg)
{
	static const struct timespec	 ts = { 1, 0 };

	rawsys(SYS_nanosleep, (long)&ts, 0, 0, 0, 0);
	return run(arg);
}

static int
be_killed(void *arg)
{
	signal_self(SIGKILL);
	return run(arg);
}

static int
run_inner(void *arg)
{
	return tvfork_give_inner(arg, run);
}

static int
fail_inner(void *arg)
{
	return tvfork_give_inner(arg, fall);
}

static int
stop_inner(void *arg)
{
	return tvfork_give_inner(arg, stop_and_run);
}

static int
stop_and_run_inner(void *arg)
{
	signal_self(SIGSTOP);
	return run_inner(arg);
}

static int
keep_stopping(void *arg)
{
	for (;;)
		signal_self(SIGSTOP);
	return run_inner(arg);
}

/* --- those that get there, or say why not --- */

static const struct {
	tvfork_fn	*fn;
	bool		 is_double;
	int		 error;
} ways[] = {
	{ run, false, 0 },
	{ run_inner, true, 0 },
	{ stop_and_run_inner, true, 0 },	/* it is told to go on */
	{ fall, false, ENOTBLK },
	{ fall, true, ENOTBLK },		/* before there is an inner */
	{ fail_inner, true, ENOTBLK },
	{ be_killed, true, ETIMEDOUT },
};

START_TEST(test_ways)
{
	struct baby	*k;
	pid_t		 pid;
	int		 i;

	for (i = 0; i < 20; i++) {
		k = baby_new("exit 3");
		k->tvfork.is_double = ways[_i].is_double;
		errno = 0;
		pid = tvfork_give(&k->tvfork, -1, ways[_i].fn);
		if (ways[_i].error == 0) {
			ck_assert_int_gt(pid, 0);
			ck_assert_int_eq(status_of(pid), 3);
		} else {
			ck_assert_int_eq(pid, -1);
			ck_assert_int_eq(errno, ways[_i].error);
			free(k);
		}
		nobody_is_left();
	}
}
END_TEST

/* Who is killed on the way has been started, and is waited for as others. */
START_TEST(test_killed)
{
	struct baby	*k = baby_new("exit 3");
	pid_t		 pid;

	pid = tvfork_give(&k->tvfork, -1, be_killed);
	ck_assert_int_gt(pid, 0);
	ck_assert_int_eq(status_of(pid), 128 + SIGKILL);
}
END_TEST

/* A first that never gets on is the end of it. */
START_TEST(test_hopeless)
{
	struct baby	*k;
	uint64_t	 began, took = UINT64_MAX;
	int		 i;

	for (i = 0; i < TRIES && took >= TVFORK_SLEEPS_MS + SLACK_MS; i++) {
		k = baby_new("exit 3");
		k->tvfork.is_double = true;
		began = clock_ms();
		ck_assert_int_eq(tvfork_give(&k->tvfork, -1, keep_stopping),
		    -1);
		ck_assert_int_eq(errno, ETIMEDOUT);
		took = clock_ms() - began;
		free(k);
		nobody_is_left();
	}
	ck_assert_uint_lt(took, TVFORK_SLEEPS_MS + SLACK_MS);
}
END_TEST

/* --- those that are late --- */

static const struct {
	tvfork_fn	*fn;
	bool		 is_double;
	int		 status;
} late[] = {
	{ stop_and_run, false, 3 },
	{ stop_inner, true, 3 },
	{ stop_and_fail, false, 127 },
	{ sleep_and_run, false, 3 },
};

#define MANY	8

/*
 * Several at a time, so that each needs memory of its own; and between them
 * those that are in time.  Then each goes on with what it was given.
 */
START_TEST(test_late)
{
	struct baby	*k;
	pid_t		 pids[MANY], pid;
	uint64_t	 began;
	int		 i, info, slow = 0, null;

	null = open("/dev/null", O_WRONLY);
	for (i = 0; i < MANY; i++) {
		k = baby_new("exit 3");
		k->pipe[1] = null;
		k->tvfork.is_double = late[_i].is_double;
		began = clock_ms();
		pids[i] = tvfork_give(&k->tvfork, -1, late[_i].fn);
		ck_assert_int_gt(pids[i], 0);
		slow += clock_ms() - began >= TVFORK_SLEEPS_MS + SLACK_MS;
		k = baby_new("exit 4");
		ck_assert_int_gt(pid = tvfork_give(&k->tvfork, -1, run), 0);
		ck_assert_int_eq(status_of(pid), 4);
	}
	/* While the machine stands still nobody is in time. */
	ck_assert_int_lt(slow, MANY / 2);
	for (i = 0; i < MANY; i++) {
		if (late[_i].fn != sleep_and_run) {
			ck_assert_int_eq(waitpid(pids[i], &info, WUNTRACED),
			    pids[i]);
			ck_assert(WIFSTOPPED(info));
			kill(pids[i], SIGCONT);
		}
		ck_assert_int_eq(status_of(pids[i]), late[_i].status);
	}
	nobody_is_left();
	/* Which gives back what they had: a sanitizer says whether. */
	k = baby_new("exit 5");
	ck_assert_int_gt(pid = tvfork_give(&k->tvfork, -1, run), 0);
	ck_assert_int_eq(status_of(pid), 5);
	close(null);
}
END_TEST

/* One that fails behind our back says it, and leaves our errno alone. */
START_TEST(test_errno)
{
	struct baby	*k = baby_new("exit 3");
	char		 text[128];
	pid_t		 pid;
	ssize_t		 n;
	int		 ends[2];

	ck_assert_int_eq(pipe(ends), 0);
	k->pipe[1] = ends[1];
	pid = tvfork_give(&k->tvfork, -1, stop_and_fail);
	ck_assert_int_gt(pid, 0);
	errno = EXDEV;
	kill(pid, SIGCONT);
	ck_assert_int_eq(status_of(pid), 127);
	ck_assert_int_eq(errno, EXDEV);
	ck_assert_int_gt(n = read(ends[0], text, sizeof(text) - 1), 0);
	text[n] = '\0';
	ck_assert_str_eq(text, "execsrv: failed to start process: fall\n");
	close(ends[0]);
	close(ends[1]);
}
END_TEST

/* --- descriptors --- */

static int
close_and_write(void *arg)
{
	struct baby	*k = arg;
	char		 answer = '0';

	tvfork_close(k->pipe[1], -1);
	if (rawsys(SYS_fcntl, k->pipe[0], F_GETFD, 0, 0, 0) == -EBADF)
		answer = '1';
	rawsys(SYS_write, k->pipe[1], (long)&answer, 1, 0, 0);
	tvfork_close(-1, -1);
	return tvfork_fail(&k->tvfork, (int)-rawsys(SYS_fcntl, k->pipe[1],
	    F_GETFD, 0, 0, 0), "close");
}

START_TEST(test_close)
{
	struct baby	*k = baby_new("exit 3");
	int		 pair[2];
	char		 c;

	ck_assert_int_eq(pipe(pair), 0);
	k->pipe[0] = pair[0];
	k->pipe[1] = pair[1];
	ck_assert_int_eq(tvfork_give(&k->tvfork, -1, close_and_write), -1);
	ck_assert_int_eq(errno, EBADF);
	free(k);
	ck_assert_int_eq(read(pair[0], &c, 1), 1);
	ck_assert_int_eq(c, '1');
	close(pair[0]);
	close(pair[1]);
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("tvfork");
	TCase	*t = tcase_create("tvfork");
	SRunner	*r;
	int	 failed;

	tcase_set_timeout(t, 60);
	tcase_add_loop_test(t, test_ways, 0,
	    (int)(sizeof(ways) / sizeof(ways[0])));
	tcase_add_test(t, test_killed);
	tcase_add_test(t, test_hopeless);
	tcase_add_loop_test(t, test_late, 0,
	    (int)(sizeof(late) / sizeof(late[0])));
	tcase_add_test(t, test_errno);
	tcase_add_test(t, test_close);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed != 0;
}
