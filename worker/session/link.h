/*
 * The worker's end of its channel to the master: a wrapper for each message
 * it sends (proto/ipc.def); what comes is handed to
 * its owner.
 */
#ifndef WORKER_SESSION_LINK_H
#define WORKER_SESSION_LINK_H

#include <event2/event.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/ipc/ipc.h"

struct link;

struct link_events {
	/* A message, which may take its descriptor. */
	void	(*on_msg)(void *arg, struct ipc_msg *m);

	/* The master is gone; what is sent from now on is lost. */
	void	(*on_gone)(void *arg);
};

/* The link on sock (taken).  NULL with errno. */
struct link	*link_new(struct event_base *base, int sock,
		    const struct link_events *events, void *arg);
void		 link_free(struct link **lp);

/* Ask for another session for a connection, by its first message. */
void	 link_handover(struct link *l, const char *id, const char *message,
	    size_t len, int fd);

/* What came of a resume; how it is, for operators. */
void	 link_resumed(struct link *l, const Ipc__Resumed *out);
void	 link_report(struct link *l, const Ipc__Report *out);

void	 link_opened(struct link *l);
void	 link_attached(struct link *l);
void	 link_detached(struct link *l);

/*
 * Say that later, when the client has its answer: before anything else that is
 * said, or now.
 */
void	 link_soon(struct link *l, void (*tell)(struct link *));
void	 link_flush(struct link *l);

/*
 * The session owns nothing: the master keeps its id from here on.  The worker
 * leaves as soon as the link is idle: everything is said, or never will be.
 */
void	 link_released(struct link *l, Ipc__Used *used);
bool	 link_is_idle(const struct link *l);

/* What came of what an operator wanted. */
void	 link_acted(struct link *l, const Ipc__Acted *out);

/* How much memory the session wants to hold; 0, or -1: nobody to ask. */
int	 link_ask_memory(struct link *l, uint64_t output, uint64_t message);

/* How many processes run. */
void	 link_load(struct link *l, unsigned running);

/*
 * A file for a transcript is wanted; transcripts_opened() or _refused()
 * follows.  0, or -1: there is nobody to ask.
 */
int	 link_ask_transcript(struct link *l, uint32_t ticket,
	    bool is_terminal);

/* A client was told that it gets no new session. */
void	 link_turned_away(struct link *l);

/*
 * A command was started, which the audit log is told.  What a master that does
 * not read would make us keep is left out, and counted instead.
 */
void	 link_command(struct link *l, Ipc__Command *out);

/* It is over; the worker leaves. */
void	 link_ended(struct link *l, Ipc__EndReason reason, const char *why,
	    Ipc__Used *used);

#endif
