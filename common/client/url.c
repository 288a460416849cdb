/* URLs of exec servers: what they say, and the address that is. */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/client/client_priv.h"

#define WS		"ws://"
#define UNIX		"unix:"

/* --- reading --- */

static enum execsrv_url_error
parse_unix(const char *path, struct execsrv_url *u)
{
	size_t	 n = strlen(path);

	if (n == 0)
		return EXECSRV_URL_PATH;
	if (n >= sizeof(((struct sockaddr_un *)0)->sun_path))
		return EXECSRV_URL_LONG;
	u->kind = EXECSRV_UNIX;
	u->is_local = true;
	memcpy(u->path, path, n + 1);
	return EXECSRV_URL_OK;
}

/* A path and query as they go into the request: printable ASCII only. */
static enum execsrv_url_error
parse_path(const char *text, struct execsrv_url *u)
{
	const char	*p;
	int		 n;

	for (p = text; *p != '\0'; p++)
		if (*p <= ' ' || *p >= 0x7f || *p == '#')
			return EXECSRV_URL_PATH;
	n = snprintf(u->path, sizeof(u->path), "%s%s",
	    *text == '/' ? "" : "/", text);
	return (size_t)n < sizeof(u->path) ? EXECSRV_URL_OK :
	    EXECSRV_URL_LONG;
}

static enum execsrv_url_error
parse_port(const char *text, size_t len, struct execsrv_url *u)
{
	char		 digits[6];
	unsigned long	 n;

	if (len == 0 || len >= sizeof(digits) ||
	    strspn(text, "0123456789") != len)
		return EXECSRV_URL_PORT;
	memcpy(digits, text, len);
	digits[len] = '\0';
	if ((n = strtoul(digits, NULL, 10)) > 65535)
		return EXECSRV_URL_PORT;
	u->port = (uint16_t)n;
	return EXECSRV_URL_OK;
}

static enum execsrv_url_error
check_host(struct execsrv_url *u, bool is_v6)
{
	struct in6_addr	 v6;
	struct in_addr	 v4;

	if (is_v6) {
		if (inet_pton(AF_INET6, u->host, &v6) != 1)
			return EXECSRV_URL_HOST;
		u->is_local = IN6_IS_ADDR_LOOPBACK(&v6);
	} else if (strcmp(u->host, "localhost") == 0) {
		u->is_local = true;
	} else {
		if (inet_pton(AF_INET, u->host, &v4) != 1)
			return EXECSRV_URL_HOST;
		u->is_local = ntohl(v4.s_addr) >> 24 == 127;
	}
	return EXECSRV_URL_OK;
}

static enum execsrv_url_error
parse_ws(const char *text, struct execsrv_url *u)
{
	enum execsrv_url_error	 error;
	size_t			 n = strcspn(text, "/?");
	const char		*end = text + n, *host = text, *stop;
	bool			 is_v6 = text[0] == '[';

	if ((error = parse_path(end, u)) != EXECSRV_URL_OK)
		return error;
	if (is_v6)
		host++;
	if ((stop = memchr(host, is_v6 ? ']' : ':', (size_t)(end - host))) ==
	    NULL)
		return is_v6 ? EXECSRV_URL_HOST : EXECSRV_URL_PORT;
	if ((size_t)(stop - host) >= sizeof(u->host))
		return EXECSRV_URL_HOST;
	memcpy(u->host, host, (size_t)(stop - host));
	if ((error = check_host(u, is_v6)) != EXECSRV_URL_OK)
		return error;
	if (is_v6 && (++stop == end || *stop != ':'))
		return EXECSRV_URL_PORT;
	u->kind = EXECSRV_WS;
	return parse_port(stop + 1, (size_t)(end - stop - 1), u);
}

enum execsrv_url_error
execsrv_url_parse(const char *text, struct execsrv_url *u)
{
	if (text == NULL)
		text = EXECSRV_DEFAULT_URL;
	memset(u, 0, sizeof(*u));
	if (strncmp(text, WS, strlen(WS)) == 0)
		return parse_ws(text + strlen(WS), u);
	if (strncmp(text, UNIX, strlen(UNIX)) == 0)
		return parse_unix(text + strlen(UNIX), u);
	if (strcmp(text, "stdio") != 0 && strcmp(text, "stdio://") != 0)
		return EXECSRV_URL_SCHEME;
	u->kind = EXECSRV_STDIO;
	u->is_local = true;
	return EXECSRV_URL_OK;
}

const char *
execsrv_url_strerror(enum execsrv_url_error error)
{
	static const char *const	 texts[] = {
		[EXECSRV_URL_OK] = "no error",
		[EXECSRV_URL_SCHEME] = "neither ws://, unix: nor stdio",
		[EXECSRV_URL_HOST] = "not a numeric IP or localhost",
		[EXECSRV_URL_PORT] = "no port of 0 to 65535",
		[EXECSRV_URL_PATH] = "not a path",
		[EXECSRV_URL_LONG] = "too long",
	};

	return error <= EXECSRV_URL_LONG ? texts[error] : "unknown error";
}

/* --- to connect to --- */

static void
address_unix(const struct execsrv_url *u, struct execsrv_address *a)
{
	a->addr.un.sun_family = AF_UNIX;
	strcpy(a->addr.un.sun_path, u->path);
	a->len = sizeof(a->addr.un);
	strcpy(a->host, "localhost");
	strcpy(a->path, "/");
}

static void
address_ws(const struct execsrv_url *u, struct execsrv_address *a)
{
	bool		 is_v6 = strchr(u->host, ':') != NULL;
	const char	*host = u->host;

	snprintf(a->host, sizeof(a->host), is_v6 ? "[%s]:%u" : "%s:%u",
	    u->host, (unsigned)u->port);
	strcpy(a->path, u->path);
	if (is_v6) {
		a->addr.in6.sin6_family = AF_INET6;
		a->addr.in6.sin6_port = htons(u->port);
		a->len = sizeof(a->addr.in6);
		(void)inet_pton(AF_INET6, host, &a->addr.in6.sin6_addr);
		return;
	}
	if (strcmp(host, "localhost") == 0) {
		a->is_name = true;
		host = "127.0.0.1";
	}
	a->addr.in.sin_family = AF_INET;
	a->addr.in.sin_port = htons(u->port);
	a->len = sizeof(a->addr.in);
	(void)inet_pton(AF_INET, host, &a->addr.in.sin_addr);
}

int
execsrv_address_parse(const char *text, struct execsrv_address *a,
    struct execsrv_error *e)
{
	struct execsrv_url	 u;
	enum execsrv_url_error	 error = execsrv_url_parse(text, &u);

	memset(a, 0, sizeof(*a));
	if (error == EXECSRV_URL_OK && u.kind == EXECSRV_WS && u.port == 0)
		error = EXECSRV_URL_PORT;
	if (error == EXECSRV_URL_OK && u.kind == EXECSRV_STDIO)
		error = EXECSRV_URL_SCHEME;
	if (error != EXECSRV_URL_OK) {
		execsrv_error_set(e, 0, "%s: %s; expected ws://IP:PORT with a "
		    "numeric IP, or unix:PATH", text,
		    execsrv_url_strerror(error));
		return -1;
	}
	a->is_local = u.is_local;
	if (u.kind == EXECSRV_UNIX)
		address_unix(&u, a);
	else
		address_ws(&u, a);
	return 0;
}
