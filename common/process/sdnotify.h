/* sd_notify(3), never blocking.  n NULL: nothing is done. */
#pragma once

#include <event2/event.h>
#include <stdbool.h>
#include <sys/types.h>

struct sdnotify;

/*
 * Move NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID out of the environment.
 * NULL: not set, or invalid, after a line in the log.
 */
struct sdnotify	*sdnotify_take_env(void);

/* Use fd (--notify-fd) instead of *np.  0, or -1 after a line in the log. */
int	 sdnotify_take_fd(struct sdnotify **np, int fd) MUST_CHECK;
void	 sdnotify_free(struct sdnotify **np);

/* WATCHDOG=1, at half of the interval. */
void	 sdnotify_start(struct sdnotify *n, struct event_base *base);

/* READY=1; also after a reload. */
void	 sdnotify_ready(struct sdnotify *n);

/* RELOADING=1; sdnotify_ready() must follow, also on failure. */
void	 sdnotify_reloading(struct sdnotify *n);

void	 sdnotify_stopping(struct sdnotify *n);

/*
 * For --notify-fd only: X_EXECSRV_LISTEN=URL, before READY=1;
 * "X_EXECSRV_UPLINK=NUMBER IS_REGISTERED STATE".  again(): the socket was full
 * and has room.
 */
void	 sdnotify_listen(struct sdnotify *n, const char *url);
void	 sdnotify_uplink(struct sdnotify *n, unsigned number,
	    bool is_registered,
	    const char *state, void (*again)(void *), void *arg);

/* MAINPID=: watched instead; sent by who was until then. */
void	 sdnotify_main_pid(struct sdnotify *n, pid_t pid);

/* Or -1; whether it is of --notify-fd. */
int	 sdnotify_fd(const struct sdnotify *n);
bool	 sdnotify_is_given(const struct sdnotify *n);

/* STATUS=, for people; sent if it has changed. */
void	 sdnotify_status(struct sdnotify *n, const char *fmt, ...) PRINTF(2, 3);
