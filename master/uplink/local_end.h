/*
 * A stream's connection on this machine.  Nothing is queued in between:
 * messages are fetched from the carrier while there is room, and one of the
 * server's waits until the carrier takes it.
 */
#pragma once

#include "common/dial/wsloop.h"

/* Pings of the server that may wait; one more replaces the last. */
#define LOCAL_END_PINGS	8

struct dialer;
struct local_end;
struct target;

/* The carrier's side.  None may free the local end. */
struct local_end_events {
	/* The next message for the server, or false until local_end_push(). */
	bool	(*first)(void *arg, uint8_t **data_out, size_t *len_out);
	void	(*drop)(void *arg);
	/* Call local_end_output() and local_end_is_over() again. */
	void	(*on_output)(void *arg);
	/* A ping: call local_end_pong() when all that was taken has arrived. */
	void	(*on_ping)(void *arg);
};

/*
 * To a worker, with a WebSocket client behind the upgrade; *fd_out is the
 * worker's end, the caller's.  NULL with errno.
 */
struct local_end	*local_end_to_worker(struct wsloop *l,
			    const struct local_end_events *events, void *arg,
			    int *fd_out);

/* To another exec server.  NULL with errno. */
struct local_end	*local_end_to_server(struct dialer *d,
			    const struct target *t,
			    const struct local_end_events *events, void *arg);
void			 local_end_free(struct local_end **lp);

/* There are messages for the server. */
void	 local_end_push(struct local_end *l);

/* The server's message, until local_end_take(); false: none. */
bool	 local_end_output(const struct local_end *l, const uint8_t **data_out,
	    size_t *len_out);
void	 local_end_take(struct local_end *l);

/* Whether the server is gone and its output taken. */
bool	 local_end_is_over(const struct local_end *l);

/* Answer the oldest ping. */
void	 local_end_pong(struct local_end *l);
