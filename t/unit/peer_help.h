/*
 * A client on one end of a socketpair, and its server on the other: the test,
 * which says what it likes and hears every word.
 */
#pragma once

#include <stddef.h>

#include "common/client/loop.h"
#include "common/client/transport/transport_priv.h"
#include "common/net/ws.h"

#define PEER_KEY	"dGhlIHNhbXBsZSBub25jZQ=="

extern struct execsrv	*x;		/* the client, open */
extern int		 peer;		/* the server's end */
extern struct ws_reader	 peer_reader;	/* of what the client sends */
extern char		 trace[8192];	/* what hooks were told */

void		 peer_start(void);
void		 peer_stop(void);

/* The same, for the first time, with the answer to the upgrade to come. */
void		 peer_upgrading(void);

/*
 * A server that listens on a Unix socket of that name, for clients that
 * connect; its path, and the last request to upgrade.
 */
extern int	 peer_listener;
extern char	 peer_path[64], peer_request[2048];

void		 peer_listen(const char *name);
void		 peer_unlisten(void);

/* The server's end of a new connection, with the request; the answer to it. */
void		 peer_accept(void);
void		 peer_upgraded(void);

/* One turn of the loop at this moment.  As execsrv_handle(). */
int		 peer_step(void);

/* Bytes, a frame with this first byte, a text from the server. */
void		 peer_put(const void *data, size_t len);
void		 peer_frame(unsigned first, const void *data, size_t len);
void		 peer_say(const char *fmt, ...) PRINTF(1, 2);

/* Everything there is to read is read.  As execsrv_handle(). */
int		 peer_turn(void);

/* The client's next message or frame; its data until the next call. */
struct ws_event	 peer_heard(void);
void		 peer_ck_heard(const char *want);

/* How many we have. */
unsigned	 peer_descriptors(void);

/* Write to the trace; it must be this, and is empty then. */
void		 peer_note(const char *fmt, ...) PRINTF(1, 2);
void		 peer_ck_trace(const char *want);
