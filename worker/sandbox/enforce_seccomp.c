#include "worker/sandbox/enforce.h"

#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <netinet/in.h>
#include <sched.h>

#include "common/linux/bpf.h"

/* Missing in the headers of Debian 12; the same number on all machines. */
#ifndef SYS_open_tree_attr
#define SYS_open_tree_attr	467
#endif
#ifndef SYS_fchmodat2
#define SYS_fchmodat2		452
#endif
#ifndef SYS_setxattrat
#define SYS_setxattrat		463
#define SYS_removexattrat	466
#endif
#ifndef SYS_file_setattr
#define SYS_file_setattr	469
#endif

#define SOCK_TYPES	0xf	/* other bits of the argument are flags */

#define NAMESPACES	(CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS |	\
	CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET |	\
	0x80 /* CLONE_NEWTIME */)

/*
 * Calls that reach into other processes, the kernel or other namespaces.
 * Ordinary programs do not need them.  The errno is that of a kernel or user
 * without the feature, for programs that probe.
 */
#define FOREVER								\
	NEVER(ptrace), NEVER(process_vm_readv), NEVER(process_vm_writev), \
	NEVER(kcmp), NEVER(pidfd_getfd), NEVER(process_madvise),	 \
	NEVER(io_uring_setup), NEVER(io_uring_enter),			\
	NEVER(io_uring_register),					 \
	NEVER(keyctl), NEVER(add_key), NEVER(request_key),		 \
	NEVER(bpf), NEVER(perf_event_open), NEVER(userfaultfd),		\
	NEVER(mount), NEVER(umount2), NEVER(pivot_root), NEVER(chroot),	\
	NEVER(move_mount), NEVER(open_tree), NEVER(open_tree_attr),	 \
	NEVER(fsopen), NEVER(fsconfig), NEVER(fsmount), NEVER(fspick),	\
	NEVER(mount_setattr), NEVER(setns), NEVER(open_by_handle_at),	\
	NEVER(swapon), NEVER(swapoff), NEVER(reboot), NEVER(acct),	 \
	NEVER(quotactl), NEVER(kexec_load), NEVER(init_module),		\
	NEVER(finit_module), NEVER(delete_module)

