/* worker/os/preauth.c: what ends a process that reads what strangers send. */
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/linux/landlock.h"
#include "common/measured.h"
#include "t/unit/filter_help.h"
#include "t/unit/left_out.h"
#include "worker/os/preauth.h"

#define N(rows)	(int)(sizeof(rows) / sizeof((rows)[0]))

static int	 pair[2];

/* --- each of these ends it --- */

static void try_open(void) { syscall(SYS_openat, AT_FDCWD, "/", 0, 0); }
static void try_stat(void) { syscall(SYS_newfstatat, 1, "", NULL, 0); }
static void try_readlink(void) { syscall(SYS_readlinkat, 1, "", NULL, 0); }
static void try_unlink(void) { syscall(SYS_unlinkat, 1, "/tmp/x", 0); }
static void try_socket(void) { syscall(SYS_socket, AF_UNIX, 1, 0); }
static void try_connect(void) { syscall(SYS_connect, pair[0], NULL, 0); }
static void try_accept(void) { syscall(SYS_accept4, pair[0], NULL, 0, 0); }
static void try_dup(void) { syscall(SYS_dup, 0); }
static void try_clone(void) { syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0); }
static void try_clone3(void) { syscall(SYS_clone3, NULL, 0); }
static void try_execve(void) { syscall(SYS_execve, "/bin/true", 0, 0); }
static void try_kill(void) { syscall(SYS_kill, getppid(), 0); }
static void try_tgkill(void) { syscall(SYS_tgkill, 1, 1, 0); }
static void try_ptrace(void) { syscall(SYS_ptrace, PTRACE_SEIZE, 1, 0, 0); }
static void try_vm(void) { syscall(SYS_process_vm_readv, 1, 0, 0, 0, 0, 0); }
static void try_prctl(void) { syscall(SYS_prctl, PR_SET_DUMPABLE, 1); }
static void try_setuid(void) { syscall(SYS_setresuid, 0, 0, 0); }
static void try_ioctl(void) { syscall(SYS_ioctl, 0, 0, 0); }
static void try_fcntl(void) { syscall(SYS_fcntl, 0, F_SETOWN, 1); }
static void try_memfd(void) { syscall(SYS_memfd_create, "x", 0); }
static void try_uring(void) { syscall(SYS_io_uring_setup, 1, NULL); }
static void try_bpf(void) { syscall(SYS_bpf, 0, NULL, 0); }
static void try_limit(void) { syscall(SYS_prlimit64, 0, 0, NULL, NULL); }
static void try_unknown(void) { syscall(4000); }

static void	(*const forbidden[])(void) = {
	try_open, try_stat, try_readlink, try_unlink, try_socket,
	try_connect, try_accept, try_dup, try_clone, try_clone3, try_execve,
	try_kill, try_tgkill, try_ptrace, try_vm, try_prctl, try_setuid,
	try_ioctl, try_fcntl, try_memfd, try_uring, try_bpf, try_limit,
	try_unknown
};

static void
setup(void)
{
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
}

static void
teardown(void)
{
	close(pair[0]);
	close(pair[1]);
}

static int
in_child(void (*fn)(void))
{
	pid_t	 pid = fork();
	int	 status;

	ck_assert_int_ne(pid, -1);
	if (pid == 0) {
		if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == -1 ||
		    preauth_confine(true) == -1)
			_exit(2);
		fn();
		_exit(0);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	return status;
}

START_TEST(test_forbidden)
{
	int	 status;

	if (is_measured()) {
		left_out("measured programs are not confined");
		return;
	}
	status = in_child(forbidden[_i]);
	ck_assert_msg(WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS,
	    "number %d ended with %d", _i, status);
}
END_TEST

/* --- and so does every other call but these --- */

static const long	 allowed[] = {
#ifdef SYS_poll
	SYS_poll, SYS_time,
#endif
	SYS_ppoll, SYS_read, SYS_write, SYS_close, SYS_shutdown,
	SYS_recvfrom, SYS_recvmsg, SYS_sendto, SYS_sendmsg, SYS_mmap,
	SYS_munmap, SYS_mremap, SYS_mprotect, SYS_madvise, SYS_brk,
	SYS_futex, SYS_getrandom, SYS_getpid, SYS_clock_gettime,
	SYS_gettimeofday, SYS_restart_syscall, SYS_rt_sigreturn,
	SYS_rt_sigprocmask, SYS_exit, SYS_exit_group
};

static void
confine(void)
{
	filter_must(preauth_confine(true) == 0);
}

