/* common/dial/netconfine.c: which system calls are there, and no others. */
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "common/dial/netconfine.h"
#include "common/limit.h"
#include "common/measured.h"
#include "t/unit/filter_help.h"
#include "t/unit/left_out.h"

#define N(rows)		(sizeof(rows) / sizeof((rows)[0]))

#ifdef SYS_poll
#define OLD_CALLS	SYS_poll, SYS_stat, SYS_time,
#define OLD_FILES	SYS_open, SYS_access, SYS_readlink,
#else
#define OLD_CALLS
#define OLD_FILES
#endif

#define CALLS								\
	OLD_CALLS SYS_read, SYS_write, SYS_readv, SYS_writev, SYS_close, \
	SYS_recvfrom, SYS_recvmsg, SYS_sendto, SYS_sendmsg, SYS_ppoll,	\
	SYS_mmap, SYS_munmap, SYS_mremap, SYS_mprotect, SYS_madvise,	\
	SYS_brk, SYS_mlock, SYS_munlock, SYS_futex, SYS_clock_gettime,	\
	SYS_clock_nanosleep, SYS_gettimeofday, SYS_getrandom,		\
	SYS_getpid, SYS_gettid, SYS_getuid, SYS_geteuid, SYS_fcntl,	\
	SYS_dup, SYS_dup3, SYS_fstat, SYS_newfstatat, SYS_lseek,	\
	SYS_ioctl, SYS_exit, SYS_exit_group, SYS_rt_sigreturn,		\
	SYS_rt_sigprocmask, SYS_rt_sigaction,				\
	SYS_restart_syscall, SYS_tgkill, SYS_uname,	\
	SYS_sysinfo, SYS_rseq, SYS_pipe2, SYS_sched_yield,		\
	SYS_socket, SYS_connect, SYS_setsockopt, SYS_getsockopt,	\
	SYS_getsockname, SYS_getpeername, SYS_shutdown, SYS_bind,	\
	SYS_sendmmsg, SYS_socketpair

static const long	 of_uplinks[] = { CALLS };
static const long	 of_resolvers[] = {
	CALLS, OLD_FILES SYS_getdents64, SYS_openat, SYS_faccessat,
	SYS_readlinkat, SYS_pread64, SYS_statx, SYS_statfs
};

static void
uplink(void)
{
	filter_must(netconfine_process() == 0);
}

static void
resolver(void)
{
	filter_must(netconfine_resolver() == 0);
}

START_TEST(test_uplink)
{
	if (is_measured()) {
		left_out("measured programs are not confined");
		return;
	}
	filter_check(uplink, ENOSYS, FILTER_LETS, of_uplinks, N(of_uplinks),
	    false, -1);
	ck_assert(filter_kills_foreign(uplink));
	ck_assert_uint_eq(filter_limit(uplink, RLIMIT_NPROC), 0);
	ck_assert_uint_eq(filter_limit(uplink, RLIMIT_DATA),
	    LIMIT_UPLINK_MEMORY);
}
END_TEST

START_TEST(test_resolver)
{
	if (is_measured()) {
		left_out("measured programs are not confined");
		return;
	}
	filter_check(resolver, ENOSYS, FILTER_LETS, of_resolvers,
	    N(of_resolvers), false, -1);
	ck_assert(filter_kills_foreign(resolver));
	ck_assert_uint_eq(filter_limit(resolver, RLIMIT_NPROC), 0);
}
END_TEST

/* Settings for names of hosts, and nothing else. */
START_TEST(test_resolver_reads)
{
	pid_t	 pid;
	int	 status;

	if (is_measured() || syscall(SYS_landlock_create_ruleset, NULL, 0,
	    1) < 1) {
		left_out("no Landlock, or a measured program");
		return;
	}
	ck_assert_int_ne(pid = fork(), -1);
	if (pid == 0) {
		filter_must(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
		filter_must(netconfine_resolver() == 0);
		filter_must(open("/etc/passwd", O_RDONLY) != -1);
		filter_must(open("/etc/passwd", O_WRONLY) == -1);
		filter_must(open("/proc/self/stat", O_RDONLY) == -1);
		filter_must(open("/", O_RDONLY | O_DIRECTORY) == -1);
		_exit(0);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("netconfine");
	TCase	*t = tcase_create("netconfine");
	SRunner	*r;
	int	 failed;

	tcase_add_test(t, test_uplink);
	tcase_add_test(t, test_resolver);
	tcase_add_test(t, test_resolver_reads);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed != 0;
}
