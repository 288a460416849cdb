/* Descriptors.  -1 is with errno. */
#pragma once

#include <sys/socket.h>
#include <sys/types.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Unless -1; then it is -1.  errno is kept. */
void	 fd_close(int *fd);

/* The hard limit becomes the soft one; *before (or NULL): as it was. */
struct rlimit;
int	 fd_raise_limit(struct rlimit *before) MUST_CHECK;

/* type: SOCK_... */
bool	 fd_is_socket(int fd, int type);

int	 fd_nonblock(int fd, int on) MUST_CHECK;
int	 fd_cloexec(int fd, int on) MUST_CHECK;

/* Open /dev/null for each of 0, 1 and 2 that is closed. */
int	 fd_reserve_std(void) MUST_CHECK;

/* Make standard input and output (and error) /dev/null. */
int	 fd_null_std(bool with_error) MUST_CHECK;

/* The same; return the old standard input, above 2, close-on-exec. */
int	 fd_take_stdin(bool with_error) MUST_CHECK;

/* openat2(2) with O_CLOEXEC. */
int	 fd_openat2(int dir, const char *path, int flags, uint64_t resolve)
	    MUST_CHECK;

/* Append all or nothing to a regular file that nobody else writes. */
int	 fd_append(int fd, const void *data, size_t len) MUST_CHECK;

/* Read up to size - 1 bytes, not through a symlink, and a NUL.  -1: "". */
ssize_t	 fd_read_file(int dir, const char *path, char *out, size_t size);

/* Return buf with /proc/self/fd/N. */
#define FD_SELF_MAX	32
const char	*fd_self(int fd, char buf[FD_SELF_MAX]);

/*
 * Attach n descriptors (SCM_RIGHTS, unix(7)).  room: CMSG_SPACE(n *
 * sizeof(int)) bytes, aligned as a struct cmsghdr, in use until the message is
 * sent.
 */
void	 fd_put_rights(struct msghdr *m, void *room, const int *fds, size_t n);

/* Take the first max descriptors, close the rest; return how many came. */
size_t	 fd_take_rights(struct msghdr *m, int *fds, size_t max);

/* Enlarge, if possible.  A trick: t/bench/RESULTS.md has what it pays. */
void	 fd_widen(int pipe);

/* SOCK_SEQPACKET, non-blocking, close-on-exec. */
int	 fd_packet_pair(int pair[2]) MUST_CHECK;
