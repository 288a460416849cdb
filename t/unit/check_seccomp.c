/*
 * worker/sandbox/enforce_seccomp.c and worker/sandbox/sockmark.c, row by row:
 * which system calls of sandboxed commands are refused, with which arguments,
 * and that no others are.
 */
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include <netinet/in.h>

#include <check.h>
#include <errno.h>
#include <sched.h>
#include <unistd.h>

#include "t/unit/filter_help.h"
#include "worker/sandbox/enforce.h"
#include "worker/sandbox/sockmark.h"

#define N(rows)		(sizeof(rows) / sizeof((rows)[0]))
#define NO(name, ...)	FILTER_CASE(EPERM, name, __VA_ARGS__)
#define YES(name, ...)	FILTER_CASE(FILTER_LETS, name, __VA_ARGS__)
#define HIGH		(1UL << 32)
#define TIME_NAMESPACE	0x80	/* CLONE_NEWTIME */
#define SET_FLAGS	0x40086602	/* FS_IOC_SETFLAGS */
#define GET_FLAGS	0x80086601	/* FS_IOC_GETFLAGS */
#define SET_XATTR	0x401c5820	/* FS_IOC_FSSETXATTR */

/* Newer than the headers of Debian 12; the same number everywhere. */
#define NEW_fchmodat2		452
#define NEW_setxattrat		463
#define NEW_removexattrat	466
#define NEW_file_setattr	469

static const long	 never[] = { FILTER_NEVER };
static const long	 never_off[] = {
	FILTER_NEVER, SYS_connect, SYS_bind, SYS_listen, SYS_accept,
	SYS_accept4, SYS_sendmmsg, SYS_socket, SYS_socketpair /* of no family */
};
static const long	 never_managed[] = {
	FILTER_NEVER, SYS_socket, SYS_socketpair	/* of no family */
};
static const long	 changes[] = {
#ifdef SYS_chmod
	SYS_chmod, SYS_chown, SYS_lchown, SYS_utime, SYS_utimes,
	SYS_futimesat,
#endif
	SYS_fchmod, SYS_fchmodat, NEW_fchmodat2, SYS_fchown, SYS_fchownat,
	SYS_utimensat, SYS_setxattr, SYS_lsetxattr, SYS_fsetxattr,
	NEW_setxattrat, SYS_removexattr, SYS_lremovexattr,
	SYS_fremovexattr, NEW_removexattrat, NEW_file_setattr
};

/* Whatever the network. */
static const struct filter_case	 common_cases[] = {
	FILTER_CASE(ENOSYS, clone3, 0),
	{ SYS_getpid | 0x40000000, { 0 }, ENOSYS },
	{ SYS_ptrace | 0x40000000, { 0 }, ENOSYS },
	YES(clone, CLONE_VM | CLONE_THREAD), YES(unshare, CLONE_FILES),
	NO(clone, CLONE_NEWNS), NO(unshare, CLONE_NEWNS),
	NO(clone, CLONE_NEWCGROUP), NO(unshare, CLONE_NEWCGROUP),
	NO(clone, CLONE_NEWUTS), NO(unshare, CLONE_NEWUTS),
	NO(clone, CLONE_NEWIPC), NO(unshare, CLONE_NEWIPC),
	NO(clone, CLONE_NEWUSER), NO(unshare, CLONE_NEWUSER),
	NO(clone, CLONE_NEWPID), NO(unshare, CLONE_NEWPID),
	NO(clone, CLONE_NEWNET), NO(unshare, CLONE_NEWNET),
	NO(unshare, TIME_NAMESPACE), NO(clone, CLONE_NEWPID | CLONE_VM),
	NO(ioctl, 0, TIOCSTI), NO(ioctl, 0, TIOCLINUX),
	NO(ioctl, 0, HIGH | TIOCSTI), YES(ioctl, TIOCSTI, TCGETS),
	YES(prlimit64, 0), NO(prlimit64, 1), NO(prlimit64, 4711),
	NO(sched_setscheduler, 1), YES(sched_setscheduler, 4711),
	NO(sched_setparam, 1), YES(sched_setparam, 4711),
	NO(sched_setattr, 1), YES(sched_setattr, 4711),
	NO(sched_setaffinity, 1), YES(sched_setaffinity, 4711),
	NO(setpriority, PRIO_PROCESS, 1), YES(setpriority, PRIO_PROCESS, 2),
	NO(setpriority, PRIO_PGRP, 1), NO(setpriority, PRIO_USER, 0),
	NO(setpriority, PRIO_USER, 2), NO(ioprio_set, 1, 1),
	YES(ioprio_set, 1, 2), NO(ioprio_set, 3, 0), NO(ioprio_set, 3, 2),
};