/* The first argument is a process to be changed: not pid 1 (holder, init). */
#define NOT_THE_FIRST(name)						\
	IF_EQ(SYS_##name, 0, 4), LOAD_ARG(0), IF_EQ(1, 0, 1),		\
	REFUSE(EPERM), ALLOW

/* The second argument is; and not all processes of a user. */
#define NOT_THE_FIRST_BY(name, user)					\
	IF_EQ(SYS_##name, 0, 6), LOAD_ARG(0), IF_EQ((user), 2, 0),	 \
	LOAD_ARG(1), IF_EQ(1, 0, 1), REFUSE(EPERM), ALLOW

/* Limits of other processes (RLIMIT_CPU kills).  0 is the caller. */
#define OF_OTHERS							\
	IF_EQ(SYS_prlimit64, 0, 4), LOAD_ARG(0), IF_EQ(0, 1, 0),	 \
	REFUSE(EPERM), ALLOW,						\
	NOT_THE_FIRST(sched_setscheduler), NOT_THE_FIRST(sched_setparam), \
	NOT_THE_FIRST(sched_setattr), NOT_THE_FIRST(sched_setaffinity),	\
	NOT_THE_FIRST_BY(setpriority, PRIO_USER),			 \
	NOT_THE_FIRST_BY(ioprio_set, 3 /* IOPRIO_WHO_USER */)

/* Calls like ptrace(2); then namespaces, terminals, other ABIs. */
#define COMMON								\
	LOAD(arch), IF_EQ(BPF_ARCH, 1, 0), RETURN(SECCOMP_RET_KILL_PROCESS), \
	LOAD(nr),							 \
	IF_GE(0x40000000U, 0, 1), REFUSE(ENOSYS),	/* the x32 ABI */ \
	FOREVER,							 \
	OF_OTHERS,							\
	/* clone3(2) has its flags in memory, out of reach for a filter. */ \
	IF_EQ(SYS_clone3, 0, 1), REFUSE(ENOSYS),			 \
	IF_EQ(SYS_unshare, 1, 0), IF_EQ(SYS_clone, 0, 4),		 \
	LOAD_ARG(0), IF_ANY(NAMESPACES, 0, 1), REFUSE(EPERM), ALLOW,	\
	IF_EQ(SYS_ioctl, 0, 5),						\
	LOAD_ARG(1), IF_EQ(TIOCSTI, 1, 0), IF_EQ(TIOCLINUX, 0, 1),	 \
	REFUSE(EPERM), ALLOW

static const struct sock_filter filter_net_on[] = { COMMON, ALLOW };

/*
 * No sockets but AF_UNIX pairs, as in the reference: a server that a command
 * can connect to in the file system, perhaps ours, might run commands for it.
 * No datagrams either, whose address is in memory (sendmsg(2)), out of reach
 * for a filter.
 */
static const struct sock_filter filter_net_off[] = {
	COMMON,
	NEVER(connect), NEVER(bind), NEVER(listen), NEVER(accept),
	NEVER(accept4), NEVER(sendmmsg),
	IF_EQ(SYS_sendto, 0, 6),		/* only without an address */
	LOAD_ARG(4), IF_EQ(0, 0, 2), LOAD_HIGH(4), IF_EQ(0, 1, 0),
	REFUSE(EPERM), ALLOW,
	IF_EQ(SYS_socket, 1, 0), IF_EQ(SYS_socketpair, 0, 7),
	LOAD_ARG(0), IF_EQ(AF_UNIX, 0, 4),
	LOAD_ARG(1), AND(SOCK_TYPES),
	IF_EQ(SOCK_STREAM, 2, 0), IF_EQ(SOCK_SEQPACKET, 1, 0),
	REFUSE(EPERM),
	ALLOW
};

/*
 * What the namespace cannot stop: AF_UNIX sockets in the file system lead out
 * of it, netlink and packet sockets are attack surface.  Of a pair of AF_UNIX
 * sockets only the connected types, as above.  TCP and UDP with their usual
 * protocol: not MPTCP, SCTP or ping sockets.
 */
static const struct sock_filter filter_managed[] = {
	COMMON,
	IF_EQ(SYS_socketpair, 0, 7),
	LOAD_ARG(0), IF_EQ(AF_UNIX, 0, 19),
	LOAD_ARG(1), AND(SOCK_TYPES),
	IF_EQ(SOCK_STREAM, 1, 0), IF_EQ(SOCK_SEQPACKET, 0, 15), ALLOW,
	IF_EQ(SYS_socket, 1, 0), ALLOW,
	LOAD_ARG(0), IF_EQ(AF_INET, 1, 0), IF_EQ(AF_INET6, 0, 9),
	LOAD_ARG(1), AND(SOCK_TYPES),
	IF_EQ(SOCK_STREAM, 3, 0), IF_EQ(SOCK_DGRAM, 0, 5),
	LOAD_ARG(2), IF_EQ(IPPROTO_UDP, 4, 2),
	LOAD_ARG(2), IF_EQ(IPPROTO_TCP, 2, 0), IF_EQ(0, 1, 0),
	REFUSE(EPERM),
	ALLOW
};

/* Older ABIs have calls without "at", too. */
#ifdef SYS_chmod
#define OLD_CHANGES							\
	NEVER(chmod), NEVER(chown), NEVER(lchown), NEVER(utime),	\
	NEVER(utimes), NEVER(futimesat)
#else
#define OLD_CHANGES	LOAD(nr)
#endif

/* chattr(1) */
#define SET_FLAGS	0x40086602U	/* FS_IOC_SETFLAGS */
#define SET_XATTR	0x401c5820U	/* FS_IOC_FSSETXATTR */

/*
 * Changes of mode, owner, times and attributes, which Landlock does not
 * restrict: for plans without writing where no mount is read-only.
 */
static const struct sock_filter filter_changes[] = {
	LOAD(nr),
	OLD_CHANGES,
	NEVER(fchmod), NEVER(fchmodat), NEVER(fchmodat2),
	NEVER(fchown), NEVER(fchownat), NEVER(utimensat),
	NEVER(setxattr), NEVER(lsetxattr), NEVER(fsetxattr),
	NEVER(setxattrat), NEVER(removexattr), NEVER(lremovexattr),
	NEVER(fremovexattr), NEVER(removexattrat), NEVER(file_setattr),
	IF_EQ(SYS_ioctl, 0, 4), LOAD_ARG(1),
	IF_EQ(SET_FLAGS, 1, 0), IF_EQ(SET_XATTR, 0, 1), REFUSE(EPERM),
	ALLOW
};

/* The first argument is a process to be changed: 0, the caller, only. */
#define ONESELF(name)							\
	IF_EQ(SYS_##name, 0, 4), LOAD_ARG(0), IF_EQ(0, 1, 0),		\
	REFUSE(EPERM), ALLOW

/* The second argument is; and not all processes of a user. */
#define ONESELF_BY(name, user)						\
	IF_EQ(SYS_##name, 0, 6), LOAD_ARG(0), IF_EQ((user), 2, 0),	 \
	LOAD_ARG(1), IF_EQ(0, 1, 0), REFUSE(EPERM), ALLOW

/*
 * Scheduling of other processes, which the kernel allows for all of the user's,
 * ours included.  The caller's own pid is refused, too, as a filter cannot know
 * it.
 */
static const struct sock_filter filter_self_only[] = {
	LOAD(nr),
	ONESELF(sched_setscheduler), ONESELF(sched_setparam),
	ONESELF(sched_setattr), ONESELF(sched_setaffinity),
	ONESELF_BY(setpriority, PRIO_USER),
	ONESELF_BY(ioprio_set, 3 /* IOPRIO_WHO_USER */),
	ALLOW
};

int
enforce_seccomp_managed(void)
{
	return BPF_INSTALL(filter_managed);
}

int
enforce_self_only(void)
{
	return BPF_INSTALL(filter_self_only);
}

int
enforce_no_changes(void)
{
	return BPF_INSTALL(filter_changes);
}

int
enforce_seccomp(bool net_off)
{
	return net_off ? BPF_INSTALL(filter_net_off) :
	    BPF_INSTALL(filter_net_on);
}
