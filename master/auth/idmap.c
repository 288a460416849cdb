#include "master/auth/idmap.h"

#include <limits.h>
#include <stdint.h>
#include <stdio.h>

#define OVERFLOW	65534u		/* the kernel's default */
#define ALL		UINT32_MAX	/* the last number is none */

static FILE *
open_in(const char *folder, const char *name)
{
	char	 path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return fopen(path, "re");
}

/* Lines of "first here, first outside, how many", none of which overlap. */
static bool
has_all(const char *folder, const char *name)
{
	unsigned long long	 sum = 0, n;
	FILE			*f;

	if ((f = open_in(folder, name)) == NULL)
		return false;
	while (fscanf(f, "%*u %*u %llu", &n) == 1)
		sum += n;
	fclose(f);
	return sum == ALL;
}

static unsigned
idmap_read_number(const char *folder, const char *name)
{
	unsigned	 n = OVERFLOW;
	FILE		*f;

	if ((f = open_in(folder, name)) == NULL)
		return OVERFLOW;
	if (fscanf(f, "%u", &n) != 1)
		n = OVERFLOW;
	fclose(f);
	return n;
}

void
idmap_read_from(struct idmap *im, const char *folder)
{
	im->has_all_users = has_all(folder, "self/uid_map");
	im->has_all_groups = has_all(folder, "self/gid_map");
	im->overflow_uid = idmap_read_number(folder, "sys/kernel/overflowuid");
	im->overflow_gid = idmap_read_number(folder, "sys/kernel/overflowgid");
}

void
idmap_read(struct idmap *im)
{
	idmap_read_from(im, "/proc");
}

bool
idmap_is_user(const struct idmap *im, uid_t uid)
{
	return im->has_all_users || uid != im->overflow_uid;
}

bool
idmap_is_group(const struct idmap *im, gid_t gid)
{
	return im->has_all_groups || gid != im->overflow_gid;
}
