/*
 * URLs of servers, as a regular expression has them; what is read says the
 * same when it is written and read again, and addresses are of what was read.
 */
#include <arpa/inet.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/client/error.h"
#include "common/client/url.h"

#define MUST(x)	do { if (!(x)) abort(); } while (0)

#define WS_FORM	"^[wW][sS]://(\\[([0-9a-fA-F:.]+)\\]|localhost|[0-9.]+)" \
		":([0-9]{1,5})([/?][!\"$-~]*)?$"

int	 LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
copy(const char *text, const regmatch_t *m, char *out, size_t size)
{
	snprintf(out, size, "%.*s", (int)(m->rm_eo - m->rm_so),
	    m->rm_so == -1 ? "" : text + m->rm_so);
}

static bool
is_host(const char *host, bool is_v6)
{
	unsigned char	 room[16];

	return strcmp(host, "localhost") == 0 ||
	    inet_pton(is_v6 ? AF_INET6 : AF_INET, host, room) == 1;
}

static bool
is_ws(const char *text)
{
	static regex_t	 form;
	static bool	 is_made;
	regmatch_t	 m[5];
	char		 host[80], port[8];
	size_t		 path;

	if (!is_made)
		MUST(regcomp(&form, WS_FORM, REG_EXTENDED) == 0);
	is_made = true;
	if (regexec(&form, text, 5, m, 0) != 0)
		return false;
	copy(text, &m[m[2].rm_so == -1 ? 1 : 2], host, sizeof(host));
	copy(text, &m[3], port, sizeof(port));
	path = m[4].rm_so == -1 ? 0 : (size_t)(m[4].rm_eo - m[4].rm_so);
	if (path == 0 || text[m[4].rm_so] == '?')
		path++;			/* the slash it gets */
	return is_host(host, m[2].rm_so != -1) && atoi(port) <= 65535 &&
	    path < sizeof(((struct execsrv_url *)0)->path);
}

static bool
is_url(const char *text)
{
	if (strncasecmp(text, "unix:", 5) == 0)
		return text[5] != '\0' && strlen(text + 5) <
		    sizeof(((struct sockaddr_un *)0)->sun_path);
	return strcmp(text, "stdio") == 0 || strcmp(text, "stdio://") == 0 ||
	    is_ws(text);
}

static void
check_again(const struct execsrv_url *u)
{
	struct execsrv_url	 again;
	char			 text[1024];

	if (u->kind == EXECSRV_STDIO)
		strcpy(text, "stdio");
	else if (u->kind == EXECSRV_UNIX)
		snprintf(text, sizeof(text), "unix:%s", u->path);
	else
		snprintf(text, sizeof(text), strchr(u->host, ':') != NULL ?
		    "ws://[%s]:%u%s" : "ws://%s:%u%s", u->host,
		    (unsigned)u->port, u->path);
	MUST(execsrv_url_parse(text, &again) == EXECSRV_URL_OK);
	MUST(again.kind == u->kind && again.port == u->port &&
	    again.is_local == u->is_local);
	MUST(strcmp(again.host, u->host) == 0);
	MUST(strcmp(again.path, u->path) == 0);
}

/* A server's reading is the same, but for what it cannot listen on. */
static void
check_listen(const char *text, const struct execsrv_url *u)
{
	struct execsrv_url	 door;
	enum execsrv_url_error	 error = execsrv_url_parse_listen(text, &door);
	const char		*p;
	bool			 is_good = true;

	if (u->kind == EXECSRV_WS)
		is_good = strcmp(u->host, "localhost") != 0 &&
		    u->path[1] == '\0';
	if (u->kind == EXECSRV_UNIX) {
		is_good = u->path[0] == '/';
		for (p = u->path; *p != '\0'; p++)
			is_good &= (unsigned char)*p >= ' ' && *p != 0x7f;
	}
	MUST((error == EXECSRV_URL_OK) == is_good);
	MUST(error == EXECSRV_URL_OK || error == EXECSRV_URL_PATH ||
	    error > EXECSRV_URL_LONG);
	if (is_good)
		MUST(memcmp(&door, u, sizeof(door)) == 0);
}

static void
check_address(const char *text, const struct execsrv_url *u, bool is_good)
{
	struct execsrv_address	 a;
	struct execsrv_error	 e = { .text = "" };
	char			 reason[sizeof(e.text)];
	int			 r = execsrv_address_parse(text, &a, &e);

	MUST((r == 0) == (is_good && (u->kind == EXECSRV_UNIX ||
	    (u->kind == EXECSRV_WS && u->port != 0))));
	if (r == -1) {
		memcpy(reason, e.text, sizeof(reason));
		execsrv_printable(reason);
		MUST(strcmp(reason, e.text) == 0 && reason[0] != '\0');
		return;
	}
	MUST(a.is_local == u->is_local && a.path[0] == '/');
	switch (a.addr.any.sa_family) {
	case AF_UNIX:
		MUST(strcmp(a.addr.un.sun_path, u->path) == 0);
		break;
	case AF_INET:
		MUST(ntohs(a.addr.in.sin_port) == u->port);
		break;
	default:
		MUST(a.addr.any.sa_family == AF_INET6);
		MUST(ntohs(a.addr.in6.sin6_port) == u->port);
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	enum execsrv_url_error	 error;
	struct execsrv_url	 u;
	char			*text;

	MUST((text = malloc(size + 1)) != NULL);
	memcpy(text, data, size);
	text[size] = '\0';
	error = execsrv_url_parse(text, &u);
	MUST((error == EXECSRV_URL_OK) == is_url(text));
	MUST(error <= EXECSRV_URL_LONG &&
	    execsrv_url_strerror(error)[0] != '\0');
	if (error == EXECSRV_URL_OK) {
		check_again(&u);
		check_listen(text, &u);
	} else {
		MUST(execsrv_url_parse_listen(text, &u) == error);
	}
	check_address(text, &u, error == EXECSRV_URL_OK);
	free(text);
	return 0;
}
