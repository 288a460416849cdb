#include "common/program.h"

#include <sys/auxv.h>

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "config.h"

#define DELETED	" (deleted)"	/* what proc(5) says of a replaced file */

void
program_self(char *path, size_t size)
{
	ssize_t	 n = readlink("/proc/self/exe", path, size - 1);
	size_t	 len = n > 0 ? (size_t)n : 0, tail = sizeof(DELETED) - 1;

	path[len] = '\0';
	if (len > tail && strcmp(path + len - tail, DELETED) == 0 &&
	    access(path, F_OK) == -1)
		path[len - tail] = '\0';
}

void
program_find(const char *name, char *path, size_t size)
{
	char	 self[PATH_MAX], *slash;

	/* Never beside a set-user-ID program: anyone may hard link that. */
	if (getauxval(AT_SECURE) == 0) {
		program_self(self, sizeof(self));
		if ((slash = strrchr(self, '/')) != NULL) {
			*slash = '\0';
			snprintf(path, size, "%s/%s", self, name);
			if (access(path, X_OK) == 0)
				return;
		}
	}
	snprintf(path, size, "%s/%s", EXECSRV_LIBEXECDIR, name);
}
