#include "worker/proxy/helper/proxyhead.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/limit.h"

#define LENGTH_DIGITS	18	/* less than 2^63 */

/* Headers of one connection, which are not passed on (RFC 9110 7.6.1). */
static const char *const hop_by_hop[] = {
	"Connection", "Keep-Alive", "Proxy-Authenticate",
	"Proxy-Authentication-Info", "Proxy-Authorization", "Proxy-Connection",
	"TE", "Upgrade"
};

/* Headers that Connection must not name: removing them changes the message. */
static const char *const framing[] = {
	"Host", "Content-Length", "Transfer-Encoding", "Content-Type",
	"Expect", "Trailer"
};

/* What both kinds of heads have in common. */
struct fields {
	struct span	 host;
	struct span	 connection;
	bool		 has_host, has_length, is_chunked, has_unix_socket;
	bool		 is_closing, is_keeping;
	uint64_t	 length;
};

/* --- lines --- */

static size_t
line_end(const char *text, size_t len)
{
	const char	*p = memchr(text, '\n', len);

	return p == NULL ? 0 : (size_t)(p - text) + 1;
}

/* Whether a first line could become one of HTTP/1. */
static bool
may_be_http(const char *text, size_t len)
{
	size_t	 i;

	for (i = 0; i < len && text[i] != '\r' && text[i] != '\n'; i++)
		if ((unsigned char)text[i] < ' ' || text[i] == 0x7f)
			return false;
	return true;
}

size_t
proxyhead_end(const char *text, size_t len)
{
	size_t	 at = 0, n;

	if (!may_be_http(text, len))
		return len;
	while ((n = line_end(text + at, len - at)) > 0) {
		/* A bare LF. */
		if (n < 2 || text[at + n - 2] != '\r')
			return len;
		/* An empty line: the end, or nothing before it. */
		if (n == 2)
			return at == 0 ? len : at + 2;
		at += n;
	}
	return len > LIMIT_NET_HEAD ? len : 0;
}

static bool
head_lists(const char *const *list, size_t n, struct span name)
{
	size_t	 i;

	for (i = 0; i < n; i++)
		if (span_is_nocase(name, list[i]))
			return true;
	return false;
}

#define HEAD_LISTS(list, name)						\
	head_lists((list), sizeof(list) / sizeof((list)[0]), (name))

/* Cut a header line into name and value.  False: malformed. */
static bool
cut_field(struct span line, struct span *name, struct span *value)
{
	*value = line;
	if (!span_cut(value, ':', name) || !span_is_token(*name))
		return false;
	*value = span_trim(*value);
	return value->len == 0 || span_is_text(*value);
}

/* --- fields --- */

static int
read_length(struct fields *f, struct span v)
{
	size_t	 i;

	if (f->has_length || v.len == 0 || v.len > LENGTH_DIGITS)
		return 400;
	f->length = 0;
	for (i = 0; i < v.len; i++) {
		if (!isdigit((unsigned char)v.at[i]))
			return 400;
		f->length = f->length * 10 + (uint64_t)(v.at[i] - '0');
	}
	f->has_length = true;
	return 0;
}

static int
read_connection(struct fields *f, struct span v)
{
	size_t	 i;

	/* One line only, so that there is one list to look in. */
	if (f->connection.at != NULL)
		return 400;
	f->connection = v;
	for (i = 0; i < sizeof(framing) / sizeof(framing[0]); i++)
		if (span_list_has(v, framing[i]))
			return 400;
	f->is_closing = span_list_has(v, "close");
	f->is_keeping = span_list_has(v, "keep-alive");
	return 0;
}

