/*
 * Rules of a managed network (PROTOCOL 5.9), a client's and the
 * administrator's: what the latter deny no client can allow, and where they
 * list domains only those are reachable.  Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/attributes.h"
#include "common/net/nethost.h"

enum netrules_list {
	NETRULES_ALLOW, NETRULES_DENY, NETRULES_REVIEW,	/* the client's */
	NETRULES_BOUND, NETRULES_FORBID,	/* the administrator's */
	NETRULES_LISTS
};

/* Canonical, each ended by NUL. */
struct netrules_patterns {
	char	*text;
	size_t	 len, cap;
	unsigned n;
};

/* Embedded.  Zeroed: nothing is allowed. */
struct netrules {
	bool	 allows_local;	/* local hosts need no exact entry */
	bool	 is_limited;	/* only plain GET, HEAD, OPTIONS */
	bool	 asks;		/* the client decides about other hosts */
	bool	 is_bound;	/* only NETRULES_BOUND is reachable */
	struct netrules_patterns list[NETRULES_LISTS];
};

/* Why refused, or allowed. */
enum net_reason {
#define REASON(name, word, header)	NET_##name,
#include "proto/netreason.def"
#undef REASON
	NET_REASONS
};

const char	*net_reason_word(enum net_reason r);

/* x-proxy-error in a refusal. */
const char	*net_reason_header(enum net_reason r);

void	 netrules_fini(struct netrules *r);

/* Canonical.  0, or -1 with errno: E2BIG (LIMIT_NET_RULES). */
int	 netrules_add(struct netrules *r, enum netrules_list l,
	    const char *pattern) MUST_CHECK;

enum net_verdict { NETRULES_REFUSED, NETRULES_UNDECIDED, NETRULES_ALLOWED };

/* Before addresses are known.  REFUSED: *why_out; UNDECIDED: ask the client. */
enum net_verdict netrules_judge(const struct netrules *r,
		    const struct nethost *h, enum net_reason *why_out);

/* The client has an entry for it, whoever is asked besides. */
bool	 netrules_lists(const struct netrules *r, const struct nethost *h);

/* It counts as allowed only if its addresses are known and not local. */
bool	 netrules_wants_addresses(const struct netrules *r,
	    const struct nethost *h);

/* Of an allowed host.  is_own: this machine's.  NET_ALLOW, _LOCAL, _POLICY. */
enum net_reason	 netrules_address(const struct netrules *r,
		    const struct nethost *h, const struct netaddr *a,
		    bool is_own);

/* "CONNECT": tunnel; NULL: SOCKS.  NET_ALLOW, NET_METHOD or NET_TUNNEL. */
enum net_reason	 netrules_mode(const struct netrules *r, const char *method);
