/* Run directories, where execsrvctl finds execsrvd. */
#pragma once

/*
 * The default one of the calling user, malloc'd: /run/execsrv for root,
 * $XDG_RUNTIME_DIR/execsrv for others, if these fail /tmp/execsrv-UID, or
 * /dev/shm/execsrv-UID if /tmp is read-only.  0, or -1 with errno ENOMEM.
 */
int	 rundirs_default(char **dir_out);

/* A file in there with the URLs of the listeners, readable by all clients. */
#define RUNDIRS_LISTEN	"listen"

/* A socket in there for sessions of a master that died. */
#define RUNDIRS_ADOPT	"adopt"

/* The one of the system's daemon, /run/execsrv unless configured otherwise. */
const char	*rundirs_system(void);
