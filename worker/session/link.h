/* The worker's channel to the master (proto/ipc.def). */
#pragma once

#include <event2/event.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/ipc/ipc.h"

struct link;

struct link_events {
	/* m->fd may be taken. */
	void	(*on_msg)(void *arg, struct ipc_msg *m);

	/* The master died.  Whether to wait for the next. */
	bool	(*on_orphaned)(void *arg);

	/* The next is there: tell it how the session is. */
	void	(*describe)(void *arg, Ipc__Orphan *out);

	/* What it was not told is not lost. */
	void	(*on_adopted)(void *arg);

	/* No master any more; later messages are lost. */
	void	(*on_gone)(void *arg);
};

/*
 * Takes sock.  A master's successor is looked for in dir for ttl ms; 0: not.
 * NULL with errno: sock stays the caller's.
 */
struct link	*link_new(struct event_base *base, int sock, const char *dir,
		    uint64_t ttl, const struct link_events *events, void *arg);
void		 link_free(struct link **lp);

/* To session id; fd stays the caller's. */
void	 link_handover(struct link *l, const char *id, const char *message,
	    size_t len, int fd);

/* Of a resume; the session's state, for operators. */
void	 link_resumed(struct link *l, const Ipc__Resumed *out);
void	 link_report(struct link *l, const Ipc__Report *out);

/* For link_opened(); borrowed. */
void	 link_client(struct link *l, const char *name);

void	 link_opened(struct link *l);

/* For link_opened(): a session for session/operate alone. */
void	 link_set_operator(struct link *l);
void	 link_attached(struct link *l);
void	 link_detached(struct link *l);

/* Call tell() when the client has its answer, or before the next message. */
void	 link_soon(struct link *l, void (*tell)(struct link *));
void	 link_flush(struct link *l);

/*
 * The session owns nothing: the master keeps its id for as long as
 * session_retain() was told, or 0.  The worker exits once the link is idle: all
 * is sent, or the master is gone.
 */
void	 link_released(struct link *l, Ipc__Used *used, uint64_t retain_ms);
bool	 link_is_idle(const struct link *l);

/* The master has read all, or there will be none. */
bool	 link_is_read(const struct link *l);

/* Of an operator's action. */
void	 link_acted(struct link *l, const Ipc__Acted *out);

/* The next master is awaited. */
bool	 link_is_orphaned(const struct link *l);

/* There is no master, and will be none. */
bool	 link_is_gone(const struct link *l);

/* It would be awaited. */
bool	 link_survives(const struct link *l);

/* In bytes.  -1: no master. */
int	 link_ask_memory(struct link *l, uint64_t output, uint64_t message);

/* Whether the master gives channels.  -1: it does not. */
void	 link_set_operates(struct link *l, bool operates);
int	 link_operate(struct link *l, uint32_t ticket);

void	 link_load(struct link *l, unsigned running);

/* transcripts_opened(), _refused() or on_adopted (ask again) follows; or -1. */
int	 link_ask_transcript(struct link *l, uint32_t ticket,
	    bool is_terminal);

/* A client was refused a new session. */
void	 link_turned_away(struct link *l);

/* Audit log; kept, or only counted, while the master does not read. */
void	 link_command(struct link *l, Ipc__Command *out);
void	 link_command_ended(struct link *l, Ipc__CommandEnded *out);
void	 link_net_refused(struct link *l, Ipc__NetRefused *out);

/* The session has ended; the worker exits. */
void	 link_ended(struct link *l, Ipc__EndReason reason, const char *why,
	    Ipc__Used *used);
