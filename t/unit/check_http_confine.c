/* What execsrv-http can still do, and what not any more. */
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/measured.h"
#include "t/unit/filter_help.h"
#include "t/unit/left_out.h"
#include "common/linux/confine.h"
#include "worker/http/helper/http_confine.h"

static char	 allowed[] = "/tmp/check_confine.XXXXXX";
static char	 other[] = "/tmp/check_confine.XXXXXX";

static bool
has_landlock(void)
{
	return syscall(SYS_landlock_create_ruleset, NULL, 0, 1) >= 1;
}

/* What a claim's number tells about a child that found it wrong. */
#define CLAIM(n, claim)	do { if (!(claim)) _exit(n); } while (0)

static void *
thread(void *arg)
{
	*(int *)arg = 1;
	return NULL;
}

static bool	 has_hosts;

/* As libcurl does it: name service, in a thread, and TLS's random bytes. */
static void
what_it_needs(void)
{
	struct addrinfo	*ai = NULL;
	pthread_t	 t;
	int		 done = 0, fd;
	char		 byte;

	CLAIM(10, pthread_create(&t, NULL, thread, &done) == 0);
	CLAIM(11, pthread_join(t, NULL) == 0 && done == 1);
	CLAIM(12, getaddrinfo("localhost", "80", NULL, &ai) == 0 ||
	    !has_hosts);
	if (ai != NULL)
		freeaddrinfo(ai);
	CLAIM(13, (fd = socket(AF_INET, SOCK_STREAM, 0)) != -1);
	close(fd);
	CLAIM(14, (fd = open("/etc/passwd", O_RDONLY)) != -1);
	close(fd);
	CLAIM(15, (fd = open("/dev/urandom", O_RDONLY)) != -1 &&
	    read(fd, &byte, 1) == 1);
	close(fd);
	CLAIM(16, (fd = open(allowed, O_RDONLY)) != -1);
	close(fd);
}

static void
what_it_must_not(void)
{
	char *const	 argv[] = { NULL };
	struct rlimit	 core;
	int		 sig;

	CLAIM(20, execve("/bin/true", argv, argv) == -1 && errno == EPERM);
	CLAIM(21, syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0) == -1);
	CLAIM(22, kill(getppid(), 0) == -1 && errno == EPERM);
	CLAIM(23, syscall(SYS_tgkill, getppid(), getppid(), 0) == -1 &&
	    errno == EPERM);
	CLAIM(24, syscall(SYS_ptrace, 16, getppid(), 0, 0) == -1 &&
	    errno == EPERM);
	CLAIM(25, prlimit(getppid(), RLIMIT_LOCKS, NULL, NULL) == -1);
	CLAIM(26, prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1);
	CLAIM(27, prctl(PR_GET_DUMPABLE) == 0);
	CLAIM(28, prctl(PR_GET_PDEATHSIG, &sig) == 0 && sig == SIGKILL);
	CLAIM(29, getrlimit(RLIMIT_CORE, &core) == 0 && core.rlim_max == 0);
	if (!has_landlock())
		return;
	CLAIM(30, open(other, O_RDONLY) == -1 && errno == EACCES);
	CLAIM(31, open(allowed, O_WRONLY) == -1 && errno == EACCES);
	CLAIM(32, open("/tmp/x", O_WRONLY | O_CREAT, 0600) == -1);
	CLAIM(33, unlink(other) == -1 && errno == EACCES);
}

START_TEST(confined)
{
	const char	*files[] = { allowed, "/nowhere/at/all", NULL };
	int		 status, fd;
	pid_t		 pid;

	if (is_measured()) {
		left_out("measured programs are not confined");
		return;
	}
	has_hosts = system("grep -qsw localhost /etc/hosts") == 0;
	ck_assert_int_ne(fd = mkstemp(allowed), -1);
	close(fd);
	ck_assert_int_ne(fd = mkstemp(other), -1);
	close(fd);
	if ((pid = fork()) == 0) {
		CLAIM(1, confine_to_parent() == 0 && confine_early() == 0);
		CLAIM(2, http_confine(files) == 0);
		what_it_needs();
		what_it_must_not();
		_exit(0);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	unlink(allowed);
	unlink(other);
	ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0,
	    "claim %d is wrong", WEXITSTATUS(status));
}
END_TEST

static const long	 refused[] = {
	FILTER_NEVER,
	SYS_execve, SYS_execveat,
#ifdef SYS_fork
	SYS_fork, SYS_vfork,
#endif
	SYS_kill, SYS_tkill, SYS_tgkill, SYS_pidfd_open,
	SYS_pidfd_send_signal, SYS_rt_sigqueueinfo, SYS_rt_tgsigqueueinfo,
	SYS_personality, SYS_clone	/* of a process */
};

static const struct filter_case	 cases[] = {
	FILTER_CASE(FILTER_LETS, clone, CLONE_VM | CLONE_THREAD),
	FILTER_CASE(EPERM, clone, CLONE_VM | CLONE_FILES),
	FILTER_CASE(EPERM, clone, CLONE_THREAD | CLONE_NEWNET),
	FILTER_CASE(FILTER_LETS, prlimit64, 0),
	FILTER_CASE(EPERM, prlimit64, 4711)
};

#define N(rows)	(sizeof(rows) / sizeof((rows)[0]))

static void
install(void)
{
	static const char	*files[] = { NULL };

	filter_must(confine_early() == 0 && http_confine(files) == 0);
}

START_TEST(all_calls)
{
	if (is_measured()) {
		left_out("measured programs are not confined");
		return;
	}
	filter_check(install, FILTER_LETS, EPERM, refused, N(refused), false,
	    SYS_clone3);
	filter_check_cases(install, cases, N(cases), false);
	ck_assert(filter_kills_foreign(install));
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("http_confine");
	TCase	*t = tcase_create("http_confine");
	SRunner	*r;
	int	 failed;

	tcase_add_test(t, confined);
	tcase_add_test(t, all_calls);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_ENV);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
