/* Checks of a whole configuration: the same for a start, -t and a reload. */
#pragma once

#include "common/conf/conf.h"

/* Reads no secrets; opens files, looks up users.  0, or -1: all reasons. */
int	 validate(const struct conf *c, struct conf_error *e) MUST_CHECK;
