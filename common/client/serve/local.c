/* A private server for one connection, which ends with it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/client/connect.h"
#include "common/client/error.h"
#include "common/client/serve/launch.h"

#define FIXED	12		/* arguments beside the settings */

static size_t
local_count(const char *const *list)
{
	size_t	 n = 0;

	while (list != NULL && list[n] != NULL)
		n++;
	return n;
}

/* Make the command line, in one piece of memory, or NULL. */
static const char **
local_make_argv(const char *path, const char *const *settings)
{
	const char	**v;
	size_t		  i, n = 0;

	if ((v = calloc(2 * local_count(settings) + FIXED, sizeof(*v))) == NULL)
		return NULL;
	v[n++] = path;
	v[n++] = "-D";
	v[n++] = "-f";
	v[n++] = "none";		/* not the settings of the system */
	v[n++] = "-o";
	v[n++] = "RuntimeDirectory=none";
	v[n++] = "-o";
	v[n++] = "LogLevel=warning";
	for (i = 0; i < local_count(settings); i++) {
		v[n++] = "-o";
		v[n++] = settings[i];
	}
	v[n++] = "--listen";
	v[n++] = "stdio";
	return v;
}

struct execsrv *
execsrv_connect_local(const struct execsrv_local *l,
    const struct execsrv_options *o, struct execsrv_error *e)
{
	static const struct execsrv_local	 none;
	struct execsrv				*x;
	const char				**argv;
	char					 path[PATH_MAX];

	if (l == NULL)
		l = &none;
	if (execsrv_find_server(l->program, path, e) == -1)
		return NULL;
	if ((argv = local_make_argv(path, l->settings)) == NULL) {
		execsrv_error_set(e, EXECSRV_WHY_SYSTEM, "%s: cannot be "
		    "started: %s", path, strerror(errno));
		return NULL;
	}
	x = execsrv_spawn_open(argv, true, o, e);
	free(argv);
	return x;
}
