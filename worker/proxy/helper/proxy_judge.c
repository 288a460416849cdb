/*
 * From a request to a connection: decide by the rules, ask the client, find
 * addresses, check all of them, connect to one of those.
 */
#include "worker/proxy/helper/proxy_conn_priv.h"

#include <sys/socket.h>

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/json/b64.h"
#include "common/limit.h"

static const struct netaddr	 loopback[] = {
	{ AF_INET, { 127, 0, 0, 1 } }, { AF_INET6, { [15] = 1 } }
};

void
conn_judge_stop(struct proxy_conn *c)
{
	proxy_names_cancel(&c->query);
	proxy_connect_stop(&c->connect);
	c->question = 0;
}

/* --- events --- */

/* Fill in what all decisions have. */
static void
decision_init(struct proxy_conn *c, Ipc__ProxyDecision *d)
{
	ipc__proxy_decision__init(d);
	d->protocol = c->protocol;
	d->host = c->host.text;
	d->port = c->port;
	d->method = c->protocol == IPC__PROXY_PROTOCOL__SOCKS5_TCP ?
	    d->method : c->head.method;
	d->client = c->peer;
}

static char *
reason_text(enum net_reason r)
{
	return (char *)(uintptr_t)net_reason_word(r);
}

static void
tell_allowed(struct proxy_conn *c)
{
	Ipc__ProxyDecision	 d;

	decision_init(c, &d);
	d.verdict = IPC__PROXY_VERDICT__PROXY_ALLOW;
	d.overrides = c->is_override;
	d.source = c->is_asked ? IPC__PROXY_SOURCE__DECIDER :
	    IPC__PROXY_SOURCE__BASELINE_POLICY;
	d.reason = reason_text(c->is_override ? NET_UNLISTED : NET_ALLOW);
	c->net->events->on_decision(c->net->arg, &d);
}

static void
conn_refuse(struct proxy_conn *c, Ipc__ProxyVerdict verdict,
    Ipc__ProxySource source, enum net_reason why, const char *reason)
{
	Ipc__ProxyDecision	 d;

	decision_init(c, &d);
	d.verdict = verdict;
	d.source = source;
	d.reason = (char *)(uintptr_t)reason;
	d.is_general = source == IPC__PROXY_SOURCE__MODE_GUARD;
	c->net->events->on_decision(c->net->arg, &d);
	conn_refused(c, verdict, source, why, reason);
}

static void
refuse_by(struct proxy_conn *c, Ipc__ProxySource source, enum net_reason why)
{
	conn_refuse(c, IPC__PROXY_VERDICT__PROXY_DENY, source, why,
	    net_reason_word(why));
}

void
conn_tell_unix(struct proxy_conn *c)
{
	Ipc__ProxyDecision	 d;
	char			 host[] = "unix-socket";

	decision_init(c, &d);
	d.host = host;
	d.port = 0;
	d.verdict = IPC__PROXY_VERDICT__PROXY_DENY;
	d.source = IPC__PROXY_SOURCE__PROXY_STATE;
	d.reason = reason_text(NET_UNIX);
	d.is_general = true;
	c->net->events->on_decision(c->net->arg, &d);
}

/* --- connecting --- */

static void
judge_on_connected(void *arg, int fd, int error)
{
	struct proxy_conn	*c = arg;
	char			 host[NETHOST_MAX + 16], text[1024];
	char			 auth[B64_ENCODED_LEN(sizeof(c->via->secret)) +
				    1] = "";
	int			 n;

	assert(c->state == CONN_CONNECTING);
	c->connect = NULL;
	if (fd == -1) {
		conn_failed(c, error);
		conn_update(c);
		return;
	}
	conn_open_server(c, fd);
	if (c->via == NULL || c->protocol !=
	    IPC__PROXY_PROTOCOL__HTTPS_CONNECT) {
		conn_reached(c);
		conn_update(c);
		return;
	}
	conn_set_state(c, CONN_UPSTREAM);
	if (c->via->secret[0] != '\0')
		auth[b64_encode(auth, (const uint8_t *)c->via->secret,
		    strlen(c->via->secret))] = '\0';
	nethost_authority(&c->host, c->port, 0, host);
	n = snprintf(text, sizeof(text), "CONNECT %s HTTP/1.1\r\nHost: %s\r\n"
	    "%s%s%s\r\n", host, host,
	    auth[0] != '\0' ? "Proxy-Authorization: Basic " : "", auth,
	    auth[0] != '\0' ? "\r\n" : "");
	assert(n > 0 && (size_t)n < sizeof(text));
	conn_send(c, &c->server, text, (size_t)n);
	explicit_bzero(text, sizeof(text));
	explicit_bzero(auth, sizeof(auth));
	conn_update(c);
}

