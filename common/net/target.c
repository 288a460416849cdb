#include "common/net/target.h"

#include <arpa/inet.h>

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define PROXY_PORT	3128

static int
invalid(void)
{
	errno = EINVAL;
	return -1;
}

static bool
is_printable(const char *s)
{
	for (; *s != '\0'; s++)
		if (*s <= ' ' || *s > '~')
			return false;
	return true;
}

/* Parse ":PORT" or nothing. */
static int
read_port(const char *s, size_t len, uint16_t *port)
{
	unsigned long	 n = 0;
	size_t		 i;

	if (len == 0)
		return 0;
	if (s[0] != ':' || len < 2 || len > 6)
		return invalid();
	for (i = 1; i < len; i++) {
		if (!isdigit((unsigned char)s[i]))
			return invalid();
		n = n * 10 + (unsigned long)(s[i] - '0');
	}
	if (n == 0 || n > 65535)
		return invalid();
	*port = (uint16_t)n;
	return 0;
}

static bool
is_ipv6(const char *host)
{
	struct in6_addr	 address;

	return inet_pton(AF_INET6, host, &address) == 1;
}

static bool
target_is_name(const char *host)
{
	for (; *host != '\0'; host++)
		if (!isalnum((unsigned char)*host) &&
		    strchr("-._", *host) == NULL)
			return false;
	return true;
}

/* Parse "HOST[:PORT]" or "[ADDRESS][:PORT]". */
static int
read_authority(const char *s, size_t len, char host[TARGET_HOST],
    uint16_t *port)
{
	const char	*end = s + len, *stop;
	bool		 has_brackets = len > 0 && s[0] == '[';
	size_t		 n;

	if (has_brackets) {
		s++;
		if ((stop = memchr(s, ']', (size_t)(end - s))) == NULL)
			return invalid();
		n = (size_t)(stop - s);
		stop++;
	} else {
		if ((stop = memchr(s, ':', len)) == NULL)
			stop = end;
		n = (size_t)(stop - s);
	}
	if (n == 0 || n >= TARGET_HOST)
		return invalid();
	memcpy(host, s, n);
	host[n] = '\0';
	if (has_brackets ? !is_ipv6(host) : !target_is_name(host))
		return invalid();
	return read_port(stop, (size_t)(end - stop), port);
}

static const char *
after_scheme(const char *url, const char *scheme)
{
	size_t	 n = strlen(scheme);

	return strncasecmp(url, scheme, n) == 0 &&
	    strncmp(url + n, "://", 3) == 0 ? url + n + 3 : NULL;
}

int
target_parse(struct target *t, const char *url, const char *scheme,
    const char *tls_scheme)
{
	const char	*s;
	size_t		 len;

	memset(t, 0, sizeof(*t));
	if (!is_printable(url) || strchr(url, '#') != NULL)
		return invalid();
	if ((s = after_scheme(url, tls_scheme)) != NULL)
		t->is_tls = true;
	else if ((s = after_scheme(url, scheme)) == NULL)
		return invalid();
	t->port = t->is_tls ? 443 : 80;
	len = strcspn(s, "/?");
	if (read_authority(s, len, t->host, &t->port) == -1)
		return -1;
	snprintf(t->authority, sizeof(t->authority),
	    strchr(t->host, ':') != NULL ? "[%s]:%u" : "%s:%u", t->host,
	    t->port);
	s += len;
	if ((size_t)snprintf(t->path, sizeof(t->path), "%s%s",
	    *s == '/' ? "" : "/", s) >= sizeof(t->path))
		return invalid();
	return 0;
}

int
target_append(struct target *t, const char *text, const char *segment,
    const char *tail)
{
	static const char	 plain[] = "-._~";
	char			 coded[TARGET_PATH], *out = coded;
	const char		*s;
	int			 n;
	size_t			 len = strlen(t->path);

	if (segment[0] == '\0' || strcmp(segment, ".") == 0 ||
	    strcmp(segment, "..") == 0)
		return invalid();
	errno = EMSGSIZE;
	for (s = segment; *s != '\0'; s++) {
		if (out - coded > (ptrdiff_t)sizeof(coded) - 4)
			return -1;
		if (isalnum((unsigned char)*s) || strchr(plain, *s) != NULL)
			*out++ = *s;
		else
			out += sprintf(out, "%%%02X", (unsigned char)*s);
	}
	*out = '\0';
	/* Strip trailing slashes of a prefix: a segment brings its own. */
	while (len > 0 && t->path[len - 1] == '/')
		t->path[--len] = '\0';
	n = snprintf(t->path + len, sizeof(t->path) - len, "%s%s%s", text,
	    coded, tail);
	errno = EMSGSIZE;
	return n < 0 || (size_t)n >= sizeof(t->path) - len ? -1 : 0;
}

