/*
 * The target: the first line from libexecsrv, a JSON object.  Pure.
 *
 *	url		ws(s)://..., or with environment that of a registry
 *	environment	id at the registry; optional
 *	token		bearer token; optional
 *	caFile		certificates to trust, not the system's; optional
 *	connectMs	timeout to connect
 *	silenceMs	silence after which the connection is lost
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define REACH_TARGET_MAX	(16 * 1024)

struct reach_target {
	const char	*url;
	const char	*environment;	/* NULL: url is a server's */
	const char	*token;		/* or NULL */
	const char	*ca_file;	/* or NULL */
	uint64_t	 connect_ms, silence_ms;
};

/* Cuts up text, which g points into.  0, or -1 with errno EINVAL, ENOMEM. */
int	 reach_target_read(struct reach_target *g, char *text, size_t len)
	    MUST_CHECK;
