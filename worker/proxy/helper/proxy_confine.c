#include "worker/proxy/helper/proxy_confine.h"

#include <sys/socket.h>

#include <errno.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <unistd.h>

#include "common/linux/confine.h"
#include "common/linux/landlock.h"

#define SOCK_TYPES	0xf	/* other bits of the argument are flags */

/* --- files: Landlock --- */

/*
 * A rule applies to the target of a symlink, so folders where resolv.conf may
 * lead are listed, too.
 */
static const char *const readable[] = {
	"/etc/hosts", "/etc/resolv.conf", "/etc/nsswitch.conf",
	"/run/systemd/resolve", "/run/resolvconf", "/run/NetworkManager",
	"/run/connman", "/dev/urandom", NULL
};

static const char *const nothing[] = { NULL };

/* --- system calls: seccomp(2) --- */


#ifdef SYS_open
#define OLD_CALLS							\
	MAY(open), MAY(stat), MAY(access), MAY(readlink), MAY(poll),	\
	MAY(time), MAY(epoll_wait),
#else
#define OLD_CALLS
#endif

/* socket(2) of TCP and UDP only, with the usual protocol of each. */
#define SOCKETS								\
	IF_EQ(SYS_socket, 0, 13),					\
	LOAD_ARG(0), IF_EQ(AF_INET, 1, 0), IF_EQ(AF_INET6, 0, 9),	\
	LOAD_ARG(1), AND(SOCK_TYPES),					\
	IF_EQ(SOCK_DGRAM, 3, 0), IF_EQ(SOCK_STREAM, 0, 5),		\
	LOAD_ARG(2), IF_EQ(IPPROTO_TCP, 2, 1),				\
	LOAD_ARG(2), IF_EQ(0, 0, 1), ALLOW, REFUSE(EPERM)

static const struct sock_filter	 calls[] = {
	LOAD(arch), IF_EQ(BPF_ARCH, 1, 0), RETURN(SECCOMP_RET_KILL_PROCESS),
	LOAD(nr),
	/* The loop and its sockets, most frequent first. */
	MAY(recvfrom), MAY(sendmsg), MAY(splice), MAY(epoll_pwait),
	MAY(epoll_ctl), MAY(close), MAY(accept4), MAY(connect),
	MAY(setsockopt), MAY(getsockopt), MAY(getsockname),
	MAY(getpeername), MAY(shutdown), MAY(recvmsg), MAY(sendto),
	MAY(bind), MAY(read), MAY(write), MAY(readv), MAY(writev),
	MAY(clock_gettime), MAY(gettimeofday), MAY(timerfd_settime),
	/* Memory, names, the log, the end. */
	OLD_CALLS
	MAY(ppoll), MAY(mmap), MAY(munmap), MAY(mremap), MAY(mprotect),
	MAY(madvise), MAY(brk), MAY(futex), MAY(getrandom), MAY(getpid),
	MAY(gettid), MAY(getuid), MAY(geteuid), MAY(getgid), MAY(getegid),
	MAY(pipe2), MAY(fcntl), MAY(fstat),
	MAY(newfstatat), MAY(statx), MAY(lseek), MAY(ioctl), MAY(openat),
	MAY(readlinkat), MAY(pread64), MAY(exit), MAY(exit_group),
	MAY(rt_sigreturn), MAY(rt_sigprocmask), MAY(rt_sigaction),
	MAY(restart_syscall), MAY(uname), MAY(epoll_create1), MAY(eventfd2),
	SOCKETS,
	/* As on a kernel that lacks it: libraries have another way. */
	REFUSE(ENOSYS)
};

/* --- */

int
proxy_confine(void)
{
	if (confine_is_off())
		return 0;
	return landlock_only_read(readable, nothing, true) == -1 ? -1 :
	    CONFINE_CALLS(calls);
}
