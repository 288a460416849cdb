/* Commands of execsrvctl that are a client of an exec server. */
#ifndef MASTER_EXECSRVCTL_CTL_CLIENT_H
#define MASTER_EXECSRVCTL_CTL_CLIENT_H

#include <stdbool.h>

/*
 * argv[0] is the command's name, of those that proto/ctl.def has for this.
 * dir: the daemon's folder, or NULL, if no server is named.  is_plain: before
 * the name are none of the options that such a command does not have.  The
 * status to end with; what is wrong with the arguments is said, too.
 */
int	 ctl_client_command(const char *dir, bool is_plain, int argc,
	    char **argv);

#endif
