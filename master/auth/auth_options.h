/*
 * The switches for tokens, named as the reference program's: they set keywords
 * and require a token of each TCP client.
 */
#pragma once

#include <getopt.h>
#include <stdbool.h>

#include "common/conf/conf.h"

/* Numbers for getopt_long(3), and rows for its table. */
enum {
	OPT_WS_AUTH = 768,
	OPT_WS_TOKEN_FILE,
	OPT_WS_TOKEN_SHA256,
	OPT_WS_SECRET_FILE,
	OPT_WS_ISSUER,
	OPT_WS_AUDIENCE,
	OPT_WS_SKEW
};

#define AUTH_LONG_OPTIONS						\
	{ "ws-auth", required_argument, NULL, OPT_WS_AUTH },		\
	{ "ws-token-file", required_argument, NULL, OPT_WS_TOKEN_FILE }, \
	{ "ws-token-sha256", required_argument, NULL,			\
	    OPT_WS_TOKEN_SHA256 },					\
	{ "ws-shared-secret-file", required_argument, NULL,		\
	    OPT_WS_SECRET_FILE },					\
	{ "ws-issuer", required_argument, NULL, OPT_WS_ISSUER },	\
	{ "ws-audience", required_argument, NULL, OPT_WS_AUDIENCE },	\
	{ "ws-max-clock-skew-seconds", required_argument, NULL,		\
	    OPT_WS_SKEW }

/* NULL: not given. */
struct auth_options {
	const char	*mode;
	const char	*token_file, *token_hash;
	const char	*secret_file, *issuer, *audience, *skew;
};

/* Take a switch.  False: it is none of these. */
bool	 auth_options_take(struct auth_options *o, int opt, const char *arg);

/* Whether any was given. */
bool	 auth_options_any(const struct auth_options *o);

/* Set the keywords.  0, or -1 with the reason in e. */
int	 auth_options_apply(const struct auth_options *o, struct conf *c,
	    struct conf_error *e) MUST_CHECK;
