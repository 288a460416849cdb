/*
 * Environments of commands: as the client sent it, or made from ours by its
 * envPolicy (PROTOCOL 5.2).  Pure.
 */
#pragma once

#include <stdbool.h>

#include "common/json/params.h"

struct envp_error {
	bool		 is_malformed;	/* violates the protocol; else no
					   process can have it */
	const char	*text;		/* for the client; NULL: ENOMEM */
};

/*
 * Make an environment of env and, by policy (NULL: none), of server
 * (environ(7)).  Free with envp_free().  NULL with the reason in e.
 */
char	**envp_make(const struct param_pairs *env,
	    const struct env_policy_params *policy, char *const *server,
	    struct envp_error *e);
void	 envp_free(char ***envp);

/* Return the value of a variable, or NULL. */
const char	*envp_get(char *const *envp, const char *name);
