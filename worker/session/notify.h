/*
 * Notifications to the client about its processes: process/output, exited and
 * closed, as they happen.
 *
 * A process/read whose answer would exceed the message limit returns the first
 * part, as of a process that still runs; the rest follows as notifications of
 * output, exit and close, in order and before anything newer.  So a client that
 * reads once after a resume, like the stock client, misses nothing.
 */
#pragma once

#include <sys/queue.h>

#include <stdbool.h>
#include <stdint.h>

struct conn;
struct notify;
struct proc;

/* Of a session.  Embedded. */
struct notifier {
	struct conn		*conn;		/* of the client, or NULL */
	TAILQ_HEAD(, notify)	 replayed;
	bool			(*has_room)(const void *arg);
	const void		*arg;
};

void	 notifier_init(struct notifier *n, bool (*has_room)(const void *),
	    const void *arg);

/* A client is attached, or (NULL) gone.  Stops all replays. */
void	 notifier_set_conn(struct notifier *n, struct conn *conn);

/* Continue the replays while there is room.  false: nothing to do. */
bool	 notifier_continue(struct notifier *n);

/* Notify the client of events of p.  0, or -1 with errno ENOMEM. */
int	 notify_add(struct notifier *n, struct proc *p) MUST_CHECK;

/* Replay the events of p after seq. */
void	 notify_replay(struct proc *p, uint64_t seq);

/* Stop the replay. */
void	 notify_live(struct proc *p);
