#include "common/rundirs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config.h"

const char *
rundirs_system(void)
{
	return EXECSRV_RUNSTATEDIR;
}

int
rundirs_default(char **dir_out)
{
	const char	*xdg = getenv("XDG_RUNTIME_DIR");
	int		 r;

	if (geteuid() == 0)
		r = asprintf(dir_out, "%s", rundirs_system());
	else if (xdg != NULL && xdg[0] == '/' && access(xdg, W_OK) == 0)
		r = asprintf(dir_out, "%s/execsrv", xdg);
	else
		r = asprintf(dir_out, "/tmp/execsrv-%lu",
		    (unsigned long)geteuid());
	return r == -1 ? -1 : 0;
}
