#include "common/net/httphead.h"

#include <arpa/inet.h>
#include <assert.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdint.h>
#include <string.h>

#include "common/json/b64.h"
#include "common/net/sha1.h"
#include "common/span.h"

#define KEY_LEN		24	/* the encoding of KEY_BYTES */
#define KEY_BYTES	16
#define BODY_MAX	256
#define GUID		"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"

#define ONCE		1	/* a second such line: malformed */
#define LIST		2	/* a line counts when its list has the token */

/* The header fields that are evaluated; all others only checked for syntax. */
#define FIELDS(F) \
	F(AUTH,		"Authorization",		ONCE,	NULL) \
	F(CONNECTION,	"Connection",			LIST,	"upgrade") \
	F(EXPECT,	"Expect",			0,	NULL) \
	F(LENGTH,	"Content-Length",		ONCE,	NULL) \
	F(HOST,		"Host",				ONCE,	NULL) \
	F(ORIGIN,	"Origin",			0,	NULL) \
	F(KEY,		"Sec-WebSocket-Key",		ONCE,	NULL) \
	F(VERSION,	"Sec-WebSocket-Version",	ONCE,	NULL) \
	F(RELAY,	"X-Execsrv-Relay",		LIST,	"flow") \
	F(TRANSFER,	"Transfer-Encoding",		0,	NULL) \
	F(UPGRADE,	"Upgrade",			ONCE,	NULL)

#define FIELD_ID(id, name, flags, token)	FIELD_##id,
#define FIELD_ROW(id, name, flags, token)	{ name, flags, token },

enum field {
	FIELDS(FIELD_ID)
	FIELD_COUNT
};

static const struct field_row {
	const char	*name;
	int		 flags;
	const char	*token;
} fields[FIELD_COUNT] = {
	FIELDS(FIELD_ROW)
};

#define SESSIONS	1	/* listener of sessions */
#define METRICS		2	/* MetricsListen */

static const struct route {
	const char		*path;
	enum httphead_kind	 kind;
	bool			 takes_head;
	int			 sites;
} routes[] = {
	{ "/",		HTTPHEAD_UPGRADE,	false,	SESSIONS },
	{ "/livez",	HTTPHEAD_LIVE,		true,	SESSIONS | METRICS },
	{ "/metrics",	HTTPHEAD_METRICS,	true,	METRICS },
	{ "/readyz",	HTTPHEAD_READY,		true,	SESSIONS | METRICS },
};

static const struct answer {
	int		 status;
	const char	*reason;
	const char	*lines;
} answers[] = {
	{ 200, "OK", "" },
	/* RFC 6455 section 4.4: the version we speak, for an older client. */
	{ 400, "Bad Request", "Sec-WebSocket-Version: 13\r\n" },
	{ 401, "Unauthorized", "WWW-Authenticate: Bearer\r\n" },
	{ 403, "Forbidden", "" },
	{ 404, "Not Found", "" },
	{ 405, "Method Not Allowed", "Allow: GET,HEAD\r\n" },
	{ 408, "Request Timeout", "" },
	{ 426, "Upgrade Required",
	    "Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n" },
	{ 429, "Too Many Requests", "" },
	{ 431, "Request Header Fields Too Large", "" },
	{ 503, "Service Unavailable", "" },
	{ 505, "HTTP Version Not Supported", "" },
	{ 500, "Internal Server Error", "" },	/* last: for all others */
};

#define NROWS(a)	(sizeof(a) / sizeof((a)[0]))

/* A head being judged. */
struct head {
	int			 site;
	struct span		 rest;	/* not parsed yet */
	struct span		 method;
	struct span		 target;
	struct span		 value[FIELD_COUNT];
	const struct route	*route;
	char *const		*hosts;		/* our names */
	size_t			 nhosts;
};

static bool
is_digits(struct span s, const char *from)
{
	size_t	 i;

	for (i = 0; i < s.len; i++)
		if (s.at[i] == '\0' || strchr(from, s.at[i]) == NULL)
			return false;
	return s.len > 0;
}

