/*
 * A probe of the sandbox (6probe.h): processes, network, kernel, terminals.
 * Keys: pid, a process that must be out of reach (more than one with commas;
 * besides the first of the namespace and our parent); port, a TCP port of this
 * machine; abstract, host's abstract socket; datagram, a socket in the file
 * system that takes them; shm, key of a shared memory segment; net=off.
 *
 * 6reach no-userns PROGRAM [ARG...] runs a program for which there are no user
 * namespaces, nor others, as in a container.
 */
#include "t/sys/6probe.h"

#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/timex.h>
#include <sys/uio.h>
#include <sys/un.h>

#include <linux/filter.h>
#include <linux/seccomp.h>

#include <arpa/inet.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>

#define MAX_TARGETS	16

static void
need(long rv, const char *what)
{
	if (rv != -1)
		return;
	printf("%s: %s", what, strerror(errno));
	fflush(stdout);
	_exit(SKIPPED);
}

/* --- processes out of reach --- */

/* Whose they are; our parent is the harness, of whom we are allowed all. */
static size_t
targets(pid_t *out)
{
	const char	*p = key("pid");
	char		*end;
	size_t		 n = 0;

	for (; *p != '\0' && n < MAX_TARGETS; p = *end == ',' ? end + 1 : end) {
		out[n] = (pid_t)strtol(p, &end, 10);
		if (end == p)
			break;
		if (out[n] > 0)
			n++;
	}
	return n;
}

/* A call with each of them; none may work. */
static enum verdict
on_targets(long (*fn)(pid_t))
{
	pid_t	 list[MAX_TARGETS];
	size_t	 i, n = targets(list);
	int	 error = ESRCH;

	for (i = 0; i < n; i++) {
		errno = 0;
		if (fn(list[i]) != -1)
			return tell(ESCAPED, "process %ld", (long)list[i]);
		error = errno;
	}
	return n == 0 ? tell(SKIPPED, "no target") :
	    tell(REFUSED, "%zu, %s", n, strerror(error));
}

