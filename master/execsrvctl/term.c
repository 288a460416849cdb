#include "master/execsrvctl/term.h"

#include <sys/ioctl.h>

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

static struct termios			 saved;
static volatile sig_atomic_t		 saved_fd = -1;

/* Signals that end us; run.c passes others on, which never come here. */
static const int	 deadly[] = {
	SIGABRT, SIGALRM, SIGBUS, SIGFPE, SIGILL, SIGIO, SIGPROF, SIGPWR,
	SIGSEGV, SIGSYS, SIGTRAP, SIGVTALRM, SIGXCPU, SIGXFSZ
};

void
term_restore(void)
{
	int	 error = errno;

	/* A background job would be stopped for it; the shell has restored
	   its terminal. */
	if (saved_fd != -1 && tcgetpgrp(saved_fd) == getpgrp())
		tcsetattr(saved_fd, TCSADRAIN, &saved);
	errno = error;
}

static void
on_deadly(int sig)
{
	if (saved_fd != -1)
		tcsetattr(saved_fd, TCSANOW, &saved);
	raise(sig);			/* by its default: SA_RESETHAND */
}

static void
watch_exits(void)
{
	struct sigaction	 sa, old;
	size_t			 i;

	atexit(term_restore);
	sa.sa_handler = on_deadly;
	sa.sa_flags = (int)SA_RESETHAND | SA_NODEFER;
	sigemptyset(&sa.sa_mask);
	for (i = 0; i < sizeof(deadly) / sizeof(deadly[0]); i++)
		if (sigaction(deadly[i], NULL, &old) == 0 &&
		    old.sa_handler == SIG_DFL)
			sigaction(deadly[i], &sa, NULL);
}

void
term_raw(int fd)
{
	struct termios	 t;

	if (!isatty(fd) || tcgetpgrp(fd) != getpgrp())
		return;
	if (saved_fd == -1) {
		if (tcgetattr(fd, &saved) == -1)
			return;
		saved_fd = fd;
		watch_exits();
	}
	t = saved;
	cfmakeraw(&t);
	tcsetattr(fd, TCSADRAIN, &t);
}

int
term_size(uint16_t *rows_out, uint16_t *cols_out)
{
	struct winsize	 ws;
	int		 fd;

	for (fd = 0; fd < 3; fd++)
		if (ioctl(fd, TIOCGWINSZ, &ws) == 0 && ws.ws_row > 0 &&
		    ws.ws_col > 0) {
			*rows_out = ws.ws_row;
			*cols_out = ws.ws_col;
			return 0;
		}
	return -1;
}

void
term_look(int fd, struct table_look *look_out)
{
	const char	*none = getenv("NO_COLOR"), *term = getenv("TERM");
	struct winsize	 ws;

	memset(look_out, 0, sizeof(*look_out));
	if (!isatty(fd))
		return;
	if (ioctl(fd, TIOCGWINSZ, &ws) == 0)
		look_out->width = ws.ws_col;
	look_out->has_colour = (none == NULL || none[0] == '\0') &&
	    term != NULL && strcmp(term, "dumb") != 0;
}
