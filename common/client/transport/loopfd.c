#include "common/client/transport/loopfd.h"

#include <sys/epoll.h>
#include <sys/timerfd.h>

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <unistd.h>

#include "common/fd.h"

void
loopfd_init(struct loopfd *l)
{
	l->epoll = l->timer = l->watched = -1;
	l->watched_for = 0;
	l->armed_for = 0;
}

void
loopfd_fini(struct loopfd *l)
{
	loopfd_unwatch(l);
	fd_close(&l->timer);
	fd_close(&l->epoll);
}

/* Programs that wait in our own calls do not need it. */
int
loopfd_open(struct loopfd *l, int wake)
{
	struct epoll_event	 ev = { .events = EPOLLIN };
	int			 error;

	assert(l->epoll == -1 && l->timer == -1 && l->watched == -1);
	if ((l->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC |
	    TFD_NONBLOCK)) == -1 ||
	    (l->epoll = epoll_create1(EPOLL_CLOEXEC)) == -1 ||
	    epoll_ctl(l->epoll, EPOLL_CTL_ADD, l->timer, &ev) == -1 ||
	    epoll_ctl(l->epoll, EPOLL_CTL_ADD, wake, &ev) == -1) {
		error = errno;
		fd_close(&l->timer);
		fd_close(&l->epoll);
		errno = error;
		return -1;
	}
	l->armed_for = 0;
	return 0;
}

void
loopfd_unwatch(struct loopfd *l)
{
	/* The kernel removes it with its last descriptor; but a child that the
	   program forked may have another. */
	if (l->watched != -1)
		(void)epoll_ctl(l->epoll, EPOLL_CTL_DEL, l->watched, NULL);
	l->watched = -1;
}

int
loopfd_watch(struct loopfd *l, int fd, short events)
{
	struct epoll_event	 ev = { .events = 0 };

	assert(l->epoll != -1);
	if ((events & POLLIN) != 0)
		ev.events |= EPOLLIN;
	if ((events & POLLOUT) != 0)
		ev.events |= EPOLLOUT;
	if (events == 0 || (l->watched != -1 && l->watched != fd))
		loopfd_unwatch(l);
	if (events == 0 || fd == -1 || (l->watched == fd &&
	    l->watched_for == ev.events))
		return 0;
	if (epoll_ctl(l->epoll, l->watched == -1 ? EPOLL_CTL_ADD :
	    EPOLL_CTL_MOD, fd, &ev) == -1)
		return -1;
	l->watched = fd;
	l->watched_for = ev.events;
	return 0;
}

void
loopfd_arm(struct loopfd *l, uint64_t now, int ms)
{
	uint64_t		 when = now + (uint64_t)ms;
	struct itimerspec	 t = { .it_value = { .tv_nsec = 1 } };

	assert(l->timer != -1 && ms >= -1);
	/* Too early does no harm, and saves a system call each time. */
	if (ms == -1 || (l->armed_for != 0 && l->armed_for <= when))
		return;
	if (ms > 0) {
		t.it_value.tv_sec = ms / 1000;
		t.it_value.tv_nsec = ms % 1000 * 1000000;
	}
	/* Cannot fail: the descriptor is ours, the time is in range. */
	(void)timerfd_settime(l->timer, 0, &t, NULL);
	l->armed_for = when;
}

void
loopfd_fire(struct loopfd *l, uint64_t now)
{
	struct itimerspec	 t = { .it_value = { .tv_nsec = 1 } };

	assert(l->timer != -1);
	(void)timerfd_settime(l->timer, 0, &t, NULL);
	l->armed_for = now;
}

void
loopfd_take_timer(struct loopfd *l)
{
	uint64_t	 fired;

	if (l->armed_for != 0 &&
	    read(l->timer, &fired, sizeof(fired)) == sizeof(fired))
		l->armed_for = 0;
}