START_TEST(test_all_calls)
{
	if (is_measured()) {
		left_out("measured programs are not confined");
		return;
	}
	filter_check(confine, FILTER_KILLS, FILTER_LETS, allowed, N(allowed),
	    true, -1);
	ck_assert(filter_kills_foreign(confine));
}
END_TEST

static void
confine_beside_others(void)
{
	filter_must(preauth_confine(false) == 0);
}

START_TEST(test_limits)
{
	if (is_measured()) {
		left_out("measured programs are not confined");
		return;
	}
	ck_assert_uint_eq(filter_limit(confine, RLIMIT_FSIZE), 0);
	ck_assert_uint_eq(filter_limit(confine, RLIMIT_NPROC), 0);
	ck_assert_uint_eq(filter_limit(confine, RLIMIT_CORE), 0);
	ck_assert_uint_eq(filter_limit(confine, RLIMIT_NOFILE), 1);
	ck_assert_uint_gt(filter_limit(confine_beside_others, RLIMIT_NOFILE),
	    1);
}
END_TEST

/*
 * What a filter does not see: whom a datagram goes to.  Scopes of Landlock keep
 * it from who listens at an abstract address.
 */
static struct sockaddr_un	 abstract;
static int			 sender;

static ssize_t
send_abstract(void)
{
	return sendto(sender, "x", 1, 0, (struct sockaddr *)&abstract,
	    sizeof(abstract));
}

static void
try_abstract(void)
{
	if (send_abstract() != -1 || errno != EPERM)
		_exit(1);
}

START_TEST(test_scopes)
{
	int	 fd;

	if (is_measured() || landlock_abi() < LANDLOCK_ABI_SCOPE) {
		left_out("scopes of Landlock");
		return;
	}
	memset(&abstract, 0, sizeof(abstract));
	abstract.sun_family = AF_UNIX;
	snprintf(abstract.sun_path + 1, sizeof(abstract.sun_path) - 1,
	    "check_preauth.%ld", (long)getpid());
	ck_assert_int_ne(fd = socket(AF_UNIX, SOCK_DGRAM, 0), -1);
	ck_assert_int_ne(sender = socket(AF_UNIX, SOCK_DGRAM, 0), -1);
	ck_assert_int_eq(bind(fd, (struct sockaddr *)&abstract,
	    sizeof(abstract)), 0);
	ck_assert_int_eq(send_abstract(), 1);
	ck_assert_int_eq(in_child(try_abstract), 0);
	close(sender);
	close(fd);
}
END_TEST

/* --- what it needs --- */

#define CLAIM(n, claim)	do { if (!(claim)) _exit(n); } while (0)

static void
work(void)
{
	struct pollfd	 p = { pair[0], POLLIN, 0 };
	struct timespec	 ts;
	char		 buf[16];
	void		*big;
	int		 i;

	CLAIM(10, send(pair[0], "abc", 3, MSG_NOSIGNAL) == 3);
	CLAIM(11, poll(&p, 1, 10) == 1);
	CLAIM(12, recv(pair[0], buf, 1, MSG_PEEK) == 1);
	CLAIM(13, recv(pair[0], buf, sizeof(buf), 0) == 2);
	CLAIM(14, clock_gettime(CLOCK_MONOTONIC, &ts) == 0);
	for (i = 0; i < 100; i++) {
		CLAIM(15, (big = malloc((size_t)1 << (i % 20))) != NULL);
		free(big);
	}
	CLAIM(16, shutdown(pair[0], SHUT_WR) == 0);
	CLAIM(17, write(STDERR_FILENO, "", 0) == 0);
}

START_TEST(test_needed)
{
	int	 status;

	if (is_measured()) {
		left_out("measured programs are not confined");
		return;
	}
	/* What is there to be read by it. */
	ck_assert_int_eq(send(pair[1], "xy", 2, 0), 2);
	status = in_child(work);
	ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0,
	    "status %x", status);
}
END_TEST

START_TEST(test_no_privileges)
{
	int	 status;
	pid_t	 pid;

	if (is_measured()) {
		left_out("measured programs are not confined");
		return;
	}
	/* Where it cannot be confined it says so. */
	if ((pid = fork()) == 0) {
		CLAIM(1, setresuid(65534, 65534, 65534) == 0 ||
		    geteuid() != 0);
		_exit(preauth_confine(false) == -1 ? 0 : 1);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("preauth");
	TCase	*t = tcase_create("preauth");
	SRunner	*r;
	int	 failed;

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_loop_test(t, test_forbidden, 0, N(forbidden));
	tcase_add_test(t, test_all_calls);
	tcase_add_test(t, test_limits);
	tcase_add_test(t, test_scopes);
	tcase_add_test(t, test_needed);
	tcase_add_test(t, test_no_privileges);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed != 0;
}
