/*
 * Whether a connection comes from inside a sandbox of one of our sessions.  Who
 * is there would be taken for his user, and served without a sandbox.
 *
 * Over TCP a socket made there has our mark (worker/sandbox/sockmark.h).
 *
 * Of a Unix socket the kernel names the process that connected.  What is looked
 * at is what it cannot shed, and keeps when the master dies: the mark of what
 * runs below a session (common/linux/ptree.h), and that it is under more
 * filters of system calls than we are.  The filters are those of any sandbox,
 * not only of ours, and the mark is any server's: what a command has confined
 * is confined for us as well.
 */
#ifndef MASTER_AUTH_PEER_SANDBOX_H
#define MASTER_AUTH_PEER_SANDBOX_H

#include <sys/types.h>

#include <stddef.h>
#include <stdint.h>

/*
 * The socket mark of the server with that run directory: nobody else has it.
 * NULL: of one without, by chance.
 */
uint64_t	 peer_sandbox_brand(const char *dir);

/*
 * Why a TCP connection is not to be served, or NULL; info: what the kernel
 * (TCP_INFO, tcp(7)) says of the socket at its other end, of len bytes.
 */
const char	*peer_sandbox_why_tcp(const void *info, size_t len,
		    uint64_t sockmark);

/*
 * Why the process pid at the other end of the socket fd is not to be served, or
 * NULL.  One that is gone, or cannot be looked at, is not: it may have been one
 * of those, and have left its socket to another.
 */
const char	*peer_sandbox_why(int fd, pid_t pid);

#endif
