#include "worker/http/confine.h"

#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/log.h"
#include "worker/enforce.h"

/* Only in a build that counts what is executed. */
extern void	 __gcov_exit(void) __attribute__((weak));

/* --- files: Landlock (landlock(7)) --- */

#define FS_READ		((1ULL << 2) | (1ULL << 3))	/* files, folders */
#define FS_READ_FILE	(1ULL << 2)
#define FS_ABI_1	((1ULL << 13) - 1)
#define FS_REFER	(1ULL << 13)			/* ABI 2 */
#define FS_TRUNCATE	(1ULL << 14)			/* ABI 3 */
#define SCOPES		(3ULL << 0)	/* ABI 6: abstract, signals */

struct attributes {
	uint64_t	 fs, net, scoped;
};

struct beneath {
	uint64_t	 access;
	int32_t		 fd;
} __attribute__((packed));

/*
 * Where libraries, their configuration and certificates are.  Some files are
 * links to places that are not in the list: a rule is about what they lead to.
 */
static const char *const readable[] = {
	"/etc", "/usr", "/lib", "/lib64", "/nix/store", "/gnu/store",
	"/run/systemd/resolve", "/run/resolvconf", "/run/NetworkManager",
	"/run/connman", "/var/lib/sss", "/var/lib/ca-certificates",
	"/etc/resolv.conf", "/etc/hosts", "/etc/nsswitch.conf",
	"/etc/ssl/certs/ca-certificates.crt", "/dev/null", "/dev/random",
	"/dev/urandom", "/sys/devices/system/cpu", "/proc/sys", NULL
};

/* Paths that are not there need no rule. */
static int
allow_reading(int ruleset, const char *path)
{
	struct beneath	 rule;
	struct stat	 st;
	int		 r = -1;

	if ((rule.fd = open(path, O_PATH | O_CLOEXEC)) == -1)
		return 0;
	if (fstat(rule.fd, &st) == 0) {
		rule.access = S_ISDIR(st.st_mode) ? FS_READ : FS_READ_FILE;
		r = (int)syscall(SYS_landlock_add_rule, ruleset,
		    1 /* LANDLOCK_RULE_PATH_BENEATH */, &rule, 0);
	}
	close(rule.fd);
	return r;
}

/* A kernel that has none is no error. */
static int
landlock(const char *const *env_files)
{
	struct attributes	 a;
	int			 abi, ruleset, r = -1;
	size_t			 i;

	abi = (int)syscall(SYS_landlock_create_ruleset, NULL, 0,
	    1 /* LANDLOCK_CREATE_RULESET_VERSION */);
	if (abi < 1)
		return 0;
	memset(&a, 0, sizeof(a));
	a.fs = FS_ABI_1 | (abi >= 2 ? FS_REFER : 0) |
	    (abi >= 3 ? FS_TRUNCATE : 0);
	a.scoped = abi >= 6 ? SCOPES : 0;
	/* Kernels refuse a longer structure than theirs unless it is zero. */
	if ((ruleset = (int)syscall(SYS_landlock_create_ruleset, &a,
	    sizeof(a), 0)) == -1)
		return -1;
	for (i = 0; readable[i] != NULL; i++)
		if (allow_reading(ruleset, readable[i]) == -1)
			goto out;
	for (i = 0; env_files[i] != NULL; i++)
		if (allow_reading(ruleset, env_files[i]) == -1)
			goto out;
	r = (int)syscall(SYS_landlock_restrict_self, ruleset, 0);
 out:
	fd_close(&ruleset);
	return r;
}

/* --- system calls: seccomp(2), behind the filter of enforce_seccomp.c --- */

#define FIELD(f)	((unsigned)offsetof(struct seccomp_data, f))
#define LOAD(f)		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, FIELD(f))
#define RETURN(v)	BPF_STMT(BPF_RET | BPF_K, (v))
#define REFUSE(e)	RETURN(SECCOMP_RET_ERRNO | (e))
#define ALLOW		RETURN(SECCOMP_RET_ALLOW)
#define IF_EQ(v, t, f)	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (v), (t), (f))
#define IF_ANY(v, t, f)	BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, (v), (t), (f))
#define NEVER(name)	IF_EQ(SYS_##name, 0, 1), REFUSE(EPERM)

/* Architecture, x32 and clone3(2) are dealt with by the first filter. */
static const struct sock_filter no_processes[] = {
	LOAD(nr),
	NEVER(execve), NEVER(execveat),
#ifdef SYS_fork
	NEVER(fork), NEVER(vfork),
#endif
	NEVER(kill), NEVER(tkill), NEVER(tgkill), NEVER(pidfd_open),
	NEVER(pidfd_send_signal), NEVER(rt_sigqueueinfo),
	NEVER(rt_tgsigqueueinfo), NEVER(personality),
	/* Our own limits may be looked at. */
	IF_EQ(SYS_prlimit64, 0, 4),
	LOAD(args[0]), IF_EQ(0, 1, 0), REFUSE(EPERM), ALLOW,
	IF_EQ(SYS_clone, 0, 3),
	LOAD(args[0]), IF_ANY(CLONE_THREAD, 1, 0), REFUSE(EPERM),
	ALLOW
};

/* Both filters, or none where the kernel has no such thing. */
static int
filter(void)
{
	struct sock_fprog	 prog;

	if (enforce_seccomp(false) == -1) {
		if (errno == ENOSYS || errno == EINVAL)
			return 0;
		return -1;
	}
	prog.filter = (struct sock_filter *)(uintptr_t)no_processes;
	prog.len = sizeof(no_processes) / sizeof(no_processes[0]);
	return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &prog);
}

/* --- */

int
confine_early(void)
{
	static const struct rlimit	 none = { 0, 0 };

	/* The channel's end tells it as well; this also when we hang. */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) == -1 ||
	    prctl(PR_SET_DUMPABLE, 0) == -1 ||
	    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == -1)
		return -1;
	return setrlimit(RLIMIT_CORE, &none);
}

int
confine(const char *const *env_files)
{
	bool	 is_measured = __gcov_exit != NULL;

#ifdef __SANITIZE_ADDRESS__
	is_measured = true;
#endif
	/* Figures and reports are written to files at the end. */
	if (is_measured) {
		log_info("not confined: this program is measured");
		return 0;
	}
	return landlock(env_files) == -1 || filter() == -1 ? -1 : 0;
}
