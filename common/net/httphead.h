/*
 * The head of one HTTP/1.1 request (RFC 9112), and what the listener makes of
 * it (PROTOCOL 1.1).  Pure and strict: what is not understood is refused,
 * nothing is guessed.
 */
#ifndef COMMON_NET_HTTPHEAD_H
#define COMMON_NET_HTTPHEAD_H

#include <stdbool.h>
#include <stddef.h>

#include "common/span.h"

/* Longest head taken, in bytes with its empty line; longer is 431. */
#define HTTPHEAD_MAX		8192

/* Most header lines taken; more is 431. */
#define HTTPHEAD_LINES_MAX	100

/* Length of an answer to a WebSocket key (28 characters and a NUL). */
#define HTTPHEAD_ACCEPT_LEN	29

enum httphead_kind {
	HTTPHEAD_ERROR,		/* answer with status, then close */
	HTTPHEAD_LIVE,		/* GET or HEAD /livez */
	HTTPHEAD_READY,		/* GET or HEAD /readyz */
	HTTPHEAD_METRICS,	/* GET or HEAD /metrics, where it is told */
	HTTPHEAD_UPGRADE	/* a correct WebSocket upgrade of "/" */
};

struct httphead {
	enum httphead_kind	 kind;
	int			 status;	/* of an HTTPHEAD_ERROR */
	bool			 is_head;	/* method HEAD: no body */
	const char		*key;		/* Sec-WebSocket-Key, in text */
	size_t			 key_len;
	const char		*auth;		/* Authorization, or NULL */
	size_t			 auth_len;
};

/*
 * Where the head ends: the number of bytes up to and with the empty line
 * (CR LF CR LF), or 0 when it is not complete in these len bytes.  When no
 * further bytes could complete it (TLS, an SSH banner, bare LF, more than
 * HTTPHEAD_MAX) it is len: httphead_judge() then finds the error to answer,
 * and nobody waits for a time-out.
 */
size_t	 httphead_end(const char *text, size_t len);

/*
 * Judge a whole head of len bytes (as httphead_end() counted). Fills in all
 * of h, whose pointers lead into text. Always succeeds: a bad head is an
 * HTTPHEAD_ERROR with its status:
 *   400 malformed (bare CR or LF, NUL or other control characters, obs-fold,
 *   blank before a colon,
 *       no or two Host lines, two keys, absolute or asterisk target, body or
 *       Transfer-Encoding or Content-Length above 0, "/" without an upgrade
 *       to websocket, h2c or another
 *       upgrade, another Sec-WebSocket-Version than 13, a key that is not 16
 *       bytes of base64)
 *   403 any Origin line, any value, any path; a Host that is neither an IP
 *   literal nor
 *       localhost nor one of hosts, in any case (each with or without a port)
 *   404 another path (the query behind a path is ignored; /readyz/ is another
 *   path)
 *   405 another method than GET (HEAD too on /livez and /readyz), also CONNECT
 *   431 too long (len > HTTPHEAD_MAX) or too many lines
 *   505 another version than HTTP/1.1
 * Precedence: syntax of the head (400, 431, 505), then 403, then 404, then
 * 405, then the rest.
 */
void	 httphead_judge(const char *text, size_t len, char *const *hosts,
	    size_t nhosts, struct httphead *h);

/*
 * The token of "Authorization: Bearer TOKEN" (RFC 6750): the scheme in any
 * case, blanks, and visible characters.  False when another scheme or nothing
 * is shown; the token is empty then, and when it is none.
 */
bool	 httphead_bearer(const struct httphead *h, struct span *token_out);

/*
 * The same where figures are told (MetricsListen): there is no "/", but
 * /metrics.
 */
void	 httphead_judge_metrics(const char *text, size_t len,
	    char *const *hosts, size_t nhosts, struct httphead *h);

/* The Sec-WebSocket-Accept of a key (RFC 6455 section 4.2.2), with a NUL. */
void	 httphead_accept(const char *key, size_t len,
	    char out[HTTPHEAD_ACCEPT_LEN]);

/*
 * The whole answer for a status (200, 400, 401, 403, 404, 405 with Allow,
 * 408, 426, 429, 431, 503, 505): head with Content-Length and "Connection:
 * close", body a short plain text for errors, with why if that is neither NULL
 * nor empty, and nothing for 200. is_head leaves the body out. Returns its
 * length, at most size; the text is NUL-terminated.
 */
size_t	 httphead_answer(int status, const char *why, bool is_head, char *out,
	    size_t size);

/* The head of an answer 200 with len bytes of that type.  As above. */
size_t	 httphead_page(const char *type, size_t len, char *out, size_t size);

/* The answer 101 to an HTTPHEAD_UPGRADE.  As httphead_answer(). */
size_t	 httphead_switch(const struct httphead *h, char *out, size_t size);

#endif
