/* Variables by which programs find a proxy.  Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/attributes.h"

struct proxy_ports {
	uint16_t	 http;
	uint16_t	 socks;		/* 0: none */
	bool		 allows_local;
};

/*
 * Set all variables in an environment of malloc'd strings (environ(7)), in
 * place of those that it has.  0, or -1 with errno ENOMEM.
 */
int	 proxy_env_set(char ***envp, const struct proxy_ports *ports)
	    MUST_CHECK;

/*
 * Find the ports of loopback that proxy variables name, at most max different
 * ones.  Return how many.
 */
size_t	 proxy_env_find(char *const *envp, uint16_t *ports, size_t max);

/* Change port from[i] of such variables to to[i].  0, or -1 with ENOMEM. */
int	 proxy_env_change(char **envp, const uint16_t *from,
	    const uint16_t *to, size_t n) MUST_CHECK;
