/* What of an environment (environ(7)) another program is told. */
#ifndef COMMON_ENVLIST_H
#define COMMON_ENVLIST_H

#include <stdbool.h>
#include <stddef.h>

/*
 * The variables of env whose names are among the n, or (is_kept is false) are
 * not.  One piece of memory for free(3), ended by NULL; the strings are env's.
 * NULL with errno ENOMEM.
 */
char	**envlist_filter(char *const *env, const char *const *names, size_t n,
	    bool is_kept) __attribute__((warn_unused_result));

/*
 * The same of our own, for programs of ours that do nothing but talk to the
 * network: proxies, certificates, what sanitizers are told.
 */
char	**envlist_network(void) __attribute__((warn_unused_result));

/* The same: language and time zone. */
char	**envlist_locale(void) __attribute__((warn_unused_result));

/*
 * The same for execsrv-worker, in which sessions of all users begin: language,
 * time zone, and what a program needs to be loaded.
 */
char	**envlist_worker(void) __attribute__((warn_unused_result));

/* Whether a variable ("NAME=value", or its name) is for no session at all. */
bool	 envlist_is_secret(const char *variable);

/*
 * Our environment without the secret ones in a file that nobody can change:
 * each variable with its NUL.  A descriptor (close-on-exec), or -1 with errno.
 */
int	 envlist_to_file(void) __attribute__((warn_unused_result));

/*
 * Make what is in such a file our environment.  It is kept in memory that our
 * children made by fork(2) do not get: theirs is empty.  0, or -1 with errno.
 */
int	 envlist_from_file(int fd) __attribute__((warn_unused_result));

#endif
