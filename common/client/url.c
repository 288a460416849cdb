#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/client/client_priv.h"

#define WS		"ws://"
#define UNIX		"unix:"

static int
parse_unix(const char *path, struct execsrv_url *u)
{
	size_t	 n = strlen(path);

	if (n == 0 || n >= sizeof(u->addr.un.sun_path))
		return -1;
	u->addr.un.sun_family = AF_UNIX;
	memcpy(u->addr.un.sun_path, path, n + 1);
	u->len = sizeof(u->addr.un);
	u->is_local = true;
	strcpy(u->host, "localhost");
	strcpy(u->path, "/");
	return 0;
}

/* A path and query as they go into the request: printable ASCII only. */
static int
parse_path(const char *text, struct execsrv_url *u)
{
	const char	*p;
	int		 n;

	for (p = text; *p != '\0'; p++)
		if (*p <= ' ' || *p >= 0x7f || *p == '#')
			return -1;
	n = snprintf(u->path, sizeof(u->path), "%s%s",
	    *text == '/' ? "" : "/", text);
	return (size_t)n < sizeof(u->path) ? 0 : -1;
}

static int
parse_port(const char *text, size_t len, uint16_t *port_out)
{
	char		 digits[6];
	unsigned long	 n;

	if (len == 0 || len >= sizeof(digits) ||
	    strspn(text, "0123456789") != len)
		return -1;
	memcpy(digits, text, len);
	digits[len] = '\0';
	n = strtoul(digits, NULL, 10);
	if (n == 0 || n > 65535)
		return -1;
	*port_out = (uint16_t)n;
	return 0;
}

static int
parse_host(const char *host, bool is_v6, uint16_t port, struct execsrv_url *u)
{
	if (is_v6) {
		u->addr.in6.sin6_family = AF_INET6;
		u->addr.in6.sin6_port = htons(port);
		u->len = sizeof(u->addr.in6);
		if (inet_pton(AF_INET6, host, &u->addr.in6.sin6_addr) != 1)
			return -1;
		u->is_local = IN6_IS_ADDR_LOOPBACK(&u->addr.in6.sin6_addr);
		return 0;
	}
	if (strcmp(host, "localhost") == 0) {
		u->is_name = true;
		host = "127.0.0.1";
	}
	u->addr.in.sin_family = AF_INET;
	u->addr.in.sin_port = htons(port);
	u->len = sizeof(u->addr.in);
	if (inet_pton(AF_INET, host, &u->addr.in.sin_addr) != 1)
		return -1;
	u->is_local = ntohl(u->addr.in.sin_addr.s_addr) >> 24 == 127;
	return 0;
}

static int
parse_ws(const char *text, struct execsrv_url *u)
{
	size_t		 n = strcspn(text, "/?");
	const char	*end = text + n, *host = text, *stop;
	char		 name[64];
	uint16_t	 port;
	bool		 is_v6 = text[0] == '[';

	if (n >= sizeof(u->host) || parse_path(end, u) == -1)
		return -1;
	memcpy(u->host, text, n);
	if (is_v6) {
		host++;
		if ((stop = memchr(host, ']', (size_t)(end - host))) == NULL)
			return -1;
	} else if ((stop = memchr(host, ':', n)) == NULL) {
		return -1;
	}
	memcpy(name, host, (size_t)(stop - host));
	name[stop - host] = '\0';
	if (is_v6)
		stop++;
	if (stop == end || *stop != ':' ||
	    parse_port(stop + 1, (size_t)(end - stop - 1), &port) == -1)
		return -1;
	return parse_host(name, is_v6, port, u);
}

int
execsrv_url_parse(const char *text, struct execsrv_url *u,
    struct execsrv_error *e)
{
	int	 r = -1;

	memset(u, 0, sizeof(*u));
	if (strncmp(text, WS, strlen(WS)) == 0)
		r = parse_ws(text + strlen(WS), u);
	else if (strncmp(text, UNIX, strlen(UNIX)) == 0)
		r = parse_unix(text + strlen(UNIX), u);
	if (r == -1)
		execsrv_error_set(e, 0, "%s: expected ws://IP:PORT with a "
		    "numeric IP, or unix:PATH", text);
	return r;
}