static int
read_field(struct fields *f, struct span name, struct span v)
{
	if (span_is_nocase(name, "Host")) {
		if (f->has_host)
			return 400;
		f->has_host = true;
		f->host = v;
	} else if (span_is_nocase(name, "Content-Length")) {
		return read_length(f, v);
	} else if (span_is_nocase(name, "Transfer-Encoding")) {
		if (f->is_chunked || !span_is_nocase(v, "chunked"))
			return 400;
		f->is_chunked = true;
	} else if (span_is_nocase(name, "Connection")) {
		return read_connection(f, v);
	} else if (span_is_nocase(name, "x-unix-socket")) {
		f->has_unix_socket = true;
	}
	return 0;
}

/* Read all lines but the first.  0, or a status. */
static int
read_fields(struct span lines, struct fields *f)
{
	struct span	 line, name, value;
	unsigned	 n = 0;
	int		 status;

	memset(f, 0, sizeof(*f));
	while (lines.len > 0) {
		if (!span_line(&lines, &line))
			return 400;
		/* The empty line is the last one. */
		if (line.len == 0)
			return lines.len > 0 ||
			    (f->has_length && f->is_chunked) ? 400 : 0;
		if (++n > LIMIT_NET_FIELDS)
			return 431;
		/* A blank begins an obs-fold, which is no token either. */
		if (!cut_field(line, &name, &value))
			return 400;
		if ((status = read_field(f, name, value)) != 0)
			return status;
	}
	return 400;
}

/* --- requests --- */

/* Split "HOST[:PORT]" and check both; the port stays if there is none. */
static bool
head_authority(struct span a, struct nethost *host, uint16_t *port)
{
	const char	*colon;
	unsigned long	 n = 0;
	size_t		 i;

	colon = a.len > 0 ? memrchr(a.at, ':', a.len) : NULL;
	if (colon != NULL && memchr(colon, ']', a.len -
	    (size_t)(colon - a.at)) != NULL)
		colon = NULL;
	if (colon != NULL) {
		i = (size_t)(colon + 1 - a.at);
		/* An IPv6 address without brackets is ambiguous. */
		if (memchr(a.at, ':', i - 1) != NULL && a.at[0] != '[')
			return false;
		if (a.len - i == 0 || a.len - i > 5)
			return false;
		for (; i < a.len; i++) {
			if (!isdigit((unsigned char)a.at[i]))
				return false;
			n = n * 10 + (unsigned long)(a.at[i] - '0');
		}
		if (n == 0 || n > 65535)
			return false;
		*port = (uint16_t)n;
		a.len = (size_t)(colon - a.at);
	}
	return nethost_set(host, a.at, a.len) == 0;
}

/* Read "SCHEME://[USER@]HOST[:PORT]PATH".  0, or a status. */
static int
read_absolute(struct proxyhead *h, struct span target)
{
	struct span	 scheme, authority;
	const char	*p;
	size_t		 i;

	if (!span_cut(&target, ':', &scheme) || !span_begins(target, "//") ||
	    !span_is_token(scheme))
		return 400;
	if (!span_is_nocase(scheme, "http"))
		return 502;
	target.at += 2;
	target.len -= 2;
	for (i = 0; i < target.len && strchr("/?#\\", target.at[i]) == NULL;
	    i++)
		continue;
	authority.at = target.at;
	authority.len = i;
	h->path.at = target.at + i;
	h->path.len = target.len - i;
	/* User information is dropped; two of them are none. */
	if ((p = memchr(authority.at, '@', i)) != NULL) {
		authority.len -= (size_t)(p + 1 - authority.at);
		authority.at = p + 1;
	}
	return head_authority(authority, &h->host, &h->port) ? 0 : 400;
}

static int
head_target(struct proxyhead *h, struct span target)
{
	h->port = 80;
	if (!span_is_visible(target) || memchr(target.at, '#', target.len) !=
	    NULL || memchr(target.at, '\\', target.len) != NULL)
		return 400;
	if (h->is_connect) {
		if (!span_begins(target, "http://"))
			return head_authority(target, &h->host, &h->port) ?
			    0 : 400;
		return read_absolute(h, target);
	}
	/* "*" is the server itself, for OPTIONS alone. */
	if (target.at[0] == '/' || span_is(target, "*")) {
		h->path = target;
		return target.at[0] == '/' || strcmp(h->method, "OPTIONS") ==
		    0 ? 0 : 400;
	}
	return read_absolute(h, target);
}

