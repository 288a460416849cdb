#include "common/linux/slice.h"
#include "t/unit/left_out.h"

#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <check.h>

struct attributes {
	uint32_t	 size, policy;
	uint64_t	 flags;
	int32_t		 nice;
	uint32_t	 priority;
	uint64_t	 runtime, deadline, period;
};

static struct attributes
now(void)
{
	struct attributes	 a;

	memset(&a, 0, sizeof(a));
	ck_assert_int_eq(syscall(SYS_sched_getattr, 0, &a, sizeof(a), 0), 0);
	return a;
}

/* For us alone, at the same priority; 0 where kernels tell no runtime. */
START_TEST(test_short)
{
	struct attributes	 before, after;
	int			 status;
	pid_t			 pid;

	ck_assert_int_eq(setpriority(PRIO_PROCESS, 0, 3), 0);
	before = now();
	slice_short();
	after = now();
	ck_assert_int_eq(after.nice, 3);
	ck_assert_uint_eq(after.policy, before.policy);
	if (before.runtime != 0)
		ck_assert_uint_lt(after.runtime, before.runtime);
	if ((pid = fork()) == 0)
		_exit(now().runtime != before.runtime || now().nice != 3);
	ck_assert_int_gt(pid, 0);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
}
END_TEST

/* Who was given precedence keeps it, for its children too. */
START_TEST(test_precedence)
{
	struct attributes	 before, after;

	if (setpriority(PRIO_PROCESS, 0, -1) == -1) {
		left_out("precedence is not ours to give");
		return;
	}
	before = now();
	slice_short();
	after = now();
	ck_assert_mem_eq(&before, &after, sizeof(after));
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("slice");
	TCase	*t = tcase_create("all");
	SRunner	*sr = srunner_create(s);
	int	 failed;

	tcase_add_test(t, test_short);
	tcase_add_test(t, test_precedence);
	suite_add_tcase(s, t);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed != 0;
}
