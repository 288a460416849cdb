#include "master/hub/hubconfine.h"

#include <grp.h>
#include <pwd.h>
#include <unistd.h>

#include "common/linux/confine.h"
#include "common/linux/landlock.h"
#include "common/log.h"

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

/* And those that it makes: to the engine, and to other hubs. */
static const struct sock_filter hub_fleet_calls[] = {
	BPF_HEAD, BPF_BASICS, HUB_OLD,
	MAY(epoll_pwait), MAY(epoll_ctl), MAY(accept4), MAY(shutdown),
	MAY(setsockopt), MAY(getsockopt), MAY(getsockname), MAY(getpeername),
	MAY(socket), MAY(connect),
	REFUSE(ENOSYS)
};

static const char *const hub_reads[] = { NULL };

int
hubconfine_check(const char *name, struct conf_error *e)
{
	return geteuid() != 0 || getpwnam(name) != NULL ? 0 :
	    conf_fail(e, "HubUser %.100s: no such user", name);
}

int
hubconfine_user(const char *name)
{
	const struct passwd	*pw;

	if (geteuid() != 0)
		return 0;
	if ((pw = getpwnam(name)) == NULL) {
		log_warnx("HubUser %s: no such user", name);
		return -1;
	}
	if (setgroups(0, NULL) == -1 || setgid(pw->pw_gid) == -1 ||
	    setuid(pw->pw_uid) == -1 || setuid(0) == 0) {
		log_warn("HubUser %s", name);
		return -1;
	}
	/* Changing ids has undone both. */
	return confine_to_parent() == -1 ? -1 : confine_early();
}

int
hubconfine(bool dials)
{
	if (confine_is_off())
		return 0;
	if (confine_limit(RLIMIT_NPROC, 0) == -1 ||
	    landlock_only_read(hub_reads, hub_reads, true) == -1)
		return -1;
	return dials ? CONFINE_CALLS(hub_fleet_calls) :
	    CONFINE_CALLS(hub_calls);
}
