/*
 * Heads of HTTP/1 requests to a proxy, and of answers (RFC 9112).  Pure and
 * strict: a head that two readers could understand in two ways is refused,
 * since the other reader is a server that the rules do not cover.
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

/* A request; spans lead into the text. */
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

/* An answer. */
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
 * Return the length of a head with its empty line, or 0 if it is incomplete.
 * Return len, for proxyhead_parse() to refuse, if more bytes cannot help: a
 * bare LF, a first line that is not HTTP/1, more than LIMIT_NET_HEAD.
 */
size_t	 proxyhead_end(const char *text, size_t len);

/*
 * Parse a request head of len bytes (of proxyhead_end()).  h->status is
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
 * Write the head for the server, or (absolute) for another proxy, with auth
 * (or NULL) as Proxy-Authorization; without the headers of this connection.
 * closes: ask for one answer only.  0, or -1 with errno of buf_put().
 */
int	 proxyhead_forward(const struct proxyhead *h, bool absolute,
	    const char *auth, bool closes, struct buf *out) MUST_CHECK;

/* Parse the head of an answer to a method.  As above. */
void	 proxyhead_reply(const char *text, size_t len, const char *method,
	    struct proxyreply *r);

/* Write it for the client; closes: the connection ends after it. */
int	 proxyhead_pass(const struct proxyreply *r, bool closes,
	    struct buf *out) MUST_CHECK;
