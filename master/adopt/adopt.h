/*
 * Adoption of the sessions of a former master, which was killed: their workers
 * go on, are found by its records (master/workers/records.h), and come to a
 * socket in the run directory.  Who comes is judged by what the kernel says of
 * the process, and is what its record says.
 */
#pragma once

#include "master/workers/cgroups.h"
#include "master/world.h"

struct adopt;

/* Read the records of the former master.  NULL with errno. */
struct adopt	*adopt_new(struct master *m);
void		 adopt_free(struct adopt **ap);

/* Return the names of its control groups, or NULL. */
const struct cgroups_names *adopt_groups(const struct adopt *a);

/*
 * Take over its sessions, kill what those left whose workers died, and begin
 * records of our own.  After cgroups_new().
 */
void		 adopt_load(struct adopt *a);

/* Its uplinks, or kill those that are not wanted.  After remote_init(). */
void		 adopt_uplinks(struct adopt *a);

/* Whether any of them has not been looked for, or has not come. */
bool		 adopt_is_due(const struct adopt *a);

/* Listen for its workers and uplinks.  0, or -1 after a line in the log. */
int		 adopt_listen(struct adopt *a) MUST_CHECK;

/* One has come. */
void		 adopt_on_adopted(struct adopt *a);

/* How often a master died in this run directory, since it was made. */
unsigned	 adopt_deaths(const struct adopt *a);
