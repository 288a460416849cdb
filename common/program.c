#include "common/program.h"

#include <sys/auxv.h>

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "config.h"

void
program_find(const char *name, char *path, size_t size)
{
	char	 self[PATH_MAX], *slash;
	ssize_t	 n;

	/* Never beside a set-user-ID program: anyone may hard link that. */
	if (getauxval(AT_SECURE) == 0 && (n = readlink("/proc/self/exe", self,
	    sizeof(self) - 1)) > 0) {
		self[n] = '\0';
		if ((slash = strrchr(self, '/')) != NULL) {
			*slash = '\0';
			snprintf(path, size, "%s/%s", self, name);
			if (access(path, X_OK) == 0)
				return;
		}
	}
	snprintf(path, size, "%s/%s", EXECSRV_LIBEXECDIR, name);
}
