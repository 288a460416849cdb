/* "execsrvctl cp": files between this machine and servers. */
#ifndef MASTER_EXECSRVCTL_CP_H
#define MASTER_EXECSRVCTL_CP_H

#include <stdbool.h>

struct cp_options {
	bool	 quiet, recursive;
	int	 patience;	/* as execsrv_options.recover_ms */
};

#endif
