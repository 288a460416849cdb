/*
 * Checks of a configuration as a whole; the same for a start, -t and a reload.
 */
#pragma once

#include "common/conf/conf.h"

/*
 * Opens nothing and reads no secrets; looks up users and groups.  0, or -1 with
 * the reason in e.
 */
int	 validate(const struct conf *c, struct conf_error *e) MUST_CHECK;
