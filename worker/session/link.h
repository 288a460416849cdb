/*
 * The worker's channel to the master: a wrapper for each message sent
 * (proto/ipc.def); received messages go to the owner.
 */
#pragma once

#include <event2/event.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/ipc/ipc.h"

struct link;

struct link_events {
	/* A message was received; its descriptor may be taken. */
	void	(*on_msg)(void *arg, struct ipc_msg *m);

	/* The master is gone; later messages are lost. */
	void	(*on_gone)(void *arg);
};

/* Take over sock.  NULL with errno; then sock stays the caller's. */
struct link	*link_new(struct event_base *base, int sock,
		    const struct link_events *events, void *arg);
void		 link_free(struct link **lp);

/* Ask to hand fd, which stays the caller's, over to session id. */
void	 link_handover(struct link *l, const char *id, const char *message,
	    size_t len, int fd);

/* The result of a resume; the state of the session, for operators. */
void	 link_resumed(struct link *l, const Ipc__Resumed *out);
void	 link_report(struct link *l, const Ipc__Report *out);

void	 link_opened(struct link *l);
void	 link_attached(struct link *l);
void	 link_detached(struct link *l);

/* Delay tell() until the client has its answer, or until the next message. */
void	 link_soon(struct link *l, void (*tell)(struct link *));
void	 link_flush(struct link *l);

/*
 * The session owns nothing; from here on the master keeps its id.  The worker
 * exits once the link is idle: everything is sent, or the master is gone.
 */
void	 link_released(struct link *l, Ipc__Used *used);
bool	 link_is_idle(const struct link *l);

/* The result of an operator's action. */
void	 link_acted(struct link *l, const Ipc__Acted *out);

/* Request memory, in bytes.  0, or -1: no master. */
int	 link_ask_memory(struct link *l, uint64_t output, uint64_t message);

void	 link_load(struct link *l, unsigned running);

/* transcripts_opened() or _refused() follows.  0, or -1: no master. */
int	 link_ask_transcript(struct link *l, uint32_t ticket,
	    bool is_terminal);

/* A client was refused a new session. */
void	 link_turned_away(struct link *l);

/* For the audit log; only counted while the master does not read. */
void	 link_command(struct link *l, Ipc__Command *out);

/* The session has ended; the worker exits. */
void	 link_ended(struct link *l, Ipc__EndReason reason, const char *why,
	    Ipc__Used *used);
