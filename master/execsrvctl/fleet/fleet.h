/* "execsrvctl fleet": the environments of a hub, and its tokens. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "master/execsrvctl/chooser.h"

struct fleet_options {
	struct chooser	*which;
	bool		 json;
};

/* argv[0]: its name.  An exit status. */
int	 fleet_command(struct fleet_options *o, int argc, char **argv);

/* Those with a label (NULL: all), and their registry.  An exit status. */
struct fleet_names {
	char		**name;
	size_t		 n;
	struct server	 hub;
};
int	 fleet_names(const struct chooser *which, const char *label,
	    struct fleet_names *out);
void	 fleet_names_fini(struct fleet_names *f);
