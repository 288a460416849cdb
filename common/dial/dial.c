#include "common/dial/dial.h"

#include <openssl/ssl.h>

#include <assert.h>
#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/dial/dial_reason.h"
#include "common/log.h"

#define WHY_MAX		160	/* bytes of a reason that are kept */
#define PATH_SHORT	1024	/* bytes of a path that libwebsockets writes */
#define STAND_IN	"/a-path-that-is-longer"

struct dial {
	struct dialer			*dialer;
	const struct dial_events	*events;
	void				*arg;
	const char			*method;
	struct target			 target;
	struct proxy			 proxy;
	bool				 has_proxy;
	struct resolve_query		*query;
	struct resolve_answer		 addresses;
	size_t				 next;		/* to be tried */
	struct lws			*wsi;
	bool				 is_up;
	bool				 is_distrusted;
	bool				 is_unreached;	/* the last one */
	struct dial_reason		*reason;
	struct wsloop_timer		 late, again;
	unsigned			 status;
	char				 why[WHY_MAX];
};

static int	 on_client(struct lws *, enum lws_callback_reasons, void *,
		    void *, size_t);
static void	 try_next(void *arg);

static const struct lws_protocols protocols[] = {
	{ .name = "client", .callback = on_client,
	    .rx_buffer_size = 64 * 1024 },
	{ .name = NULL }
};

/* --- the dialer --- */

static int
dial_take(const char *name, const char *other, char **out)
{
	const char	*value = getenv(name);

	if (value == NULL && other != NULL)
		value = getenv(other);
	if (value != NULL && (*out = strdup(value)) == NULL)
		return -1;
	return 0;
}

int
dialer_take_env(struct dialer *d)
{
	static const char *const	 names[] = {
		"https_proxy", "HTTPS_PROXY", "http_proxy", "HTTP_PROXY",
		"all_proxy", "ALL_PROXY", "no_proxy", "NO_PROXY",
		"socks_proxy"
	};
	size_t				 i;

	memset(d, 0, sizeof(*d));
	if (dial_take("https_proxy", "HTTPS_PROXY", &d->env.https) == -1 ||
	    dial_take("http_proxy", NULL, &d->env.http) == -1 ||
	    dial_take("all_proxy", "ALL_PROXY", &d->env.all) == -1 ||
	    dial_take("no_proxy", "NO_PROXY", &d->env.none) == -1)
		return -1;
	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		unsetenv(names[i]);
	return 0;
}

