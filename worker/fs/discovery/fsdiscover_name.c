/* The plugin that a skill belongs to, after which it is named. */
#include "worker/fs/discovery/fsdiscover.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Look in one folder.  1: it names a plugin; 0; or -1 with errno. */
static int
read_name(struct discovery *d, const char *folder, char **name_out)
{
	const char	*own = strrchr(folder, '/');
	char		 path[PATH_MAX];
	struct manifest	 m;
	struct buf	 b;
	int		 got;

	assert(own != NULL && *name_out == NULL);
	got = discovery_read_manifest(d, folder, false, path, &b);
	if (got == 1) {
		got = (manifest_parse(&m, discovery_text(&b)) == 0 ||
		    m.is_named) && (m.name != NULL || own[1] != '\0');
		if (got == 1 && (*name_out = strdup(m.name != NULL ? m.name :
		    own + 1)) == NULL)
			got = -1;
		manifest_fini(&m);
	}
	buf_fini(&b);
	return got;
}

bool
discovery_go_up(char folder[PATH_MAX])
{
	char	*slash = strrchr(folder, '/');

	if (slash == NULL || folder[1] == '\0')
		return false;
	slash[slash == folder] = '\0';
	return true;
}

/* Find that of a folder, which others share with the last one asked for. */
static int
find_parent(struct discovery *d, const char *parent)
{
	char	 folder[PATH_MAX];
	int	 got;

	if (d->parent != NULL && strcmp(d->parent, parent) == 0)
		return 0;
	free(d->parent);
	free(d->parent_name);
	d->parent_name = NULL;
	if ((d->parent = strdup(parent)) == NULL)
		return -1;
	snprintf(folder, sizeof(folder), "%s", parent);
	do {
		got = read_name(d, folder, &d->parent_name);
	} while (got == 0 && discovery_go_up(folder));
	if (got == -1) {
		free(d->parent);
		d->parent = NULL;
	}
	return got == -1 ? -1 : 0;
}

int
discovery_find_namespace(struct discovery *d, const char *folder,
    char **name_out)
{
	char	 parent[PATH_MAX];
	int	 got;

	*name_out = NULL;
	if ((got = read_name(d, folder, name_out)) != 0)
		return got == -1 ? -1 : 0;
	snprintf(parent, sizeof(parent), "%s", folder);
	if (!discovery_go_up(parent))
		return 0;
	if (find_parent(d, parent) == -1)
		return -1;
	if (d->parent_name == NULL)
		return 0;
	return (*name_out = strdup(d->parent_name)) == NULL ? -1 : 0;
}
