/*
 * Users and groups of the name service, looked up by a child: modules of
 * nsswitch.conf(5), and glibc itself for want of memory, may end the process
 * that they run in.  The child is there from the first name on until
 * names_end(); there is one for all, as there is one data base.
 */
#ifndef MASTER_AUTH_NAMES_H
#define MASTER_AUTH_NAMES_H

#include <grp.h>
#include <pwd.h>

/*
 * As getpwnam(3) and getgrnam(3), but for what they say besides: names, numbers
 * and members only.  Valid until its next call.  NULL: errno is 0 if there is
 * none of that name, or why nobody knows: names_error() has the words.
 */
const struct passwd	*names_user(const char *name);
const struct group	*names_group(const char *name);

/* What to say of an errno that may be of one of those. */
const char		*names_error(int error);

/* The child ends, so that the next one sees a data base that has changed. */
void			 names_end(void);

#endif
