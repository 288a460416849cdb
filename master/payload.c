#include "master/payload.h"

#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/log.h"
#include "common/process/signals.h"

#define EXIT_NOT_FOUND	127	/* exit statuses of shells */
#define EXIT_NOT_RUN	126

/* Make a process group the terminal's foreground group. */
static void
give_terminal(pid_t group)
{
	if (tcsetpgrp(STDIN_FILENO, group) == -1)
		log_debug("terminal: %s", strerror(errno));
}

void
payload_undo(const struct payload *b, const struct rlimit *nofile)
{
	umask(b->mask);
	if (setrlimit(RLIMIT_NOFILE, nofile) == -1)
		log_warn("RLIMIT_NOFILE");
}

static void NORETURN
payload_run(const struct payload *b, const struct rlimit *nofile)
{
	int		 error;

	/* While SIGTTOU is still ignored: its default would stop us. */
	if (setpgid(0, 0) == 0 && b->has_terminal)
		give_terminal(getpid());
	payload_undo(b, nofile);
	signals_reset();
	execvp(b->argv[0], b->argv);
	error = errno;
	log_warn("%s", b->argv[0]);
	_exit(error == ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_RUN);
}

int
payload_start(struct payload *b, const struct rlimit *nofile)
{
	assert(b->pid == 0 && b->argv != NULL);
	b->has_terminal = isatty(STDIN_FILENO) &&
	    tcgetpgrp(STDIN_FILENO) == getpgrp();
	/* We may write the log to the terminal, now from the background. */
	signal(SIGTTOU, SIG_IGN);
	/* All our descriptors are close-on-exec. */
	if ((b->pid = fork()) == 0)
		payload_run(b, nofile);
	if (b->pid == -1) {
		b->pid = 0;
		log_warn("%s", b->argv[0]);
		return -1;
	}
	/* Parent and child both, to avoid a race; EACCES: after its exec. */
	if (setpgid(b->pid, b->pid) == -1 && errno != EACCES)
		log_debug("setpgid: %s", strerror(errno));
	log_info("command %ld: %s", (long)b->pid, b->argv[0]);
	return 0;
}

bool
payload_on_exit(struct payload *b, pid_t pid, int status, int *status_out,
    char why[PAYLOAD_WHY])
{
	if (b->pid == 0 || pid != b->pid)
		return false;
	b->pid = 0;
	if (b->has_terminal)
		give_terminal(getpgrp());
	if (WIFSIGNALED(status)) {
		*status_out = 128 + WTERMSIG(status);
		snprintf(why, PAYLOAD_WHY, "the command was killed by signal "
		    "%d", WTERMSIG(status));
	} else {
		*status_out = WEXITSTATUS(status);
		snprintf(why, PAYLOAD_WHY, "the command exited with status %d",
		    WEXITSTATUS(status));
	}
	return true;
}

/* Signal the group, as a terminal does: a shell does not pass signals on. */
static void
signal_group(const struct payload *b, int sig)
{
	assert(b->pid > 1);
	if (kill(-b->pid, sig) == -1 && kill(b->pid, sig) == -1)
		log_debug("command: %s", strerror(errno));
}

bool
payload_signal(struct payload *b, int sig)
{
	if (sig != SIGHUP && b->was_signalled) {
		payload_stop(b, SIGKILL);
		return false;
	}
	/* Many servers reload on SIGHUP. */
	b->was_signalled |= sig != SIGHUP;
	log_info("%s: passed on to the command", strsignal(sig));
	signal_group(b, sig);
	return true;
}

void
payload_stop(const struct payload *b, int sig)
{
	if (b->pid != 0)
		signal_group(b, sig);
}
