#include "common/net/nethost.h"

#include <sys/socket.h>

#include <arpa/inet.h>

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define LABEL_MAX	63	/* RFC 1035 section 2.3.4 */
#define NAME_MAX_DNS	253

/* --- addresses --- */

struct net4 {
	uint8_t	 byte[4];
	int	 bits;
};

static const struct net4	 local4[] = {
	{ { 0 }, 8 }, { { 10 }, 8 }, { { 100, 64 }, 10 }, { { 127 }, 8 },
	{ { 169, 254 }, 16 }, { { 172, 16 }, 12 }, { { 192, 0, 0 }, 24 },
	{ { 192, 0, 2 }, 24 }, { { 192, 168 }, 16 }, { { 198, 18 }, 15 },
	{ { 198, 51, 100 }, 24 }, { { 203, 0, 113 }, 24 },
	{ { 224 }, 4 }, { { 240 }, 4 }
};

struct net6 {
	uint8_t	 byte[16];
	int	 bits;
};

static const struct net6	 local6[] = {
	{ { 0 }, 128 }, { { [15] = 1 }, 128 },
	{ { 0x00, 0x64, 0xff, 0x9b, 0x00, 0x01 }, 48 },	/* RFC 8215 */
	{ { 0x01, 0x00 }, 64 },				/* discard, RFC 6666 */
	{ { 0x20, 0x01, 0x0d, 0xb8 }, 32 },		/* documentation */
	{ { 0x3f, 0xff }, 20 },				/* RFC 9637 */
	{ { 0xfc }, 7 }, { { 0xfe, 0x80 }, 10 }, { { 0xfe, 0xc0 }, 10 },
	{ { 0xff }, 8 }
};

/* Networks whose addresses have an address of IPv4 in them. */
static const struct {
	struct net6	 net;
	int		 at;		/* byte where it begins */
	bool		 is_inverted;
} embedded[] = {
	{ { { 0 }, 96 }, 12, false },			/* compatible */
	{ { { [10] = 0xff, [11] = 0xff }, 96 }, 12, false },	/* mapped */
	{ { { [8] = 0xff, [9] = 0xff }, 96 }, 12, false },	/* RFC 7915 */
	{ { { 0x00, 0x64, 0xff, 0x9b }, 96 }, 12, false },	/* NAT64 */
	{ { { 0x20, 0x02 }, 16 }, 2, false },			/* 6to4 */
	{ { { 0x20, 0x01, 0 }, 32 }, 12, true },		/* Teredo */
	{ { { 0x20, 0x01, 0 }, 32 }, 4, false }		/* its server */
};

/* Interface identifiers with an address of IPv4 (ISATAP, RFC 5214). */
static const uint8_t	 isatap[2][4] = {
	{ 0x00, 0x00, 0x5e, 0xfe }, { 0x02, 0x00, 0x5e, 0xfe }
};

static bool
nethost_is_inside(const uint8_t *a, const uint8_t *net, int bits)
{
	int	 whole = bits / 8, rest = bits % 8;

	return memcmp(a, net, (size_t)whole) == 0 && (rest == 0 ||
	    ((a[whole] ^ net[whole]) & (0xff00 >> rest) & 0xff) == 0);
}

static bool
is_local4(const uint8_t *a)
{
	size_t	 i;

	for (i = 0; i < sizeof(local4) / sizeof(local4[0]); i++)
		if (nethost_is_inside(a, local4[i].byte, local4[i].bits))
			return true;
	return false;
}

static void
take_embedded(const uint8_t *a, int at, bool is_inverted,
    struct netaddr *out)
{
	int	 i;

	memset(out, 0, sizeof(*out));
	out->family = AF_INET;
	for (i = 0; i < 4; i++)
		out->byte[i] = is_inverted ? (uint8_t)~a[at + i] : a[at + i];
}

size_t
netaddr_embedded(const struct netaddr *a, struct netaddr out[NETADDR_EMBEDDED])
{
	size_t	 i, n = 0;

	if (a->family != AF_INET6)
		return 0;
	for (i = 0; i < sizeof(embedded) / sizeof(embedded[0]); i++)
		if (nethost_is_inside(a->byte, embedded[i].net.byte,
		    embedded[i].net.bits))
			take_embedded(a->byte, embedded[i].at,
			    embedded[i].is_inverted, &out[n++]);
	for (i = 0; i < 2; i++)
		if (memcmp(a->byte + 8, isatap[i], 4) == 0)
			take_embedded(a->byte, 12, false, &out[n++]);
	assert(n <= NETADDR_EMBEDDED);
	return n;
}

