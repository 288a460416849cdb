/* Signals as events, by signalfd(2): blocked, pending until read. */
#pragma once

#include <sys/types.h>

#include <event2/event.h>

struct sigfd;

/* from: the sender of the first, of SIGCHLD the child.  Keeps the sigfd. */
typedef void	 sigfd_fn(void *arg, int sig, pid_t from);

/* Block and watch list (ended by 0), whatever dispositions.  NULL: errno. */
struct sigfd	*sigfd_new(struct event_base *base, const int *list,
		    sigfd_fn *fn, void *arg);

/* They stay blocked. */
void		 sigfd_free(struct sigfd **sp);
