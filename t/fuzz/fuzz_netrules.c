/*
 * Rules of managed networks, a line each: a host, then patterns.  Canonical
 * forms stay as they are; a deny rule wins; an address means the same wrapped
 * up in IPv6; no wildcard lets a local host in.
 */
#include <sys/socket.h>

#include <stdlib.h>
#include <string.h>

#include "common/net/netpattern.h"
#include "common/net/netrules.h"

#define MUST(x)	do { if (!(x)) abort(); } while (0)

int	 LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool
is_local_in(const struct netaddr *four, const uint8_t *prefix, size_t at)
{
	struct netaddr	 six = { .family = AF_INET6 };

	memcpy(six.byte, prefix, 12);
	memcpy(six.byte + at, four->byte, 4);
	return netaddr_is_local(&six);
}

static void
check_address(const struct netaddr *a)
{
	static const uint8_t	 mapped[12] = { [10] = 0xff, [11] = 0xff },
	    nat64[12] = { 0, 0x64, 0xff, 0x9b }, six_four[12] = { 0x20, 2 };
	bool			 is_local = netaddr_is_local(a);

	if (a->family != AF_INET)
		return;
	MUST(is_local_in(a, mapped, 12) == is_local);
	MUST(is_local_in(a, nat64, 12) == is_local);
	MUST(is_local_in(a, six_four, 2) == is_local);
}

static void
check_host(const struct nethost *h)
{
	struct nethost	 again;

	MUST(h->text[0] != '\0' && strpbrk(h->text, " %@/\\[]*?\r\n") ==
	    NULL);
	MUST(nethost_set(&again, h->text, strlen(h->text)) == 0);
	MUST(strcmp(again.text, h->text) == 0);
	if (!nethost_is_name(h))
		check_address(&h->addr);
}

static void
check_pattern(const char *p, const struct nethost *h)
{
	char		 again[NETHOST_MAX];
	struct netrules	 r = { 0 };
	enum net_reason	 why;

	MUST(netpattern_make(p, strlen(p), again) == NULL);
	MUST(strcmp(p, again) == 0);
	MUST(!netpattern_is_exact(p, h) || netpattern_matches(p, h));
	MUST(!netpattern_is_all(p) || netpattern_matches(p, h));
	MUST(netrules_add(&r, NETRULES_ALLOW, p) == 0);
	MUST(netrules_lists(&r, h) == netpattern_matches(p, h));
	if (netrules_judge(&r, h, &why) == NETRULES_ALLOWED)
		MUST(!nethost_is_local(h) || netpattern_is_exact(p, h));
	else
		MUST(!netpattern_matches(p, h) || nethost_is_local(h));
	MUST(netrules_add(&r, NETRULES_FORBID, p) == 0);
	MUST(netrules_judge(&r, h, &why) == NETRULES_REFUSED);
	MUST((why == NET_DENIED) == netpattern_matches(p, h));
	netrules_fini(&r);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char	*line, *end, *stop;
	char		*text, p[NETHOST_MAX];
	struct nethost	 h;
	size_t		 n;

	MUST((text = malloc(size + 1)) != NULL);
	memcpy(text, data, size);
	stop = text + size;
	end = memchr(text, '\n', size);
	n = end == NULL ? size : (size_t)(end - text);
	if (nethost_set(&h, text, n) == 0) {
		check_host(&h);
		for (line = text + n; line < stop; line = end) {
			line++;
			end = memchr(line, '\n', (size_t)(stop - line));
			end = end == NULL ? stop : end;
			if (netpattern_make(line, (size_t)(end - line), p) ==
			    NULL)
				check_pattern(p, &h);
		}
	}
	free(text);
	return 0;
}