/* "GET /path HTTP/1.1" */
static int
judge_request(struct head *hd)
{
	struct span	 line, version;
	bool		 is_connect;

	if (!span_line(&hd->rest, &line) ||
	    !span_cut(&line, ' ', &hd->method) ||
	    !span_cut(&line, ' ', &hd->target))
		return 400;
	version = line;
	if (!span_is_token(hd->method) || !span_is_visible(hd->target))
		return 400;
	/* The target of CONNECT is no path; it gets 405 later. */
	is_connect = span_is(hd->method, "CONNECT");
	if ((hd->target.at[0] != '/' && !is_connect) ||
	    memchr(hd->target.at, '#', hd->target.len) != NULL)
		return 400;
	if (version.len != 8 || memcmp(version.at, "HTTP/", 5) != 0 ||
	    !is_digits((struct span){ version.at + 5, 1 }, "0123456789") ||
	    version.at[6] != '.' ||
	    !is_digits((struct span){ version.at + 7, 1 }, "0123456789"))
		return 400;
	return span_is(version, "HTTP/1.1") ? 0 : 505;
}

/* Record one header line. */
static int
judge_line(struct head *hd, struct span line)
{
	const struct field_row	*row;
	struct span		 name;
	size_t			 i;

	/* Obs-fold or a blank before the colon: the name is no token. */
	if (!span_cut(&line, ':', &name) || !span_is_token(name) ||
	    !span_is_text(line))
		return 400;
	line = span_trim(line);
	for (i = 0; i < FIELD_COUNT; i++) {
		row = &fields[i];
		if (!span_is_nocase(name, row->name))
			continue;
		if (row->flags & ONCE && hd->value[i].at != NULL)
			return 400;
		if (!(row->flags & LIST) || span_list_has(line, row->token))
			hd->value[i] = line;
	}
	return 0;
}

static int
judge_lines(struct head *hd)
{
	struct span	 line;
	int		 n, status;

	for (n = 0; span_line(&hd->rest, &line); n++) {
		if (line.len == 0)
			return hd->rest.len == 0 &&
			    hd->value[FIELD_HOST].at != NULL ? 0 : 400;
		if (n == HTTPHEAD_LINES_MAX)
			return 431;
		if ((status = judge_line(hd, line)) != 0)
			return status;
	}
	return 400;
}

static bool
is_port(struct span s)
{
	unsigned int	 port = 0;
	size_t		 i;

	if (s.len > 5 || !is_digits(s, "0123456789"))
		return false;
	for (i = 0; i < s.len; i++)
		port = port * 10 + (unsigned int)(s.at[i] - '0');
	return port <= UINT16_MAX;
}

static bool
is_address(int family, struct span s)
{
	char		 text[INET6_ADDRSTRLEN];
	struct in6_addr	 addr;		/* large enough for IPv4, too */

	if (s.len >= sizeof(text))
		return false;
	memcpy(text, s.at, s.len);
	text[s.len] = '\0';
	return inet_pton(family, text, &addr) == 1;
}

static bool
is_our_name(const struct head *hd, struct span name)
{
	size_t	 i;

	for (i = 0; i < hd->nhosts; i++)
		if (span_is_nocase(name, hd->hosts[i]))
			return true;
	return span_is_nocase(name, "localhost");
}

/* Foreign names are refused: they may point here (DNS rebinding). */
static bool
is_our_host(const struct head *hd, struct span host)
{
	struct span	 name;

	if (host.len > 0 && host.at[0] == '[') {
		if (!span_cut(&host, ']', &name) ||
		    (host.len > 0 && (host.at[0] != ':' ||
		    !is_port((struct span){ host.at + 1, host.len - 1 }))))
			return false;
		name.at++;
		name.len--;
		return is_address(AF_INET6, name);
	}
	if (!span_cut(&host, ':', &name))
		name = host;
	else if (!is_port(host))
		return false;
	return is_our_name(hd, name) || is_address(AF_INET, name);
}

static int
judge_source(struct head *hd)
{
	return hd->value[FIELD_ORIGIN].at == NULL &&
	    is_our_host(hd, hd->value[FIELD_HOST]) ? 0 : 403;
}

static int
judge_path(struct head *hd)
{
	struct span	 query = hd->target, path;
	size_t		 i;

	if (span_is(hd->method, "CONNECT"))
		return 405;
	if (!span_cut(&query, '?', &path))
		path = hd->target;
	for (i = 0; i < NROWS(routes); i++)
		if ((routes[i].sites & hd->site) != 0 &&
		    span_is(path, routes[i].path))
			hd->route = &routes[i];
	return hd->route != NULL ? 0 : 404;
}

static int
judge_method(struct head *hd)
{
	return span_is(hd->method, "GET") ||
	    (hd->route->takes_head && span_is(hd->method, "HEAD")) ? 0 : 405;
}

