/* Where daemons of a user are found; shared by execsrvd and execsrvctl. */
#ifndef COMMON_RUNDIRS_H
#define COMMON_RUNDIRS_H

/*
 * The default run directory of the calling user: /run/execsrv for root, below
 * XDG_RUNTIME_DIR for others; where that cannot be, below /tmp, or /dev/shm if
 * /tmp cannot be written to (a read-only container).  malloc'd into *dir_out.
 * 0, or -1 with errno ENOMEM.
 */
int	 rundirs_default(char **dir_out);

/*
 * In a run directory: where the daemon listens, a URL in each line, for clients
 * who may not open the control socket.
 */
#define RUNDIRS_LISTEN	"listen"

/* The one of the system's daemon. */
const char	*rundirs_system(void);

#endif
