#include "master/remote/remote_exec.h"

#include <sys/resource.h>

#include <assert.h>
#include <errno.h>
#include <grp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/log.h"
#include "common/process/envlist.h"
#include "common/process/signals.h"
#include "master/auth/names.h"
#include "master/logs/logto.h"
#include "master/world.h"

/* A uid that nobody has, where UplinkUser does not exist. */
#define UPLINK_UID	0x7fb00000

int
remote_exec_init(const struct world *w, uid_t *uid, gid_t *gid)
{
	const struct passwd	*pw;

	*uid = *gid = UPLINK_UID;
	if (!w->start.is_root)
		return 0;
	if ((pw = names_user(w->conf.uplink_user)) != NULL) {
		*uid = pw->pw_uid;
		*gid = pw->pw_gid;
	} else if (errno != 0) {
		log_warnx("UplinkUser: %s", names_error(errno));
		return -1;
	}
	if (*uid == 0) {
		log_warnx("UplinkUser %s: must not be root",
		    w->conf.uplink_user);
		return -1;
	}
	return 0;
}

static void NORETURN
remote_exec_run(const struct world *w, uid_t uid, gid_t gid, int sock)
{
	static const struct rlimit	 all = { RLIM_INFINITY,
					    RLIM_INFINITY };
	char		*argv[] = { NULL, NULL, NULL };
	char		**env;

	assert(sock != -1 && (!w->start.is_root || uid != 0));
	argv[0] = strdup("execsrv-uplink");
	argv[1] = strdup(w->logs.how);
	if ((env = envlist_network()) == NULL || argv[0] == NULL ||
	    argv[1] == NULL)
		_exit(126);
	signals_reset();
	if (dup2(sock, STDIN_FILENO) == -1 ||
	    dup2(logto_stderr(&w->logs), STDERR_FILENO) == -1 ||
	    chdir("/") == -1)
		_exit(126);
	/* Let it lock its memory, so that keys are not swapped. */
	if (w->start.is_root && setrlimit(RLIMIT_MEMLOCK, &all) == -1)
		log_debug("RLIMIT_MEMLOCK");
	if (w->start.is_root && (setgroups(0, NULL) == -1 ||
	    setresgid(gid, gid, gid) == -1 ||
	    setresuid(uid, uid, uid) == -1)) {
		log_warn("uplink: its user");
		_exit(126);
	}
	execve(w->start.uplink, argv, env);
	log_warn("%s", w->start.uplink);
	_exit(126);
}

pid_t
remote_exec(const struct world *w, uid_t uid, gid_t gid, int *sock_out)
{
	int	 pair[2];
	pid_t	 pid;

	if (fd_packet_pair(pair) == -1)
		return 0;
	/* All descriptors of the master are close-on-exec. */
	if ((pid = fork()) == 0)
		remote_exec_run(w, uid, gid, pair[1]);
	fd_close(&pair[1]);
	if (pid == -1) {
		fd_close(&pair[0]);
		return 0;
	}
	*sock_out = pair[0];
	return pid;
}
