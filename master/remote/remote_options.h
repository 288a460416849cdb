/*
 * The switches of remote mode, named as the reference program's: together they
 * are one more Uplink block.
 */
#pragma once

#include <getopt.h>
#include <stdbool.h>

#include "common/conf/conf.h"
#include "master/remote/cred.h"

/* Numbers for getopt_long(3), and rows for its table. */
enum {
	OPT_REMOTE = 512,
	OPT_ENVIRONMENT,
	OPT_EXECUTOR,
	OPT_NAME,
	OPT_TRANSPORT,
	OPT_CONNECT,
	OPT_BEARER_STDIN,
	OPT_FRAMES_STDIN,
	OPT_EXIT_ON_STDIN
};

#define REMOTE_LONG_OPTIONS						\
	{ "remote", required_argument, NULL, OPT_REMOTE },		\
	{ "environment-id", required_argument, NULL, OPT_ENVIRONMENT },	\
	{ "executor-id", required_argument, NULL, OPT_EXECUTOR },	\
	{ "name", required_argument, NULL, OPT_NAME },			\
	{ "remote-transport", required_argument, NULL, OPT_TRANSPORT },	\
	{ "connect", required_argument, NULL, OPT_CONNECT },		\
	{ "registration-bearer-stdin", no_argument, NULL,		\
	    OPT_BEARER_STDIN },						\
	{ "executor-credential-stdin", no_argument, NULL,		\
	    OPT_FRAMES_STDIN },						\
	{ "exit-on-stdin-close", no_argument, NULL, OPT_EXIT_ON_STDIN }

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
 * Add the block, if any switch was given; texts are trimmed.  0, or -1 with the
 * reason in e.
 */
int	 remote_options_apply(const struct remote_options *o, struct conf *c,
	    struct conf_error *e) MUST_CHECK;

/*
 * If a block has its credential come from standard input, wait for it.  0, or
 * -1 with the reason in e.
 */
int	 remote_options_read_stdin(const struct conf *c, struct cred *cred,
	    struct conf_error *e) MUST_CHECK;