void
conn_on_upstream(struct proxy_conn *c)
{
	struct proxyreply	 r;
	size_t			 len;
	ssize_t			 n;

	assert(c->state == CONN_UPSTREAM);
	if ((n = conn_read(c, &c->server)) == -1 || n == -2)
		return;
	if (n == 0 || buf_put(&c->reply, c->net->shared->scratch,
	    (size_t)n) == -1) {
		conn_failed(c, ECONNRESET);
		return;
	}
	if ((len = proxyhead_end((char *)buf_data(&c->reply),
	    c->reply.len)) == 0)
		return;
	proxyhead_reply((char *)buf_data(&c->reply), len, "HEAD", &r);
	if (!r.is_valid || r.status / 100 != 2) {
		conn_failed(c, ECONNREFUSED);
		return;
	}
	buf_drain(&c->reply, len);
	conn_reached(c);
	conn_send(c, &c->client, buf_data(&c->reply), c->reply.len);
	buf_fini(&c->reply);
}

static void
connect_to(struct proxy_conn *c, const struct netaddr *list, size_t n,
    uint16_t port)
{
	assert(c->connect == NULL && c->query == NULL);
	if (c->state != CONN_CONNECTING)
		conn_set_state(c, CONN_CONNECTING);
	proxy_side_close(&c->server);
	c->is_reused = false;
	if (n == 0)
		conn_failed(c, EHOSTUNREACH);
	else if ((c->connect = proxy_connect_start(c->net->shared->base, list,
	    n, port, judge_on_connected, c)) == NULL)
		conn_failed(c, ENOMEM);
}

static void
on_via_names(void *arg, const struct netaddr *list, size_t n)
{
	struct proxy_conn	*c = arg;

	assert(c->via != NULL && c->state == CONN_CONNECTING);
	c->query = NULL;
	connect_to(c, list, n, c->via->port);
	conn_update(c);
}

/* Find another proxy to go through.  -1: out of memory, or it is no proxy. */
static int
choose_proxy(struct proxy_conn *c)
{
	struct target	 t;
	const char	*text;

	free(c->via);
	c->via = NULL;
	if (!c->net->uses_upstream || c->protocol ==
	    IPC__PROXY_PROTOCOL__SOCKS5_TCP || nethost_is_local(&c->host))
		return 0;
	memset(&t, 0, sizeof(t));
	t.is_tls = c->protocol == IPC__PROXY_PROTOCOL__HTTPS_CONNECT;
	t.port = c->port;
	snprintf(t.host, sizeof(t.host), "%s", c->host.text);
	nethost_authority(&c->host, c->port, 0, t.authority);
	if ((text = proxy_choose(&c->net->shared->upstream, &t)) == NULL)
		return 0;
	if ((c->via = calloc(1, sizeof(*c->via))) == NULL)
		return -1;
	return proxy_parse(c->via, text);
}

/* The proxy of the environment: an address, or a name. */
static void
reach_proxy(struct proxy_conn *c)
{
	struct nethost	 h;

	if (nethost_set(&h, c->via->host, strlen(c->via->host)) == -1) {
		conn_failed(c, EINVAL);
	} else if (!nethost_is_name(&h)) {
		connect_to(c, &h.addr, 1, c->via->port);
	} else if (nethost_is_local(&h)) {
		connect_to(c, loopback, 2, c->via->port);
	} else {
		conn_set_state(c, CONN_CONNECTING);
		if ((c->query = proxy_names_find(c->net->shared->names,
		    h.text, on_via_names, c)) == NULL)
			conn_failed(c, ENOMEM);
	}
}

void
conn_reach_again(struct proxy_conn *c)
{
	if (c->via != NULL)
		reach_proxy(c);
	else
		connect_to(c, c->list, c->n, c->port);
}

void
conn_reach_loopback(struct proxy_conn *c, uint16_t port)
{
	connect_to(c, loopback, 1, port);
}

/* --- deciding --- */

/*
 * Check all addresses and keep them.  NET_ALLOW, or why not; NET_LOCAL also if
 * there are none.
 */
static enum net_reason
keep_addresses(struct proxy_conn *c, const struct netaddr *list, size_t n)
{
	enum net_reason	 r, worst = n == 0 ? NET_LOCAL : NET_ALLOW;
	size_t		 i;

	for (i = 0; i < n; i++) {
		/* The kernel is asked only if it matters. */
		r = netrules_address(&c->net->rules, &c->host, &list[i], true);
		if (r == NET_LOCAL && !proxy_connect_is_own(&list[i]))
			r = netrules_address(&c->net->rules, &c->host,
			    &list[i], false);
		if (r != NET_ALLOW && worst != NET_LOCAL)
			worst = r;
	}
	assert(n <= PROXY_NAMES_MAX);
	memcpy(c->list, list, n * sizeof(*list));
	c->n = n;
	return worst;
}

