#include "common/linux/confine.h"

#include <sys/prctl.h>

#include <errno.h>
#include <signal.h>

#include "common/log.h"
#include "common/measured.h"

int
confine_to_parent(void)
{
	return prctl(PR_SET_PDEATHSIG, SIGKILL);
}

int
confine_limit(__rlimit_resource_t what, rlim_t n)
{
	struct rlimit	 rl = { n, n };

	return setrlimit(what, &rl);
}

int
confine_early(void)
{
	if (prctl(PR_SET_DUMPABLE, 0) == -1 ||
	    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == -1)
		return -1;
	return confine_limit(RLIMIT_CORE, 0);
}

bool
confine_is_off(void)
{
	if (!is_measured())
		return false;
	log_info("not confined: built with sanitizers or coverage");
	return true;
}

int
confine_calls(const struct sock_filter *filter, size_t n)
{
	return bpf_install(filter, n) == -1 && errno != ENOSYS &&
	    errno != EINVAL ? -1 : 0;
}
