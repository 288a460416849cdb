/*
 * The environment of a command: exactly what the client sent, or made from
 * ours by its envPolicy (PROTOCOL 5.2).  Pure.
 */
#ifndef WORKER_PROC_ENVP_H
#define WORKER_PROC_ENVP_H

#include <stdbool.h>

#include "common/json/params.h"

/* Why an environment cannot be made. */
struct envp_error {
	bool		 is_malformed;	/* not what the protocol says; else it
					   is, but no process can have it */
	const char	*text;		/* for the client; NULL: no memory */
};

/*
 * The environment of these variables and by that policy (NULL: none), from
 * server (as environ(7)): an array to be freed with envp_free().  NULL, with
 * the reason in e.
 */
char	**envp_make(const struct param_pairs *env,
	    const struct env_policy_params *policy, char *const *server,
	    struct envp_error *e);
void	 envp_free(char ***envp);

/* The value of a variable in an environment, or NULL. */
const char	*envp_get(char *const *envp, const char *name);

#endif
