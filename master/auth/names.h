/*
 * Looks up users and groups in a child process, which runs from the first name
 * until names_end().
 */
#pragma once

#include <grp.h>
#include <pwd.h>

/*
 * As getpwnam(3) and getgrnam(3), with name, ids and members only; valid until
 * the next call.  NULL with errno: 0: no such name; else see names_error().
 */
const struct passwd	*names_user(const char *name);
const struct group	*names_group(const char *name);

/* As strerror(3), for an errno of these, too. */
const char		*names_error(int error);

/* End the child, so that the next sees changes of the data base. */
void			 names_end(void);
