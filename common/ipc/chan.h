/* Messages of proto/ipc.def between two processes, queued for a slow peer. */
#pragma once

#include <event2/event.h>

#include <stdbool.h>

#include "common/ipc/ipc.h"

struct chan;

/* m->fd may be taken.  May free the channel. */
typedef void chan_msg_fn(void *arg, struct ipc_msg *m);

/*
 * The peer closed (0), violated the protocol (EPROTO), does not read (ENOBUFS),
 * or another errno.  Called once, from the loop; the owner frees the channel.
 */
typedef void chan_end_fn(void *arg, int error);

/* Takes over sock, non-blocking.  NULL with errno: it stays the caller's. */
struct chan	*chan_new(struct event_base *base, int sock,
		    enum ipc_role self, enum ipc_role peer,
		    chan_msg_fn *on_msg, chan_end_fn *on_end, void *arg);
void		 chan_free(struct chan **cp);

/* fd (or -1) stays the caller's.  Failure ends the channel. */
void		 chan_send(struct chan *c, enum ipc_kind kind,
		    const void *body, int fd);

/* Queue all, until called with false. */
void		 chan_hold(struct chan *c, bool holds);

/*
 * Go on with another socket (sock stays the caller's), after the peer was gone
 * before anything could be sent to it: all is held.  0, or -1 with errno.
 */
int		 chan_renew(struct chan *c, int sock) MUST_CHECK;

/* Its messages do not wait for others (common/ev.h). */
void		 chan_urgent(struct chan *c);

/* Bytes that may be queued, 1 MiB by default. */
void		 chan_set_limit(struct chan *c, size_t max);

/* Bytes that are queued. */
size_t		 chan_waiting(const struct chan *c);

bool		 chan_is_idle(const struct chan *c);

/* The peer has received all that was sent (SIOCOUTQ, unix(7)). */
bool		 chan_is_read(const struct chan *c);

/* A message was sent after the peer had closed. */
bool		 chan_is_lost(const struct chan *c);

/* Whether it has ended, be it that on_end is still to be called. */
bool		 chan_has_ended(const struct chan *c);
