/*
 * worker/os/privdrop.c: what is left to a process that reads what strangers
 * send, where there is nobody else that it could become.
 */
#include <sys/wait.h>

#include <check.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/measured.h"
#include "t/unit/left_out.h"
#include "worker/os/privdrop.h"

#define CLAIM(n, claim)	do { if (!(claim)) _exit(n); } while (0)
#define NO_NAMESPACE	77

static bool
put(const char *path, const char *text)
{
	ssize_t	 n;
	int	 fd;

	if ((fd = open(path, O_WRONLY)) == -1)
		return false;
	n = write(fd, text, strlen(text));
	close(fd);
	return n == (ssize_t)strlen(text);
}

/* Be root, with all rights, where no other number exists. */
static bool
be_alone(void)
{
	char	 users[32], groups[32];

	snprintf(users, sizeof(users), "0 %lu 1", (unsigned long)geteuid());
	snprintf(groups, sizeof(groups), "0 %lu 1", (unsigned long)getegid());
	return unshare(CLONE_NEWUSER) == 0 &&
	    put("/proc/self/setgroups", "deny") &&
	    put("/proc/self/uid_map", users) &&
	    put("/proc/self/gid_map", groups);
}

/* Whether a process has any right, as its status says, which is read there. */
static bool
has_rights(int fd)
{
	static const char	 none[] = "\nCapPrm:\t0000000000000000\n"
				     "CapEff:\t0000000000000000\n";
	char			 text[4096];
	ssize_t			 n;

	CLAIM(10, (n = read(fd, text, sizeof(text) - 1)) > 0);
	text[n] = '\0';
	CLAIM(11, strstr(text, "\nCapPrm:") != NULL);
	return strstr(text, none) == NULL;
}

START_TEST(test_one_user)
{
	int	 before, after, status;
	pid_t	 pid;

	if (is_measured()) {
		left_out("measured programs are not confined");
		return;
	}
	ck_assert_int_ne(pid = fork(), -1);
	if (pid == 0) {
		CLAIM(NO_NAMESPACE, be_alone());
		/* It may open none of them later. */
		CLAIM(1, (before = open("/proc/self/status", O_RDONLY)) != -1);
		CLAIM(2, (after = open("/proc/self/status", O_RDONLY)) != -1);
		CLAIM(3, has_rights(before));
		privdrop_preauth();
		CLAIM(4, !has_rights(after));
		_exit(0);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	if (WIFEXITED(status) && WEXITSTATUS(status) == NO_NAMESPACE)
		left_out("no user namespace");
	else
		ck_assert_msg(status == 0, "status %x", status);
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("privdrop");
	TCase	*t = tcase_create("privdrop");
	SRunner	*r;
	int	 failed;

	tcase_add_test(t, test_one_user);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed != 0;
}
