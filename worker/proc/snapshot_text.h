/*
 * Shell snapshots as text (PROTOCOL 5.11): the script that a login shell runs
 * instead of a command, what it puts out, and the command line that brings its
 * state back.  Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "common/json/params.h"

enum snapshot_shell { SNAPSHOT_BASH, SNAPSHOT_SH, SNAPSHOT_ZSH };

/* Find a shell by its name.  0, or -1: not one of those. */
int	 snapshot_shell_find(const struct param_text *name,
	    enum snapshot_shell *out) MUST_CHECK;

/*
 * Return the script; NULL: startup files run each time, as what they leave in
 * this shell cannot be told.
 */
const char	*snapshot_script(enum snapshot_shell shell);

/* Whether output of the script has come to its end; len bytes are old. */
bool	 snapshot_is_complete(const char *out, size_t len, size_t old);

/*
 * Take output apart: the state, and the environment (environ(7)), both
 * allocated.  0, or -1: malformed, or no memory.
 */
int	 snapshot_parse(const char *out, size_t len, char **state_out,
	    char ***envp_out) MUST_CHECK;

/*
 * Make the environment of a command: what the request sets itself, what the
 * shell left, what is prepared, the first of each name, and the state.  NULL:
 * no memory.  envp_free().
 */
char	**snapshot_envp(char *const *own, char *const *left,
	    char *const *prepared, const char *state) MUST_CHECK;

/*
 * Make the command line of SHELL -lc SCRIPT ... with the state.  NULL: no
 * memory.  envp_free().
 */
char	**snapshot_argv(enum snapshot_shell shell, char *const *argv,
	    const char *state) MUST_CHECK;

/* A policy for environments whose texts are copies. */
struct snapshot_policy {
	struct env_policy_params	 params;
	char				*block;
};

/* Copy a policy; NULL: all is inherited.  0, or -1 with errno. */
int	 snapshot_policy_init(struct snapshot_policy *copy,
	    const struct env_policy_params *policy) MUST_CHECK;
void	 snapshot_policy_fini(struct snapshot_policy *copy);
