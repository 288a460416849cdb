#include "master/execsrvctl/run/run.h"

const char **
run_defaults(struct run_options *o, const struct server *s)
{
	const char	**env = server_env(s, o->env);

	o->env = env;
	if (o->cwd == NULL)
		o->cwd = s->cwd;
	if (!o->has_sandbox)
		o->sandbox = s->sandbox;
	return env;
}
