/* Whether a Unix socket can be made where it is to be, before it is made. */
#pragma once

#include <stdio.h>

#include "common/conf/conf.h"

/*
 * Check the folder of a path, and what is there of that name; a socket may be,
 * and these settings' run directory need not be.  0, or -1: why.
 */
int	 listen_place_check(const struct conf *c, const char *url,
	    const char *path, struct conf_error *e) MUST_CHECK;

/* What -t says of folders where others could put a socket of their own. */
void	 listen_place_warn(const struct conf *c, FILE *out);
