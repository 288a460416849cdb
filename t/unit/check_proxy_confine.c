/* What execsrv-proxy can still do, and what not any more. */
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/linux/landlock.h"
#include "common/measured.h"
#include "t/unit/filter_help.h"
#include "t/unit/left_out.h"
#include "common/linux/confine.h"
#include "worker/proxy/helper/proxy_confine.h"

#define N(rows)	(sizeof(rows) / sizeof((rows)[0]))

/* What a claim's number tells about a child that found it wrong. */
#define CLAIM(n, claim)	do { if (!(claim)) _exit(n); } while (0)

static void
what_it_may_and_not(void)
{
	char *const	 argv[] = { NULL };
	int		 fd;

	CLAIM(10, (fd = socket(AF_INET, SOCK_STREAM, 0)) != -1);
	CLAIM(11, listen(fd, 1) == -1 && errno == ENOSYS);
	CLAIM(12, (fd = socket(AF_INET6, SOCK_DGRAM, 0)) != -1 ||
	    errno == EAFNOSUPPORT);
	CLAIM(13, execve("/bin/true", argv, argv) == -1 && errno == ENOSYS);
	CLAIM(14, syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0) == -1);
	CLAIM(15, kill(getpid(), 0) == -1 && errno == ENOSYS);
	if (landlock_abi() < 1)
		return;
	CLAIM(20, (fd = open("/etc/hosts", O_RDONLY)) != -1 ||
	    errno == ENOENT);
	CLAIM(21, open("/etc/passwd", O_RDONLY) == -1 && errno == EACCES);
	CLAIM(22, open("/proc/self/environ", O_RDONLY) == -1 &&
	    errno == EACCES);
	CLAIM(23, open("/etc/hosts", O_WRONLY) == -1 && errno == EACCES);
	CLAIM(24, open("/tmp/x", O_WRONLY | O_CREAT, 0600) == -1 &&
	    errno == EACCES);
}

START_TEST(test_confined)
{
	int	 status;
	pid_t	 pid;

	if (is_measured()) {
		left_out("measured programs are not confined");
		return;
	}
	if ((pid = fork()) == 0) {
		CLAIM(1, confine_to_parent() == 0 && confine_early() == 0);
		CLAIM(2, proxy_confine() == 0);
		what_it_may_and_not();
		_exit(0);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0,
	    "claim %d is wrong", WEXITSTATUS(status));
}
END_TEST

#define NO(name, ...)	FILTER_CASE(EPERM, name, __VA_ARGS__)
#define YES(name, ...)	FILTER_CASE(FILTER_LETS, name, __VA_ARGS__)
#define GONE(name)	FILTER_CASE(ENOSYS, name, 0)

static const struct filter_case	 cases[] = {
	YES(socket, AF_INET, SOCK_STREAM), YES(socket, AF_INET6, SOCK_STREAM),
	YES(socket, AF_INET, SOCK_DGRAM | SOCK_CLOEXEC),
	YES(socket, AF_INET, SOCK_STREAM | SOCK_NONBLOCK, IPPROTO_TCP),
	NO(socket, AF_INET, SOCK_STREAM, IPPROTO_MPTCP),
	NO(socket, AF_INET, SOCK_STREAM, IPPROTO_SCTP),
	NO(socket, AF_INET, SOCK_DGRAM, IPPROTO_ICMP),
	NO(socket, AF_INET, SOCK_RAW), NO(socket, AF_UNIX, SOCK_STREAM),
	NO(socket, AF_NETLINK, SOCK_RAW), NO(socket, AF_PACKET, SOCK_RAW),
	NO(socket, AF_VSOCK, SOCK_STREAM),
	YES(connect, 3), YES(accept4, 3), YES(recvfrom, 3), YES(sendmsg, 3),
	YES(splice, 3),
	GONE(execve), GONE(execveat), GONE(clone), GONE(clone3), GONE(kill),
	GONE(tgkill), GONE(ptrace), GONE(setns), GONE(unshare), GONE(mount),
	GONE(unlinkat), GONE(renameat2), GONE(fchmod), GONE(truncate),
	GONE(io_uring_setup), GONE(bpf), GONE(socketpair), GONE(listen),
	GONE(prctl), GONE(setrlimit), GONE(pidfd_open), GONE(memfd_create)
};

static void
install(void)
{
	filter_must(confine_early() == 0 && proxy_confine() == 0);
}

START_TEST(test_calls)
{
	if (is_measured()) {
		left_out("measured programs are not confined");
		return;
	}
	filter_check_cases(install, cases, N(cases), false);
	ck_assert(filter_kills_foreign(install));
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("proxy_confine");
	TCase	*t = tcase_create("proxy_confine");
	SRunner	*r;
	int	 failed;

	tcase_add_test(t, test_confined);
	tcase_add_test(t, test_calls);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_ENV);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
