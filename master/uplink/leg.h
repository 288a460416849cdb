/*
 * The way of one stream on this machine: a connection that carries its
 * JSON-RPC to who serves it.  Messages are fetched from the carrier when there
 * is room for them, and the server's wait here, one at a time, until the
 * carrier takes them: nothing is queued in between.
 */
#ifndef MASTER_UPLINK_LEG_H
#define MASTER_UPLINK_LEG_H

#include "master/uplink/loop.h"

/* Pings of the server that may wait; one more takes the place of the last. */
#define LEG_PINGS	8

struct dialer;
struct leg;
struct target;

/* The carrier's side.  None may free the leg. */
struct leg_events {
	/* The next message to the server, or false; leg_push() asks again. */
	bool	(*first)(void *arg, uint8_t **data_out, size_t *len_out);
	/* It is delivered. */
	void	(*drop)(void *arg);
	/* Look at leg_output() and leg_is_over() again. */
	void	(*on_output)(void *arg);
	/*
	 * The server wants to know when what it sent so far has arrived:
	 * leg_pong() for each of these.  All of it was taken from
	 * leg_output().
	 */
	void	(*on_ping)(void *arg);
};

/*
 * A leg to a worker of our own; its end of the connection, which it treats as
 * a WebSocket client's behind the upgrade, is at *fd_out and the caller's.
 * NULL with errno.
 */
struct leg	*leg_to_worker(struct loop *l,
		    const struct leg_events *events, void *arg, int *fd_out);

/* A leg to another exec server.  NULL with errno. */
struct leg	*leg_to_server(struct dialer *d, const struct target *t,
		    const struct leg_events *events, void *arg);
void		 leg_free(struct leg **lp);

/* There are messages for the server. */
void		 leg_push(struct leg *l);

/* The server's message that waits, until leg_take(); false: none. */
bool		 leg_output(const struct leg *l, const uint8_t **data_out,
		    size_t *len_out);
void		 leg_take(struct leg *l);

/* The server is gone, and there is no more output. */
bool		 leg_is_over(const struct leg *l);

/* Answer the oldest ping that waits. */
void		 leg_pong(struct leg *l);

#endif
