/*
 * What is to be reached: the first line that execsrv-reach is told, an object.
 * Pure.
 *
 *	url		wss://..., or with environment that of a registry
 *	environment	its name there; optional
 *	token		the bearer token; optional
 *	caFile		certificates to trust, not the system's; optional
 *	connectMs	time to connect
 *	silenceMs	how long nothing may be heard, then it is lost
 */
#ifndef COMMON_CLIENT_REACH_REACH_TARGET_H
#define COMMON_CLIENT_REACH_REACH_TARGET_H

#include <stddef.h>
#include <stdint.h>

#define REACH_TARGET_MAX	(16 * 1024)	/* bytes of the line */

struct reach_target {
	const char	*url;
	const char	*environment;	/* or NULL: a server, no registry */
	const char	*token;		/* or NULL */
	const char	*ca_file;	/* or NULL */
	uint64_t	 connect_ms, silence_ms;
};

/*
 * Read the line.  The text is written to and must stay: g points into it.  0,
 * or -1 with errno EINVAL (something else) or ENOMEM.
 */
int	 reach_target_read(struct reach_target *g, char *text, size_t len)
	    __attribute__((warn_unused_result));

#endif
