#include "worker/http/helper/http_confine.h"

#include <errno.h>
#include <sched.h>
#include <unistd.h>

#include "common/linux/confine.h"
#include "common/linux/landlock.h"
#include "worker/sandbox/enforce.h"

/* --- files: Landlock --- */

/*
 * Libraries, their configuration and certificates.  A Landlock rule applies to
 * the target of a symlink, so targets elsewhere are listed, too.
 */
static const char *const readable[] = {
	"/etc", "/usr", "/lib", "/lib64", "/nix/store", "/gnu/store",
	"/run/systemd/resolve", "/run/resolvconf", "/run/NetworkManager",
	"/run/connman", "/var/lib/sss", "/var/lib/ca-certificates",
	"/etc/resolv.conf", "/etc/hosts", "/etc/nsswitch.conf",
	"/etc/ssl/certs/ca-certificates.crt", "/dev/null", "/dev/random",
	"/dev/urandom", "/sys/devices/system/cpu", "/proc/sys", NULL
};

/* --- system calls: seccomp(2), behind the filter of enforce_seccomp.c --- */

/* The first filter handles the architecture, x32 and clone3(2). */
static const struct sock_filter no_processes[] = {
	LOAD(nr),
	NEVER(execve), NEVER(execveat),
#ifdef SYS_fork
	NEVER(fork), NEVER(vfork),
#endif
	NEVER(kill), NEVER(tkill), NEVER(tgkill), NEVER(pidfd_open),
	NEVER(pidfd_send_signal), NEVER(rt_sigqueueinfo),
	NEVER(rt_tgsigqueueinfo), NEVER(personality),
	/* Only reading our own limits. */
	IF_EQ(SYS_prlimit64, 0, 4),
	LOAD(args[0]), IF_EQ(0, 1, 0), REFUSE(EPERM), ALLOW,
	IF_EQ(SYS_clone, 0, 3),
	LOAD(args[0]), IF_ANY(CLONE_THREAD, 1, 0), REFUSE(EPERM),
	ALLOW
};

/* Install both filters; none on a kernel without seccomp(2). */
static int
http_confine_filter(void)
{
	if (enforce_seccomp(false) == -1) {
		if (errno == ENOSYS || errno == EINVAL)
			return 0;
		return -1;
	}
	return BPF_INSTALL(no_processes);
}

/* --- */

int
http_confine(const char *const *env_files)
{
	if (confine_is_off())
		return 0;
	return landlock_only_read(readable, env_files, true) == -1 ||
	    http_confine_filter() == -1 ? -1 : 0;
}
