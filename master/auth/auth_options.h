/* The reference program's switches for tokens: they set keywords. */
#pragma once

#include <stdbool.h>

#include "common/conf/conf.h"
#include "master/auth/switches.h"

/* NULL: not given. */
struct auth_options {
	const char	*mode;
	const char	*token_file, *token_hash;
	const char	*secret_file, *issuer, *audience, *skew;
};

/* Take a switch; false: it is none of these.  Then whether any was given. */
bool	 auth_options_take(struct auth_options *o, int opt, const char *arg);
bool	 auth_options_any(const struct auth_options *o);

/* 0, or -1 with the reason in e. */
int	 auth_options_apply(const struct auth_options *o, struct conf *c,
	    struct conf_error *e) MUST_CHECK;
