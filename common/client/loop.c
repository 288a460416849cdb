/*
 * One descriptor for the loops of others: an epoll instance with the socket,
 * which changes, and a timer.  Made when first asked for: who only waits in our
 * own calls pays nothing.
 */
#include <sys/epoll.h>
#include <sys/timerfd.h>

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "common/client/client_priv.h"
#include "common/fd.h"

#define TURNS_MAX	4	/* of one dispatch, before others get theirs */

static int
open_watch(struct execsrv *x)
{
	struct epoll_event	 ev = { .events = EPOLLIN };
	int			 error;

	if ((x->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC |
	    TFD_NONBLOCK)) == -1 ||
	    (x->epoll = epoll_create1(EPOLL_CLOEXEC)) == -1 ||
	    epoll_ctl(x->epoll, EPOLL_CTL_ADD, x->timer, &ev) == -1) {
		error = errno;
		fd_close(&x->timer);
		fd_close(&x->epoll);
		errno = error;
		return -1;
	}
	x->armed_for = 0;
	x->watched = -1;
	execsrv_rewatch(x);
	return 0;
}

int
execsrv_fd(struct execsrv *x)
{
	if (x->epoll == -1 && open_watch(x) == -1)
		return -1;
	return x->epoll;
}

void
execsrv_unwatch(struct execsrv *x)
{
	/* Gone by itself with its last descriptor; but a child that the
	   caller forked may have another. */
	if (x->watched != -1)
		(void)epoll_ctl(x->epoll, EPOLL_CTL_DEL, x->watched, NULL);
	x->watched = -1;
}

static void
watch_socket(struct execsrv *x)
{
	short			 events = execsrv_events(x);
	struct epoll_event	 ev = { .events = 0 };

	if ((events & POLLIN) != 0)
		ev.events |= EPOLLIN;
	if ((events & POLLOUT) != 0)
		ev.events |= EPOLLOUT;
	if (events == 0 || (x->watched != -1 && x->watched != x->fd))
		execsrv_unwatch(x);
	if (events == 0 || x->fd == -1 || (x->watched == x->fd &&
	    x->watched_for == ev.events))
		return;
	if (epoll_ctl(x->epoll, x->watched == -1 ? EPOLL_CTL_ADD :
	    EPOLL_CTL_MOD, x->fd, &ev) == -1) {
		execsrv_fail(x, "the connection cannot be watched: %s",
		    strerror(errno));
		return;
	}
	x->watched = x->fd;
	x->watched_for = ev.events;
}

/* One that fires too early does no harm, and saves a system call each time. */
static void
watch_time(struct execsrv *x)
{
	int			 ms = execsrv_wait_ms(x);
	uint64_t		 when = x->clock() + (uint64_t)ms;
	struct itimerspec	 t = { .it_value = { .tv_nsec = 1 } };

	if (ms == -1 || (x->armed_for != 0 && x->armed_for <= when))
		return;
	if (ms > 0) {
		t.it_value.tv_sec = ms / 1000;
		t.it_value.tv_nsec = ms % 1000 * 1000000;
	}
	/* Cannot fail: the descriptor is ours, the time is in range. */
	(void)timerfd_settime(x->timer, 0, &t, NULL);
	x->armed_for = when;
}

void
execsrv_rewatch(struct execsrv *x)
{
	if (x->epoll == -1 || x->is_busy)
		return;
	watch_socket(x);
	watch_time(x);
}

static short
poll_now(const struct execsrv *x)
{
	struct pollfd	 pfd = { .events = execsrv_events(x) };

	pfd.fd = pfd.events == 0 ? -1 : x->fd;
	return poll(&pfd, 1, 0) == 1 ? pfd.revents : 0;
}

/*
 * Something is left to be read: who waits for changes only (EPOLLET) would not
 * be told of it by the socket.
 */
static void
call_again(struct execsrv *x)
{
	struct itimerspec	 t = { .it_value = { .tv_nsec = 1 } };

	if (x->epoll == -1)
		return;
	(void)timerfd_settime(x->timer, 0, &t, NULL);
	x->armed_for = x->clock();
}

int
execsrv_dispatch(struct execsrv *x)
{
	uint64_t	 fired;
	short		 revents;
	int		 r, turns = 0;

	if (x->armed_for != 0 &&
	    read(x->timer, &fired, sizeof(fired)) == sizeof(fired))
		x->armed_for = 0;
	revents = poll_now(x);
	do
		r = execsrv_handle(x, revents);
	while (r == 0 && (revents = poll_now(x)) != 0 && ++turns < TURNS_MAX);
	if (r == 0 && revents != 0)
		call_again(x);
	return r;
}

int
execsrv_wait(struct execsrv *x, int timeout_ms)
{
	struct pollfd	 pfd = { .events = execsrv_events(x) };
	int		 ms = execsrv_wait_ms(x);

	pfd.fd = pfd.events == 0 ? -1 : x->fd;
	if (ms == -1 || (timeout_ms != -1 && timeout_ms < ms))
		ms = timeout_ms;
	if (poll(&pfd, 1, ms) == -1)
		pfd.revents = 0;
	return execsrv_handle(x, pfd.revents);
}
