/*
 * Signals as events, by signalfd(2): they are blocked and stay pending until
 * read.  libevent's own handler writes to a pipe, and loses a signal when that
 * is full.
 */
#pragma once

#include <sys/types.h>

#include <event2/event.h>

struct sigfd;

/*
 * Called once for one or more signals of a number; from: the process that the
 * first of them is from, of SIGCHLD the child.  Must not free the sigfd.
 */
typedef void	 sigfd_fn(void *arg, int sig, pid_t from);

/*
 * Block and watch the signals of list (ended by 0), whatever their dispositions
 * were.  NULL with errno.
 */
struct sigfd	*sigfd_new(struct event_base *base, const int *list,
		    sigfd_fn *fn, void *arg);

/* The signals stay blocked. */
void		 sigfd_free(struct sigfd **sp);
