#include "common/net/netrules.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/limit.h"
#include "common/net/netpattern.h"

static const struct {
	const char	*word, *header;
} reasons[NET_REASONS] = {
#define REASON(name, word, header)	{ word, header },
#include "proto/netreason.def"
#undef REASON
};

const char *
net_reason_word(enum net_reason r)
{
	assert(r < NET_REASONS);
	return reasons[r].word;
}

const char *
net_reason_header(enum net_reason r)
{
	assert(r < NET_REASONS);
	return reasons[r].header;
}

/* --- lists --- */

void
netrules_fini(struct netrules *r)
{
	int	 i;

	for (i = 0; i < NETRULES_LISTS; i++)
		free(r->list[i].text);
	memset(r, 0, sizeof(*r));
}

int
netrules_add(struct netrules *r, enum netrules_list l, const char *pattern)
{
	struct netrules_patterns	*p = &r->list[l];
	size_t				 len = strlen(pattern) + 1, cap;
	char				*text;

	assert(l < NETRULES_LISTS && p->len <= p->cap);
	if (p->n >= LIMIT_NET_RULES) {
		errno = E2BIG;
		return -1;
	}
	if (p->len + len > p->cap) {
		cap = p->cap == 0 ? 128 : 2 * p->cap;
		if (cap < p->len + len)
			cap = p->len + len;
		if ((text = realloc(p->text, cap)) == NULL)
			return -1;
		p->text = text;
		p->cap = cap;
	}
	memcpy(p->text + p->len, pattern, len);
	p->len += len;
	p->n++;
	return 0;
}

typedef bool	 matches_fn(const char *pattern, const struct nethost *h);

static bool
any_of(const struct netrules *r, enum netrules_list l,
    const struct nethost *h, matches_fn *fn)
{
	const char	*p = r->list[l].text;
	unsigned	 i;

	for (i = 0; i < r->list[l].n; i++, p += strlen(p) + 1)
		if (fn(p, h))
			return true;
	return false;
}

static void
host_of(const struct netaddr *a, struct nethost *out)
{
	memset(out, 0, sizeof(*out));
	out->addr = *a;
	netaddr_text(a, out->text);
}

/* Of a list that refuses: an address of IPv6 may lead to one of IPv4. */
static bool
any_form_of(const struct netrules *r, enum netrules_list l,
    const struct nethost *h)
{
	struct netaddr	 four[NETADDR_EMBEDDED];
	struct nethost	 other;
	size_t		 i, n = netaddr_embedded(&h->addr, four);

	for (i = 0; i < n; i++) {
		host_of(&four[i], &other);
		if (any_of(r, l, &other, netpattern_matches))
			return true;
	}
	return any_of(r, l, h, netpattern_matches);
}

static bool
is_denied(const struct netrules *r, const struct nethost *h)
{
	return any_form_of(r, NETRULES_DENY, h) ||
	    any_form_of(r, NETRULES_FORBID, h);
}

/* An administrator's list is for the public network. */
static bool
allows_local(const struct netrules *r)
{
	return r->allows_local && !r->is_bound;
}

/* Whether a local host is listed itself, by everybody who lists. */
static bool
netrules_names(const struct netrules *r, const struct nethost *h)
{
	return (any_of(r, NETRULES_ALLOW, h, netpattern_is_exact) ||
	    (r->allows_local && any_of(r, NETRULES_ALLOW, h,
	    netpattern_matches))) &&
	    (!r->is_bound || any_of(r, NETRULES_BOUND, h,
	    netpattern_is_exact));
}

/* --- decisions --- */

bool
netrules_lists(const struct netrules *r, const struct nethost *h)
{
	return any_of(r, NETRULES_ALLOW, h, netpattern_matches);
}

enum net_verdict
netrules_judge(const struct netrules *r, const struct nethost *h,
    enum net_reason *why_out)
{
	*why_out = NET_DENIED;
	if (is_denied(r, h))
		return NETRULES_REFUSED;
	*why_out = NET_LOCAL;
	if (!allows_local(r) && nethost_is_local(h) && !netrules_names(r, h))
		return NETRULES_REFUSED;
	*why_out = NET_UNLISTED;
	if (r->is_bound && !any_of(r, NETRULES_BOUND, h, netpattern_matches))
		return NETRULES_REFUSED;
	if (netrules_lists(r, h) && !any_form_of(r, NETRULES_REVIEW, h)) {
		*why_out = NET_ALLOW;
		return NETRULES_ALLOWED;
	}
	return r->asks ? NETRULES_UNDECIDED : NETRULES_REFUSED;
}

bool
netrules_wants_addresses(const struct netrules *r, const struct nethost *h)
{
	return nethost_is_name(h) && !nethost_is_local(h) && !allows_local(r);
}

enum net_reason
netrules_address(const struct netrules *r, const struct nethost *h,
    const struct netaddr *a, bool is_own)
{
	struct nethost	 addr;

	host_of(a, &addr);
	if (is_denied(r, &addr))
		return NET_POLICY;
	if (allows_local(r) || (!is_own && !netaddr_is_local(a)))
		return NET_ALLOW;
	/* Judged by its name already: localhost, or this very address. */
	if (nethost_is_local(h))
		return NET_ALLOW;
	return !nethost_is_name(h) && netrules_names(r, h) ? NET_ALLOW :
	    NET_LOCAL;
}

enum net_reason
netrules_mode(const struct netrules *r, const char *method)
{
	if (!r->is_limited)
		return NET_ALLOW;
	if (method == NULL)
		return NET_METHOD;
	if (strcmp(method, "CONNECT") == 0)
		return NET_TUNNEL;
	return strcmp(method, "GET") == 0 || strcmp(method, "HEAD") == 0 ||
	    strcmp(method, "OPTIONS") == 0 ? NET_ALLOW : NET_METHOD;
}
