/*
 * Adoption of the sessions of a master that was killed: their workers are in
 * its records (master/workers/records.h), and come to a socket in the run
 * directory.  Who comes is judged by what the kernel says of the process.
 */
#pragma once

#include "master/workers/cgroups.h"

struct adopt;
struct children;
struct handoff;
struct remotes;
struct routes;
struct world;

/* Read the records of the former master.  NULL with errno. */
struct adopt	*adopt_new(struct world *w, struct children *cs,
		    struct routes *rs, struct remotes *us,
		    const struct handoff *handed);
void		 adopt_free(struct adopt **ap);

/* The names of its control groups, or NULL. */
const struct cgroups_names *adopt_groups(const struct adopt *a);

/* After cgroups_new(): take sessions over, kill what dead workers left. */
void		 adopt_load(struct adopt *a);

/* After remote_init(): take over its uplinks, or kill unwanted ones. */
void		 adopt_uplinks(struct adopt *a);

/* Whether any has not been looked for, or has not come; one has come. */
bool		 adopt_is_due(const struct adopt *a);

/* Listen for its workers and uplinks.  0, or -1 after a line in the log. */
int		 adopt_listen(struct adopt *a) MUST_CHECK;
void		 adopt_on_adopted(struct adopt *a);

/* How often a master died in this run directory, since it was made. */
unsigned	 adopt_deaths(const struct adopt *a);
