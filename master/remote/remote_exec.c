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

/* A uid that nobody has, where UplinkUser does not exist. */
#define UPLINK_UID	0x7fb00000

int
remote_exec_init(struct master *m)
{
	const struct passwd	*pw;

	m->uplinks.uid = m->uplinks.gid = UPLINK_UID;
	if (!m->world.start.is_root)
		return 0;
	if ((pw = names_user(m->world.conf.uplink_user)) != NULL) {
		m->uplinks.uid = pw->pw_uid;
		m->uplinks.gid = pw->pw_gid;
	} else if (errno != 0) {
		log_warnx("UplinkUser: %s", names_error(errno));
		return -1;
	}
	if (m->uplinks.uid == 0) {
		log_warnx("UplinkUser %s: must not be root",
		    m->world.conf.uplink_user);
		return -1;
	}
	return 0;
}

static void NORETURN
remote_exec_run(const struct master *m, int sock)
{
	static const struct rlimit	 all = { RLIM_INFINITY,
					    RLIM_INFINITY };
	char		*argv[] = { NULL, NULL, NULL };
	char		**env;

	assert(sock != -1 && (!m->world.start.is_root || m->uplinks.uid != 0));
	argv[0] = strdup("execsrv-uplink");
	argv[1] = strdup(m->world.logs.how);
	if ((env = envlist_network()) == NULL || argv[0] == NULL ||
	    argv[1] == NULL)
		_exit(126);
	signals_reset();
	if (dup2(sock, STDIN_FILENO) == -1 ||
	    dup2(logto_stderr(&m->world.logs), STDERR_FILENO) == -1 ||
	    chdir("/") == -1)
		_exit(126);
	/* Let it lock its memory, so that keys are not swapped. */
	if (m->world.start.is_root && setrlimit(RLIMIT_MEMLOCK, &all) == -1)
		log_debug("RLIMIT_MEMLOCK");
	if (m->world.start.is_root && (setgroups(0, NULL) == -1 ||
	    setresgid(m->uplinks.gid, m->uplinks.gid, m->uplinks.gid) == -1 ||
	    setresuid(m->uplinks.uid, m->uplinks.uid, m->uplinks.uid) == -1)) {
		log_warn("uplink: its user");
		_exit(126);
	}
	execve(m->world.start.uplink, argv, env);
	log_warn("%s", m->world.start.uplink);
	_exit(126);
}

pid_t
remote_exec(struct master *m, int *sock_out)
{
	int	 pair[2];
	pid_t	 pid;

	if (fd_packet_pair(pair) == -1)
		return 0;
	/* All descriptors of the master are close-on-exec. */
	if ((pid = fork()) == 0)
		remote_exec_run(m, pair[1]);
	fd_close(&pair[1]);
	if (pid == -1) {
		fd_close(&pair[0]);
		return 0;
	}
	*sock_out = pair[0];
	return pid;
}
