#include "common/net/endpoint.h"

#include <arpa/inet.h>
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define WS		"ws://"
#define UNIX		"unix:"

static enum endpoint_error
parse_unix(const char *path, struct endpoint *ep)
{
	size_t	 n = strlen(path);

	if (n == 0)
		return ENDPOINT_PATH;
	if (n >= sizeof(((struct sockaddr_un *)0)->sun_path))
		return ENDPOINT_LONG;
	ep->kind = ENDPOINT_UNIX;
	ep->is_local = true;
	memcpy(ep->path, path, n + 1);
	return ENDPOINT_OK;
}

/* Copy a path and query for the request: printable ASCII only. */
static enum endpoint_error
parse_path(const char *text, struct endpoint *ep)
{
	const char	*p;
	int		 n;

	for (p = text; *p != '\0'; p++)
		if (*p <= ' ' || *p >= 0x7f || *p == '#')
			return ENDPOINT_PATH;
	n = snprintf(ep->path, sizeof(ep->path), "%s%s",
	    *text == '/' ? "" : "/", text);
	return (size_t)n < sizeof(ep->path) ? ENDPOINT_OK : ENDPOINT_LONG;
}

static enum endpoint_error
parse_port(const char *text, size_t len, struct endpoint *ep)
{
	char		 digits[6];
	unsigned long	 n;

	if (len == 0 || len >= sizeof(digits) ||
	    strspn(text, "0123456789") != len)
		return ENDPOINT_PORT;
	memcpy(digits, text, len);
	digits[len] = '\0';
	if ((n = strtoul(digits, NULL, 10)) > 65535)
		return ENDPOINT_PORT;
	ep->port = (uint16_t)n;
	return ENDPOINT_OK;
}

static enum endpoint_error
check_host(struct endpoint *ep, bool is_v6)
{
	struct in6_addr	 v6;
	struct in_addr	 v4;

	if (is_v6) {
		if (inet_pton(AF_INET6, ep->host, &v6) != 1)
			return ENDPOINT_HOST;
		ep->is_local = IN6_IS_ADDR_LOOPBACK(&v6);
	} else if (strcmp(ep->host, "localhost") == 0) {
		ep->is_local = true;
	} else {
		if (inet_pton(AF_INET, ep->host, &v4) != 1)
			return ENDPOINT_HOST;
		ep->is_local = ntohl(v4.s_addr) >> 24 == 127;
	}
	return ENDPOINT_OK;
}

static enum endpoint_error
parse_tcp(const char *text, struct endpoint *ep)
{
	enum endpoint_error	 error;
	size_t			 n = strcspn(text, "/?");
	const char		*end = text + n, *host = text, *stop;
	bool			 is_v6 = text[0] == '[';

	if ((error = parse_path(end, ep)) != ENDPOINT_OK)
		return error;
	if (is_v6)
		host++;
	if ((stop = memchr(host, is_v6 ? ']' : ':', (size_t)(end - host))) ==
	    NULL)
		return is_v6 ? ENDPOINT_HOST : ENDPOINT_PORT;
	if ((size_t)(stop - host) >= sizeof(ep->host))
		return ENDPOINT_HOST;
	memcpy(ep->host, host, (size_t)(stop - host));
	if ((error = check_host(ep, is_v6)) != ENDPOINT_OK)
		return error;
	if (is_v6 && (++stop == end || *stop != ':'))
		return ENDPOINT_PORT;
	ep->kind = ENDPOINT_WS;
	return parse_port(stop + 1, (size_t)(end - stop - 1), ep);
}

enum endpoint_error
endpoint_parse_tcp(struct endpoint *ep, const char *text)
{
	memset(ep, 0, sizeof(*ep));
	return parse_tcp(text, ep);
}

enum endpoint_error
endpoint_parse(struct endpoint *ep, const char *url)
{
	memset(ep, 0, sizeof(*ep));
	if (strncasecmp(url, WS, strlen(WS)) == 0)
		return parse_tcp(url + strlen(WS), ep);
	if (strncasecmp(url, UNIX, strlen(UNIX)) == 0)
		return parse_unix(url + strlen(UNIX), ep);
	if (strcmp(url, "stdio") != 0 && strcmp(url, "stdio://") != 0)
		return ENDPOINT_SCHEME;
	ep->kind = ENDPOINT_STDIO;
	ep->is_local = true;
	return ENDPOINT_OK;
}

bool
endpoint_is_one_line(const char *text)
{
	for (; *text != '\0'; text++)
		if ((unsigned char)*text < ' ' || *text == 0x7f)
			return false;
	return true;
}

bool
endpoint_is_stdio(const char *url)
{
	struct endpoint	 ep;

	return endpoint_parse(&ep, url) == ENDPOINT_OK &&
	    ep.kind == ENDPOINT_STDIO;
}

enum endpoint_error
endpoint_check_listen(const struct endpoint *ep)
{
	if (ep->kind == ENDPOINT_WS) {
		if (strcmp(ep->host, "localhost") == 0)
			return ENDPOINT_NAME;
		return strcmp(ep->path, "/") == 0 ? ENDPOINT_OK :
		    ENDPOINT_TAIL;
	}
	if (ep->kind == ENDPOINT_UNIX && ep->path[0] != '/')
		return ENDPOINT_RELATIVE;
	return endpoint_is_one_line(ep->path) ? ENDPOINT_OK : ENDPOINT_PATH;
}

socklen_t
endpoint_address(const struct endpoint *ep, union endpoint_address *a)
{
	const char	*host = ep->host;

	memset(a, 0, sizeof(*a));
	if (ep->kind == ENDPOINT_UNIX) {
		a->un.sun_family = AF_UNIX;
		/* endpoint_parse() has checked the length. */
		assert(strlen(ep->path) < sizeof(a->un.sun_path));
		strcpy(a->un.sun_path, ep->path);
		return sizeof(a->un);
	}
	if (strchr(host, ':') != NULL) {
		a->in6.sin6_family = AF_INET6;
		a->in6.sin6_port = htons(ep->port);
		(void)inet_pton(AF_INET6, host, &a->in6.sin6_addr);
		return sizeof(a->in6);
	}
	if (strcmp(host, "localhost") == 0)
		host = "127.0.0.1";
	a->in.sin_family = AF_INET;
	a->in.sin_port = htons(ep->port);
	(void)inet_pton(AF_INET, host, &a->in.sin_addr);
	return sizeof(a->in);
}

const char *
endpoint_strerror(enum endpoint_error error)
{
	static const char *const	 texts[] = {
		[ENDPOINT_OK] = "no error",
		[ENDPOINT_SCHEME] = "neither ws://, unix: nor stdio",
		[ENDPOINT_HOST] = "not a numeric IP or localhost",
		[ENDPOINT_PORT] = "no port of 0 to 65535",
		[ENDPOINT_PATH] = "not a path",
		[ENDPOINT_LONG] = "too long",
		[ENDPOINT_NAME] = "not a numeric IP",
		[ENDPOINT_TAIL] = "something behind the port",
		[ENDPOINT_RELATIVE] = "not an absolute path",
	};

	return error <= ENDPOINT_RELATIVE ? texts[error] : "unknown error";
}
