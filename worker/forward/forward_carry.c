#include "worker/forward/forward_carry.h"

#include <sys/socket.h>

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/fd.h"

#define BUFFER	(128 * 1024)

/* One direction. */
struct way {
	int		 from, to;
	size_t		 at, len;	/* in data: not yet written */
	uint64_t	 total;		/* bytes read */
	bool		 is_eof, is_over;
	char		 data[BUFFER];
};

static volatile sig_atomic_t	 is_held;

static void
on_signal(int sig)
{
	is_held = sig == SIGUSR1;
}

int
forward_signals(void)
{
	struct sigaction	 sa;
	sigset_t		 set;

	memset(&sa, 0, sizeof(sa));
	sa.sa_handler = on_signal;
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigaddset(&set, SIGUSR2);
	/*
	 * Of two that are pending the handler of SIGUSR2 is the last: a sender
	 * that still gets too much repeats SIGUSR1.
	 */
	sa.sa_mask = set;
	if (signal(SIGPIPE, SIG_IGN) == SIG_ERR)
		return -1;
	/* They come while we wait, and at no other time. */
	return sigprocmask(SIG_BLOCK, &set, NULL) == -1 ||
	    sigaction(SIGUSR1, &sa, NULL) == -1 ||
	    sigaction(SIGUSR2, &sa, NULL) == -1 ? -1 : 0;
}

static bool
is_passing(int error)
{
	return error == EAGAIN || error == EINTR;
}

/* Read or write what is possible.  0, or -1 with errno. */
static int
move(struct way *w)
{
	ssize_t	 n;

	assert(w->at + w->len <= sizeof(w->data));
	if (w->len == 0 && !w->is_eof) {
		if ((n = read(w->from, w->data, sizeof(w->data))) == -1)
			return is_passing(errno) ? 0 : -1;
		w->is_eof = n == 0;
		w->at = 0;
		w->len = (size_t)n;
		w->total += (uint64_t)n;
	}
	if (w->len > 0) {
		if ((n = write(w->to, w->data + w->at, w->len)) == -1)
			return is_passing(errno) ? 0 : -1;
		w->at += (size_t)n;
		w->len -= (size_t)n;
	}
	return 0;
}

/* Wait until a direction can go on. */
static void
await(const struct way *up, const struct way *down)
{
	struct pollfd	 p[3] = { { -1, POLLIN, 0 }, { -1, 0, 0 },
			    { -1, POLLOUT, 0 } };
	sigset_t	 none;

	sigemptyset(&none);
	if (!up->is_over && up->len == 0)
		p[0].fd = up->from;
	if (!up->is_over && up->len > 0)
		p[1].events |= POLLOUT;
	if (!down->is_over && down->len == 0 && !is_held)
		p[1].events |= POLLIN;
	if (p[1].events != 0)
		p[1].fd = up->to;
	if (!down->is_over && down->len > 0)
		p[2].fd = down->to;
	/* Signals only set is_held, which is looked at next. */
	(void)!ppoll(p, 3, NULL, &none);
}

/* All that the socket sent has been written. */
static void
end_down(struct way *down)
{
	assert(down->is_eof && down->len == 0 && !down->is_over);
	fprintf(stderr, "eof %" PRIu64 "\n", down->total);
	close(down->to);
	down->is_over = true;
}

int
forward_carry(int sock)
{
	static struct way	 up, down;

	up.from = STDIN_FILENO;
	up.to = down.from = sock;
	down.to = STDOUT_FILENO;
	if (fd_nonblock(STDIN_FILENO, 1) == -1 || fd_nonblock(sock, 1) == -1 ||
	    fd_nonblock(STDOUT_FILENO, 1) == -1)
		goto fail;
	while (!up.is_over || !down.is_over) {
		await(&up, &down);
		/* One that takes no more may still have something to say. */
		if (!up.is_over && (move(&up) == -1 ||
		    (up.is_eof && up.len == 0))) {
			(void)shutdown(sock, SHUT_WR);
			up.is_over = true;
		}
		if (!down.is_over && !(is_held && down.len == 0) &&
		    move(&down) == -1)
			goto fail;
		if (!down.is_over && down.is_eof && down.len == 0)
			end_down(&down);
	}
	return 0;
 fail:
	fprintf(stderr, "%s\n", strerror(errno));
	return -1;
}
