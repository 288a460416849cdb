#include "worker/os/preauth.h"

#include <sys/resource.h>

#include <signal.h>
#include <unistd.h>

#include "common/linux/confine.h"
#include "common/linux/landlock.h"
#include "common/log.h"
#include "common/measured.h"

/* --- the seccomp filter --- */


#ifdef SYS_poll
#define OLD_CALLS	MAY(poll), MAY(time),
#else
#define OLD_CALLS
#endif

/*
 * At most 45, as many as sshd has.  None opens, creates or starts anything;
 * recvmsg(2) takes descriptors from the master only.
 */
static const struct sock_filter calls[] = {
	LOAD(arch), IF_EQ(BPF_ARCH, 1, 0), RETURN(SECCOMP_RET_KILL_PROCESS),
	LOAD(nr),
	OLD_CALLS
	MAY(ppoll), MAY(read), MAY(write), MAY(close), MAY(shutdown),
	MAY(recvfrom), MAY(recvmsg), MAY(sendto), MAY(sendmsg),
	MAY(mmap), MAY(munmap), MAY(mremap), MAY(mprotect), MAY(madvise),
	MAY(brk), MAY(futex), MAY(getrandom), MAY(getpid),
	MAY(clock_gettime), MAY(gettimeofday), MAY(restart_syscall),
	MAY(rt_sigreturn), MAY(rt_sigprocmask), MAY(exit), MAY(exit_group),
	RETURN(SECCOMP_RET_KILL_PROCESS)
};

/* Four instructions before and two after, two for each call. */
_Static_assert((sizeof(calls) / sizeof(calls[0]) - 6) / 2 <= 45,
    "more system calls than sshd needs");

/* --- */

/* Limits as in sshd(8) before authentication. */
static int
preauth_limit(bool is_alone)
{
	/* A log in a file then loses lines, but no signal kills us. */
	if (signal(SIGXFSZ, SIG_IGN) == SIG_ERR ||
	    confine_limit(RLIMIT_FSIZE, 0) == -1 ||
	    confine_limit(RLIMIT_NPROC, 0) == -1 ||
	    confine_limit(RLIMIT_CORE, 0) == -1)
		return -1;
	/*
	 * Not 0: poll(2) needs one.  Not if we share the uid: the kernel
	 * compares the limit with all descriptors in flight of the user
	 * (unix(7), ETOOMANYREFS).
	 */
	return is_alone ? confine_limit(RLIMIT_NOFILE, 1) : 0;
}

int
preauth_confine(bool is_alone)
{
	static const char *const	 nothing[] = { NULL };

	if (is_measured()) {
		log_debug("not confined: built with sanitizers or coverage");
		return 0;
	}
	if (landlock_only_read(nothing, nothing, true) == -1 ||
	    preauth_limit(is_alone) == -1)
		return -1;
	return BPF_INSTALL(calls);
}
