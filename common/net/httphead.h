/* HTTP/1.1 heads (RFC 9112), as listeners judge them (PROTOCOL 1.1).  Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "common/span.h"

#define HTTPHEAD_MAX		8192	/* bytes with empty line, else 431 */
#define HTTPHEAD_LINES_MAX	100	/* header lines, else 431 */

#define HTTPHEAD_ACCEPT_LEN	29	/* Sec-WebSocket-Accept and a NUL */

enum httphead_kind {
	HTTPHEAD_ERROR,		/* answer with status, then close */
	HTTPHEAD_LIVE,		/* GET or HEAD /livez */
	HTTPHEAD_READY,		/* GET or HEAD /readyz */
	HTTPHEAD_METRICS,	/* GET or HEAD /metrics on MetricsListen */
	HTTPHEAD_UPGRADE	/* a valid WebSocket upgrade of "/" */
};

struct httphead {
	enum httphead_kind	 kind;
	int			 status;	/* of an HTTPHEAD_ERROR */
	bool			 is_head;	/* method HEAD: no body */
	const char		*key;		/* Sec-WebSocket-Key, in text */
	size_t			 key_len;
	const char		*auth;		/* Authorization, or NULL */
	size_t			 auth_len;
	const char		*origin;	/* that was refused, or NULL */
	size_t			 origin_len;
	const char		*host;		/* likewise */
	size_t			 host_len;
};

/*
 * Return the head's length with its empty line; 0: incomplete; len: hopeless
 * (TLS, an SSH banner, bare LF, above HTTPHEAD_MAX), httphead_judge() has the
 * error.
 */
size_t	 httphead_end(const char *text, size_t len);

/* A request, syntax only.  Spans lead into the text; NULL: absent. */
struct httphead_request {
	struct span	 method, target;
	struct span	 auth;		/* Authorization */
	struct span	 key;		/* Sec-WebSocket-Key of an upgrade */
	size_t		 body;		/* bytes, of Content-Length */
	bool		 is_upgrade;	/* a valid one, to websocket */
	bool		 has_origin;
	bool		 wants_continue;	/* Expect */
	bool		 takes_flow;	/* X-Execsrv-Relay: flow */
};

/*
 * Of httphead_end()'s length.  0, or the status to answer: 400, 431, 505 as
 * below; 411 a transfer encoding; 413 a body above 99 MB.
 */
int	 httphead_request(const char *text, size_t len,
	    struct httphead_request *r) MUST_CHECK;

/* As httphead_bearer(). */
bool	 httphead_token(struct span auth, struct span *token_out);

/*
 * Judge a head of httphead_end()'s length; h leads into text.  HTTPHEAD_ERROR:
 *   400 malformed: control characters, bare CR or LF, obs-fold, a blank
 *       before a colon; no or two Host lines, two keys, absolute or asterisk
 *       target, a body; "/" without an upgrade to websocket,
 *       Sec-WebSocket-Version not 13, a key that is not 16 bytes of base64
 *   403 any Origin line; a Host other than an IP literal, localhost or one of
 *       hosts (in any case, with or without port)
 *   404 another path; a query is ignored
 *   405 another method than GET, or HEAD for /livez and /readyz
 *   431 longer than HTTPHEAD_MAX or too many lines
 *   505 another version than HTTP/1.1
 * Precedence: syntax (400, 431, 505), 403, 404, 405, the rest.
 */
void	 httphead_judge(const char *text, size_t len, char *const *hosts,
	    size_t nhosts, struct httphead *h);

/* The token of a Bearer (RFC 6750); "": malformed.  False: no such line. */
bool	 httphead_bearer(const struct httphead *h, struct span *token_out);

/* For MetricsListen: /metrics instead of "/". */
void	 httphead_judge_metrics(const char *text, size_t len,
	    char *const *hosts, size_t nhosts, struct httphead *h);

/* Sec-WebSocket-Accept (RFC 6455 section 4.2.2), with NUL. */
void	 httphead_accept(const char *key, size_t len,
	    char out[HTTPHEAD_ACCEPT_LEN]);

/*
 * A response with "Connection: close" and, unless 200 or is_head, a text with
 * why (or NULL).  Status: 200, 400, 401, 403, 404, 405 with Allow, 408, 426,
 * 429, 431, 503, 505.  Return the length, at most size; NUL follows.
 */
size_t	 httphead_answer(int status, const char *why, bool is_head, char *out,
	    size_t size);

/* The head of a 200 with a body of len bytes.  As above. */
size_t	 httphead_page(const char *type, size_t len, char *out, size_t size);

/* A 101.  As above. */
size_t	 httphead_switch(const struct httphead *h, char *out, size_t size);
size_t	 httphead_switch_key(struct span key, char *out, size_t size);
