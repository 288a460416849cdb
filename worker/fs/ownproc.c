#include "worker/fs/ownproc.h"

#include <sys/stat.h>
#include <sys/vfs.h>

#include <linux/magic.h>

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/fd.h"

/* Files without memory, addresses or open files. */
static const char *const	 harmless[] = {
	"cgroup", "mountinfo", "mounts", "mountstats", "net", "status"
};

/*
 * Whether this is the /proc folder of a process that runs our program, or
 * another one of the server's, perhaps of a version before or after: these are
 * known by their name.
 */
static bool
runs_our_program(const char *folder, size_t len)
{
	struct stat	 ours, its;
	char		 exe[PATH_MAX], path[PATH_MAX];
	const char	*name;
	ssize_t		 n;

	/* If exe is not readable, the other files are not either. */
	if ((size_t)snprintf(exe, sizeof(exe), "%.*s/exe", (int)len,
	    folder) >= sizeof(exe) ||
	    (n = readlink(exe, path, sizeof(path) - 1)) <= 0)
		return false;
	path[n] = '\0';
	if ((name = strrchr(path, '/')) != NULL &&
	    strncmp(name + 1, "execsrv", strlen("execsrv")) == 0)
		return true;
	return stat(exe, &its) == 0 && stat("/proc/self/exe", &ours) == 0 &&
	    its.st_dev == ours.st_dev && its.st_ino == ours.st_ino;
}

static bool
is_harmless(const char *name)
{
	size_t	 i, len = strcspn(name, "/");

	for (i = 0; i < sizeof(harmless) / sizeof(harmless[0]); i++)
		if (strlen(harmless[i]) == len &&
		    memcmp(harmless[i], name, len) == 0)
			return true;
	return false;
}

bool
is_ownproc(int fd, const struct statx *x)
{
	struct statfs	 fs;
	char		 self[FD_SELF_MAX], path[PATH_MAX];
	const char	*p, *end;
	ssize_t		 n;

	/* On a disk: has a major number or blocks. */
	if (x->stx_dev_major != 0 || x->stx_blocks != 0 ||
	    fstatfs(fd, &fs) == -1 ||
	    fs.f_type != PROC_SUPER_MAGIC ||
	    (n = readlink(fd_self(fd, self), path, sizeof(path))) <= 0)
		return false;
	if ((size_t)n == sizeof(path))
		return true;
	path[n] = '\0';
	/* Wherever procfs is mounted, look for a number as a name. */
	for (p = strchr(path, '/'); p != NULL; p = strchr(p, '/')) {
		p++;
		end = p + strspn(p, "0123456789");
		if (end > p && *end == '/' && end[1] != '\0' &&
		    runs_our_program(path, (size_t)(end - path)))
			return !is_harmless(end + 1);
	}
	return false;
}
