/* The reference program's switches of remote mode: one more Uplink block. */
#pragma once

#include <stdbool.h>

#include "common/conf/conf.h"
#include "master/remote/cred.h"
#include "master/auth/switches.h"

struct remote_options {
	const char	*url;
	const char	*environment;
	const char	*executor;
	const char	*name;
	const char	*transport;
	const char	*connect;
	bool		 is_forward;	/* the command "forward" */
	bool		 bearer_stdin;
	bool		 frames_stdin;
	bool		 exit_on_stdin;
};

/* Take a switch.  False: it is none of these. */
bool	 remote_options_take(struct remote_options *o, int opt,
	    const char *arg);

/*
 * Add the block, if any was given; wait for a credential from standard input,
 * if a block has it there.  0, or -1 with the reason in e.
 */
int	 remote_options_apply(const struct remote_options *o, struct conf *c,
	    struct conf_error *e) MUST_CHECK;
int	 remote_options_read_stdin(const struct conf *c, struct cred *cred,
	    struct conf_error *e) MUST_CHECK;
