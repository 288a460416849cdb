/*
 * process/output, exited and closed for the client, as they happen.
 *
 * If the answer to a process/read would exceed the message limit, the rest
 * follows as notifications, before anything newer.  So a client that reads once
 * after a resume, as the stock client does, misses nothing.
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

/* conn NULL: the client is gone.  Stops all replays. */
void	 notifier_set_conn(struct notifier *n, struct conn *conn);

/* While there is room.  false: nothing to do. */
bool	 notifier_continue(struct notifier *n);

/* -1: errno ENOMEM. */
int	 notify_add(struct notifier *n, struct proc *p) MUST_CHECK;

/* All after seq. */
void	 notify_replay(struct proc *p, uint64_t seq);

void	 notify_live(struct proc *p);
