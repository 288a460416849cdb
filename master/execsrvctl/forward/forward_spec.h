/* What -L and -R of "execsrvctl forward" say.  Pure. */
#pragma once

#include <stdbool.h>

#include "common/attributes.h"

struct forward_end {
	char	 name[256];	/* a host, or the path of a Unix socket */
	char	 port[6];	/* "": a path */
};

struct forward_spec {
	struct forward_end	 from, to;
	bool			 is_there;	/* -R; the caller's */
};

/*
 * Read [BIND:]PORT:HOST:PORT, where PATH may stand for [BIND:]PORT and for
 * HOST:PORT, as in ssh(1).  BIND is "localhost" unless given.  0, or -1.
 */
int	 forward_spec_parse(const char *text, struct forward_spec *out)
	    MUST_CHECK;

#define FORWARD_TEXT	270
void	 forward_end_text(const struct forward_end *e, char out[FORWARD_TEXT]);
