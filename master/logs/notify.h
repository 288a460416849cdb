/*
 * What a service manager is told: the protocol of sd_notify(3), one datagram
 * for each event.  All functions do nothing when nobody wants to know
 * (n == NULL), and never wait.
 */
#ifndef MASTER_LOGS_NOTIFY_H
#define MASTER_LOGS_NOTIFY_H

#include <event2/event.h>
#include <stdbool.h>

struct notify;

/*
 * Take NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID out of the environment.
 * NULL when nobody asks for it, or after a line in the log: whoever waits to be
 * told will find out.
 */
struct notify	*notify_take_env(void);

/*
 * The same by a socket that was passed in (--notify-fd): one end of a pair that
 * keeps messages apart.  It replaces *np.  0, or -1 after a line in the log: fd
 * is no such thing.
 */
int	 notify_take_fd(struct notify **np, int fd)
	    __attribute__((warn_unused_result));
void	 notify_free(struct notify **np);

/* The loop runs from here on: WATCHDOG=1 at half of the time. */
void	 notify_start(struct notify *n, struct event_base *base);

/* READY=1: serving, with new settings as well. */
void	 notify_ready(struct notify *n);

/* RELOADING=1; notify_ready() follows, whatever became of it. */
void	 notify_reloading(struct notify *n);

/* STOPPING=1. */
void	 notify_stopping(struct notify *n);

/*
 * For who passed the socket in: X_EXECSRV_LISTEN=URL, before READY=1; and
 * "X_EXECSRV_UPLINK=NUMBER IS_REGISTERED STATE".  One who does not read hears
 * of uplinks later: again() is called when he has room.
 */
void	 notify_listen(struct notify *n, const char *url);
void	 notify_uplink(struct notify *n, unsigned number, bool is_registered,
	    const char *state, void (*again)(void *), void *arg);

/* STATUS=..., a line for people; the same twice is said once. */
void	 notify_status(struct notify *n, const char *fmt, ...)
	    __attribute__((format(printf, 2, 3)));

#endif
