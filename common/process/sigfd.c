#include "common/process/sigfd.h"

#include <sys/signalfd.h>

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/ev.h"
#include "common/fd.h"

#define AT_ONCE	8	/* signals of one read */

struct sigfd {
	int		 fd;
	struct io	 ev;
	sigfd_fn	*fn;
	void		*arg;
};

/*
 * A signal that does not fit is read in the next turn.  libevent's own handler
 * writes to a pipe, and loses a signal when that is full.
 */
static void
sigfd_on_read(void *arg)
{
	struct signalfd_siginfo	 in[AT_ONCE];
	struct sigfd		*s = arg;
	ssize_t			 n;
	size_t			 i;

	if ((n = read(s->fd, in, sizeof(in))) <= 0)
		return;
	for (i = 0; i < (size_t)n / sizeof(in[0]); i++)
		s->fn(s->arg, (int)in[i].ssi_signo, (pid_t)in[i].ssi_pid);
}

struct sigfd *
sigfd_new(struct event_base *base, const int *list, sigfd_fn *fn, void *arg)
{
	struct sigfd	*s;
	const int	*sig;
	sigset_t	 set;

	sigemptyset(&set);
	for (sig = list; *sig != 0; sig++)
		sigaddset(&set, *sig);
	if ((s = calloc(1, sizeof(*s))) == NULL)
		return NULL;
	s->fn = fn;
	s->arg = arg;
	s->fd = -1;
	if (sigprocmask(SIG_BLOCK, &set, NULL) == -1 ||
	    (s->fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK)) == -1)
		goto fail;
	/* An ignored signal would be discarded instead of staying pending. */
	for (sig = list; *sig != 0; sig++)
		signal(*sig, SIG_DFL);
	io_init(&s->ev, base, s->fd, EV_READ | EV_PERSIST, sigfd_on_read, s);
	if (io_start(&s->ev) == -1) {
		errno = ENOMEM;
		goto fail;
	}
	return s;
 fail:
	sigfd_free(&s);
	return NULL;
}

void
sigfd_free(struct sigfd **sp)
{
	struct sigfd	*s = *sp;

	*sp = NULL;
	if (s == NULL)
		return;
	io_stop(&s->ev);
	fd_close(&s->fd);
	free(s);
}
