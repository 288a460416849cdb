#include "master/accept/inherited.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/fd.h"

int
inherited_add(struct inherited *in, int fd, const char *spec, bool is_metrics)
{
	struct inherited_one	*one = &in->list[in->n];

	if (in->n == INHERITED_MAX) {
		errno = E2BIG;
		return -1;
	}
	if ((one->spec = strdup(spec)) == NULL)
		return -1;
	one->fd = fd;
	one->is_metrics = is_metrics;
	in->n++;
	return 0;
}

static struct inherited_one *
inherited_find(struct inherited *in, const char *spec, bool is_metrics)
{
	size_t	 i;

	for (i = 0; i < in->n; i++)
		if (in->list[i].fd != -1 &&
		    in->list[i].is_metrics == is_metrics &&
		    strcmp(in->list[i].spec, spec) == 0)
			return &in->list[i];
	return NULL;
}

int
inherited_take(struct inherited *in, const char *spec, bool is_metrics)
{
	struct inherited_one	*one = inherited_find(in, spec, is_metrics);
	int			 fd;

	if (one == NULL)
		return -1;
	fd = one->fd;
	one->fd = -1;
	return fd;
}

void
inherited_remove(struct inherited *in, const char *spec, bool is_metrics)
{
	struct inherited_one	*one = inherited_find(in, spec, is_metrics);

	if (one == NULL)
		return;
	fd_close(&one->fd);
	free(one->spec);
	*one = in->list[--in->n];
}

void
inherited_fini(struct inherited *in)
{
	size_t	 i;

	for (i = 0; i < in->n; i++) {
		if (in->list[i].fd != -1 &&
		    strncmp(in->list[i].spec, "unix:", 5) == 0)
			unlink(in->list[i].spec + 5);
		fd_close(&in->list[i].fd);
		free(in->list[i].spec);
	}
	in->n = 0;
}
