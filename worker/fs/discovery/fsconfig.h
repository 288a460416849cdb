/* What environmentConfig/read knows of the stock client's settings.  Pure. */
#pragma once

#include "common/buf.h"
#include "common/toml/toml.h"

/*
 * Append the requirements that a managed configuration amounts to, as TOML;
 * nothing if there are none.  0, or -1 with why, or NULL in *why_out and errno.
 */
int	 fsconfig_derive(const struct toml *managed, struct buf *out,
	    const char **why_out) MUST_CHECK;
