#include "master/execsrvctl/cp/cp.h"

#include <string.h>

/*
 * Return PATH of "NAME:PATH", both may be empty; NULL: a path here, with a
 * slash before its first colon.
 */
static char *
path_there(char *text)
{
	char	*colon = strchr(text, ':');

	return colon == NULL || memchr(text, '/', (size_t)(colon - text)) !=
	    NULL ? NULL : colon + 1;
}

/* "-": standard input or output. */
static const char *
check_pipe(struct cp_options *o)
{
	size_t	 i;

	for (i = 0; o->is_upload && i < o->n; i++)
		o->is_piped |= strcmp(o->from[i], "-") == 0;
	if (!o->is_upload)
		o->is_piped = strcmp(o->to, "-") == 0;
	if (!o->is_piped)
		return NULL;
	return o->n > 1 ? "\"-\" goes with one source only (a file of that "
	    "name is ./-)" :
	    o->recursive ? "\"-\" is one file, so no -r; "
	    "for a tree: tar c DIR | execsrvctl cp - NAME:PATH" :
	    o->go_on ? "\"-\" cannot be read again, so no --continue" : NULL;
}

const char *
cp_args(struct cp_options *o, int argc, char **argv, char **name_out)
{
	char	**last = argv + argc - 1, **arg, *path;

	*name_out = NULL;
	o->is_upload = path_there(*last) != NULL;
	for (arg = argv; arg <= last; arg++) {
		path = path_there(*arg);
		if ((path != NULL) != (o->is_upload == (arg == last)))
			return o->is_upload ?
			    "source or destination must be on this machine" :
			    "source or destination must be on a server: "
			    "NAME:PATH, or :PATH";
		if (path == NULL)
			continue;
		path[-1] = '\0';
		if (*name_out != NULL && strcmp(*name_out, *arg) != 0)
			return "all sources must be on the same server";
		*name_out = *arg;
		*arg = path;
	}
	o->from = argv;
	o->n = (size_t)(last - argv);
	o->to = *last;
	return check_pipe(o);
}
