/* Confines the process of a hub that is on the network. */
#pragma once

#include <stdbool.h>

#include "common/conf/conf.h"

/* Whether there is such a user, if we are root.  0, or -1 with e. */
int	 hubconfine_check(const char *name, struct conf_error *e) MUST_CHECK;

/* Become a user, if we are root.  0, or -1 after a line in the log. */
int	 hubconfine_user(const char *name) MUST_CHECK;

/*
 * No files, no other processes and, unless it dials, no connections but
 * accepted ones.  0, or -1 with errno.
 */
int	 hubconfine(bool dials) MUST_CHECK;