static int
judge_body(struct head *hd)
{
	struct span	 length = hd->value[FIELD_LENGTH];

	return hd->value[FIELD_TRANSFER].at == NULL &&
	    (length.at == NULL || is_digits(length, "0")) ? 0 : 400;
}

static bool
httphead_is_upgrade(const struct span *value)
{
	uint8_t	 key[B64_DECODED_MAX(KEY_LEN)];

	return value[FIELD_CONNECTION].at != NULL &&
	    span_is_nocase(value[FIELD_UPGRADE], "websocket") &&
	    span_is(value[FIELD_VERSION], "13") &&
	    value[FIELD_KEY].len == KEY_LEN &&
	    b64_decode(key, value[FIELD_KEY].at, KEY_LEN) == KEY_BYTES;
}

/* Check the upgrade of "/"; for other paths an upgrade is ignored. */
static int
judge_upgrade(struct head *hd)
{
	return hd->route->kind != HTTPHEAD_UPGRADE ||
	    httphead_is_upgrade(hd->value) ? 0 : 400;
}

/* By precedence: the first one to refuse decides. */
static int	(*const judges[])(struct head *) = {
	judge_request,
	judge_lines,
	judge_source,
	judge_path,
	judge_method,
	judge_body,
	judge_upgrade,
};

static void
httphead_judge_all(struct head *hd, size_t len, struct httphead *h)
{
	size_t		 i;

	memset(h, 0, sizeof(*h));
	h->status = len > HTTPHEAD_MAX ? 431 : 0;
	for (i = 0; i < NROWS(judges) && h->status == 0; i++)
		h->status = judges[i](hd);
	h->is_head = span_is(hd->method, "HEAD");
	if (h->status != 0) {
		h->kind = HTTPHEAD_ERROR;
		if (h->status == 403) {
			h->origin = hd->value[FIELD_ORIGIN].at;
			h->origin_len = hd->value[FIELD_ORIGIN].len;
			h->host = hd->value[FIELD_HOST].at;
			h->host_len = hd->value[FIELD_HOST].len;
		}
		return;
	}
	h->kind = hd->route->kind;
	h->key = hd->value[FIELD_KEY].at;
	h->key_len = hd->value[FIELD_KEY].len;
	h->auth = hd->value[FIELD_AUTH].at;
	h->auth_len = hd->value[FIELD_AUTH].len;
}

void
httphead_judge(const char *text, size_t len, char *const *hosts,
    size_t nhosts, struct httphead *h)
{
	struct head	 hd = { .site = SESSIONS, .rest = { text, len },
			    .hosts = hosts, .nhosts = nhosts };

	httphead_judge_all(&hd, len, h);
}

void
httphead_judge_metrics(const char *text, size_t len, char *const *hosts,
    size_t nhosts, struct httphead *h)
{
	struct head	 hd = { .site = METRICS, .rest = { text, len },
			    .hosts = hosts, .nhosts = nhosts };

	httphead_judge_all(&hd, len, h);
}

#define LENGTH_MAX	8	/* digits of a Content-Length */

int
httphead_request(const char *text, size_t len, struct httphead_request *r)
{
	struct head	 hd = { .rest = { text, len } };
	struct span	*value = hd.value, size;
	int		 status;
	size_t		 i;

	memset(r, 0, sizeof(*r));
	if (len > HTTPHEAD_MAX)
		return 431;
	if ((status = judge_request(&hd)) != 0 ||
	    (status = judge_lines(&hd)) != 0)
		return status;
	if (hd.target.at[0] != '/')
		return 400;
	if (value[FIELD_TRANSFER].at != NULL)
		return 411;
	size = value[FIELD_LENGTH];
	if (size.at != NULL && (!is_digits(size, "0123456789") ||
	    size.len > LENGTH_MAX))
		return size.len > LENGTH_MAX ? 413 : 400;
	for (i = 0; i < size.len; i++)
		r->body = r->body * 10 + (size_t)(size.at[i] - '0');
	r->method = hd.method;
	r->target = hd.target;
	r->auth = value[FIELD_AUTH];
	r->key = value[FIELD_KEY];
	r->is_upgrade = span_is(hd.method, "GET") &&
	    httphead_is_upgrade(value);
	r->has_origin = value[FIELD_ORIGIN].at != NULL;
	r->takes_flow = value[FIELD_RELAY].at != NULL;
	r->wants_continue = span_is_nocase(value[FIELD_EXPECT],
	    "100-continue");
	return 0;
}