/* The addresses are known and checked. */
static void
conn_reach(struct proxy_conn *c)
{
	bool	 is_via;

	assert(c->n > 0 && c->n <= PROXY_NAMES_MAX);
	if (choose_proxy(c) == -1) {
		conn_failed(c, EINVAL);
		return;
	}
	is_via = c->via != NULL;
	if (c->protocol == IPC__PROXY_PROTOCOL__PLAIN_HTTP &&
	    c->head.body == PROXYBODY_NONE && c->server.fd != -1 &&
	    !c->server_is_via && !is_via &&
	    c->server_port == c->port &&
	    strcmp(c->server_host.text, c->host.text) == 0) {
		c->is_reused = true;
		conn_reached(c);
		return;
	}
	c->server_host = c->host;
	c->server_port = c->port;
	c->server_is_via = is_via;
	conn_reach_again(c);
}

/* Addresses of a host that is allowed already, also by local addresses. */
static void
on_late_names(void *arg, const struct netaddr *list, size_t n)
{
	struct proxy_conn	*c = arg;
	enum net_reason		 r;

	c->query = NULL;
	if (n == 0)
		conn_failed(c, EHOSTUNREACH);
	else if ((r = keep_addresses(c, list, n)) != NET_ALLOW)
		refuse_by(c, IPC__PROXY_SOURCE__BASELINE_POLICY, r);
	else
		conn_reach(c);
	conn_update(c);
}

/* The host is allowed; with or without addresses, by its text. */
static void
conn_allowed(struct proxy_conn *c)
{
	const char	*method;
	enum net_reason	 r;

	tell_allowed(c);
	method = c->protocol == IPC__PROXY_PROTOCOL__SOCKS5_TCP ? NULL :
	    c->head.method;
	if ((r = netrules_mode(&c->net->rules, method)) != NET_ALLOW) {
		refuse_by(c, IPC__PROXY_SOURCE__MODE_GUARD, r);
		return;
	}
	if (c->n > 0) {
		conn_reach(c);
		return;
	}
	if (nethost_is_local(&c->host))
		on_late_names(c, loopback, 2);
	else if ((c->query = proxy_names_find(c->net->shared->names,
	    c->host.text, on_late_names, c)) == NULL)
		conn_failed(c, ENOMEM);
}

static void
on_names(void *arg, const struct netaddr *list, size_t n)
{
	struct proxy_conn	*c = arg;
	enum net_reason		 r = keep_addresses(c, list, n);

	c->query = NULL;
	if (r == NET_POLICY)
		tell_allowed(c);	/* the name was; its address is not */
	if (r != NET_ALLOW)
		refuse_by(c, IPC__PROXY_SOURCE__BASELINE_POLICY, r);
	else
		conn_allowed(c);
	conn_update(c);
}

/* The host may be reached if its addresses may. */
static void
conn_go_on(struct proxy_conn *c)
{
	c->n = 0;
	if (!nethost_is_name(&c->host))
		on_names(c, &c->host.addr, 1);
	else if (!netrules_wants_addresses(&c->net->rules, &c->host))
		conn_allowed(c);
	else if ((c->query = proxy_names_find(c->net->shared->names,
	    c->host.text, on_names, c)) == NULL)
		conn_failed(c, ENOMEM);
}

static void
conn_ask(struct proxy_conn *c)
{
	Ipc__ProxyAsk	 out = IPC__PROXY_ASK__INIT;

	assert(c->question == 0);
	c->question = out.id = ++c->net->shared->last_question;
	c->is_asked = true;
	out.protocol = c->protocol;
	out.host = c->host.text;
	out.port = c->port;
	c->net->events->on_ask(c->net->arg, &out);
}

void
conn_answered(struct proxy_conn *c, Ipc__ProxyVerdict verdict,
    const char *reason)
{
	assert(c->state == CONN_JUDGING && c->is_asked);
	if (verdict != IPC__PROXY_VERDICT__PROXY_ALLOW) {
		conn_refuse(c, verdict, IPC__PROXY_SOURCE__DECIDER,
		    strcmp(reason, net_reason_word(NET_UNLISTED)) == 0 ?
		    NET_UNLISTED : NET_POLICY, reason);
		return;
	}
	c->is_override = !netrules_lists(&c->net->rules, &c->host);
	conn_go_on(c);
}

void
conn_judge(struct proxy_conn *c)
{
	enum net_reason	 why;

	conn_set_state(c, CONN_JUDGING);
	assert(c->query == NULL && c->connect == NULL && c->question == 0);
	c->is_asked = c->is_override = false;
	if (c->protocol == IPC__PROXY_PROTOCOL__SOCKS5_TCP &&
	    (why = netrules_mode(&c->net->rules, NULL)) != NET_ALLOW) {
		refuse_by(c, IPC__PROXY_SOURCE__MODE_GUARD, why);
		return;
	}
	switch (netrules_judge(&c->net->rules, &c->host, &why)) {
	case NETRULES_REFUSED:
		refuse_by(c, IPC__PROXY_SOURCE__BASELINE_POLICY, why);
		break;
	case NETRULES_UNDECIDED:
		conn_ask(c);
		break;
	case NETRULES_ALLOWED:
		conn_go_on(c);
		break;
	}
}
