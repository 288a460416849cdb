/* Patterns for hosts in rules of managed networks.  Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "common/attributes.h"
#include "common/net/nethost.h"

/*
 * Write the canonical form:
 *	NAME		that host only
 *	*.NAME		every name below it, at any depth
 *	**.NAME		both
 *	*		every host, also written **.*; *.* those with a dot
 *	10.1.2.*, ?	elsewhere "*" is any run of characters, "?" is one
 *	[ADDRESS], ADDRESS	IPv6
 * Ignored: blanks around it, final dots, a port.  NULL, or what is wrong.
 */
const char	*netpattern_make(const char *text, size_t len,
		    char out[NETHOST_MAX]) MUST_CHECK;

/* A canonical pattern. */
bool		 netpattern_matches(const char *pattern,
		    const struct nethost *h);

/* Names the host literally; matches every host. */
bool		 netpattern_is_exact(const char *pattern,
		    const struct nethost *h);
bool		 netpattern_is_all(const char *pattern);
