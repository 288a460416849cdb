/*
 * A connection that was accepted, or made: plain or TLS, read by its owner,
 * with a queue of what it does not take yet.
 */
#pragma once

#include <sys/queue.h>
#include <sys/uio.h>

#include <openssl/ssl.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/buf.h"
#include "common/ev.h"

#define HUBCONN_QUEUE_MAX	(4 * 1024 * 1024)	/* bytes */

struct hubconn;

/* The owner.  Any of these may call hubconn_free(). */
struct hubconn_events {
	void	(*on_readable)(void *arg);	/* call hubconn_read() */
	void	(*on_drained)(void *arg);	/* what was queued is sent */
	void	(*on_broken)(void *arg);	/* by a write */
};

struct hubconn_loop {
	struct event_base		*base;
	TAILQ_HEAD(hubconns, hubconn)	 finishing;
	struct hubconns			 gone;	/* to be freed */
	struct timer			 reap;
	size_t				 n;	/* connections */
	uint64_t			 handshakes;	/* of TLS, finished */
};

void	 hubconn_loop_init(struct hubconn_loop *l, struct event_base *base);
/* Ends those that hubconn_finish() was called for, too. */
void	 hubconn_loop_fini(struct hubconn_loop *l);

/*
 * Take a socket, non-blocking; tls NULL: plain.  NULL with errno, the socket
 * stays the caller's.
 */
struct hubconn *hubconn_new(struct hubconn_loop *l, int fd, SSL_CTX *tls);
void	 hubconn_free(struct hubconn **cp);

/*
 * Become the client of a TLS connection: who answers has to have a certificate
 * for the name, or address.  What is written before waits.  0, or -1.
 */
int	 hubconn_secure(struct hubconn *c, SSL_CTX *tls, const char *name)
	    MUST_CHECK;
bool	 hubconn_is_secure(const struct hubconn *c);	/* handshake is over */

/* Change the owner. */
void	 hubconn_own(struct hubconn *c, const struct hubconn_events *e,
	    void *arg);

/* Read.  Return how many bytes, 0: none now, -1: the end, or an error. */
ssize_t	 hubconn_read(struct hubconn *c, void *out, size_t size) MUST_CHECK;

/*
 * Send, or queue what does not go at once.  0, or -1: the connection is broken,
 * or the queue is full; on_broken is called, later.
 */
int	 hubconn_write(struct hubconn *c, const struct iovec *iov, int n);
size_t	 hubconn_queued(const struct hubconn *c);

/*
 * Send nothing any more but what hubconn_release() sends: up to n bytes of what
 * is queued, or what TLS must repeat.  It returns how many went.
 */
void	 hubconn_hold(struct hubconn *c);
size_t	 hubconn_release(struct hubconn *c, size_t n);
void	 hubconn_unhold(struct hubconn *c);

/* Stop or go on reading; calls count. */
void	 hubconn_pause(struct hubconn *c);
void	 hubconn_resume(struct hubconn *c);
bool	 hubconn_is_paused(const struct hubconn *c);

/* Free it when all is sent, or after some seconds. */
void	 hubconn_finish(struct hubconn **cp);

/* Call on_readable in this turn of the loop, as if there were something. */
void	 hubconn_look(struct hubconn *c);

int	 hubconn_fd(const struct hubconn *c);
