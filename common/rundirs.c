#include "common/rundirs.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config.h"

/* World-writable folders; a read-only container may have the last one only. */
static const char *const	 shared[] = { "/tmp", "/dev/shm" };

#define NSHARED	(sizeof(shared) / sizeof(shared[0]))

const char *
rundirs_system(void)
{
	return EXECSRV_RUNSTATEDIR;
}

/* Whether the system's folder is writable, or can be made. */
static bool
has_system(void)
{
	char	*parent, *slash;
	bool	 has;

	if (access(rundirs_system(), W_OK) == 0)
		return true;
	if ((parent = strdup(rundirs_system())) == NULL)
		return true;
	if ((slash = strrchr(parent, '/')) != NULL)
		*slash = '\0';
	has = access(parent, W_OK) == 0;
	free(parent);
	return has;
}

int
rundirs_default(char **dir_out)
{
	const char	*xdg = getenv("XDG_RUNTIME_DIR");
	size_t		 i;
	int		 r;

	if (geteuid() == 0 && has_system()) {
		r = asprintf(dir_out, "%s", rundirs_system());
	} else if (geteuid() != 0 && xdg != NULL && xdg[0] == '/' &&
	    access(xdg, W_OK) == 0) {
		r = asprintf(dir_out, "%s/execsrv", xdg);
	} else {
		for (i = 0; i < NSHARED - 1; i++)
			if (access(shared[i], W_OK) == 0)
				break;
		r = asprintf(dir_out, "%s/execsrv-%lu", shared[i],
		    (unsigned long)geteuid());
	}
	return r == -1 ? -1 : 0;
}
