/*
 * Whether a connection comes from inside a sandbox of a session, ours or
 * another server's: it would be served without one.
 */
#pragma once

#include <sys/types.h>

#include <stddef.h>
#include <stdint.h>

/* The socket mark of the server with run directory dir; NULL: a random one. */
uint64_t	 peer_sandbox_brand(const char *dir);

/* Why not to serve a TCP connection, or NULL.  info: TCP_INFO (tcp(7)). */
const char	*peer_sandbox_why_tcp(const void *info, size_t len,
		    uint64_t sockmark);

/* Why not to serve the process pid at the other end of fd, or NULL. */
const char	*peer_sandbox_why(int fd, pid_t pid);
