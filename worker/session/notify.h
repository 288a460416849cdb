/*
 * What a client hears of its processes without asking: process/output, exited
 * and closed, as it happens.
 *
 * A process/read whose answer would be longer than a message may be is answered
 * by the first part, as of a process that still runs; the rest follows as if it
 * happened now: output, exit and close, in order, before anything newer.  So a
 * client that asks once for all that it missed, as the stock one, gets it.
 */
#ifndef WORKER_SESSION_NOTIFY_H
#define WORKER_SESSION_NOTIFY_H

#include <sys/queue.h>

#include <stdbool.h>
#include <stdint.h>

struct conn;
struct notify;
struct proc;

/* Of a session. Embedded. */
struct notifier {
	struct conn		*conn;		/* of the client, or NULL */
	TAILQ_HEAD(, notify)	 replayed;	/* who waits for the rest */
	/* Whether more may be put on the connection. */
	bool			(*has_room)(const void *arg);
	const void		*arg;
};

void	 notifier_init(struct notifier *n, bool (*has_room)(const void *),
	    const void *arg);

/* A client is there, or (NULL) it is gone; it asks anew for what it missed. */
void	 notifier_set_conn(struct notifier *n, struct conn *conn);

/* Send of what follows an answer what there is room for.  Whether any was. */
bool	 notifier_go_on(struct notifier *n);

/* From now on the client hears of p.  0, or -1 with errno ENOMEM. */
int	 notify_add(struct notifier *n, struct proc *p)
	    __attribute__((warn_unused_result));

/* What has a number above seq follows an answer. */
void	 notify_replay(struct proc *p, uint64_t seq);

/* It need not any more. */
void	 notify_live(struct proc *p);

#endif
