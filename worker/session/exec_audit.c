#include "worker/session/exec_audit.h"

#include <sys/stat.h>
#include <sys/wait.h>

#include <stdlib.h>
#include <string.h>

#include "common/fd.h"
#include "common/limit.h"
#include "worker/fs/lookup.h"
#include "worker/proc/spawn.h"
#include "worker/session/link.h"

/*
 * Return the path of the program, if lookups that do not block find it; else
 * the name or path that the client sent.
 */
static const char *
find_program(const struct spawn *sp)
{
	static const struct lookup	 how = { .nonblock = true };
	struct statx			 x;
	char				*const *p;
	const char			*name;
	int				 fd;

	for (p = sp->programs; *p != NULL && **p == '/'; p++) {
		if ((fd = lookup(*p, &how, &x)) == -1)
			continue;
		fd_close(&fd);
		if (S_ISREG(x.stx_mode) &&
		    (x.stx_mode & (S_IXUSR | S_IXGRP | S_IXOTH)) != 0)
			return *p;
	}
	if (sp->programs[1] == NULL)
		return sp->programs[0];
	name = strrchr(sp->programs[0], '/');
	return name != NULL ? name + 1 : sp->programs[0];
}

/* Count the arguments that fit LIMIT_TOLD_ARGUMENTS.  Whether all do. */
static bool
take_arguments(char *const *argv, size_t *n_out)
{
	size_t	 i, size = 0;

	for (i = 0; argv[i] != NULL; i++) {
		size += strlen(argv[i]) + sizeof(char *);
		if (size > LIMIT_TOLD_ARGUMENTS)
			break;
	}
	*n_out = i;
	return argv[i] == NULL;
}

bool
exec_audit_fits(char *const *argv)
{
	size_t	 n;

	return take_arguments(argv, &n);
}

void
exec_audit_start(struct link *link, const Ipc__Settings *set, pid_t pid,
    bool is_sandboxed, const struct spawn *sp)
{
	Ipc__Command	 out = IPC__COMMAND__INIT;

	if (!set->audit)
		return;
	out.pid = pid;
	out.program = (char *)(uintptr_t)find_program(sp);
	out.cwd = (char *)(uintptr_t)sp->cwd;
	out.terminal = sp->tty;
	out.sandboxed = is_sandboxed;
	if (set->log_arguments) {
		out.argument = (char **)(uintptr_t)sp->argv;
		out.cut = !take_arguments(sp->argv, &out.n_argument);
	}
	link_command(link, &out);
}

static uint64_t
exec_audit_ms(const struct timeval *tv)
{
	return (uint64_t)tv->tv_sec * 1000 + (uint64_t)tv->tv_usec / 1000;
}

void
exec_audit_end(struct link *link, const Ipc__Settings *set, pid_t pid,
    int status, uint64_t ms, const struct rusage *ru)
{
	Ipc__CommandEnded	 out = IPC__COMMAND_ENDED__INIT;

	if (!set->audit)
		return;
	out.pid = pid;
	if (WIFSIGNALED(status))
		out.signal = (uint32_t)WTERMSIG(status);
	else
		out.exit_code = (uint32_t)WEXITSTATUS(status);
	out.ms = ms;
	out.cpu_ms = exec_audit_ms(&ru->ru_utime) +
	    exec_audit_ms(&ru->ru_stime);
	out.peak_kib = (uint64_t)ru->ru_maxrss;
	link_command_ended(link, &out);
}