const char *
target_show(const char *url, char *out, size_t size)
{
	static const char	 letters[] = "abcdefghijklmnopqrstuvwxyz"
				    "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
	const char		*at = strrchr(url, '@');
	size_t			 n = strspn(url, letters);

	n = strncmp(url + n, "://", 3) == 0 ? n + 3 : 0;
	if (at == NULL)
		snprintf(out, size, "%s", url);
	else
		snprintf(out, size, "%.*s...%s", at < url + n ? 0 : (int)n,
		    url, at);
	return out;
}

/* --- no_proxy --- */

/* An address, IPv4 as IPv4-mapped IPv6. */
struct address {
	uint8_t	 byte[16];
};

#define MAPPED_BITS	96

static const uint8_t mapped[MAPPED_BITS / 8] = { [10] = 0xff, [11] = 0xff };

static void
map_ipv4(struct in_addr in, struct address *out)
{
	memcpy(out->byte, mapped, sizeof(mapped));
	memcpy(out->byte + sizeof(mapped), &in, sizeof(in));
}

/* Parse a full numeric address. */
static bool
target_read_address(const char *text, struct address *out)
{
	struct in_addr	 in;

	if (inet_pton(AF_INET6, text, out->byte) == 1)
		return true;
	if (inet_pton(AF_INET, text, &in) != 1)
		return false;
	map_ipv4(in, out);
	return true;
}

/* Parse a host as getaddrinfo(3) does: "127.1" is an address, too. */
static bool
read_host(const char *text, struct address *out)
{
	struct in_addr	 in;

	if (target_read_address(text, out))
		return true;
	if (inet_aton(text, &in) == 0)
		return false;
	map_ipv4(in, out);
	return true;
}

/* Parse a decimal number up to max; -1: not one. */
static int
read_bits(const char *s, int max)
{
	int	 n = 0;

	if (s[0] == '\0' || (s[0] == '0' && s[1] != '\0'))
		return -1;
	for (; *s != '\0'; s++) {
		if (!isdigit((unsigned char)*s))
			return -1;
		n = n * 10 + *s - '0';
		if (n > max)
			return -1;
	}
	return n;
}

/* Whether the network "ADDRESS/BITS" contains an address. */
static bool
target_is_inside(char *network, char *slash, const struct address *a)
{
	struct address	 net;
	bool		 is_ipv4 = strchr(network, ':') == NULL;
	int		 bits = read_bits(slash + 1, is_ipv4 ? 32 : 128);
	uint8_t		 mask;

	*slash = '\0';
	if (bits == -1 || !target_read_address(network, &net))
		return false;
	if (is_ipv4)
		bits += MAPPED_BITS;
	/* ::/0 does not contain IPv4. */
	if (bits < MAPPED_BITS && memcmp(a->byte, mapped, sizeof(mapped)) == 0)
		return false;
	if (memcmp(a->byte, net.byte, (size_t)bits / 8) != 0)
		return false;
	mask = (uint8_t)(0xff00 >> bits % 8);
	return mask == 0 || ((a->byte[bits / 8] ^ net.byte[bits / 8]) &
	    mask) == 0;
}

/* Return the length of a name without its trailing dot. */
static size_t
name_len(const char *name)
{
	size_t	 n = strlen(name);

	return n > 0 && name[n - 1] == '.' ? n - 1 : n;
}

/* Whether host equals name or, if it is no address, is below it. */
static bool
is_below(const char *host, bool is_address, const char *name, bool only_below)
{
	size_t		 n = name_len(name), len = name_len(host);

	if (n == 0 || n > len || strncasecmp(host + len - n, name, n) != 0)
		return false;
	return n == len ? !only_below :
	    host[len - n - 1] == '.' && !is_address;
}

/*
 * Whether an entry of no_proxy matches the target.  Entries of curl(1), and of
 * Go, which also takes ports and "*.DOMAIN".
 */
