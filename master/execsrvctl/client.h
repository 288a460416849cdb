/* Commands of execsrvctl that are a client of an exec server. */
#ifndef MASTER_EXECSRVCTL_CLIENT_H
#define MASTER_EXECSRVCTL_CLIENT_H

/*
 * argv[0] is the command's name, of those that proto/ctl.def has for this.
 * dir: the daemon's folder, or NULL, if no server is named.  The status to end
 * with; what is wrong with the arguments is said, too.
 */
int	 client_command(const char *dir, int argc, char **argv);

#endif
