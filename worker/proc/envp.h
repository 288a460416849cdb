/* Environments of commands, with envPolicy (PROTOCOL 5.2).  Pure. */
#pragma once

#include <stdbool.h>

#include "common/json/params.h"

struct envp_error {
	bool		 is_malformed;	/* or no process can have it */
	const char	*text;		/* for the client; NULL: ENOMEM */
};

/* Of env and, by policy (or NULL), of server (environ(7)).  NULL with e. */
char	**envp_make(const struct param_pairs *env,
	    const struct env_policy_params *policy, char *const *server,
	    struct envp_error *e);
void	 envp_free(char ***envp);

/* Or NULL. */
const char	*envp_get(char *const *envp, const char *name);
