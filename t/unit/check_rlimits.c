/* worker/os/rlimits.c: limits of a session's commands, from settings. */
#include <sys/resource.h>
#include <sys/wait.h>

#include <unistd.h>

#include <check.h>

#include "worker/os/rlimits.h"

#define OURS	(64ULL << 40)		/* a hard limit that we have */

static Ipc__Rlimit	 given[2], *list[] = { &given[0], &given[1] };
static struct rlimits		 l;

/* Limits of one resource, in this order. */
static void
make(int resource, size_t n, const uint64_t values[][2])
{
	Ipc__Settings	 set = IPC__SETTINGS__INIT;
	size_t		 i;

	for (i = 0; i < n; i++) {
		given[i] = (Ipc__Rlimit)IPC__RLIMIT__INIT;
		given[i].resource = (uint32_t)resource;
		given[i].soft = values[i][0];
		given[i].hard = values[i][1];
	}
	set.n_rlimit = n;
	set.rlimit = list;
	rlimits_init(&l, &set);
	ck_assert_uint_eq(l.n, 1);
	ck_assert_int_eq(l.rlimit[0].resource, resource);
}

static void
lower_ours(int resource)
{
	struct rlimit	 rl = { OURS, OURS };

	ck_assert_int_eq(setrlimit(resource, &rl), 0);
}

/* Whoever may raise no hard limit keeps the soft one that was asked for. */
START_TEST(test_ours)
{
	static const struct {
		uint64_t	 asked[1][2], soft, hard;
	} rows[] = {
		{ { { 1000, 2000 } }, 1000, 2000 },
		{ { { 1000, OURS } }, 1000, OURS },
		{ { { 1000, OURS + 1 } }, 1000, OURS },
		{ { { 1000, UINT64_MAX } }, 1000, OURS },
		{ { { OURS + 1, OURS + 1 } }, OURS, OURS },
		{ { { 2000, 1000 } }, 1000, 1000 }
	};

	lower_ours(RLIMIT_FSIZE);
	make(RLIMIT_FSIZE, 1, rows[_i].asked);
	ck_assert_uint_eq(l.rlimit[0].value.rlim_cur, rows[_i].soft);
	ck_assert_uint_eq(l.rlimit[0].value.rlim_max, rows[_i].hard);
}
END_TEST

/* Of two the lower one applies, whichever comes first. */
START_TEST(test_two)
{
	static const uint64_t	 asked[][2][2] = {
		{ { 1000, 4000 }, { 2000, 3000 } },
		{ { 2000, 3000 }, { 1000, 4000 } },
		{ { 2000, 4000 }, { 1000, 3000 } },
		{ { 1000, 3000 }, { 2000, 4000 } }
	};

	make(RLIMIT_FSIZE, 2, asked[_i]);
	ck_assert_uint_eq(l.rlimit[0].value.rlim_cur, 1000);
	ck_assert_uint_eq(l.rlimit[0].value.rlim_max, 3000);
}
END_TEST

/* MemoryMax without control groups, and a limit that is lower. */
START_TEST(test_address_space)
{
	Ipc__Settings	 set = IPC__SETTINGS__INIT;

	lower_ours(RLIMIT_AS);
	set.as_max = OURS - 1;
	rlimits_init(&l, &set);
	ck_assert_uint_eq(l.n, 1);
	ck_assert_int_eq(l.rlimit[0].resource, RLIMIT_AS);
	ck_assert_uint_eq(l.rlimit[0].value.rlim_cur, OURS - 1);
	ck_assert_uint_eq(l.rlimit[0].value.rlim_max, OURS - 1);
	set.as_max = OURS + 1;
	rlimits_init(&l, &set);
	ck_assert_uint_eq(l.rlimit[0].value.rlim_max, OURS);
}
END_TEST

/* Nice is added to our own, and ends where the kernel's numbers end. */
START_TEST(test_priority)
{
	static const int	 rows[] = { 0, 5, 16, 17, 19 };
	Ipc__Settings		 set = IPC__SETTINGS__INIT;
	int			 own = getpriority(PRIO_PROCESS, 0), want;
	int			 status;
	pid_t			 pid;

	/* Not everybody may lower it, with nice(1) before us. */
	if (own < 3)
		own = 3;
	want = own + rows[_i] < 19 ? own + rows[_i] : 19;
	ck_assert_int_ne(pid = fork(), -1);
	if (pid == 0) {
		set.nice = (uint32_t)rows[_i];
		if (setpriority(PRIO_PROCESS, 0, own) == -1)
			_exit(100);
		rlimits_init(&l, &set);
		_exit(l.priority);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert(WIFEXITED(status));
	ck_assert_int_eq(WEXITSTATUS(status), want);
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("rlimits");
	TCase	*t = tcase_create("rlimits");
	SRunner	*r;
	int	 failed;

	tcase_add_loop_test(t, test_ours, 0, 6);
	tcase_add_loop_test(t, test_two, 0, 4);
	tcase_add_test(t, test_address_space);
	tcase_add_loop_test(t, test_priority, 0, 5);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed != 0;
}
