/*
 * common/net/target.c on four lines: a URL, a segment for its path, a
 * no_proxy and a proxy.  What is let through means the same when it is written
 * anew, and a host is what stands behind "//" and nothing else.
 */
#include <arpa/inet.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/net/target.h"

#define MUST(x)	do { if (!(x)) abort(); } while (0)
#define LINES	4

int	 LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool
is_printable(const char *s)
{
	for (; *s != '\0'; s++)
		if (*s <= ' ' || *s > '~')
			return false;
	return true;
}

static void
check_target(const struct target *t, const char *url)
{
	const char	*host = strstr(url, "://") + 3, *end;
	char		 again[TARGET_PATH + TARGET_HOST + 64];
	struct target	 u;

	if (*host == '[')
		host++;
	MUST(t->host[0] != '\0' && t->port != 0 && t->path[0] == '/');
	MUST(strncmp(host, t->host, strlen(t->host)) == 0);
	end = host + strlen(t->host);
	MUST(*end == '\0' || strchr(":/?]", *end) != NULL);
	MUST(is_printable(t->authority) && is_printable(t->path));
	MUST(strpbrk(t->authority, "@/?#\\%") == NULL);
	MUST(strchr(t->path, '#') == NULL);
	snprintf(again, sizeof(again), "%s://%s%s", t->is_tls ? "https" :
	    "http", t->authority, t->path);
	MUST(target_parse(&u, again, "http", "https") == 0);
	MUST(u.is_tls == t->is_tls && u.port == t->port);
	MUST(strcmp(u.host, t->host) == 0 && strcmp(u.path, t->path) == 0);
	MUST(strcmp(u.authority, t->authority) == 0);
}

/* It is one segment, and decoded it is what it was. */
static void
check_append(const struct target *t, const char *segment)
{
	struct target	 u = *t;
	char		*s, *end;
	unsigned	 c;

	while (u.path[0] != '\0' && u.path[strlen(u.path) - 1] == '/')
		u.path[strlen(u.path) - 1] = '\0';
	s = u.path + strlen(u.path);
	if (target_append(&u, "/a/", segment, "/z") == -1) {
		MUST(segment[0] == '\0' || strcmp(segment, ".") == 0 ||
		    strcmp(segment, "..") == 0 || strlen(u.path) +
		    3 * strlen(segment) + 5 >= sizeof(u.path));
		return;
	}
	MUST(strncmp(s, "/a/", 3) == 0);
	MUST((end = strchr(s + 3, '/')) != NULL && strcmp(end, "/z") == 0);
	MUST(strcmp(u.host, t->host) == 0 && u.port == t->port);
	for (s += 3; s < end; segment++) {
		MUST(strchr("?#&+ ", *s) == NULL && is_printable(s));
		c = (unsigned char)*s++;
		if (c == '%') {
			MUST(sscanf(s, "%2X", &c) == 1);
			s += 2;
		}
		MUST(c == (unsigned char)*segment);
	}
	MUST(*segment == '\0');
}

/* A network: of both kinds of addresses, bit by bit. */
static bool
is_of(const uint8_t *a, const uint8_t *net, int bits)
{
	for (int i = 0; i < bits; i++)
		if (((a[i / 8] ^ net[i / 8]) & 0x80 >> i % 8) != 0)
			return false;
	return true;
}

/*
 * An address as host against one as network, both of text: 16 bytes of each
 * and bits of the prefix.  It is exempt when its bits say so.
 */
static void
check_network(const char *text, size_t len)
{
	char			 url[80], none[64], name[48], proxy[] = "p";
	uint8_t			 raw[33] = { 0 };
	struct proxy_env	 env = { proxy, proxy, NULL, none };
	bool			 is_ipv4;
	struct target		 t;
	int			 bits, family;

	memcpy(raw, text, len < sizeof(raw) ? len : sizeof(raw));
	is_ipv4 = raw[32] & 1;
	family = is_ipv4 ? AF_INET : AF_INET6;
	bits = raw[32] >> 1;
	bits = is_ipv4 ? bits % 33 : bits % 129;
	/* Those that are one of IPv4 have rules of their own. */
	if (!is_ipv4)
		raw[0] |= 1;
	MUST(inet_ntop(family, raw, name, sizeof(name)) != NULL);
	snprintf(url, sizeof(url), is_ipv4 ? "https://%s" : "https://[%s]",
	    name);
	MUST(inet_ntop(family, raw + 16, name, sizeof(name)) != NULL);
	snprintf(none, sizeof(none), "%s/%d", name, bits);
	MUST(target_parse(&t, url, "http", "https") == 0);
	MUST((proxy_choose(&env, &t) == NULL) == is_of(raw, raw + 16, bits));
}

static void
check_choice(const struct target *t, char *none, char *proxy)
{
	struct proxy_env	 env = { proxy, proxy, NULL, none };
	const char		*chosen = proxy_choose(&env, t);
	char			*more = malloc(strlen(none) + TARGET_HOST + 8);

	MUST(more != NULL && (chosen == NULL || chosen == proxy));
	/* One exemption more takes none away. */
	sprintf(more, "%s,x.invalid", none);
	env.none = more;
	if (*proxy != '\0' && chosen == NULL)
		MUST(proxy_choose(&env, t) == NULL);
	/* In front of an entry a dot says nothing. */
	sprintf(more, "%s,%s", none, t->authority);
	MUST(t->host[0] == '.' || proxy_choose(&env, t) == NULL);
	sprintf(more, "%s %s", none, t->host);
	MUST(proxy_choose(&env, t) == NULL);
	free(more);
}

static void
check_proxy(const char *text)
{
	struct proxy	 p, q;
	char		 again[TARGET_HOST + 16];

	if (proxy_parse(&p, text) == -1)
		return;
	MUST(p.host[0] != '\0' && p.port != 0 && is_printable(p.host));
	MUST(memchr(p.secret, '\0', sizeof(p.secret)) != NULL);
	MUST(strchr(p.secret, '@') == NULL);
	MUST(p.secret[0] == '\0' || strchr(p.secret, ':') != NULL);
	snprintf(again, sizeof(again), strchr(p.host, ':') != NULL ?
	    "[%s]:%u" : "%s:%u", p.host, p.port);
	MUST(proxy_parse(&q, again) == 0);
	MUST(strcmp(p.host, q.host) == 0 && p.port == q.port);
}

/* What may be a password is not in it. */
static void
check_show(const char *text)
{
	char		 out[64];
	const char	*at = strrchr(text, '@');

	MUST(target_show(text, out, sizeof(out)) == out);
	MUST(strlen(out) < sizeof(out));
	if (at == NULL)
		MUST(strncmp(out, text, strlen(out)) == 0);
	else if (strstr(text, "://") == NULL)
		MUST(strncmp(out, "...", 3) == 0 &&
		    strncmp(out + 3, at, strlen(out + 3)) == 0);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char		 nothing[1] = "", *line[LINES], *text, *s;
	struct target	 t;
	size_t		 i;

	MUST((text = malloc(size + 1)) != NULL);
	memcpy(text, data, size);
	text[size] = '\0';
	for (i = 0, s = text; i < LINES; i++) {
		line[i] = s == NULL ? nothing : s;
		if (s != NULL && (s = strchr(s, '\n')) != NULL)
			*s++ = '\0';
	}
	if (target_parse(&t, line[0], "http", "https") == 0) {
		check_target(&t, line[0]);
		check_append(&t, line[1]);
		check_choice(&t, line[2], line[3]);
	}
	check_show(line[0]);
	check_proxy(line[3]);
	check_network(text, size);
	free(text);
	return 0;
}
