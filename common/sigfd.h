/*
 * Signals as events, by signalfd(2): they stay blocked, and pending until they
 * are read.  A handler that wakes the loop by a pipe, as libevent's, loses a
 * signal when it cannot write, and the process when it cannot read.
 */
#ifndef COMMON_SIGFD_H
#define COMMON_SIGFD_H

#include <event2/event.h>

struct sigfd;

/* sig came, once or more often.  Must not free what calls it. */
typedef void	 sigfd_fn(void *arg, int sig);

/*
 * Watch the signals of a list that ends with 0, whatever their dispositions
 * were.  NULL with errno.
 */
struct sigfd	*sigfd_new(struct event_base *base, const int *list,
		    sigfd_fn *fn, void *arg);

/* They stay blocked.  *sp may be NULL. */
void		 sigfd_free(struct sigfd **sp);

#endif
