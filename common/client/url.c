#include "common/client/url.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "common/client/error.h"

/* --- reading --- */

/* The public header includes nothing of ours and repeats these. */
#define SAME(name)	_Static_assert((int)ENDPOINT_##name == \
			    (int)EXECSRV_URL_##name, #name)
SAME(OK);
SAME(SCHEME);
SAME(HOST);
SAME(PORT);
SAME(PATH);
SAME(LONG);
SAME(NAME);
SAME(TAIL);
SAME(RELATIVE);
#undef SAME
_Static_assert((int)ENDPOINT_WS == (int)EXECSRV_WS &&
    (int)ENDPOINT_UNIX == (int)EXECSRV_UNIX &&
    (int)ENDPOINT_STDIO == (int)EXECSRV_STDIO, "kinds");

static void
client_url_give(const struct endpoint *ep, struct execsrv_url *u)
{
	u->kind = (enum execsrv_url_kind)ep->kind;
	memcpy(u->host, ep->host, sizeof(u->host));
	u->port = ep->port;
	memcpy(u->path, ep->path, sizeof(u->path));
	u->is_local = ep->is_local;
}

static enum execsrv_url_error
read_url(const char *text, struct execsrv_url *u, bool is_listener)
{
	struct endpoint		 ep;
	enum endpoint_error	 error;

	error = endpoint_parse(&ep, text != NULL ? text :
	    EXECSRV_DEFAULT_URL);
	if (error == ENDPOINT_OK && is_listener)
		error = endpoint_check_listen(&ep);
	memset(u, 0, sizeof(*u));
	if (error == ENDPOINT_OK)
		client_url_give(&ep, u);
	return (enum execsrv_url_error)error;
}

enum execsrv_url_error
execsrv_url_parse(const char *text, struct execsrv_url *u)
{
	return read_url(text, u, false);
}

enum execsrv_url_error
execsrv_url_parse_listen(const char *text, struct execsrv_url *u)
{
	return read_url(text, u, true);
}

const char *
execsrv_url_strerror(enum execsrv_url_error error)
{
	return endpoint_strerror((enum endpoint_error)error);
}

/* --- to connect to --- */

static void
format_host(const struct endpoint *ep, struct execsrv_address *a)
{
	if (ep->kind == ENDPOINT_UNIX) {
		strcpy(a->host, "localhost");
		strcpy(a->path, "/");
		return;
	}
	snprintf(a->host, sizeof(a->host), strchr(ep->host, ':') != NULL ?
	    "[%s]:%u" : "%s:%u", ep->host, (unsigned)ep->port);
	strcpy(a->path, ep->path);
	a->is_name = strcmp(ep->host, "localhost") == 0;
}

/* For clients: they have other schemes and ports than listeners. */
static const char *
why_not(enum endpoint_error error)
{
	switch (error) {
	case ENDPOINT_SCHEME:
		return "unknown scheme";
	case ENDPOINT_HOST:
		return "neither an address nor the name of a host";
	case ENDPOINT_PORT:
		return "the port must be 1 to 65535";
	default:
		return endpoint_strerror(error);
	}
}

int
execsrv_address_parse(const char *text, struct execsrv_address *a,
    struct execsrv_error *e)
{
	struct endpoint		 ep;
	enum endpoint_error	 error = endpoint_parse(&ep, text);

	memset(a, 0, sizeof(*a));
	if (error == ENDPOINT_OK && ep.kind == ENDPOINT_WS && ep.port == 0)
		error = ENDPOINT_PORT;
	if (error == ENDPOINT_OK && ep.kind == ENDPOINT_STDIO)
		error = ENDPOINT_SCHEME;
	if (error != ENDPOINT_OK) {
		execsrv_error_set(e, EXECSRV_WHY_ARGUMENT, "%.200s: %s; "
		    "expected ws://HOST:PORT, wss://HOST, "
		    "unix:PATH or remote:ENVIRONMENT@https://REGISTRY", text,
		    why_not(error));
		return -1;
	}
	a->is_local = ep.is_local;
	a->len = endpoint_address(&ep, &a->addr);
	format_host(&ep, a);
	return 0;
}

void
execsrv_address_v6(struct execsrv_address *a)
{
	in_port_t	 port = a->addr.in.sin_port;

	assert(a->is_name && a->addr.any.sa_family == AF_INET);
	memset(&a->addr, 0, sizeof(a->addr));
	a->addr.in6.sin6_family = AF_INET6;
	a->addr.in6.sin6_port = port;
	a->addr.in6.sin6_addr = in6addr_loopback;
	a->len = sizeof(a->addr.in6);
	a->is_name = false;
}
