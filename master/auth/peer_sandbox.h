/*
 * Whether a connection comes from inside a sandbox of a session: it would be
 * served without one.
 *
 * A TCP socket made there has our mark (worker/sandbox/sockmark.h).  The
 * process at a Unix socket cannot shed the mark of a session's descendants
 * (common/linux/ptree.h), nor its seccomp filters, of which it has more than
 * the master.  Those of other servers and other sandboxes count as well.
 */
#pragma once

#include <sys/types.h>

#include <stddef.h>
#include <stdint.h>

/* The socket mark of the server with run directory dir; NULL: a random one. */
uint64_t	 peer_sandbox_brand(const char *dir);

/*
 * Why not to serve a TCP connection, or NULL.  info: len bytes of TCP_INFO
 * (tcp(7)) of the peer's socket.
 */
const char	*peer_sandbox_why_tcp(const void *info, size_t len,
		    uint64_t sockmark);

/*
 * Why not to serve the process pid at the other end of fd, or NULL.  One that
 * is gone or cannot be examined is refused: it may have left its socket to
 * another process.
 */
const char	*peer_sandbox_why(int fd, pid_t pid);
