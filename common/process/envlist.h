/* Which environment variables (environ(7)) are passed to which program. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/*
 * Return the variables of env that are named (is_kept) or not named (!is_kept)
 * in names[n].  free(3) the array only; the strings stay env's.  NULL with
 * errno ENOMEM.
 */
char	**envlist_filter(char *const *env, const char *const *names, size_t n,
	    bool is_kept) MUST_CHECK;

/*
 * Select from our own environment: proxies and certificates for programs that
 * use the network; language and time zone; and, for execsrv-worker, also what
 * the dynamic loader needs.
 */
char	**envlist_network(void) MUST_CHECK;
char	**envlist_locale(void) MUST_CHECK;
char	**envlist_worker(void) MUST_CHECK;

/* Whether a variable (NAME or NAME=VALUE) must not reach any session. */
bool	 envlist_is_secret(const char *variable);

/*
 * Write our environment without secrets to a sealed memfd, NUL after each
 * variable.  Return the descriptor (close-on-exec), or -1 with errno.
 */
int	 envlist_to_file(void) MUST_CHECK;

/*
 * Replace our environment by such a file.  A child made by fork(2) finds it
 * empty (MADV_WIPEONFORK).  0, or -1 with errno.
 */
int	 envlist_from_file(int fd) MUST_CHECK;
