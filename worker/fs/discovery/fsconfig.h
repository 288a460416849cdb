/* What environmentConfig/read knows of the stock client's settings.  Pure. */
#pragma once

#include "common/buf.h"
#include "common/toml/toml.h"

/* What a managed configuration requires, as TOML.  -1: why, or NULL, errno. */
int	 fsconfig_derive(const struct toml *managed, struct buf *out,
	    const char **why_out) MUST_CHECK;
