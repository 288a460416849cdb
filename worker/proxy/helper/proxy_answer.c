/* What the client of a proxy is told: reached, refused, failed. */
#include "worker/proxy/helper/proxy_conn_priv.h"

#include <sys/socket.h>

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/json/json_out.h"
#include "worker/proxy/helper/socks5.h"

static const char	 ready[] =
    "HTTP/1.1 200 Connection established\r\n\r\n";

static const char *
reason_phrase(int status)
{
	switch (status) {
	case 400:
		return "Bad Request";
	case 403:
		return "Forbidden";
	case 431:
		return "Request Header Fields Too Large";
	case 501:
		return "Not Implemented";
	default:
		return "Bad Gateway";
	}
}

/* Send a whole answer, then end.  error: x-proxy-error, or NULL. */
static void
answer(struct proxy_conn *c, int status, const char *type, const char *error,
    const void *body, size_t len)
{
	char	 head[256];
	int	 n;

	n = snprintf(head, sizeof(head), "HTTP/1.1 %d %s\r\n"
	    "content-type: %s\r\ncontent-length: %zu\r\n%s%s%s"
	    "connection: close\r\n\r\n", status, reason_phrase(status), type,
	    len, error != NULL ? "x-proxy-error: " : "",
	    error != NULL ? error : "", error != NULL ? "\r\n" : "");
	assert(n > 0 && (size_t)n < sizeof(head));
	conn_send(c, &c->client, head, (size_t)n);
	if (strcmp(c->head.method, "HEAD") != 0)
		conn_send(c, &c->client, body, len);
	conn_finish(c);
}

void
conn_http_error(struct proxy_conn *c, int status, const char *text)
{
	answer(c, status, "text/plain", NULL, text, strlen(text));
}

static void
socks_answer(struct proxy_conn *c, int reply)
{
	uint8_t	 out[SOCKS5_REPLY_MAX];
	size_t	 n = socks5_reply(reply, NULL, 0, out);

	conn_send(c, &c->client, out, n);
}

/* --- refused --- */

static const char *
sentence(enum net_reason why)
{
	switch (why) {
	case NET_UNLISTED:
		return "The domain is not on the list of allowed ones.";
	case NET_LOCAL:
		return "Local and private addresses must be listed themselves.";
	case NET_DENIED:
		return "The domain is denied.";
	case NET_METHOD:
		return "Only GET, HEAD and OPTIONS are allowed.";
	case NET_TUNNEL:
		return "Tunnels are not allowed.";
	default:
		return "The network policy does not allow this.";
	}
}

static const char *const verdicts[] = { "allow", "deny", "ask" };

static const char *const sources[] = {
	"baseline_policy", "decider", "mode_guard", "proxy_state"
};

/* The refusal of a plain request, for programs. */
static void
answer_json(struct proxy_conn *c, Ipc__ProxyVerdict verdict,
    Ipc__ProxySource source, enum net_reason why, const char *reason)
{
	struct json_out	 o;
	struct buf	 b;

	buf_init(&b, 16384);
	json_out_init(&o, &b);
	json_out_open(&o, '{');
	json_out_pair(&o, "status", "blocked");
	json_out_pair(&o, "host", c->host.text);
	json_out_pair(&o, "reason", reason);
	json_out_pair(&o, "decision", verdicts[verdict]);
	json_out_pair(&o, "source", sources[source]);
	json_out_pair(&o, "protocol", "http");
	json_out_pair_u64(&o, "port", c->port);
	json_out_pair(&o, "message", sentence(why));
	json_out_close(&o, '}');
	if (json_out_fini(&o) == -1)
		conn_kill(c);
	else
		answer(c, 403, "application/json", net_reason_header(why),
		    buf_data(&b), b.len);
	buf_fini(&b);
}

void
conn_refused(struct proxy_conn *c, Ipc__ProxyVerdict verdict,
    Ipc__ProxySource source, enum net_reason why, const char *reason)
{
	const char	*text = sentence(why);

	switch (c->protocol) {
	case IPC__PROXY_PROTOCOL__SOCKS5_TCP:
		socks_answer(c, SOCKS5_NOT_ALLOWED);
		conn_finish(c);
		break;
	case IPC__PROXY_PROTOCOL__HTTPS_CONNECT:
		answer(c, 403, "text/plain", net_reason_header(why), text,
		    strlen(text));
		break;
	default:
		answer_json(c, verdict, source, why, reason);
	}
}

/* --- reached, or not --- */

void
conn_failed(struct proxy_conn *c, int error)
{
	if (c->kind == IPC__PROXY_KIND__PROXY_BRIDGE) {
		conn_kill(c);
	} else if (c->protocol != IPC__PROXY_PROTOCOL__SOCKS5_TCP) {
		conn_http_error(c, 502, "upstream failure");
	} else {
		socks_answer(c, error == ECONNREFUSED ? SOCKS5_NOT_LISTENING :
		    error == EHOSTUNREACH && c->n == 0 ? SOCKS5_NOT_ALLOWED :
		    SOCKS5_UNREACHABLE);
		conn_finish(c);
	}
}

/* The reply of SOCKS has our address of the connection. */
static void
socks_ready(struct proxy_conn *c)
{
	struct sockaddr_storage	 ours;
	const struct sockaddr_in *in = (void *)&ours;
	const struct sockaddr_in6 *in6 = (void *)&ours;
	socklen_t		 len = sizeof(ours);
	struct netaddr		 a = { .family = AF_INET };
	uint8_t			 out[SOCKS5_REPLY_MAX];
	uint16_t		 port;

	memset(&ours, 0, sizeof(ours));
	if (getsockname(c->server.fd, (struct sockaddr *)&ours, &len) == -1) {
		conn_kill(c);
		return;
	}
	a.family = ours.ss_family;
	if (a.family == AF_INET6)
		memcpy(a.byte, &in6->sin6_addr, 16);
	else
		memcpy(a.byte, &in->sin_addr, 4);
	port = ntohs(a.family == AF_INET6 ? in6->sin6_port : in->sin_port);
	conn_send(c, &c->client, out, socks5_reply(SOCKS5_DONE, &a, port,
	    out));
}

void
conn_reached(struct proxy_conn *c)
{
	if (c->kind == IPC__PROXY_KIND__PROXY_BRIDGE) {
		conn_tunnel(c);
		return;
	}
	switch (c->protocol) {
	case IPC__PROXY_PROTOCOL__PLAIN_HTTP:
		conn_http_begin(c);
		return;
	case IPC__PROXY_PROTOCOL__HTTPS_CONNECT:
		conn_send(c, &c->client, ready, sizeof(ready) - 1);
		break;
	default:
		socks_ready(c);
	}
	if (c->state != CONN_DEAD)
		conn_tunnel(c);
}
