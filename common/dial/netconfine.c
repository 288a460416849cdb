#include "common/dial/netconfine.h"

#include <sys/mman.h>

#include <unistd.h>

#include "common/limit.h"
#include "common/linux/confine.h"
#include "common/linux/landlock.h"
#include "common/log.h"
#include "common/measured.h"

/* --- files: Landlock --- */

/* For names of hosts: settings, and modules of nsswitch.conf(5). */
static const char *const readable[] = {
	"/etc", "/usr/lib", "/usr/lib64", "/usr/share/zoneinfo", "/lib",
	"/lib64", "/nix/store", "/gnu/store", "/run/systemd/resolve",
	"/run/resolvconf", "/run/NetworkManager", "/run/connman",
	"/var/lib/sss", "/etc/resolv.conf", "/etc/hosts",
	"/etc/nsswitch.conf", "/dev/null", "/dev/urandom", NULL
};

static const char *const nothing[] = { NULL };

/* --- system calls: seccomp(2) --- */

/* Connections: of any kind but ones that are waited for. */
#define NETWORK								\
	MAY(socket), MAY(connect), MAY(setsockopt), MAY(getsockopt),	\
	MAY(getsockname), MAY(getpeername), MAY(shutdown), MAY(bind),	\
	MAY(sendmmsg), MAY(socketpair)

#ifdef SYS_poll
#define OLD_FILES	MAY(open), MAY(access), MAY(readlink), MAY(getdents64),
#else
#define OLD_FILES	MAY(getdents64),
#endif

static const struct sock_filter process_calls[] = {
	BPF_HEAD, BPF_BASICS, NETWORK,
	/* As on a kernel that lacks it: libraries have another way. */
	REFUSE(ENOSYS)
};

/* It opens files as well; which ones is Landlock's business. */
static const struct sock_filter resolver_calls[] = {
	BPF_HEAD, BPF_BASICS, NETWORK, OLD_FILES
	MAY(openat), MAY(faccessat), MAY(readlinkat), MAY(pread64),
	MAY(statx), MAY(statfs),
	REFUSE(ENOSYS)
};

/* --- */

void
netconfine_lock_memory(void)
{
	struct rlimit	 rl;

	if (getrlimit(RLIMIT_MEMLOCK, &rl) == 0 &&
	    rl.rlim_cur == RLIM_INFINITY &&
	    mlockall(MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT) == -1)
		log_debug("mlockall");
}

int
netconfine_process(void)
{
	if (confine_is_off())
		return 0;
	/*
	 * Not RLIMIT_FSIZE: the log may be a file.  128 streams could have 8
	 * GiB of messages to send; who needs that much loses his stream.
	 */
	if (confine_limit(RLIMIT_NPROC, 0) == -1 ||
	    confine_limit(RLIMIT_DATA, (rlim_t)LIMIT_UPLINK_MEMORY) == -1)
		return -1;
	return landlock_only_read(nothing, nothing, true) == -1 ? -1 :
	    CONFINE_CALLS(process_calls);
}

int
netconfine_resolver(void)
{
	if (confine_to_parent() == -1)
		return -1;
	if (is_measured())
		return 0;
	if (confine_limit(RLIMIT_NPROC, 0) == -1 ||
	    landlock_only_read(readable, nothing, false) == -1)
		return -1;
	return CONFINE_CALLS(resolver_calls);
}
