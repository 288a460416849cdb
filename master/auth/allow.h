/*
 * AllowUsers, DenyUsers, AllowGroups and DenyGroups: who may have sessions, in
 * the order of sshd_config(5).  Pure but for allow_warn().
 */
#ifndef MASTER_AUTH_ALLOW_H
#define MASTER_AUTH_ALLOW_H

#include <stdbool.h>
#include <stdio.h>

#include "common/conf/conf.h"

/*
 * Why the settings c that are in force for a client keep it out, or NULL.  who:
 * its user and groups, by name.  allow_denies() asks Deny... only.
 */
const char	*allow_judge(const struct conf *c,
		    const struct conf_client *who);
const char	*allow_denies(const struct conf *c,
		    const struct conf_client *who);

/*
 * Call fn for each list of patterns for users, or for groups, that there is: in
 * Match, and in these four, also in Match blocks.  where: "FILE:LINE" or "".
 * 0; what fn returned, if that was not 0; or -1 with errno ENOMEM.
 */
typedef int	 allow_fn(void *arg, const char *keyword, const char *where,
		    const char *list);
int		 allow_each(const struct conf *c, bool is_group, allow_fn *fn,
		    void *arg);

#define ALLOW_NAME_MAX	256	/* bytes of a user or group, with a NUL */

/*
 * Call fn for every name in a list of patterns, is_pattern: with * or ?.  0, or
 * what fn returned, if that was not 0.
 */
typedef int	 allow_name_fn(void *arg, const char *name, bool is_pattern);
int		 allow_names(const char *list, allow_name_fn *fn, void *arg);

/*
 * A line to out for each name in such a list that no user or group has: asks
 * the name services.
 */
void		 allow_warn(const struct conf *c, FILE *out);

#endif
