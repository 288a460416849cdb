/*
 * Checks of a configuration as a whole; the same for a start, -t and a reload.
 */
#pragma once

#include "common/conf/conf.h"

/*
 * Reads no secrets; looks up users and groups, and whether files can be opened.
 * 0, or -1 with all reasons in e.
 */
int	 validate(const struct conf *c, struct conf_error *e) MUST_CHECK;
