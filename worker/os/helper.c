#include "worker/os/helper.h"

#include <sys/syscall.h>
#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/log.h"
#include "config.h"
#include "worker/os/rawsys.h"
#include "worker/os/scgroup.h"
#include "worker/os/tvfork.h"

#define NAME_SIZE	32
#define KEPT_MAX	32

extern char **environ;

struct helper_child {
	struct tvfork	 tvfork;		/* the first member */
	int		 exe, sock, null;
	char		 name[NAME_SIZE], number[16];
	char		 how[LOG_HOW_MAX];	/* log_how() */
	char		*argv[4];
	char		*envp[KEPT_MAX + 1];	/* pointers to ours */
};

/* Between clone and exec: system calls only (worker/os/tvfork.h). */
static int
helper_child_main(void *arg)
{
	struct helper_child	*k = arg;
	int			 error;

	setsid();
	if (dup2(k->sock, STDIN_FILENO) == -1 ||
	    dup2(k->null, STDOUT_FILENO) == -1)
		return tvfork_fail(&k->tvfork, errno, k->name);
	tvfork_close(k->exe, -1);
	if ((error = tvfork_become_user()) == 0)
		/* By descriptor: the path may be inaccessible to this user. */
		error = (int)-rawsys(SYS_execveat, k->exe, (long)"",
		    (long)k->argv, (long)k->envp, AT_EMPTY_PATH);
	return tvfork_fail(&k->tvfork, error, k->name);
}

static void
fill_environment(struct helper_child *k, const char *const *kept,
    size_t nkept)
{
	char	**p;
	size_t	 i, n = 0, len;

	for (p = environ; *p != NULL && n < KEPT_MAX; p++)
		for (i = 0; i < nkept; i++) {
			len = strlen(kept[i]);
			if (strncmp(*p, kept[i], len) == 0 &&
			    (*p)[len] == '=') {
				k->envp[n++] = *p;
				break;
			}
		}
	k->envp[n] = NULL;
}

pid_t
helper_start(int exe, const char *name, unsigned session,
    const struct scgroup *limited, const char *const *kept, size_t n,
    int sock)
{
	struct helper_child	*k;
	pid_t			 pid = -1;
	int			 null, error;

	if ((null = open("/dev/null", O_RDWR | O_CLOEXEC)) == -1 ||
	    (k = calloc(1, sizeof(*k))) == NULL)
		goto out;
	snprintf(k->name, sizeof(k->name), "%s", name);
	snprintf(k->number, sizeof(k->number), "%u", session);
	k->argv[0] = k->name;
	k->argv[1] = k->number;
	snprintf(k->how, sizeof(k->how), "%s", log_how());
	k->argv[2] = k->how;
	k->tvfork.size = sizeof(*k);
	k->exe = exe;
	k->sock = sock;
	k->null = null;
	fill_environment(k, kept, n);
	pid = tvfork_give(&k->tvfork, -1, helper_child_main);
	if (pid == -1 && k->tvfork.pid == 0 && limited != NULL &&
	    scgroup_leave(limited->out, errno)) {
		pid = tvfork_give(&k->tvfork, -1, helper_child_main);
		error = errno;
		scgroup_return(limited);
		errno = error;
	}
	if (pid == -1) {
		error = errno;
		free(k);
		errno = error;
	}
 out:
	fd_close(&null);
	return pid;
}

int
helper_program(const char *name)
{
	char	 path[PATH_MAX + NAME_SIZE], *slash;
	ssize_t	 n;

	if ((n = readlink("/proc/self/exe", path, PATH_MAX)) == -1) {
		snprintf(path, sizeof(path), EXECSRV_LIBEXECDIR "/%s", name);
		return open(path, O_PATH | O_CLOEXEC);
	}
	path[n] = '\0';
	slash = strrchr(path, '/');
	snprintf(slash != NULL ? slash + 1 : path, NAME_SIZE, "%s", name);
	return open(path, O_PATH | O_CLOEXEC);
}

void
helper_log_end(const char *name, int status)
{
	if (WIFSIGNALED(status))
		log_warnx("%s: killed by signal %d", name, WTERMSIG(status));
	else if (WEXITSTATUS(status) != 0)
		log_warnx("%s: exited with status %d", name,
		    WEXITSTATUS(status));
}