/* Read "METHOD TARGET HTTP/1.x".  0, or a status. */
static int
read_request_line(struct proxyhead *h, struct span line)
{
	struct span	 method, target;

	if (!span_cut(&line, ' ', &method) || !span_is_token(method) ||
	    method.len >= sizeof(h->method) || !span_cut(&line, ' ', &target))
		return 400;
	memcpy(h->method, method.at, method.len);
	h->is_connect = span_is(method, "CONNECT");
	if (span_is(line, "HTTP/1.0"))
		h->is_old = true;
	else if (!span_is(line, "HTTP/1.1"))
		return 400;
	return head_target(h, target);
}

/* Compare Host with the target, or take the host from it. */
static int
take_host(struct proxyhead *h, const struct fields *f)
{
	struct nethost	 host;
	uint16_t	 port = 80;

	if (h->is_connect)
		return 0;
	if (!f->has_host)
		return h->host.text[0] != '\0' ? 0 : 400;
	if (!head_authority(f->host, &host, &port))
		return 400;
	if (h->host.text[0] == '\0') {
		h->host = host;
		h->port = port;
		return 0;
	}
	return strcmp(host.text, h->host.text) == 0 && port == h->port ?
	    0 : 400;
}

static int
head_body(struct proxyhead *h, const struct fields *f)
{
	h->length = f->length;
	h->body = f->is_chunked ? PROXYBODY_CHUNKED :
	    f->has_length && f->length > 0 ? PROXYBODY_LENGTH :
	    PROXYBODY_NONE;
	if (h->body == PROXYBODY_NONE)
		return 0;
	/* HTTP/1.0 has no chunks, a tunnel no body. */
	return h->is_connect || (h->is_old && f->is_chunked) ? 400 : 0;
}

void
proxyhead_parse(const char *text, size_t len, struct proxyhead *h)
{
	struct span	 all = { text, len }, line;
	struct fields	 f;

	memset(h, 0, sizeof(*h));
	if (len > LIMIT_NET_HEAD) {
		h->status = 431;
		return;
	}
	h->status = 400;
	if (!span_line(&all, &line) ||
	    (h->status = read_request_line(h, line)) != 0)
		return;
	h->fields = all;
	if ((h->status = read_fields(all, &f)) != 0 ||
	    (h->status = head_body(h, &f)) != 0)
		return;
	h->connection = f.connection;
	h->has_unix_socket = f.has_unix_socket;
	h->is_last = h->is_old || f.is_closing;
	h->status = take_host(h, &f);
}

/* --- writing --- */

static int
put(struct buf *out, const char *text)
{
	return buf_put(out, text, strlen(text));
}

/* Write the header lines that are not of one connection; no Host. */
static int
head_put_fields(struct span lines, struct span connection, bool keeps_host,
    struct buf *out)
{
	struct span	 line, name, value;
	char		 token[64];

	while (span_line(&lines, &line) && line.len > 0) {
		if (!cut_field(line, &name, &value) ||
		    HEAD_LISTS(hop_by_hop, name) ||
		    (!keeps_host && span_is_nocase(name, "Host")))
			continue;
		if (connection.len > 0 && name.len < sizeof(token)) {
			memcpy(token, name.at, name.len);
			token[name.len] = '\0';
			if (span_list_has(connection, token))
				continue;
		}
		if (buf_put(out, line.at, line.len) == -1 ||
		    put(out, "\r\n") == -1)
			return -1;
	}
	return 0;
}

