/* "execsrvctl fleet": the environments of a hub, and its tokens. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "master/execsrvctl/chooser.h"

struct fleet_options {
	struct chooser	*which;		/* the hub: dir, or url */
	bool		 json;
};

/* Run it, with its name as argv[0].  Return an exit status. */
int	 fleet_command(struct fleet_options *o, int argc, char **argv);

/*
 * Collect the environments of a label (NULL: of all); and the URL of their
 * registry, with what it takes to reach it.  Return an exit status, after a
 * complaint.
 */
struct fleet_names {
	char		**name;
	size_t		 n;
	struct server	 hub;
};
int	 fleet_names(const struct chooser *which, const char *label,
	    struct fleet_names *out);
void	 fleet_names_fini(struct fleet_names *f);
