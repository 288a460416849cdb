/*
 * Where a daemon listens, as its run directory says (RUNDIRS_LISTEN): for who
 * may not open the control socket.
 */
#ifndef MASTER_EXECSRVCTL_LISTENERS_H
#define MASTER_EXECSRVCTL_LISTENERS_H

#include <stdbool.h>

/* Whether that is an address that we can connect to. */
bool	 listeners_fits(const char *url);

/*
 * The first of these in a run directory: malloc'd, or NULL.  What we send goes
 * to whom the file names: folder and file must be root's or ours, and nobody
 * else's to write.
 */
char	*listeners_read(const char *dir);

#endif
