/* Run directories, where execsrvctl finds execsrvd. */
#pragma once

#include <sys/types.h>
#include <sys/un.h>

/*
 * The default one of the calling user, malloc'd: /run/execsrv for root,
 * $XDG_RUNTIME_DIR/execsrv for others, if these fail /tmp/execsrv-UID, or
 * /dev/shm/execsrv-UID if /tmp is read-only.  0, or -1 with errno ENOMEM.
 */
int	 rundirs_default(char **dir_out);

/*
 * The one of execsrv-hub; told: by an option or setting, NULL or "": the
 * default.  0, or -1: too long.
 */
int	 rundirs_hub(const char *told, char *out, size_t size) MUST_CHECK;

/* A file in there with the URLs of the listeners, readable by all clients. */
#define RUNDIRS_LISTEN	"listen"

/* A socket in there for sessions of a master that died. */
#define RUNDIRS_ADOPT	"adopt"

/* The one of the system's daemon, /run/execsrv unless configured otherwise. */
const char	*rundirs_system(void);

/* The address of a socket in one.  0, or -1 with errno ENAMETOOLONG. */
int	 rundirs_address(const char *dir, const char *name,
	    struct sockaddr_un *un_out) MUST_CHECK;

/*
 * Listen there for SOCK_SEQPACKET connections, in the place of a file that is
 * left: the directory is ours and locked.  mask: umask(2) of the socket.  A
 * non-blocking descriptor, or -1 after a line in the log.
 */
int	 rundirs_listen(const char *dir, const char *name, mode_t mask,
	    int backlog) MUST_CHECK;

/* The same at any path, for a type of socket. */
int	 rundirs_listen_at(const struct sockaddr_un *un, int type, mode_t mask,
	    int backlog) MUST_CHECK;
