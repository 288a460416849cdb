/* Shell snapshots as text (PROTOCOL 5.11).  Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "common/json/params.h"

enum snapshot_shell { SNAPSHOT_BASH, SNAPSHOT_SH, SNAPSHOT_ZSH };

/* By name.  -1: not one of those. */
int	 snapshot_shell_find(const struct param_text *name,
	    enum snapshot_shell *out) MUST_CHECK;

/* NULL: startup files run each time, their effect cannot be told. */
const char	*snapshot_script(enum snapshot_shell shell);

/* Has the script's output ended?  len bytes are old. */
bool	 snapshot_is_complete(const char *out, size_t len, size_t old);

/* The state and the environment, allocated.  -1: malformed, ENOMEM. */
int	 snapshot_parse(const char *out, size_t len, char **state_out,
	    char ***envp_out) MUST_CHECK;

/*
 * A command's: the first of each name in own (the request's), left (by the
 * shell) and prepared, then the state.  NULL: no memory.  envp_free().
 */
char	**snapshot_envp(char *const *own, char *const *left,
	    char *const *prepared, const char *state) MUST_CHECK;

/* SHELL -lc SCRIPT ... with the state.  NULL: no memory.  envp_free(). */
char	**snapshot_argv(enum snapshot_shell shell, char *const *argv,
	    const char *state) MUST_CHECK;

/* Of copies. */
struct snapshot_policy {
	struct env_policy_params	 params;
	char				*block;
};

/* NULL: all is inherited.  -1 with errno. */
int	 snapshot_policy_init(struct snapshot_policy *copy,
	    const struct env_policy_params *policy) MUST_CHECK;
void	 snapshot_policy_fini(struct snapshot_policy *copy);
