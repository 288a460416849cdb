/* Which variables (environ(7)) are passed to which program. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Those named, or not named.  free(3) the array only.  NULL: errno ENOMEM. */
char	**envlist_filter(char *const *env, const char *const *names, size_t n,
	    bool is_kept) MUST_CHECK;

/*
 * Of our own: proxies and certificates; language and time zone; the same and
 * what the dynamic loader needs.  As envlist_filter().
 */
char	**envlist_network(void) MUST_CHECK;
char	**envlist_locale(void) MUST_CHECK;
char	**envlist_worker(void) MUST_CHECK;

/* NAME or NAME=VALUE: it must not reach any session. */
bool	 envlist_is_secret(const char *variable);

/* Without secrets, NUL after each, to a sealed memfd, close-on-exec.  Or -1. */
int	 envlist_to_file(void) MUST_CHECK;

/* Replace ours; children by fork(2) find it empty.  -1 with errno. */
int	 envlist_from_file(int fd) MUST_CHECK;