static bool
is_exempt(const char *entry, size_t len, const struct target *t)
{
	char		 text[TARGET_HOST], name[TARGET_HOST], *slash;
	struct address	 here, there;
	bool		 is_address = read_host(t->host, &here), only_below;
	uint16_t	 port = t->port;

	/* IPv6 addresses need brackets only before a port. */
	if ((len == 1 && entry[0] == '*') || (len == strlen(t->host) &&
	    strncasecmp(t->host, entry, len) == 0))
		return true;
	if (len < sizeof(text)) {
		memcpy(text, entry, len);
		text[len] = '\0';
		if ((slash = strchr(text, '/')) != NULL)
			return is_address && target_is_inside(text, slash,
			    &here);
		if (target_read_address(text, &there))
			return is_address &&
			    memcmp(&here, &there, sizeof(here)) == 0;
	}
	only_below = len > 2 && memcmp(entry, "*.", 2) == 0;
	if (only_below || (len > 1 && entry[0] == '.')) {
		entry += only_below ? 2 : 1;
		len -= only_below ? 2 : 1;
	}
	if (read_authority(entry, len, name, &port) == -1 || port != t->port)
		return false;
	if (target_read_address(name, &there))
		return is_address && !only_below &&
		    memcmp(&here, &there, sizeof(here)) == 0;
	return is_below(t->host, is_address, name, only_below);
}

bool
target_is_loopback(const struct target *t)
{
	struct address	 a;

	if (!read_host(t->host, &a))
		return strcasecmp(t->host, "localhost") == 0;
	return memcmp(a.byte, &in6addr_loopback, sizeof(a.byte)) == 0 ||
	    (memcmp(a.byte, mapped, sizeof(mapped)) == 0 &&
	    a.byte[sizeof(mapped)] == 127);
}

const char *
proxy_choose(const struct proxy_env *env, const struct target *t)
{
	const char	*s = env->none, *found;
	size_t		 n;

	/* Clear text for this machine must not leave it. */
	if (!t->is_tls && target_is_loopback(t))
		return NULL;
	while (s != NULL && *s != '\0') {
		s += strspn(s, ", \t");
		n = strcspn(s, ", \t");
		if (n > 0 && is_exempt(s, n, t))
			return NULL;
		s += n;
	}
	found = t->is_tls ? env->https : env->http;
	if (found == NULL || *found == '\0')
		found = env->all;
	return found == NULL || *found == '\0' ? NULL : found;
}

static int
from_hex(char c)
{
	if (isdigit((unsigned char)c))
		return c - '0';
	return isxdigit((unsigned char)c) ? tolower((unsigned char)c) - 'a' +
	    10 : -1;
}

/* Decode the percent-encoded user and password. */
static int
read_secret(const char *s, size_t len, char *out, size_t size)
{
	size_t	 i, n = 0;

	if (len == 0)
		return 0;
	for (i = 0; i < len; i++) {
		char	 c = s[i];

		if (n + 1 >= size)
			return invalid();
		if (c == '%') {
			if (len - i < 3 || from_hex(s[i + 1]) == -1 ||
			    from_hex(s[i + 2]) == -1)
				return invalid();
			c = (char)(from_hex(s[i + 1]) << 4 |
			    from_hex(s[i + 2]));
			i += 2;
		}
		/* The text becomes a header field, in base64. */
		if (c == '\0' || c == '@')
			return invalid();
		out[n++] = c;
	}
	/* RFC 7617 requires a colon, also without a password. */
	if (memchr(out, ':', n) == NULL) {
		if (n + 1 >= size)
			return invalid();
		out[n++] = ':';
	}
	out[n] = '\0';
	return 0;
}

int
proxy_parse(struct proxy *p, const char *text)
{
	const char	*at, *s = text;
	size_t		 len;

	memset(p, 0, sizeof(*p));
	if (!is_printable(text))
		return invalid();
	if ((s = after_scheme(text, "http")) == NULL) {
		if (strstr(text, "://") != NULL)
			return invalid();
		s = text;
	}
	len = strcspn(s, "/");
	if (s[len] == '/' && s[len + 1] != '\0')
		return invalid();
	for (at = s + len; at > s && at[-1] != '@'; at--)
		continue;
	if (at > s && read_secret(s, (size_t)(at - s) - 1, p->secret,
	    sizeof(p->secret)) == -1)
		return -1;
	p->port = PROXY_PORT;
	return read_authority(at, len - (size_t)(at - s), p->host, &p->port);
}