bool
httphead_bearer(const struct httphead *h, struct span *token_out)
{
	return httphead_token((struct span){ h->auth, h->auth_len },
	    token_out);
}

bool
httphead_token(struct span token, struct span *token_out)
{
	struct span	 scheme;

	*token_out = (struct span){ NULL, 0 };
	if (token.at == NULL)
		return false;
	if (!span_cut(&token, ' ', &scheme))
		scheme = token;
	if (!span_is_nocase(scheme, "Bearer"))
		return false;
	while (token.len > 0 && token.at[0] == ' ') {
		token.at++;
		token.len--;
	}
	if (scheme.at != token.at && span_is_visible(token))
		*token_out = token;
	return true;
}

/*
 * Whether this cannot become a head: it has a byte that no head has (TLS), a
 * bare LF, or a first line that is no request (SSH).
 */
static bool
is_hopeless(const char *text, size_t len)
{
	struct head	 hd = { .rest = { text, len } };
	struct span	 rest = hd.rest, line;

	if (memchr(text, '\n', len) != NULL && judge_request(&hd) != 0)
		return true;
	while (span_line(&rest, &line))
		if (!span_is_text(line))
			return true;
	/* The rest is an incomplete line, perhaps with its CR. */
	if (rest.len > 0 && rest.at[rest.len - 1] == '\r')
		rest.len--;
	return !span_is_text(rest);
}

size_t
httphead_end(const char *text, size_t len)
{
	const char	*p;

	if (len == 0)
		return 0;
	if ((p = memmem(text, len, "\r\n\r\n", 4)) != NULL)
		return (size_t)(p - text) + 4;
	return len > HTTPHEAD_MAX || is_hopeless(text, len) ? len : 0;
}

void
httphead_accept(const char *key, size_t len, char out[HTTPHEAD_ACCEPT_LEN])
{
	char		 text[128];
	uint8_t		 digest[SHA1_LEN];

	assert(len <= sizeof(text) - strlen(GUID));
	memcpy(text, key, len);
	memcpy(text + len, GUID, strlen(GUID));
	sha1(text, len + strlen(GUID), digest);
	out[b64_encode(out, digest, sizeof(digest))] = '\0';
}

/* Limit what snprintf() returned to the length of the text. */
static size_t
written(int n, size_t size)
{
	if (n < 0 || size == 0)
		return 0;
	return (size_t)n < size ? (size_t)n : size - 1;
}

size_t
httphead_answer(int status, const char *why, bool is_head, char *out,
    size_t size)
{
	const struct answer	*a = answers;
	char			 body[BODY_MAX] = "";
	const char		*type = "";
	int			 n;

	while (a->status != status && a < &answers[NROWS(answers) - 1])
		a++;
	if (a->status != 200) {
		type = "Content-Type: text/plain\r\n";
		snprintf(body, sizeof(body), why == NULL || why[0] == '\0' ?
		    "%s\n" : "%s: %.200s\n", a->reason, why);
	}
	n = snprintf(out, size, "HTTP/1.1 %d %s\r\n%s%sContent-Length: %zu\r\n"
	    "Connection: close\r\n\r\n%s", a->status, a->reason, a->lines,
	    type, strlen(body), is_head ? "" : body);
	return written(n, size);
}

size_t
httphead_page(const char *type, size_t len, char *out, size_t size)
{
	return written(snprintf(out, size, "HTTP/1.1 200 OK\r\n"
	    "Content-Type: %s\r\nContent-Length: %zu\r\n"
	    "Connection: close\r\n\r\n", type, len), size);
}

size_t
httphead_switch(const struct httphead *h, char *out, size_t size)
{
	assert(h->kind == HTTPHEAD_UPGRADE);
	return httphead_switch_key((struct span){ h->key, h->key_len }, out,
	    size);
}

size_t
httphead_switch_key(struct span key, char *out, size_t size)
{
	char	 accept[HTTPHEAD_ACCEPT_LEN];

	httphead_accept(key.at, key.len, accept);
	return written(snprintf(out, size,
	    "HTTP/1.1 101 Switching Protocols\r\n"
	    "Upgrade: websocket\r\nConnection: Upgrade\r\n"
	    "Sec-WebSocket-Accept: %s\r\n\r\n", accept), size);
}
