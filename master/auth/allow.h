/* AllowUsers, DenyUsers and the like, in the order of sshd_config(5). */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "common/conf/conf.h"

/*
 * Why settings c, with Match applied, do not admit a client, or NULL;
 * allow_denies() applies Deny... only.
 */
const char	*allow_judge(const struct conf *c,
		    const struct conf_client *who);
const char	*allow_denies(const struct conf *c,
		    const struct conf_client *who);

/*
 * Call fn for each list of patterns of users, or of groups: in Match and the
 * keywords.  where: "FILE:LINE" or "".  0; the first result of fn that is not
 * 0; or -1 with ENOMEM.
 */
typedef int	 allow_fn(void *arg, const char *keyword, const char *where,
		    const char *list);
int		 allow_each(const struct conf *c, bool is_group, allow_fn *fn,
		    void *arg);

#define ALLOW_NAME_MAX	256	/* bytes of a user or group, with a NUL */

/* The same for each name in a list; is_pattern: has * or ?. */
typedef int	 allow_name_fn(void *arg, const char *name, bool is_pattern);
int		 allow_names(const char *list, allow_name_fn *fn, void *arg);

/* Look up all names; write a line to out for each that does not exist. */
void		 allow_warn(const struct conf *c, FILE *out);
