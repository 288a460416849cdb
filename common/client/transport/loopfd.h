/*
 * One descriptor for other event loops: epoll with timer and socket.  Embedded.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct loopfd {
	int		 epoll, timer;	/* -1: not asked for */
	int		 watched;	/* the socket in it, or -1 */
	uint32_t	 watched_for;	/* EPOLL... */
	uint64_t	 armed_for;	/* ms; 0: not armed */
};

void	 loopfd_init(struct loopfd *l);
void	 loopfd_fini(struct loopfd *l);

/* Make it, with nothing but wake watched.  0, or -1 with errno. */
int	 loopfd_open(struct loopfd *l, int wake) MUST_CHECK;

/* Watch fd (or -1) for what poll(2) calls events.  0, or -1 with errno. */
int	 loopfd_watch(struct loopfd *l, int fd, short events) MUST_CHECK;

/* Stop watching a socket that is about to be closed. */
void	 loopfd_unwatch(struct loopfd *l);

/* Let the timer fire in ms, or sooner (-1: need not); at once; clear it. */
void	 loopfd_arm(struct loopfd *l, uint64_t now, int ms);
void	 loopfd_fire(struct loopfd *l, uint64_t now);
void	 loopfd_take_timer(struct loopfd *l);