static const struct filter_case	 net_on_cases[] = {
	YES(socket, AF_INET, SOCK_STREAM), YES(socket, AF_UNIX, SOCK_DGRAM),
	YES(sendto, 0, 0, 0, 0, 4711), YES(connect, 3), YES(bind, 3)
};

static const struct filter_case	 net_off_cases[] = {
	YES(sendto, 3, 1, 1, 0, 0), NO(sendto, 3, 1, 1, 0, 4711),
	NO(sendto, 3, 1, 1, 0, HIGH),
	NO(socket, AF_INET, SOCK_STREAM), NO(socket, AF_INET6, SOCK_DGRAM),
	NO(socket, AF_NETLINK, SOCK_RAW), NO(socket, AF_PACKET, SOCK_RAW),
	NO(socket, AF_VSOCK, SOCK_STREAM), NO(socketpair, AF_TIPC, 1),
	YES(socket, AF_UNIX, SOCK_STREAM),
	YES(socket, AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK),
	YES(socket, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC),
	NO(socket, AF_UNIX, SOCK_DGRAM), NO(socket, AF_UNIX, SOCK_RAW),
	NO(socket, AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC),
	YES(socketpair, AF_UNIX, SOCK_STREAM),
	YES(socketpair, AF_UNIX, SOCK_SEQPACKET),
	NO(socketpair, AF_UNIX, SOCK_DGRAM)
};

/* TCP and UDP, each with its usual protocol, and pairs that are connected. */
static const struct filter_case	 managed_cases[] = {
	YES(socket, AF_INET, SOCK_STREAM), YES(socket, AF_INET6, SOCK_STREAM),
	YES(socket, AF_INET, SOCK_DGRAM), YES(socket, AF_INET6, SOCK_DGRAM),
	YES(socket, AF_INET, SOCK_STREAM | SOCK_CLOEXEC, IPPROTO_TCP),
	YES(socket, AF_INET6, SOCK_DGRAM | SOCK_NONBLOCK, IPPROTO_UDP),
	NO(socket, AF_INET, SOCK_STREAM, IPPROTO_UDP),
	NO(socket, AF_INET, SOCK_DGRAM, IPPROTO_TCP),
	NO(socket, AF_INET, SOCK_STREAM, IPPROTO_SCTP),
	NO(socket, AF_INET, SOCK_STREAM, IPPROTO_MPTCP),
	NO(socket, AF_INET, SOCK_DGRAM, IPPROTO_ICMP),
	NO(socket, AF_INET, SOCK_RAW, IPPROTO_RAW),
	NO(socket, AF_INET6, SOCK_RAW, IPPROTO_ICMPV6),
	NO(socket, AF_INET, SOCK_SEQPACKET), NO(socket, AF_INET, 0),
	NO(socket, AF_UNIX, SOCK_STREAM), NO(socket, AF_UNIX, SOCK_DGRAM),
	NO(socket, AF_NETLINK, SOCK_RAW), NO(socket, AF_PACKET, SOCK_RAW),
	NO(socket, AF_VSOCK, SOCK_STREAM), NO(socket, AF_SMC, SOCK_STREAM),
	NO(socket, AF_TIPC, SOCK_STREAM), NO(socket, 0, SOCK_STREAM),
	YES(socketpair, AF_UNIX, SOCK_STREAM),
	YES(socketpair, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC),
	NO(socketpair, AF_UNIX, SOCK_DGRAM), NO(socketpair, AF_INET, 1),
	YES(connect, 3), YES(bind, 3), YES(listen, 3), YES(accept4, 3),
	YES(sendto, 3, 0, 0, 0, 4711)
};

static const struct filter_case	 changes_cases[] = {
	NO(ioctl, 0, SET_FLAGS), NO(ioctl, 0, SET_XATTR),
	YES(ioctl, 0, GET_FLAGS)
};