int
proxyhead_forward(const struct proxyhead *h, bool absolute, const char *auth,
    bool closes, struct buf *out)
{
	char	 authority[NETHOST_MAX + 16];

	nethost_authority(&h->host, h->port, 80, authority);
	if (put(out, h->method) == -1 || put(out, " ") == -1 ||
	    (absolute && (put(out, "http://") == -1 ||
	    put(out, authority) == -1)))
		return -1;
	/* Of OPTIONS without a path the server itself is the target. */
	if (h->path.len == 0 && strcmp(h->method, "OPTIONS") == 0 &&
	    !absolute && put(out, "*") == -1)
		return -1;
	if ((h->path.len == 0 ? strcmp(h->method, "OPTIONS") != 0 :
	    h->path.at[0] == '?') && put(out, "/") == -1)
		return -1;
	if (!(absolute && span_is(h->path, "*")) &&
	    buf_put(out, h->path.at, h->path.len) == -1)
		return -1;
	if (put(out, h->is_old ? " HTTP/1.0\r\nHost: " :
	    " HTTP/1.1\r\nHost: ") == -1 || put(out, authority) == -1 ||
	    put(out, "\r\n") == -1 ||
	    head_put_fields(h->fields, h->connection, false, out) == -1)
		return -1;
	if (auth != NULL && (put(out, "Proxy-Authorization: Basic ") == -1 ||
	    put(out, auth) == -1 || put(out, "\r\n") == -1))
		return -1;
	return put(out, closes ? "Connection: close\r\n\r\n" : "\r\n");
}

/* --- answers --- */

/* Read "HTTP/1.x NNN [REASON]". */
static bool
read_status_line(struct proxyreply *r, struct span line, bool *is_old_out)
{
	const char	*d = line.at + 9;

	if (line.len < 12 || !span_is_text(line) ||
	    (!span_begins(line, "HTTP/1.1 ") && !span_begins(line,
	    "HTTP/1.0 ")) || (line.len > 12 && line.at[12] != ' '))
		return false;
	*is_old_out = line.at[7] == '0';
	if (d[0] < '1' || d[0] > '9' || !isdigit((unsigned char)d[1]) ||
	    !isdigit((unsigned char)d[2]))
		return false;
	r->status = (unsigned)((d[0] - '0') * 100 + (d[1] - '0') * 10 + d[2] -
	    '0');
	r->line = line;
	return true;
}

static void
take_reply_body(struct proxyreply *r, const struct fields *f,
    const char *method)
{
	r->length = f->length;
	if (r->status < 200 || r->status == 204 || r->status == 304 ||
	    strcmp(method, "HEAD") == 0)
		r->body = PROXYBODY_NONE;
	else if (f->is_chunked)
		r->body = PROXYBODY_CHUNKED;
	else if (f->has_length)
		r->body = f->length > 0 ? PROXYBODY_LENGTH : PROXYBODY_NONE;
	else
		r->body = PROXYBODY_TO_END;
}

void
proxyhead_reply(const char *text, size_t len, const char *method,
    struct proxyreply *r)
{
	struct span	 all = { text, len }, line;
	struct fields	 f;
	bool		 is_old;

	memset(r, 0, sizeof(*r));
	if (len > LIMIT_NET_HEAD || !span_line(&all, &line) ||
	    !read_status_line(r, line, &is_old))
		return;
	r->fields = all;
	if (read_fields(all, &f) != 0 || (is_old && f.is_chunked))
		return;
	r->connection = f.connection;
	take_reply_body(r, &f, method);
	r->is_last = r->body == PROXYBODY_TO_END || f.is_closing ||
	    (is_old && !f.is_keeping);
	r->is_valid = true;
}

int
proxyhead_pass(const struct proxyreply *r, bool closes, struct buf *out)
{
	if (buf_put(out, r->line.at, r->line.len) == -1 ||
	    put(out, "\r\n") == -1 ||
	    head_put_fields(r->fields, r->connection, true, out) == -1)
		return -1;
	return put(out, closes ? "Connection: close\r\n\r\n" : "\r\n");
}
