#include "master/auth/auth_options.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

bool
auth_options_take(struct auth_options *o, int opt, const char *arg)
{
	const char	**const	at[] = {
		&o->mode, &o->token_file, &o->token_hash, &o->secret_file,
		&o->issuer, &o->audience, &o->skew
	};

	if (opt < OPT_WS_AUTH || opt > OPT_WS_SKEW)
		return false;
	assert((size_t)(opt - OPT_WS_AUTH) < sizeof(at) / sizeof(at[0]));
	*at[opt - OPT_WS_AUTH] = arg;
	return true;
}

static bool
has_token(const struct auth_options *o)
{
	return o->token_file != NULL || o->token_hash != NULL;
}

static bool
has_signed(const struct auth_options *o)
{
	return o->secret_file != NULL || o->issuer != NULL ||
	    o->audience != NULL || o->skew != NULL;
}

bool
auth_options_any(const struct auth_options *o)
{
	return o->mode != NULL || has_token(o) || has_signed(o);
}

static int
auth_options_complain(struct conf_error *e, const char *text)
{
	snprintf(e->text, sizeof(e->text), "%s", text);
	return -1;
}

/* An empty value would take away what it seems to ask for. */
static int
auth_options_set(struct conf *c, const char *keyword, const char *value,
    struct conf_error *e)
{
	if (value == NULL)
		return 0;
	if (value[0] == '\0') {
		snprintf(e->text, sizeof(e->text), "the value for %s is "
		    "empty", keyword);
		return -1;
	}
	return conf_set(c, keyword, value, e);
}

static int
apply_token(const struct auth_options *o, struct conf *c,
    struct conf_error *e)
{
	char	 line[512];

	if (has_signed(o))
		return auth_options_complain(e,
		    "--ws-auth capability-token takes no "
		    "switches of signed-bearer-token");
	if ((o->token_file != NULL) == (o->token_hash != NULL))
		return auth_options_complain(e,
		    "--ws-auth capability-token needs either "
		    "--ws-token-file or --ws-token-sha256");
	if (o->token_file != NULL)
		return auth_options_set(c, "TokenSecretFile", o->token_file, e);
	if (strlen(o->token_hash) != 64)
		return auth_options_complain(e,
		    "--ws-token-sha256: expected 64 "
		    "hexadecimal digits");
	snprintf(line, sizeof(line), "capability sha256:%s", o->token_hash);
	return auth_options_set(c, "Token", line, e);
}

static int
apply_signed(const struct auth_options *o, struct conf *c,
    struct conf_error *e)
{
	if (has_token(o))
		return auth_options_complain(e,
		    "--ws-auth signed-bearer-token takes no "
		    "switches of capability-token");
	if (o->skew != NULL &&
	    strspn(o->skew, "0123456789") != strlen(o->skew))
		return auth_options_complain(e,
		    "--ws-max-clock-skew-seconds: expected a "
		    "number");
	if (o->secret_file == NULL)
		return auth_options_complain(e,
		    "--ws-auth signed-bearer-token needs "
		    "--ws-shared-secret-file");
	return auth_options_set(c, "BearerSecretFile", o->secret_file, e) ==
	    -1 || auth_options_set(c, "BearerIssuer", o->issuer, e) == -1 ||
	    auth_options_set(c, "BearerAudience", o->audience, e) == -1 ||
	    auth_options_set(c, "BearerClockSkew", o->skew, e) == -1 ||
	    auth_options_set(c, "RequireSubject", "no", e) == -1 ? -1 : 0;
}

/* A switch that is given, but not --ws-auth. */
static const char *
auth_options_given(const struct auth_options *o)
{
	return o->token_file != NULL ? "--ws-token-file" :
	    o->token_hash != NULL ? "--ws-token-sha256" :
	    o->secret_file != NULL ? "--ws-shared-secret-file" :
	    o->issuer != NULL ? "--ws-issuer" :
	    o->audience != NULL ? "--ws-audience" :
	    "--ws-max-clock-skew-seconds";
}

int
auth_options_apply(const struct auth_options *o, struct conf *c,
    struct conf_error *e)
{
	int	 r;

	if (!auth_options_any(o))
		return 0;
	if (o->mode == NULL)
		return conf_fail(e, "%s needs --ws-auth",
		    auth_options_given(o));
	if (strcmp(o->mode, "capability-token") == 0)
		r = apply_token(o, c, e);
	else if (strcmp(o->mode, "signed-bearer-token") == 0)
		r = apply_signed(o, c, e);
	else
		return auth_options_complain(e,
		    "--ws-auth: expected capability-token or "
		    "signed-bearer-token");
	return r == -1 ? -1 : auth_options_set(c, "RequireToken", "always", e);
}
