/*
 * One end of a channel between two processes, in an event loop: messages of
 * proto/ipc.def, kept in order, queued when the other end is slow.
 */
#ifndef COMMON_IPC_CHAN_H
#define COMMON_IPC_CHAN_H

#include <event2/event.h>

#include <stdbool.h>

#include "common/ipc/ipc.h"

struct chan;

/* A message came; m->fd may be taken.  It may free the channel. */
typedef void chan_msg_fn(void *arg, struct ipc_msg *m);

/*
 * The other end is gone (error 0), broke the rules (EPROTO), does not read
 * (ENOBUFS) or failed. Called once, from the loop; the owner frees the
 * channel.
 */
typedef void chan_end_fn(void *arg, int error);

/*
 * A channel on sock (owned from here on, closed by chan_free()) between the
 * role self and the role peer.  NULL with errno.
 */
struct chan	*chan_new(struct event_base *base, int sock,
		    enum ipc_role self, enum ipc_role peer,
		    chan_msg_fn *on_msg, chan_end_fn *on_end, void *arg);
void		 chan_free(struct chan **cp);

/*
 * Send, or queue while the peer is slow; fd stays the caller's.  Failure is
 * not the caller's business: the owner hears of it by on_end.
 */
void		 chan_send(struct chan *c, enum ipc_kind kind,
		    const void *body, int fd);

/* Let up to max bytes wait for a peer that is slow (1 MiB unless said). */
void		 chan_set_limit(struct chan *c, size_t max);

/* Bytes that wait for the peer. */
size_t		 chan_waiting(const struct chan *c);

/* Whether everything was given to the kernel. */
bool		 chan_is_idle(const struct chan *c);

#endif
