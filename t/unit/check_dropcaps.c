/* worker/os/dropcaps.c: nothing is left, and nothing comes back. */
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <linux/capability.h>
#include <linux/securebits.h>

#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "worker/os/dropcaps.h"

/* What a function finds that forgets to clear its own. */
static void __attribute__((noinline))
dirty_stack(void)
{
	volatile unsigned char	 room[8192];
	size_t			 i;

	for (i = 0; i < sizeof(room); i++)
		room[i] = 0xff;
}

static void
ck_none(void)
{
	struct __user_cap_header_struct	 head = {
		.version = _LINUX_CAPABILITY_VERSION_3
	};
	struct __user_cap_data_struct	 data[2];
	int				 i;

	ck_assert_int_eq(syscall(SYS_capget, &head, data), 0);
	for (i = 0; i < 2; i++) {
		ck_assert_uint_eq(data[i].effective, 0);
		ck_assert_uint_eq(data[i].permitted, 0);
		ck_assert_uint_eq(data[i].inheritable, 0);
	}
}

START_TEST(test_nothing_is_left)
{
	unsigned	 bits = SECBIT_NOROOT | SECBIT_NOROOT_LOCKED;

	dirty_stack();
	ck_assert_int_eq(dropcaps(), 0);
	ck_none();
	if (geteuid() == 0)
		ck_assert_uint_eq((unsigned)prctl(PR_GET_SECUREBITS) & bits,
		    bits);
	/* Without the right to say that nothing can be regained: no error. */
	errno = EXDEV;
	ck_assert_int_eq(dropcaps(), 0);
	ck_assert_int_eq(errno, EXDEV);
	ck_none();
}
END_TEST

/* Nor does exec give them to root. */
START_TEST(test_exec)
{
	int	 status;
	pid_t	 pid;

	ck_assert_int_ne(pid = fork(), -1);
	if (pid == 0) {
		if (dropcaps() == -1)
			_exit(2);
		execl("/bin/sh", "sh", "-c", "grep -q "
		    "'^CapEff:[[:space:]]*0*$' /proc/self/status &&"
		    "grep -q '^CapPrm:[[:space:]]*0*$' /proc/self/status",
		    (char *)NULL);
		_exit(3);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("dropcaps");
	TCase	*t = tcase_create("dropcaps");
	SRunner	*r = srunner_create(s);
	int	 failed;

	tcase_add_test(t, test_nothing_is_left);
	tcase_add_test(t, test_exec);
	suite_add_tcase(s, t);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed != 0;
}
