/* A connection, accepted or made: plain or TLS, with a queue for sending. */
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
	void	(*on_drained)(void *arg);
	void	(*on_broken)(void *arg);
};

struct hubconn_loop {
	struct event_base		*base;
	TAILQ_HEAD(hubconns, hubconn)	 finishing;
	struct hubconns			 gone;
	struct timer			 reap;
	size_t				 n;
	uint64_t			 handshakes;	/* of TLS, finished */
	uint64_t			 failures;	/* not finished */
};

void	 hubconn_loop_init(struct hubconn_loop *l, struct event_base *base);

/* Ends those that hubconn_finish() was called for, too. */
void	 hubconn_loop_fini(struct hubconn_loop *l);

/* Free the oldest of those that only wait for their end.  False: none. */
bool	 hubconn_loop_make_room(struct hubconn_loop *l);

/* A socket, non-blocking; tls NULL: plain.  NULL, errno: it stays yours. */
struct hubconn *hubconn_new(struct hubconn_loop *l, int fd, SSL_CTX *tls);
void	 hubconn_free(struct hubconn **cp);

/*
 * Be the client of TLS: the peer's certificate has to be for name, or address.
 * What is written before waits.  0, or -1.
 */
int	 hubconn_secure(struct hubconn *c, SSL_CTX *tls, const char *name)
	    MUST_CHECK;
bool	 hubconn_is_secure(const struct hubconn *c);	/* handshake is over */

void	 hubconn_own(struct hubconn *c, const struct hubconn_events *e,
	    void *arg);

/* How many bytes; 0: none now; -1: the end, or an error. */
ssize_t	 hubconn_read(struct hubconn *c, void *out, size_t size) MUST_CHECK;

/* Send, or queue.  -1: broken, or a full queue; on_broken is called, later. */
int	 hubconn_write(struct hubconn *c, const struct iovec *iov, int n);
size_t	 hubconn_queued(const struct hubconn *c);

/*
 * Send only by hubconn_release(): up to n bytes of the queue, or what TLS must
 * repeat; how many went.
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
