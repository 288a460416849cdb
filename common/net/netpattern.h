/* Patterns for hosts, as rules of managed networks have them.  Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "common/attributes.h"
#include "common/net/nethost.h"

/*
 * Write the canonical form of a pattern:
 *	NAME		that host only
 *	*.NAME		every name below it, at any depth
 *	**.NAME		both
 *	*		every host, also written **.*; *.* those with a dot
 *	10.1.2.*, ?	elsewhere "*" is any run of characters, "?" is one
 *	[ADDRESS], ADDRESS	IPv6
 * Blanks around it, final dots and a port are ignored, the latter since rules
 * apply to all ports.  NULL, or what is wrong.
 */
const char	*netpattern_make(const char *text, size_t len,
		    char out[NETHOST_MAX]) MUST_CHECK;

/* Whether a canonical pattern matches a host. */
bool		 netpattern_matches(const char *pattern,
		    const struct nethost *h);

/* Whether it names the host literally; whether it matches every host. */
bool		 netpattern_is_exact(const char *pattern,
		    const struct nethost *h);
bool		 netpattern_is_all(const char *pattern);
