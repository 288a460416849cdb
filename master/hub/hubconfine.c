#include "master/hub/hubconfine.h"

#include <sys/prctl.h>
#include <sys/resource.h>

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <signal.h>
#include <unistd.h>

#include "common/linux/bpf.h"
#include "common/linux/landlock.h"
#include "common/log.h"
#include "common/measured.h"

#ifdef SYS_epoll_wait
#define HUB_OLD	MAY(epoll_wait)
#else
#define HUB_OLD	MAY(epoll_pwait)
#endif

/* Sockets that are there, those that they accept, and the event loop. */
static const struct sock_filter hub_calls[] = {
	BPF_HEAD, BPF_BASICS, HUB_OLD,
	MAY(epoll_pwait), MAY(epoll_ctl), MAY(accept4), MAY(shutdown),
	MAY(setsockopt), MAY(getsockopt), MAY(getsockname), MAY(getpeername),
	REFUSE(ENOSYS)
};

static const char *const hub_reads[] = { NULL };

int
hubconfine_early(void)
{
	static const struct rlimit	 none = { 0, 0 };

	if (prctl(PR_SET_PDEATHSIG, SIGKILL) == -1 ||
	    prctl(PR_SET_DUMPABLE, 0) == -1 ||
	    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == -1)
		return -1;
	return setrlimit(RLIMIT_CORE, &none);
}

int
hubconfine_user(const char *name)
{
	const struct passwd	*pw;

	if (geteuid() != 0)
		return 0;
	errno = 0;
	if ((pw = getpwnam(name)) == NULL) {
		log_warnx("HubUser %s: no such user", name);
		return -1;
	}
	if (setgroups(0, NULL) == -1 || setgid(pw->pw_gid) == -1 ||
	    setuid(pw->pw_uid) == -1 || setuid(0) == 0) {
		log_warn("HubUser %s", name);
		return -1;
	}
	/* Changing ids has cleared it. */
	return prctl(PR_SET_PDEATHSIG, SIGKILL);
}

int
hubconfine(void)
{
	static const struct rlimit	 none = { 0, 0 };

	if (is_measured()) {
		log_info("not confined: built with sanitizers or coverage");
		return 0;
	}
	if (setrlimit(RLIMIT_NPROC, &none) == -1 ||
	    landlock_only_read(hub_reads, hub_reads, true) == -1)
		return -1;
	/* A kernel without filters is no error. */
	return BPF_INSTALL(hub_calls) == -1 && errno != ENOSYS &&
	    errno != EINVAL ? -1 : 0;
}
