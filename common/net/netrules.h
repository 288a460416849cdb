/*
 * The rules of a managed network (PROTOCOL 5.9): what a client and the
 * administrator allow.  The administrator's are an upper bound: what they deny
 * no client can allow, and where they list domains only those are reachable.
 * Pure.
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

/* Canonical patterns, each ended by NUL. */
struct netrules_patterns {
	char	*text;
	size_t	 len, cap;
	unsigned n;
};

/* Embedded.  Zeroed: nothing is allowed. */
struct netrules {
	bool	 allows_local;	/* local hosts need no exact entry */
	bool	 is_limited;	/* plain GET, HEAD and OPTIONS only */
	bool	 asks;		/* the client decides about other hosts */
	bool	 is_bound;	/* only NETRULES_BOUND is reachable */
	struct netrules_patterns list[NETRULES_LISTS];
};

/* Why a host is refused, or allowed. */
enum net_reason {
#define REASON(name, word, header)	NET_##name,
#include "proto/netreason.def"
#undef REASON
	NET_REASONS
};

const char	*net_reason_word(enum net_reason r);

/* The value of x-proxy-error in an answer that refuses. */
const char	*net_reason_header(enum net_reason r);

void	 netrules_fini(struct netrules *r);

/* Add a canonical pattern.  0, or -1 with errno: E2BIG (LIMIT_NET_RULES). */
int	 netrules_add(struct netrules *r, enum netrules_list l,
	    const char *pattern) MUST_CHECK;

enum net_verdict { NETRULES_REFUSED, NETRULES_UNDECIDED, NETRULES_ALLOWED };

/*
 * Decide about a host before its addresses are known.  REFUSED: *why_out says
 * why.  UNDECIDED: the client is to be asked.  ALLOWED: by an entry.
 */
enum net_verdict netrules_judge(const struct netrules *r,
		    const struct nethost *h, enum net_reason *why_out);

/* Whether an entry of the client allows it, whoever is asked besides. */
bool	 netrules_lists(const struct netrules *r, const struct nethost *h);

/*
 * Whether addresses of an allowed name must be known, and not local, before it
 * counts as allowed.
 */
bool	 netrules_wants_addresses(const struct netrules *r,
	    const struct nethost *h);

/*
 * Decide about an address that an allowed host has; is_own: it is one of this
 * machine's.  NET_ALLOW, or why not: NET_LOCAL or NET_POLICY.
 */
enum net_reason	 netrules_address(const struct netrules *r,
		    const struct nethost *h, const struct netaddr *a,
		    bool is_own);

/*
 * Decide by the mode about a method of plain HTTP; "CONNECT" is a tunnel, NULL
 * is SOCKS.  NET_ALLOW, NET_METHOD or NET_TUNNEL.
 */
enum net_reason	 netrules_mode(const struct netrules *r, const char *method);
