#include "master/remote/remote_options.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LABEL	"remote"	/* of the block */

bool
remote_options_take(struct remote_options *o, int opt, const char *arg)
{
	switch (opt) {
	case OPT_REMOTE:
		o->url = arg;
		return true;
	case OPT_ENVIRONMENT:
		o->environment = arg;
		return true;
	case OPT_EXECUTOR:
		o->executor = arg;
		return true;
	case OPT_NAME:
		o->name = arg;
		return true;
	case OPT_TRANSPORT:
		o->transport = arg;
		return true;
	case OPT_CONNECT:
		o->connect = arg;
		return true;
	case OPT_BEARER_STDIN:
		o->bearer_stdin = true;
		return true;
	case OPT_FRAMES_STDIN:
		o->frames_stdin = true;
		return true;
	case OPT_EXIT_ON_STDIN:
		o->exit_on_stdin = true;
		return true;
	default:
		return false;
	}
}

static int
remote_options_complain(struct conf_error *e, const char *text)
{
	return conf_fail(e, "%s", text);
}

/* A switch that is given, but not --remote. */
static const char *
remote_options_given(const struct remote_options *o)
{
	return o->is_forward ? "forward" :
	    o->environment != NULL ? "--environment-id" :
	    o->executor != NULL ? "--executor-id" :
	    o->name != NULL ? "--name" :
	    o->transport != NULL ? "--remote-transport" :
	    o->connect != NULL ? "--connect" :
	    o->bearer_stdin ? "--registration-bearer-stdin" :
	    "--executor-credential-stdin";
}

/* What does not go together, or is missing. */
static int
remote_options_check(const struct remote_options *o, struct conf_error *e)
{
	if (o->url == NULL)
		return conf_fail(e, "%s needs --remote",
		    remote_options_given(o));
	if ((o->environment != NULL) == (o->executor != NULL))
		return remote_options_complain(e,
		    "--remote needs --environment-id, or "
		    "--executor-id for a registry of May 2026");
	if (o->executor != NULL && o->transport != NULL &&
	    strcmp(o->transport, "plain") != 0)
		return remote_options_complain(e,
		    "--executor-id means --remote-transport "
		    "plain");
	if (o->is_forward != (o->connect != NULL))
		return remote_options_complain(e,
		    "forward needs --connect, and --connect needs forward");
	if (o->bearer_stdin && o->frames_stdin)
		return remote_options_complain(e,
		    "two credentials on standard input");
	return 0;
}

static int
remote_options_set(struct conf *c, const char *keyword, const char *value,
    struct conf_error *e)
{
	char	*copy, *end;
	int	 r;

	if (value == NULL)
		return 0;
	while (isspace((unsigned char)*value))
		value++;
	if ((copy = strdup(value)) == NULL)
		return remote_options_complain(e, "out of memory");
	end = copy + strlen(copy);
	while (end > copy && isspace((unsigned char)end[-1]))
		*--end = '\0';
	r = conf_set(c, keyword, copy, e);
	free(copy);
	return r;
}

int
remote_options_apply(const struct remote_options *o, struct conf *c,
    struct conf_error *e)
{
	const char	*transport = o->executor != NULL ? "plain" :
			    o->transport;
	int		 r = 0;

	if (o->url == NULL && o->environment == NULL && o->executor == NULL &&
	    o->name == NULL && o->transport == NULL && o->connect == NULL &&
	    !o->is_forward && !o->bearer_stdin && !o->frames_stdin)
		return 0;
	if (remote_options_check(o, e) == -1)
		return -1;
	if (remote_options_set(c, "Uplink", LABEL, e) == -1 ||
	    remote_options_set(c, "RegistryUrl", o->url, e) == -1 ||
	    remote_options_set(c, "EnvironmentId", o->environment != NULL ?
	    o->environment : o->executor, e) == -1 ||
	    remote_options_set(c, "ExecutorName", o->name, e) == -1 ||
	    remote_options_set(c, "RemoteTransport", transport, e) == -1 ||
	    remote_options_set(c, "Forward", o->connect, e) == -1 ||
	    remote_options_set(c, "CredentialStdin", o->bearer_stdin ?
	    "bearer" : o->frames_stdin ? "frames" : NULL, e) == -1)
		r = -1;
	conf_end_block(c);
	return r;
}

int
remote_options_read_stdin(const struct conf *c, struct cred *cred,
    struct conf_error *e)
{
	const struct conf_uplink	*u = NULL;
	char				 why[128];
	size_t				 i;

	for (i = 0; i < c->nuplink; i++)
		if (c->uplink[i].from_stdin != CONF_STDIN_NO)
			u = &c->uplink[i];
	if (u == NULL || cred_read_stdin(cred, u->from_stdin ==
	    CONF_STDIN_FRAMES, u->environment, why, sizeof(why)) == 0)
		return 0;
	return conf_fail(e, "credential on standard input: %s",
	    why);
}
