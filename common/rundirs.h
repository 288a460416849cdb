/* Run directories, where execsrvctl finds execsrvd. */
#pragma once

#include <sys/types.h>
#include <sys/un.h>

/*
 * That of the calling user, malloc'd: /run/execsrv for root, others
 * $XDG_RUNTIME_DIR/execsrv; else /tmp/execsrv-UID, or /dev/shm/execsrv-UID if
 * /tmp is read-only.  0, or -1 with errno ENOMEM.
 */
int	 rundirs_default(char **dir_out);

/* Of execsrv-hub.  told: an option or setting, NULL or "".  -1: too long. */
int	 rundirs_hub(const char *told, char *out, size_t size) MUST_CHECK;

/* File in it: URLs of the listeners, readable by all clients. */
#define RUNDIRS_LISTEN	"listen"

/* Socket in it, for sessions of a master that died. */
#define RUNDIRS_ADOPT	"adopt"

/* That of the system's daemon: /run/execsrv unless configured otherwise. */
const char	*rundirs_system(void);

/* 0, or -1 with errno ENAMETOOLONG. */
int	 rundirs_address(const char *dir, const char *name,
	    struct sockaddr_un *un_out) MUST_CHECK;

/*
 * Listen (SOCK_SEQPACKET, non-blocking) in place of a file that is left: the
 * directory is ours and locked.  mask: umask(2).  -1: after a line in the log.
 */
int	 rundirs_listen(const char *dir, const char *name, mode_t mask,
	    int backlog) MUST_CHECK;

/* The same at any path, of any type. */
int	 rundirs_listen_at(const struct sockaddr_un *un, int type, mode_t mask,
	    int backlog) MUST_CHECK;
