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

/* All, in malloc'd strings (environ(7)).  -1: errno ENOMEM. */
int	 proxy_env_set(char ***envp, const struct proxy_ports *ports)
	    MUST_CHECK;

/* Loopback ports of proxy variables, up to max different ones; how many. */
size_t	 proxy_env_find(char *const *envp, uint16_t *ports, size_t max);

/* Ports from[i] to to[i].  -1: ENOMEM. */
int	 proxy_env_change(char **envp, const uint16_t *from,
	    const uint16_t *to, size_t n) MUST_CHECK;
