/*
 * What a service manager is told: the protocol of sd_notify(3), one datagram
 * for each event.  All functions do nothing when nobody wants to know
 * (n == NULL), and never wait.
 */
#ifndef MASTER_LOGS_SDNOTIFY_H
#define MASTER_LOGS_SDNOTIFY_H

#include <event2/event.h>
#include <stdbool.h>

struct sdnotify;

/*
 * Take NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID out of the environment.
 * NULL when nobody asks for it, or after a line in the log: whoever waits to be
 * told will find out.
 */
struct sdnotify	*sdnotify_take_env(void);

/*
 * The same by a socket that was passed in (--notify-fd): one end of a pair that
 * keeps messages apart.  It replaces *np.  0, or -1 after a line in the log: fd
 * is no such thing.
 */
int	 sdnotify_take_fd(struct sdnotify **np, int fd)
	    __attribute__((warn_unused_result));
void	 sdnotify_free(struct sdnotify **np);

/* The loop runs from here on: WATCHDOG=1 at half of the time. */
void	 sdnotify_start(struct sdnotify *n, struct event_base *base);

/* READY=1: serving, with new settings as well. */
void	 sdnotify_ready(struct sdnotify *n);

/* RELOADING=1; sdnotify_ready() follows, whatever became of it. */
void	 sdnotify_reloading(struct sdnotify *n);

/* STOPPING=1. */
void	 sdnotify_stopping(struct sdnotify *n);

/*
 * For who passed the socket in: X_EXECSRV_LISTEN=URL, before READY=1; and
 * "X_EXECSRV_UPLINK=NUMBER IS_REGISTERED STATE".  One who does not read hears
 * of uplinks later: again() is called when he has room.
 */
void	 sdnotify_listen(struct sdnotify *n, const char *url);
void	 sdnotify_uplink(struct sdnotify *n, unsigned number,
	    bool is_registered,
	    const char *state, void (*again)(void *), void *arg);

/* STATUS=..., a line for people; the same twice is said once. */
void	 sdnotify_status(struct sdnotify *n, const char *fmt, ...)
	    __attribute__((format(printf, 2, 3)));

#endif
