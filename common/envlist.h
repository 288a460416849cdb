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

#endif