/* The system's certificates in one file, where distributions put it. */
static const char *
system_ca(void)
{
	static const char *const	 files[] = {
		"/etc/ssl/certs/ca-certificates.crt",
		"/etc/pki/tls/certs/ca-bundle.crt",
		"/etc/ssl/ca-bundle.pem", "/etc/ssl/cert.pem",
		"/var/lib/ca-certificates/ca-bundle.pem"
	};
	const char	*given = getenv("SSL_CERT_FILE");
	size_t		 i;

	if (given != NULL && given[0] == '/')
		return given;
	for (i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		if (access(files[i], R_OK) == 0)
			return files[i];
	return NULL;
}

static struct lws_vhost *
new_vhost(struct wsloop *l, const char *name, const char *ca)
{
	struct lws_context_creation_info	 info;

	memset(&info, 0, sizeof(info));
	info.port = CONTEXT_PORT_NO_LISTEN;
	info.protocols = protocols;
	info.vhost_name = name;
	info.options = LWS_SERVER_OPTION_DO_SSL_GLOBAL_INIT;
	info.client_ssl_ca_filepath = ca;
	/* Only those of the file. */
	if (ca != NULL)
		info.options |= LWS_SERVER_OPTION_DISABLE_OS_CA_CERTS;
	info.ssl_client_options_set = SSL_OP_NO_SSLv3 | SSL_OP_NO_TLSv1 |
	    SSL_OP_NO_TLSv1_1;
	/* All connections have earlier limits. */
	info.timeout_secs = 30;
	info.connect_timeout_secs = 30;
	return lws_create_vhost(l->lws, &info);
}

/*
 * libwebsockets ignores a file without certificates.  0, or -1 with errno, or 0
 * in it, after a line in the log.
 */
static int
check_certificates(const char *file)
{
	X509_STORE	*store;
	int		 error;
	bool		 has;

	if (access(file, R_OK) == -1) {
		error = errno;
		log_warn("%s", file);
		errno = error;
		return -1;
	}
	store = X509_STORE_new();
	has = store != NULL &&
	    X509_STORE_load_locations(store, file, NULL) == 1;
	X509_STORE_free(store);
	if (has)
		return 0;
	log_warnx("%s: no certificates", file);
	errno = 0;
	return -1;
}

int
dialer_init(struct dialer *d, struct wsloop *l, struct resolver *r,
    const char *ca_file)
{
	const char	*ca = ca_file[0] != '\0' ? ca_file : system_ca();

	assert(l->lws != NULL && d->direct == NULL);
	d->loop = l;
	d->resolver = r;
	if (ca != NULL && check_certificates(ca) == -1)
		return -1;
	if ((d->direct = new_vhost(l, "direct", ca)) == NULL ||
	    (d->proxied[0] = new_vhost(l, "proxied", ca)) == NULL ||
	    (d->proxied[1] = new_vhost(l, "proxied-tls", ca)) == NULL) {
		log_warnx("%s: no usable certificates",
		    ca == NULL ? "TLS" : ca);
		errno = 0;
		return -1;
	}
	return 0;
}

void
dialer_fini(struct dialer *d)
{
	free(d->env.https);
	free(d->env.http);
	free(d->env.all);
	free(d->env.none);
	memset(&d->env, 0, sizeof(d->env));
	if (d->head != NULL)
		wsloop_timer_clear(d->loop, &d->wipe);
}

const char *
dialer_trouble(const struct dialer *d, const struct target *t)
{
	const char	*proxy = proxy_choose(&d->env, t);
	struct proxy	 p;

	/* The text of a proxy may contain a password: not in the log. */
	return proxy == NULL || proxy_parse(&p, proxy) == 0 ? NULL :
	    "the proxy that the environment names is not http://HOST:PORT, "
	    "and others are not supported";
}

/* --- one connection --- */

/* For the log: control characters and bytes beyond ASCII become "?". */
static void
dial_printable(char *text)
{
	for (; *text != '\0'; text++)
		if (*text < ' ' || *text > '~')
			*text = '?';
}

static void
dial_end(struct dial *c)
{
	c->events->on_end(c->arg, c->status, c->why);
}

static void
dial_note(struct dial *c, const char *why, size_t len)
{
	snprintf(c->why, sizeof(c->why), "%.*s", (int)(len < WHY_MAX ? len :
	    WHY_MAX - 1), why);
	dial_printable(c->why);
}

/* Return why the certificate was refused, or NULL; lws does not tell. */
static const char *
certificate_trouble(struct lws *wsi)
{
	SSL	*ssl = wsi == NULL ? NULL : lws_get_ssl(wsi);
	long	 r = ssl == NULL ? X509_V_OK : SSL_get_verify_result(ssl);

	return r == X509_V_OK ? NULL : X509_verify_cert_error_string(r);
}

static bool
begins_with(const char *why, size_t len, const char *text)
{
	return why != NULL && len >= strlen(text) &&
	    memcmp(why, text, strlen(text)) == 0;
}

/* Connecting failed, in the words of libwebsockets 4.1 and of 4.3. */
static bool
is_unconnected(const char *why, size_t len)
{
	return begins_with(why, len, "Unable to connect") ||
	    begins_with(why, len, "conn fail");
}

/* It is connected, and that failed: a code that OpenSSL knows. */
static bool
is_tls_failure(const char *why, size_t len)
{
	return why != NULL && (memmem(why, len, "SSL err", 7) != NULL ||
	    begins_with(why, len, "tls: "));
}

/*
 * Not connected.  If there was no answer try the next address; from the loop,
 * since libwebsockets is closing this connection right now.
 */
static void
dial_on_failure(struct dial *c, struct lws *wsi, const char *why, size_t len)
{
	static const char	 no_tls[] = "the server does not speak TLS, or "
				    "in no way that is accepted here";
	const char		*refused = certificate_trouble(wsi);
	char			 text[WHY_MAX];

	assert(c->wsi == NULL);
	c->status = wsi == NULL ? 0 : lws_http_client_http_response(wsi);
	c->is_unreached = c->status == 0 && is_unconnected(why, len);
	if (refused != NULL) {
		c->is_distrusted = true;
		snprintf(text, sizeof(text), "certificate of %.60s: %.60s",
		    c->target.host, refused);
		dial_note(c, text, strlen(text));
	} else if (c->target.is_tls && !c->is_distrusted &&
	    is_tls_failure(why, len)) {
		dial_note(c, no_tls, strlen(no_tls));
	} else if (why != NULL && len > 0 && !c->is_distrusted) {
		/* A refused certificate tells more than the next address. */
		dial_note(c, why, len);
	}
	wsloop_timer_set(c->dialer->loop, &c->again, 0, try_next, c);
}

/* Whether user is a dial: not so in other callbacks. */
static bool
is_about_dial(enum lws_callback_reasons reason)
{
	switch (reason) {
	case LWS_CALLBACK_CLIENT_CONNECTION_ERROR:
	case LWS_CALLBACK_CLIENT_APPEND_HANDSHAKE_HEADER:
	case LWS_CALLBACK_CLIENT_ESTABLISHED:
	case LWS_CALLBACK_CLIENT_RECEIVE:
	case LWS_CALLBACK_CLIENT_RECEIVE_PONG:
	case LWS_CALLBACK_CLIENT_WRITEABLE:
	case LWS_CALLBACK_CLIENT_CLOSED:
	case LWS_CALLBACK_WS_PEER_INITIATED_CLOSE:
	case LWS_CALLBACK_ESTABLISHED_CLIENT_HTTP:
	case LWS_CALLBACK_CLIENT_HTTP_WRITEABLE:
	case LWS_CALLBACK_RECEIVE_CLIENT_HTTP:
	case LWS_CALLBACK_RECEIVE_CLIENT_HTTP_READ:
	case LWS_CALLBACK_COMPLETED_CLIENT_HTTP:
	case LWS_CALLBACK_CLOSED_CLIENT_HTTP:
		return true;
	default:
		return false;
	}
}

static void
wipe_head(void *arg)
{
	struct dialer	*d = arg;

	assert(d->head != NULL && d->head <= d->head_end);
	sodium_memzero(d->head, (size_t)(d->head_end - d->head));
	d->head = d->head_end = NULL;
}

/*
 * Request fields may contain a credential.  libwebsockets sends them from a
 * shared buffer when we return, and leaves them there: wipe it by a timer, when
 * the buffer is not in use.
 */
static int
put_fields(struct dial *c, struct lws *wsi, void *in, size_t len)
{
	struct dialer	*d = c->dialer;
	uint8_t		**p = in, *from = *p;
	int		 r;

	r = c->events->on_event(c->arg, wsi,
	    LWS_CALLBACK_CLIENT_APPEND_HANDSHAKE_HEADER, in, len);
	if (d->head == NULL || from < d->head)
		d->head = from;
	if (*p > d->head_end)
		d->head_end = *p;
	wsloop_timer_set(d->loop, &d->wipe, 0, wipe_head, d);
	return r;
}

static bool
is_path_long(const struct dial *c)
{
	return strlen(c->target.path) > PATH_SHORT;
}

/*
 * libwebsockets truncates a request line to 2 KiB.  For a long path it writes
 * STAND_IN, which we replace while only a few short lines follow it.  *p is
 * their end, *len the room behind.
 */
static int
dial_put_path(const struct dial *c, uint8_t **p, size_t *len)
{
	static const char	 line[] = " " STAND_IN " HTTP/1.1\r\n";
	size_t			 n = strlen(STAND_IN);
	size_t			 grows = strlen(c->target.path) - n;
	size_t			 behind = sizeof(line) - 1;
	uint8_t			*at = *p - behind;

	assert(is_path_long(c));
	while (memcmp(at, line, behind) != 0)
		if (*p - at-- > PATH_SHORT)
			break;
	if (memcmp(at, line, behind) != 0 || *len < grows) {
		log_warnx("%s: a path of %zu bytes is too long for a request",
		    c->target.host, strlen(c->target.path));
		return -1;
	}
	at++;
	memmove(at + n + grows, at + n, (size_t)(*p - at) - n);
	memcpy(at, c->target.path, n + grows);
	*p += grows;
	*len -= grows;
	return 0;
}

static int
on_client(struct lws *wsi, enum lws_callback_reasons reason, void *user,
    void *in, size_t len)
{
	struct dial	*c = user;

	if (!is_about_dial(reason))
		return 0;
	/* Freed by dial_free(): close. */
	if (c == NULL)
		return -1;
	switch (reason) {
	case LWS_CALLBACK_CLIENT_CONNECTION_ERROR:
		/* More callbacks follow, perhaps after dial_free(). */
		lws_set_wsi_user(wsi, NULL);
		c->wsi = NULL;
		dial_on_failure(c, wsi, in, in == NULL ? 0 : len);
		return 0;
	case LWS_CALLBACK_CLOSED_CLIENT_HTTP:
	case LWS_CALLBACK_CLIENT_CLOSED:
		lws_set_wsi_user(wsi, NULL);
		c->wsi = NULL;
		if (c->why[0] == '\0')
			dial_note(c, "connection closed", 17);
		dial_end(c);
		return 0;
	case LWS_CALLBACK_CLIENT_APPEND_HANDSHAKE_HEADER:
		if (is_path_long(c) && dial_put_path(c, in, &len) == -1)
			return -1;
		return put_fields(c, wsi, in, len);
	case LWS_CALLBACK_ESTABLISHED_CLIENT_HTTP:
	case LWS_CALLBACK_CLIENT_ESTABLISHED:
		c->is_up = true;
		c->status = lws_http_client_http_response(wsi);
		break;
	default:
		break;
	}
	return c->events->on_event(c->arg, wsi, reason, in, len);
}

int
dial_put_field(struct lws *wsi, const char *name, const char *value,
    uint8_t **p, uint8_t *end)
{
	return lws_add_http_header_by_name(wsi, (const uint8_t *)name,
	    (const uint8_t *)value, (int)strlen(value), p, end);
}

int
dial_pull(struct lws *wsi)
{
	char	 room[LWS_PRE + 4096], *p = room + LWS_PRE;
	int	 n = sizeof(room) - LWS_PRE;

	return lws_http_client_read(wsi, &p, &n) < 0 ? -1 : 0;
}

static struct lws *
dial_connect_to(struct dial *c, const char *address)
{
	struct lws_client_connect_info	 i;
	const struct target		*t = &c->target;
	char				 proxy[TARGET_HOST + 128];

	memset(&i, 0, sizeof(i));
	i.context = c->dialer->loop->lws;
	i.vhost = c->dialer->direct;
	i.address = address;
	if (c->has_proxy) {
		/* The proxy resolves the host; address is the proxy's. */
		snprintf(proxy, sizeof(proxy), strchr(address, ':') != NULL ?
		    "%s%s[%s]:%u" : "%s%s%s:%u", c->proxy.secret,
		    c->proxy.secret[0] != '\0' ? "@" : "", address,
		    c->proxy.port);
		if (lws_set_proxy(c->dialer->proxied[t->is_tls], proxy) != 0)
			return NULL;
		i.vhost = c->dialer->proxied[t->is_tls];
		i.address = t->host;
	}
	i.port = t->port;
	i.host = t->authority;
	i.path = is_path_long(c) ? STAND_IN : t->path;
	i.method = c->method;
	i.ssl_connection = LCCSCF_HTTP_NO_FOLLOW_REDIRECT |
	    (t->is_tls ? LCCSCF_USE_SSL : 0);
	i.alpn = "http/1.1";
	i.local_protocol_name = protocols[0].name;
	i.userdata = c;
	return lws_client_connect_via_info(&i);
}

static void
dial_on_reason(void *arg, int error)
{
	struct dial	*c = arg;
	const char	*text = strerror(error);

	dial_reason_free(&c->reason);
	if (error != 0 && !c->is_distrusted)
		dial_note(c, text, strlen(text));
	dial_end(c);
}

/* No address is left: say why of the last one. */
static void
dial_give_up(struct dial *c)
{
	if (c->is_unreached && c->next > 0)
		c->reason = dial_reason_new(c->dialer->loop,
		    c->addresses.address[c->next - 1], c->has_proxy ?
		    c->proxy.port : c->target.port, dial_on_reason, c);
	if (c->reason == NULL)
		dial_end(c);
}

static void
try_next(void *arg)
{
	struct dial	*c = arg;

	assert(c->query == NULL && c->wsi == NULL);
	while (c->status == 0 && c->next < c->addresses.n) {
		c->wsi = dial_connect_to(c, c->addresses.address[c->next++]);
		if (c->wsi == NULL)
			continue;
		/* A failure at once may have set it. */
		wsloop_timer_clear(c->dialer->loop, &c->again);
		return;
	}
	if (c->why[0] == '\0')
		dial_note(c, "no connection", 13);
	dial_give_up(c);
}

static void
on_addresses(void *arg, const struct resolve_answer *a)
{
	struct dial	*c = arg;

	assert(c->query != NULL && c->next == 0 && c->addresses.n == 0);
	c->query = NULL;
	c->addresses = *a;
	if (a->n == 0)
		dial_note(c, "host not found", 14);
	try_next(c);
}

static void
dial_on_late(void *arg)
{
	struct dial	*c = arg;

	c->status = 0;
	dial_note(c, "no answer in time", 17);
	dial_end(c);
}

struct dial *
dial_new(struct dialer *d, const struct target *t, const char *method,
    uint64_t ms, const struct dial_events *events, void *arg)
{
	const char	*proxy = proxy_choose(&d->env, t);
	struct dial	*c;

	assert(d->loop != NULL && d->resolver != NULL);
	if ((c = calloc(1, sizeof(*c))) == NULL)
		return NULL;
	c->dialer = d;
	c->events = events;
	c->arg = arg;
	c->method = method;
	c->target = *t;
	if (proxy != NULL) {
		c->has_proxy = true;
		if (proxy_parse(&c->proxy, proxy) == -1) {
			log_warnx("%s", dialer_trouble(d, t));
			goto fail;
		}
	}
	if ((c->query = resolve(d->resolver, c->has_proxy ? c->proxy.host :
	    t->host, on_addresses, c)) == NULL)
		goto fail;
	wsloop_timer_set(d->loop, &c->late, ms, dial_on_late, c);
	return c;
 fail:
	free(c);
	errno = EINVAL;
	return NULL;
}

bool
dial_is_distrusted(const struct dial *c)
{
	return c->is_distrusted;
}

void
dial_done(struct dial *c)
{
	wsloop_timer_clear(c->dialer->loop, &c->late);
}

void
dial_free(struct dial **cp)
{
	struct dial	*c = *cp;

	*cp = NULL;
	if (c == NULL)
		return;
	resolve_cancel(&c->query);
	dial_reason_free(&c->reason);
	wsloop_timer_clear(c->dialer->loop, &c->late);
	wsloop_timer_clear(c->dialer->loop, &c->again);
	if (c->wsi != NULL) {
		lws_set_wsi_user(c->wsi, NULL);
		lws_set_timeout(c->wsi, PENDING_TIMEOUT_USER_OK,
		    LWS_TO_KILL_ASYNC);
	}
	memset(&c->proxy, 0, sizeof(c->proxy));
	free(c);
}
