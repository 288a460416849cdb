/*
 * Heads of HTTP/1 to a proxy, and of answers (RFC 9112).  Pure, strict: what a
 * server could understand in another way is refused, as rules would not cover
 * it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/attributes.h"
#include "common/buf.h"
#include "common/net/nethost.h"
#include "common/span.h"

#define PROXYHEAD_METHOD	32	/* bytes with NUL */

enum proxybody_kind {
	PROXYBODY_NONE, PROXYBODY_LENGTH, PROXYBODY_CHUNKED,
	PROXYBODY_TO_END		/* of the connection; answers only */
};

/* Spans lead into the text. */
struct proxyhead {
	int		 status;	/* to answer, then close; 0: valid */
	char		 method[PROXYHEAD_METHOD];
	bool		 is_connect;
	bool		 has_unix_socket;	/* x-unix-socket */
	bool		 is_old;	/* HTTP/1.0 */
	bool		 is_last;	/* no request follows */
	struct nethost	 host;
	uint16_t	 port;
	struct span	 path;		/* of the target, perhaps empty */
	struct span	 fields;	/* header lines */
	struct span	 connection;	/* value of Connection, or absent */
	enum proxybody_kind body;
	uint64_t	 length;	/* PROXYBODY_LENGTH */
};

struct proxyreply {
	bool		 is_valid;
	unsigned	 status;
	bool		 is_last;	/* the connection ends after it */
	struct span	 line;		/* the status line */
	struct span	 fields, connection;
	enum proxybody_kind body;
	uint64_t	 length;
};

/*
 * A head's length with its empty line; 0: incomplete; len: hopeless, for
 * proxyhead_parse() to refuse (bare LF, not HTTP/1, above LIMIT_NET_HEAD).
 */
size_t	 proxyhead_end(const char *text, size_t len);

/*
 * len: of proxyhead_end().  h->status:
 *	0	valid
 *	400	malformed or ambiguous: obs-fold, bare CR or LF, control
 *		characters, two Host lines or one that differs from the
 *		target, no host, more than one length, a length and chunked,
 *		another coding, Connection that names a header of framing
 *	431	too long, too many lines
 *	502	a scheme other than http
 */
void	 proxyhead_parse(const char *text, size_t len, struct proxyhead *h);

/*
 * For the server or (absolute) another proxy, with Proxy-Authorization auth (or
 * NULL), without this connection's headers.  closes: one answer only.  As
 * buf_put().
 */
int	 proxyhead_forward(const struct proxyhead *h, bool absolute,
	    const char *auth, bool closes, struct buf *out) MUST_CHECK;

/* To a method. */
void	 proxyhead_reply(const char *text, size_t len, const char *method,
	    struct proxyreply *r);

/* For the client; closes: the connection ends after it. */
int	 proxyhead_pass(const struct proxyreply *r, bool closes,
	    struct buf *out) MUST_CHECK;
