#include "worker/os/helper.h"

#include <sys/syscall.h>
#include <sys/wait.h>

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
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

static pid_t
helper_execute(const struct helper *h, int sock)
{
	const struct helper_program	*p = h->program;
	struct helper_child		*k;
	pid_t				 pid = -1;
	int				 null, error;

	if ((null = open("/dev/null", O_RDWR | O_CLOEXEC)) == -1 ||
	    (k = calloc(1, sizeof(*k))) == NULL)
		goto out;
	snprintf(k->name, sizeof(k->name), "%s", p->name);
	snprintf(k->number, sizeof(k->number), "%u", h->session);
	k->argv[0] = k->name;
	k->argv[1] = k->number;
	snprintf(k->how, sizeof(k->how), "%s", log_how());
	k->argv[2] = k->how;
	k->tvfork.size = sizeof(*k);
	k->exe = h->exe;
	k->sock = sock;
	k->null = null;
	fill_environment(k, p->kept, p->nkept);
	pid = tvfork_give(&k->tvfork, -1, helper_child_main);
	if (pid == -1 && k->tvfork.pid == 0 && h->limited != NULL &&
	    scgroup_leave(h->limited->out, errno)) {
		pid = tvfork_give(&k->tvfork, -1, helper_child_main);
		error = errno;
		scgroup_return(h->limited);
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

/* --- its life --- */

static void
helper_end(struct helper *h, const char *what)
{
	char	 why[NAME_SIZE + 32];

	helper_stop(h);
	snprintf(why, sizeof(why), "%s %s", h->program->name, what);
	h->events->on_death(h->arg, why);
}

static void
helper_on_msg(void *arg, struct ipc_msg *m)
{
	struct helper	*h = arg;

	if (h->events->on_msg(h->arg, m) == 0)
		return;
	log_warnx("%s: unexpected message %s", h->program->name,
	    ipc_rows[m->kind].name);
	if (h->pid != 0)
		kill(h->pid, SIGKILL);
	helper_end(h, "sent an unexpected message");
}

static void
helper_on_end(void *arg, int error)
{
	struct helper	*h = arg;

	if (error != 0)
		log_warnx("%s: %s", h->program->name, strerror(error));
	if (error != 0 && h->pid != 0)
		kill(h->pid, SIGKILL);
	helper_end(h, "ended");
}

static void
helper_on_idle(void *arg)
{
	struct helper	*h = arg;

	assert(h->chan != NULL);
	helper_stop(h);
}

static int
helper_start(struct helper *h)
{
	const struct helper_program	*p = h->program;
	int				 pair[2];

	assert(h->chan == NULL);
	errno = ENOENT;
	if (h->exe == -1 || fd_packet_pair(pair) == -1)
		return -1;
	/* The previous process is still exiting. */
	if (h->pid != 0)
		kill(h->pid, SIGKILL);
	h->pid = helper_execute(h, pair[1]);
	fd_close(&pair[1]);
	if (h->pid == -1) {
		h->pid = 0;
		fd_close(&pair[0]);
		return -1;
	}
	if ((h->chan = chan_new(h->base, pair[0], IPC_ROLE_WORKER, p->role,
	    helper_on_msg, helper_on_end, h)) == NULL) {
		fd_close(&pair[0]);	/* upon which the child exits */
		return -1;
	}
	chan_set_limit(h->chan, p->queue_max);
	log_debug("%s: pid %ld", p->name, (long)h->pid);
	return 0;
}

void
helper_init(struct helper *h, const struct helper_program *p,
    struct event_base *base, int exe, unsigned session,
    const struct scgroup *limited, const struct helper_events *e, void *arg)
{
	memset(h, 0, sizeof(*h));
	h->program = p;
	h->base = base;
	h->exe = exe;
	h->session = session;
	h->limited = limited;
	h->events = e;
	h->arg = arg;
	timer_init(&h->idle, base, helper_on_idle, h);
}

int
helper_need(struct helper *h)
{
	timer_stop(&h->idle);
	return h->chan != NULL ? 0 : helper_start(h);
}

void
helper_idle(struct helper *h)
{
	if (h->chan != NULL)
		timer_set(&h->idle, h->program->idle_ms);
}

void
helper_stop(struct helper *h)
{
	chan_free(&h->chan);
	timer_stop(&h->idle);
}

bool
helper_reaped(struct helper *h, pid_t pid, int status, bool quiet)
{
	assert(pid > 0);
	if (pid != h->pid)
		return false;
	h->pid = 0;
	if (WIFSIGNALED(status) && !quiet)
		log_warnx("%s: killed by signal %d", h->program->name,
		    WTERMSIG(status));
	else if (WEXITSTATUS(status) != 0 && !quiet)
		log_warnx("%s: exited with status %d", h->program->name,
		    WEXITSTATUS(status));
	return true;
}
