/* Servers that execsrv-reach reaches (reach/reach_conn.h).  Embedded. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "common/buf.h"
#include "common/client/execsrv.h"
#include "common/json/json.h"

#define EXECSRV_REACH_ASK_MAX	(16 * 1024)	/* as execsrv-reach takes it */

struct execsrv_reach {
	char	*url;		/* NULL: not by execsrv-reach */
	char	*environment;	/* of a registry's; or NULL */
	char	*program;
	char	*ca_file;	/* or NULL */
};

/* Whether a URL is one of execsrv-reach; whether it was prepared. */
bool	 execsrv_reach_is(const char *url);
bool	 execsrv_reach_is_set(const struct execsrv_reach *r);

/* What it takes to reach a URL.  0, or -1 with the reason in e. */
int	 execsrv_reach_prepare(struct execsrv_reach *r, const char *url,
	    const struct execsrv_options *o, struct execsrv_error *e)
	    MUST_CHECK;
void	 execsrv_reach_fini(struct execsrv_reach *r);

const char *execsrv_reach_program(const struct execsrv_reach *r);

/*
 * What is to be reached, into b with room for EXECSRV_REACH_ASK_MAX bytes: a
 * token (or NULL) must not be moved.  0, or -1 with errno.
 */
int	 execsrv_reach_put_ask(const struct execsrv_reach *r, const char *token,
	    int connect_ms, int silence_ms, struct buf *b) MUST_CHECK;

/* Read the reason for its end, if that is what it says. */
bool	 execsrv_reach_read_error(const struct json *j, char *why, size_t size,
	    bool *is_permanent_out);
