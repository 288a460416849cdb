/*
 * The way of one stream on this machine: a connection that carries its
 * JSON-RPC to who serves it.  Messages are fetched from the carrier when there
 * is room for them, and the server's wait here, one at a time, until the
 * carrier takes them: nothing is queued in between.
 */
#ifndef MASTER_UPLINK_LOCAL_END_H
#define MASTER_UPLINK_LOCAL_END_H

#include "common/dial/wsloop.h"

/* Pings of the server that may wait; one more takes the place of the last. */
#define LOCAL_END_PINGS	8

struct dialer;
struct local_end;
struct target;

/* The carrier's side.  None may free the local end. */
struct local_end_events {
	/*
	 * The next message to the server, or false; local_end_push() asks
	 * again.
	 */
	bool	(*first)(void *arg, uint8_t **data_out, size_t *len_out);
	/* It is delivered. */
	void	(*drop)(void *arg);
	/* Look at local_end_output() and local_end_is_over() again. */
	void	(*on_output)(void *arg);
	/*
	 * The server wants to know when what it sent so far has arrived:
	 * local_end_pong() for each of these.  All of it was taken from
	 * local_end_output().
	 */
	void	(*on_ping)(void *arg);
};

/*
 * A local end to a worker of our own; its end of the connection, which it
 * treats as a WebSocket client's behind the upgrade, is at *fd_out and the
 * caller's.  NULL with errno.
 */
struct local_end	*local_end_to_worker(struct wsloop *l,
		    const struct local_end_events *events, void *arg,
		    int *fd_out);

/* A local end to another exec server.  NULL with errno. */
struct local_end	*local_end_to_server(struct dialer *d,
	    const struct target *t,
		    const struct local_end_events *events, void *arg);
void		 local_end_free(struct local_end **lp);

/* There are messages for the server. */
void		 local_end_push(struct local_end *l);

/* The server's message that waits, until local_end_take(); false: none. */
bool	 local_end_output(const struct local_end *l, const uint8_t **data_out,
		    size_t *len_out);
void		 local_end_take(struct local_end *l);

/* The server is gone, and there is no more output. */
bool		 local_end_is_over(const struct local_end *l);

/* Answer the oldest ping that waits. */
void		 local_end_pong(struct local_end *l);

#endif