static bool
is_local6(const struct netaddr *a)
{
	struct netaddr	 four[NETADDR_EMBEDDED];
	size_t		 i, n;

	for (i = 0; i < sizeof(local6) / sizeof(local6[0]); i++)
		if (nethost_is_inside(a->byte, local6[i].byte,
		    local6[i].bits))
			return true;
	n = netaddr_embedded(a, four);
	for (i = 0; i < n; i++)
		if (is_local4(four[i].byte))
			return true;
	return false;
}

bool
netaddr_is_local(const struct netaddr *a)
{
	assert(a->family == AF_INET || a->family == AF_INET6);
	return a->family == AF_INET ? is_local4(a->byte) : is_local6(a);
}

void
netaddr_text(const struct netaddr *a, char out[NETHOST_MAX])
{
	const uint8_t	*b = a->byte;
	static const uint8_t	 zeros[12];

	/* inet_ntop(3) would write ::a.b.c.d for it. */
	if (a->family == AF_INET6 && memcmp(b, zeros, 12) == 0 &&
	    (b[12] | b[13]) != 0)
		snprintf(out, NETHOST_MAX, "::%x:%x", b[12] << 8 | b[13],
		    b[14] << 8 | b[15]);
	else if (inet_ntop(a->family, b, out, NETHOST_MAX) == NULL)
		out[0] = '\0';
}

/* --- hosts --- */

static int
nethost_invalid(void)
{
	errno = EINVAL;
	return -1;
}

/* Whether it is labels of letters, digits, "-" and "_". */
static bool
nethost_is_labels(const char *s)
{
	size_t	 n;

	for (;; s += n + 1) {
		for (n = 0; isalnum((unsigned char)s[n]) || s[n] == '-' ||
		    s[n] == '_'; n++)
			continue;
		if (n == 0 || n > LABEL_MAX)
			return false;
		if (s[n] == '\0')
			return true;
		if (s[n] != '.')
			return false;
	}
}

static bool
set_address(struct nethost *h, int family, const char *text)
{
	if (inet_pton(family, text, h->addr.byte) != 1)
		return false;
	h->addr.family = family;
	netaddr_text(&h->addr, h->text);
	return true;
}

int
nethost_set(struct nethost *h, const char *text, size_t len)
{
	char	 copy[NETHOST_MAX];
	size_t	 i;
	bool	 in_brackets;

	memset(h, 0, sizeof(*h));
	in_brackets = len >= 2 && text[0] == '[' && text[len - 1] == ']';
	if (in_brackets) {
		text++;
		len -= 2;
	}
	while (!in_brackets && len > 0 && text[len - 1] == '.')
		len--;
	if (len == 0 || len > NAME_MAX_DNS)
		return nethost_invalid();
	for (i = 0; i < len; i++) {
		if (text[i] <= ' ' || text[i] > '~')
			return nethost_invalid();
		copy[i] = (char)tolower((unsigned char)text[i]);
	}
	copy[len] = '\0';
	if (set_address(h, AF_INET6, copy))
		return 0;
	if (in_brackets)
		return nethost_invalid();
	if (set_address(h, AF_INET, copy))
		return 0;
	if (!nethost_is_labels(copy))
		return nethost_invalid();
	memcpy(h->text, copy, len + 1);
	return 0;
}

bool
nethost_is_name(const struct nethost *h)
{
	assert(h->text[0] != '\0');
	return h->addr.family == 0;
}

bool
nethost_is_local(const struct nethost *h)
{
	return nethost_is_name(h) ? strcmp(h->text, "localhost") == 0 :
	    netaddr_is_local(&h->addr);
}

const char *
nethost_authority(const struct nethost *h, uint16_t port, uint16_t but,
    char out[NETHOST_MAX + 16])
{
	bool	 is_six = h->addr.family == AF_INET6;
	char	 text[8] = "";

	if (port != but)
		snprintf(text, sizeof(text), ":%u", port);
	snprintf(out, NETHOST_MAX + 16, "%s%s%s%s", is_six ? "[" : "",
	    h->text, is_six ? "]" : "", text);
	return out;
}
