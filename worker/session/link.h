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

	/* The master died.  Whether to wait for the next one. */
	bool	(*on_orphaned)(void *arg);

	/* The next master is there: tell it how the session is. */
	void	(*describe)(void *arg, Ipc__Orphan *out);

	/* It has adopted the session; what it was not told is not lost. */
	void	(*on_adopted)(void *arg);

	/* There is no master any more; later messages are lost. */
	void	(*on_gone)(void *arg);
};

/*
 * Take over sock.  If the master dies the link looks for the next one, in dir,
 * for ttl ms; 0: it does not.  NULL with errno; then sock stays the caller's.
 */
struct link	*link_new(struct event_base *base, int sock, const char *dir,
		    uint64_t ttl, const struct link_events *events, void *arg);
void		 link_free(struct link **lp);

/* Ask to hand fd, which stays the caller's, over to session id. */
void	 link_handover(struct link *l, const char *id, const char *message,
	    size_t len, int fd);

/* The result of a resume; the state of the session, for operators. */
void	 link_resumed(struct link *l, const Ipc__Resumed *out);
void	 link_report(struct link *l, const Ipc__Report *out);

/* The name that link_opened() tells of the client; it stays the caller's. */
void	 link_client(struct link *l, const char *name);

void	 link_opened(struct link *l);

/* link_opened() says that the session is for session/operate alone. */
void	 link_set_operator(struct link *l);
void	 link_attached(struct link *l);
void	 link_detached(struct link *l);

/* Delay tell() until the client has its answer, or until the next message. */
void	 link_soon(struct link *l, void (*tell)(struct link *));
void	 link_flush(struct link *l);

/*
 * The session owns nothing; from here on the master keeps its id, for as long
 * as session_retain() was told, or 0.  The worker exits once the link is idle:
 * everything is sent, or the master is gone.
 */
void	 link_released(struct link *l, Ipc__Used *used, uint64_t retain_ms);
bool	 link_is_idle(const struct link *l);

/* Whether the master has read all messages, or there will be none any more. */
bool	 link_is_read(const struct link *l);

/* The result of an operator's action. */
void	 link_acted(struct link *l, const Ipc__Acted *out);

/* Whether the master died and the next one is awaited. */
bool	 link_is_orphaned(const struct link *l);

/* Whether a next master would be awaited. */
bool	 link_survives(const struct link *l);

/* Request memory, in bytes.  0, or -1: no master. */
int	 link_ask_memory(struct link *l, uint64_t output, uint64_t message);

/*
 * Whether the master answers link_operate(), which asks it for a channel.  0,
 * or -1: it does not.
 */
void	 link_set_operates(struct link *l, bool operates);
int	 link_operate(struct link *l, uint32_t ticket);

void	 link_load(struct link *l, unsigned running);

/*
 * transcripts_opened() or _refused() follows; without a master the request is
 * to be made again after on_adopted.  0, or -1: there will be none.
 */
int	 link_ask_transcript(struct link *l, uint32_t ticket,
	    bool is_terminal);

/* A client was refused a new session. */
void	 link_turned_away(struct link *l);

/* For the audit log; kept, or only counted, while the master does not read. */
void	 link_command(struct link *l, Ipc__Command *out);
void	 link_command_ended(struct link *l, Ipc__CommandEnded *out);
void	 link_net_refused(struct link *l, Ipc__NetRefused *out);

/* The session has ended; the worker exits. */
void	 link_ended(struct link *l, Ipc__EndReason reason, const char *why,
	    Ipc__Used *used);