/* One's own number is not known to be: 0 is. */
static const struct filter_case	 self_cases[] = {
	NO(sched_setscheduler, 4711), NO(sched_setparam, 4711),
	NO(sched_setattr, 4711), NO(sched_setaffinity, 4711),
	NO(setpriority, PRIO_PROCESS, 4711), NO(setpriority, PRIO_PGRP, 2),
	NO(setpriority, PRIO_USER, 0), YES(setpriority, PRIO_PGRP, 0),
	NO(ioprio_set, 1, 4711), NO(ioprio_set, 2, 2),
	NO(ioprio_set, 3, 0), YES(ioprio_set, 2, 0)
};

static const struct filter_case	 brand_cases[] = {
	NO(setsockopt, 0, SOL_SOCKET, SO_MAX_PACING_RATE),
	YES(setsockopt, 0, SOL_SOCKET, SO_KEEPALIVE),
	YES(setsockopt, 0, 6 /* TCP */, SO_MAX_PACING_RATE),
	FILTER_CASE(EAFNOSUPPORT, socket, AF_SMC, SOCK_STREAM),
	YES(socket, AF_UNIX, SOCK_STREAM), YES(socket, AF_INET, SOCK_DGRAM)
};

static void
net_on(void)
{
	filter_must(enforce_seccomp(false) == 0);
}

static void
net_off(void)
{
	filter_must(enforce_seccomp(true) == 0);
}

static void
managed(void)
{
	filter_must(enforce_seccomp_managed() == 0);
}

static void
no_changes(void)
{
	filter_must(enforce_no_changes() == 0);
}

static void
self_only(void)
{
	filter_must(enforce_self_only() == 0);
}

static void
sockmark(void)
{
	int	 error = sockmark_try();

	/* A kernel without what it takes has the filter all the same. */
	filter_must(error == 0 || error == ENOSYS);
}

/* clone3(2) is none of the list: it is not there. */
static void
check_list(void (*install)(void), const long *list, size_t n)
{
	filter_check(install, FILTER_LETS, EPERM, list, n, false,
	    SYS_clone3);
}

START_TEST(test_net_on)
{
	check_list(net_on, never, N(never));
	filter_check_cases(net_on, common_cases, N(common_cases), false);
	filter_check_cases(net_on, net_on_cases, N(net_on_cases), false);
	ck_assert(filter_kills_foreign(net_on));
}
END_TEST

START_TEST(test_net_off)
{
	check_list(net_off, never_off, N(never_off));
	filter_check_cases(net_off, common_cases, N(common_cases), false);
	filter_check_cases(net_off, net_off_cases, N(net_off_cases), false);
	ck_assert(filter_kills_foreign(net_off));
}
END_TEST

START_TEST(test_managed)
{
	check_list(managed, never_managed, N(never_managed));
	filter_check_cases(managed, common_cases, N(common_cases), false);
	filter_check_cases(managed, managed_cases, N(managed_cases), false);
	ck_assert(filter_kills_foreign(managed));
}
END_TEST

START_TEST(test_changes)
{
	filter_check(no_changes, FILTER_LETS, EPERM, changes, N(changes),
	    false, -1);
	filter_check_cases(no_changes, changes_cases, N(changes_cases),
	    false);
}
END_TEST

START_TEST(test_self_only)
{
	filter_check(self_only, FILTER_LETS, EPERM, NULL, 0, false, -1);
	filter_check_cases(self_only, self_cases, N(self_cases), false);
}
END_TEST

START_TEST(test_brand)
{
	filter_check(sockmark, FILTER_LETS, EPERM, NULL, 0, false, -1);
	filter_check_cases(sockmark, brand_cases, N(brand_cases), false);
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("seccomp");
	TCase	*t = tcase_create("seccomp");
	SRunner	*r;
	int	 failed;

	tcase_set_timeout(t, 60);
	tcase_add_test(t, test_net_on);
	tcase_add_test(t, test_net_off);
	tcase_add_test(t, test_managed);
	tcase_add_test(t, test_changes);
	tcase_add_test(t, test_self_only);
	tcase_add_test(t, test_brand);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed != 0;
}