#define ON_TARGETS(name, expr)						\
static long								\
t_##name(pid_t pid)							\
{									\
	return (expr);							\
}									\
static enum verdict							\
a_##name(void)								\
{									\
	return on_targets(t_##name);					\
}

static long
open_of(pid_t pid, const char *name, int flags)
{
	char	 path[64];

	snprintf(path, sizeof(path), "/proc/%ld/%s", (long)pid, name);
	return open(path, flags | O_CLOEXEC);
}

/* What can be read of an open file; opening /proc/PID/environ always works. */
static long
read_of(pid_t pid, const char *name)
{
	char	 text[16];
	long	 fd = open_of(pid, name, O_RDONLY);

	if (fd == -1)
		return -1;
	return read((int)fd, text, sizeof(text)) > 0 ? 0 : -1;
}

static long
link_of(pid_t pid, const char *name)
{
	char	 path[64], text[256];

	snprintf(path, sizeof(path), "/proc/%ld/%s", (long)pid, name);
	return readlink(path, text, sizeof(text));
}

static long
signal_by_fd(pid_t pid)
{
	int	 fd = (int)syscall(SYS_pidfd_open, pid, 0);

	return fd == -1 ? -1 : syscall(SYS_pidfd_send_signal, fd, SIGSTOP,
	    NULL, 0);
}

/* -1 would be everybody, our own harness too. */
static long
stop_group(pid_t pid)
{
	errno = EPERM;
	return pid == 1 ? -1 : kill(-pid, SIGSTOP);
}

static long
get_fd(pid_t pid)
{
	int	 fd = (int)syscall(SYS_pidfd_open, pid, 0);

	return fd == -1 ? -1 : syscall(SYS_pidfd_getfd, fd, 0, 0);
}

static long
advise(pid_t pid)
{
	struct iovec	 iov = { &iov, 4096 };
	int		 fd = (int)syscall(SYS_pidfd_open, pid, 0);

	return fd == -1 ? -1 : syscall(SYS_process_madvise, fd, &iov, 1, 21,
	    0);
}

static long
enter(pid_t pid)
{
	int	 fd = (int)syscall(SYS_pidfd_open, pid, 0);

	return fd == -1 ? -1 : setns(fd, CLONE_NEWNS);
}

static long
copy_memory(pid_t pid, bool writes)
{
	char		 here[8];
	struct iovec	 l = { here, 8 }, r = { (void *)0x400000, 8 };
	long		 rv;

	rv = writes ? process_vm_writev(pid, &l, 1, &r, 1, 0) :
	    process_vm_readv(pid, &l, 1, &r, 1, 0);
	/* EFAULT: it looked. */
	return rv == -1 && errno == EFAULT ? 0 : rv;
}

static long
limit_it(pid_t pid)
{
	struct rlimit	 rl;

	if (prlimit(pid, RLIMIT_CORE, NULL, &rl) == -1)
		return -1;
	return prlimit(pid, RLIMIT_CORE, &rl, NULL);
}

static long
slow_it(pid_t pid)
{
	struct sched_param	 p = { 0 };

	return sched_setscheduler(pid, SCHED_IDLE, &p);
}

static long
pin_it(pid_t pid)
{
	cpu_set_t	 set;

	CPU_ZERO(&set);
	CPU_SET(0, &set);
	return sched_setaffinity(pid, sizeof(set), &set);
}

static long
own_its_signal(pid_t pid)
{
	int	 fds[2];

	need(pipe(fds), "pipe");
	/* SIGIO to it, which kills; O_ASYNC works on pipes. */
	if (fcntl(fds[0], F_SETOWN, pid) == -1 ||
	    fcntl(fds[0], F_SETSIG, SIGURG) == -1 ||
	    fcntl(fds[0], F_SETFL, O_ASYNC) == -1)
		return -1;
	/* Whether it arrives only the other one could tell. */
	errno = EPERM;
	return -1;
}

ON_TARGETS(kill_0, kill(pid, 0))
ON_TARGETS(stop, kill(pid, SIGSTOP))
ON_TARGETS(stop_thread, syscall(SYS_tgkill, pid, pid, SIGSTOP))
ON_TARGETS(queue, sigqueue(pid, SIGSTOP, (union sigval){ 0 }))
ON_TARGETS(stop_group, stop_group(pid))
ON_TARGETS(stop_by_fd, signal_by_fd(pid))
ON_TARGETS(attach, ptrace(PTRACE_ATTACH, pid, 0, 0))
ON_TARGETS(seize, ptrace(PTRACE_SEIZE, pid, 0, 0))
ON_TARGETS(read_memory, copy_memory(pid, false))
ON_TARGETS(write_memory, copy_memory(pid, true))
ON_TARGETS(mem, open_of(pid, "mem", O_RDWR))
ON_TARGETS(environ, read_of(pid, "environ"))
ON_TARGETS(maps, read_of(pid, "maps"))
ON_TARGETS(auxv, read_of(pid, "auxv"))
ON_TARGETS(stack, read_of(pid, "stack"))
ON_TARGETS(fds, open_of(pid, "fd", O_RDONLY | O_DIRECTORY))
ON_TARGETS(fd_1, open_of(pid, "fd/1", O_RDWR))
ON_TARGETS(exe, link_of(pid, "exe"))
ON_TARGETS(cwd, link_of(pid, "cwd"))
ON_TARGETS(root, open_of(pid, "root", O_PATH))
ON_TARGETS(ns_mnt, link_of(pid, "ns/mnt"))
ON_TARGETS(get_fd, get_fd(pid))
ON_TARGETS(enter, enter(pid))
ON_TARGETS(advise, advise(pid))
ON_TARGETS(kcmp, syscall(SYS_kcmp, pid, getpid(), 0, 0, 0))
ON_TARGETS(limit, limit_it(pid))
ON_TARGETS(priority, setpriority(PRIO_PROCESS, (id_t)pid, 19))
ON_TARGETS(idle, slow_it(pid))
ON_TARGETS(affinity, pin_it(pid))
ON_TARGETS(ionice, syscall(SYS_ioprio_set, 1, pid, 3 << 13))
ON_TARGETS(migrate, syscall(SYS_migrate_pages, pid, 0, NULL, NULL))
ON_TARGETS(oom, open_of(pid, "oom_score_adj", O_WRONLY))
ON_TARGETS(refs, open_of(pid, "clear_refs", O_WRONLY))
ON_TARGETS(core_filter, open_of(pid, "coredump_filter", O_WRONLY))
ON_TARGETS(sigio, own_its_signal(pid))

/* All that can be seen: who asks for it is not among them. */
static enum verdict
a_stop_all(void)
{
	kill(-1, SIGSTOP);
	kill(-1, SIGCONT);
	return tell(REFUSED, "as the caller will see");
}

static enum verdict
a_kill_all(void)
{
	if (fork() == 0) {
		setsid();
		_exit(0);
	}
	kill(-1, SIGURG);
	return tell(REFUSED, "as the caller will see");
}

/* --- namespaces and mounts --- */

#define CALL(name, expr)						\
static enum verdict							\
a_##name(void)								\
{									\
	return must_fail(expr);						\
}

static long
clone_with(unsigned long flags)
{
	long	 pid = syscall(SYS_clone, flags | SIGCHLD, 0, 0, 0, 0);

	if (pid == 0)
		_exit(0);
	return pid;
}

static long
clone3_with(uint64_t flags)
{
	uint64_t	 args[11] = { flags, 0, 0, 0, SIGCHLD };
	long		 pid = syscall(SYS_clone3, args, sizeof(args));

	if (pid == 0)
		_exit(0);
	return pid;
}

static long
enter_file(const char *path, int kind)
{
	int	 fd = open(path, O_RDONLY);

	return fd == -1 ? -1 : setns(fd, kind);
}

static long
attr_call(const char *path, uint64_t set, uint64_t clear)
{
	struct mount_attr	 a = { .attr_set = set, .attr_clr = clear };

	return syscall(SYS_mount_setattr, AT_FDCWD, path, 0x8000, &a,
	    sizeof(a));
}

CALL(unshare_user, unshare(CLONE_NEWUSER))
CALL(unshare_mount, unshare(CLONE_NEWNS))
CALL(unshare_pid, unshare(CLONE_NEWPID))
CALL(unshare_net, unshare(CLONE_NEWNET))
CALL(unshare_high, syscall(SYS_unshare, CLONE_NEWUSER | 1ULL << 40))
CALL(clone_user, clone_with(CLONE_NEWUSER))
CALL(clone_mount, clone_with(CLONE_NEWNS))
CALL(clone3_user, clone3_with(CLONE_NEWUSER))
CALL(setns_mount, enter_file("/proc/self/ns/mnt", 0))
CALL(setns_user, enter_file("/proc/1/ns/user", 0))
CALL(mount_bind, mount("/", "/tmp", NULL, MS_BIND, NULL))
CALL(mount_tmpfs, mount("t", "/tmp", "tmpfs", 0, NULL))
CALL(mount_proc, mount("p", "/proc", "proc", 0, NULL))
CALL(remount, mount("/", "/", NULL, MS_REMOUNT | MS_BIND, NULL))
CALL(mount_attr, attr_call("/", 0, MOUNT_ATTR_RDONLY))
CALL(mount_idmap, attr_call("/", MOUNT_ATTR_IDMAP, 0))
CALL(open_tree, syscall(SYS_open_tree, AT_FDCWD, "/", OPEN_TREE_CLONE))
CALL(open_tree_attr, syscall(467, AT_FDCWD, "/", OPEN_TREE_CLONE, NULL, 0))
CALL(move_mount, syscall(SYS_move_mount, AT_FDCWD, "/proc", AT_FDCWD, "/tmp",
    0))
CALL(fsopen, syscall(SYS_fsopen, "tmpfs", 0))
CALL(fspick, syscall(SYS_fspick, AT_FDCWD, "/", 0))
CALL(umount_proc, umount2("/proc", MNT_DETACH))
CALL(umount_dev, umount2("/dev", MNT_DETACH))
CALL(pivot_root, syscall(SYS_pivot_root, "/", "/tmp"))
CALL(chroot, chroot("/tmp"))

/* --- the kernel --- */

static long
open_for_write(const char *path)
{
	return open(path, O_WRONLY | O_CLOEXEC);
}

/* The same number as it is now, so that nothing happens if it works. */
static long
set_clock(void)
{
	struct timex	 t = { .modes = ADJ_TICK };

	if (adjtimex(&(struct timex){ .modes = 0 }) == -1)
		return -1;
	t.tick = 10000;
	return adjtimex(&t);
}

static long
set_name(void)
{
	char	 name[256];

	need(gethostname(name, sizeof(name)), "gethostname");
	return sethostname(name, strlen(name));
}

static long
get_capability(void)
{
	struct { uint32_t version; int pid; }	 head = { 0x20080522, 0 };
	struct { uint32_t e, p, i; }		 data[2];

	memset(data, 0xff, sizeof(data));
	return syscall(SYS_capset, &head, data);
}

static long
raise_limit(void)
{
	struct rlimit	 rl;

	need(getrlimit(RLIMIT_CORE, &rl), "getrlimit");
	rl.rlim_cur = rl.rlim_max = 4096;
	need(setrlimit(RLIMIT_CORE, &rl), "setrlimit");
	rl.rlim_max = 8192;
	return setrlimit(RLIMIT_CORE, &rl);
}

static long
real_time(void)
{
	struct sched_param	 p = { 1 };

	return sched_setscheduler(0, SCHED_FIFO, &p);
}

CALL(sysctl_core, open_for_write("/proc/sys/kernel/core_pattern"))
CALL(sysctl_modprobe, open_for_write("/proc/sys/kernel/modprobe"))
CALL(sysctl_ns, open_for_write("/proc/sys/user/max_user_namespaces"))
CALL(sysctl_printk, open_for_write("/proc/sys/kernel/printk"))
CALL(sysrq, open_for_write("/proc/sysrq-trigger"))
CALL(mtrr, open_for_write("/proc/mtrr"))
CALL(irq, open_for_write("/proc/irq/default_smp_affinity"))
CALL(sys_uevent, open_for_write("/sys/kernel/uevent_helper"))
CALL(sys_profiling, open_for_write("/sys/kernel/profiling"))
CALL(sys_mm, open_for_write("/sys/kernel/mm/transparent_hugepage/enabled"))
CALL(sys_cpu, open_for_write("/sys/devices/system/cpu/cpu1/online"))
CALL(cgroup, mkdir("/sys/fs/cgroup/escaped", 0755))
CALL(cgroup_procs, open_for_write("/sys/fs/cgroup/cgroup.procs"))
CALL(kcore, open("/proc/kcore", O_RDONLY))
CALL(kmsg_write, open_for_write("/dev/kmsg"))
CALL(disk, open("/dev/vda", O_RDONLY))
CALL(mem_device, open("/dev/mem", O_RDONLY))
CALL(fuse, open("/dev/fuse", O_RDWR))
CALL(key_add, syscall(SYS_add_key, "user", "x", "y", 1, -3))
CALL(key_join, syscall(SYS_keyctl, 1, NULL))
CALL(bpf, syscall(SYS_bpf, 5, NULL, 0))
CALL(perf, syscall(SYS_perf_event_open, (uint64_t[16]){ 1, 112 }, 0, -1, -1,
    0))
CALL(userfault, syscall(SYS_userfaultfd, 0))
CALL(uring, syscall(SYS_io_uring_setup, 1, (uint32_t[32]){ 0 }))
CALL(module, syscall(SYS_init_module, "", 0, ""))
CALL(module_fd, syscall(SYS_finit_module, 0, "", 0))
CALL(kexec, syscall(SYS_kexec_load, 0, 0, NULL, 0))
CALL(reboot, syscall(SYS_reboot, 0xfee1dead, 672274793, 0, NULL))
CALL(swapon, syscall(SYS_swapon, "/etc/passwd", 0))
CALL(acct, syscall(SYS_acct, NULL))
CALL(quota, syscall(SYS_quotactl, 0x800001U << 8, NULL, 0, NULL))
CALL(fanotify, syscall(SYS_fanotify_init, 0, O_RDONLY))
CALL(clock, set_clock())
CALL(hostname, set_name())
CALL(setuid, setuid(geteuid() == 0 ? 1 : 0))
CALL(setgid, setgid(getegid() == 0 ? 1 : 0))
CALL(setgroups, setgroups(0, NULL))
CALL(capset, get_capability())
CALL(raise_limit, raise_limit())
CALL(real_time, real_time())
CALL(nice_up, setpriority(PRIO_PROCESS, 0, -20))
CALL(no_new_privs, prctl(PR_SET_NO_NEW_PRIVS, 0, 0, 0, 0))
CALL(ptrace_me, ptrace(PTRACE_TRACEME, 0, 0, 0))
CALL(vhangup, syscall(SYS_vhangup))
CALL(shm_of_host, shmget((key_t)strtol(key("shm"), NULL, 10), 0, 0))
CALL(other_shm, open(key("devshm"), O_RDONLY))

#ifdef __x86_64__
CALL(io_ports, syscall(SYS_iopl, 3))
CALL(x32_mount, syscall(0x40000000 | SYS_mount, "/", "/tmp", NULL, MS_BIND,
    NULL))

static void
on_no_gate(int sig)
{
	(void)sig;
	tell(SKIPPED, "%s", strerror(ENOSYS));
	fflush(stdout);
	_exit(SKIPPED);
}

/*
 * getpid(2) as a 32-bit program calls it: that it runs is enough.  A kernel
 * without that gate, as in some virtual machines, sends SIGSEGV.
 */
static enum verdict
a_int80(void)
{
	long	 rv;

	signal(SIGSEGV, on_no_gate);
	__asm__ volatile ("int $0x80" : "=a" (rv) : "0" (20L) : "memory");
	return tell(rv > 0 ? ESCAPED : REFUSED, "%ld", rv);
}
#endif

/* --- network --- */

static bool
net_is_off(void)
{
	return strcmp(key("net"), "off") == 0;
}

static long
tcp(bool binds)
{
	struct sockaddr_in	 a = { .sin_family = AF_INET };
	int			 s = socket(AF_INET, SOCK_STREAM, 0);

	a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (s == -1)
		return -1;
	if (binds)
		return bind(s, (struct sockaddr *)&a, sizeof(a));
	a.sin_port = htons((uint16_t)strtol(key("port"), NULL, 10));
	return connect(s, (struct sockaddr *)&a, sizeof(a));
}

static long
udp(int family)
{
	struct sockaddr_in	 a = { .sin_family = AF_INET };
	int			 s = socket(family, SOCK_DGRAM, 0);

	a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	a.sin_port = htons(9);
	return s == -1 ? -1 : sendto(s, "x", 1, 0, (struct sockaddr *)&a,
	    sizeof(a));
}

static long
unix_connect(const char *name, bool is_abstract, int type)
{
	struct sockaddr_un	 a = { .sun_family = AF_UNIX };
	size_t			 n = strlen(name);
	int			 s = socket(AF_UNIX, type, 0);

	snprintf(a.sun_path + is_abstract, sizeof(a.sun_path) - is_abstract,
	    "%.100s", name);
	return s == -1 ? -1 : connect(s, (struct sockaddr *)&a, (socklen_t)
	    (offsetof(struct sockaddr_un, sun_path) + n + 1));
}

/* To a name in the file system; filters see no address but sendto(2)'s. */
static long
unix_send(int s)
{
	struct sockaddr_un	 a = { .sun_family = AF_UNIX };
	struct iovec		 iov = { (void *)(uintptr_t)"x", 1 };
	struct msghdr		 m;

	if (s == -1)
		return -1;
	snprintf(a.sun_path, sizeof(a.sun_path), "%.100s", key("datagram"));
	memset(&m, 0, sizeof(m));
	m.msg_name = &a;
	m.msg_namelen = sizeof(a);
	m.msg_iov = &iov;
	m.msg_iovlen = 1;
	return sendmsg(s, &m, 0);
}

static long
unix_pair_send(int type)
{
	int	 pair[2];

	return socketpair(AF_UNIX, type, 0, pair) == -1 ? -1 :
	    unix_send(pair[0]);
}

static enum verdict
if_off(long (*fn)(void))
{
	return net_is_off() ? must_fail(fn()) :
	    tell(SKIPPED, "the network is on");
}

#define NET(name, expr)							\
static long								\
n_##name(void)								\
{									\
	return (expr);							\
}									\
static enum verdict							\
a_##name(void)								\
{									\
	return if_off(n_##name);					\
}

NET(tcp_connect, tcp(false))
NET(tcp_bind, tcp(true))
NET(udp_send, udp(AF_INET))
NET(udp6_send, udp(AF_INET6))
NET(raw, socket(AF_INET, SOCK_RAW, 1))
NET(ping, socket(AF_INET, SOCK_DGRAM, 1))
NET(netlink, socket(AF_NETLINK, SOCK_RAW, 0))
NET(packet, socket(AF_PACKET, SOCK_RAW, 0))
NET(vsock, socket(AF_VSOCK, SOCK_STREAM, 0))
NET(crypto, socket(AF_ALG, SOCK_SEQPACKET, 0))
NET(pair_inet, socketpair(AF_INET, SOCK_STREAM, 0, (int[2]){ 0 }))
NET(datagram, unix_send(socket(AF_UNIX, SOCK_DGRAM, 0)))
/* What the kernel takes for the same. */
NET(datagram_raw, unix_send(socket(AF_UNIX, SOCK_RAW | SOCK_CLOEXEC, 0)))
NET(datagram_pair, unix_pair_send(SOCK_DGRAM | SOCK_NONBLOCK))
NET(datagram_raw_pair, unix_pair_send(SOCK_RAW))
CALL(abstract, unix_connect(key("abstract"), true, SOCK_STREAM))
CALL(control, unix_connect(key("control"), false, SOCK_SEQPACKET))
CALL(listener, unix_connect(key("listener"), false, SOCK_STREAM))

/* --- terminals --- */

static long
push_input(unsigned long request)
{
	int	 fd = open("/dev/tty", O_RDWR);

	need(fd, "no terminal");
	return syscall(SYS_ioctl, fd, request, "x");
}

static long
other_terminals(void)
{
	char	 path[32];
	int	 i, fd;

	/* Ours is the first of its own file system. */
	for (i = 1; i < 64; i++) {
		snprintf(path, sizeof(path), "/dev/pts/%d", i);
		if ((fd = open(path, O_RDWR | O_NOCTTY)) != -1)
			return fd;
	}
	return -1;
}

CALL(tiocsti, push_input(TIOCSTI))
CALL(tiocsti_high, push_input(TIOCSTI | 1UL << 32))
CALL(tioclinux, push_input(TIOCLINUX))
CALL(other_terminals, other_terminals())

#define A(name)	{ #name, a_##name }

static const struct attack attacks[] = {
	A(kill_0), A(stop), A(stop_thread), A(queue), A(stop_group),
	A(stop_by_fd), A(attach), A(seize), A(read_memory), A(write_memory),
	A(mem), A(environ), A(maps), A(auxv), A(stack), A(fds), A(fd_1),
	A(exe), A(cwd), A(root), A(ns_mnt), A(get_fd), A(enter), A(advise),
	A(kcmp), A(limit), A(priority), A(idle), A(affinity), A(ionice),
	A(migrate), A(oom), A(refs), A(core_filter), A(sigio),
	A(unshare_user), A(unshare_mount), A(unshare_pid), A(unshare_net),
	A(unshare_high), A(clone_user), A(clone_mount), A(clone3_user),
	A(setns_mount), A(setns_user), A(mount_bind), A(mount_tmpfs),
	A(mount_proc), A(remount), A(mount_attr), A(mount_idmap),
	A(open_tree), A(open_tree_attr), A(move_mount), A(fsopen), A(fspick),
	A(umount_proc), A(umount_dev), A(pivot_root), A(chroot),
	A(sysctl_core), A(sysctl_modprobe), A(sysctl_ns), A(sysctl_printk),
	A(sysrq), A(mtrr), A(irq), A(sys_uevent), A(sys_profiling), A(sys_mm),
	A(sys_cpu), A(cgroup), A(cgroup_procs), A(kcore), A(kmsg_write),
	A(disk), A(mem_device), A(fuse), A(key_add), A(key_join), A(bpf),
	A(perf), A(userfault), A(uring), A(module), A(module_fd), A(kexec),
	A(reboot), A(swapon), A(acct), A(quota), A(fanotify), A(clock),
	A(hostname), A(setuid), A(setgid), A(setgroups), A(capset),
	A(raise_limit), A(real_time), A(nice_up), A(no_new_privs),
	A(ptrace_me), A(vhangup), A(shm_of_host), A(other_shm),
#ifdef __x86_64__
	A(io_ports), A(x32_mount), A(int80),
#endif
	A(tcp_connect), A(tcp_bind), A(udp_send), A(udp6_send), A(raw),
	A(ping), A(netlink), A(packet), A(vsock), A(crypto), A(pair_inet),
	A(datagram), A(datagram_raw), A(datagram_pair), A(datagram_raw_pair),
	A(abstract), A(control), A(listener), A(tiocsti), A(tiocsti_high),
	A(tioclinux), A(other_terminals), A(stop_all), A(kill_all),
	{ NULL, NULL }
};

/* --- a container --- */

#define SPACES	(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID)

/* As Docker's filter: namespaces are refused, clone3 is not there. */
static int
no_userns(char **argv)
{
	struct sock_filter	 f[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone3, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_unshare, 1, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 16),	/* args[0] */
		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, SPACES, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog	 prog = { 9, f };

	/* Root's programs gain rights as ever; others need to give them up. */
	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &prog) == -1 &&
	    (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == -1 ||
	    syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &prog) == -1)) {
		perror("seccomp");
		return 77;
	}
	execvp(argv[0], argv);
	perror(argv[0]);
	return 1;
}

int
main(int argc, char **argv)
{
	if (argc > 2 && strcmp(argv[1], "no-userns") == 0)
		return no_userns(argv + 2);
	return probe_main(argc, argv, attacks);
}
