/* Helpers for file descriptors. */
#pragma once

#include <sys/socket.h>
#include <sys/types.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Close unless -1, set to -1.  errno is kept. */
void	 fd_close(int *fd);

/* Raise the limit of open files as far as it may be; what it was is in *before,
   unless NULL.  0, or -1 with errno. */
struct rlimit;
int	 fd_raise_limit(struct rlimit *before) MUST_CHECK;

/* Whether it is a socket of a type (SOCK_...). */
bool	 fd_is_socket(int fd, int type);

/* Set or clear O_NONBLOCK, FD_CLOEXEC.  0, or -1 with errno. */
int	 fd_nonblock(int fd, int on) MUST_CHECK;
int	 fd_cloexec(int fd, int on) MUST_CHECK;

/* Open /dev/null for each of 0, 1 and 2 that is closed.  0, or -1, errno. */
int	 fd_reserve_std(void) MUST_CHECK;

/*
 * Make standard input and output, and standard error if asked for, /dev/null.
 * 0, or -1 with errno.
 */
int	 fd_null_std(bool with_error) MUST_CHECK;

/* The same, and return what was standard input, above them, close-on-exec. */
int	 fd_take_stdin(bool with_error) MUST_CHECK;

/* openat2(2) with O_CLOEXEC. */
int	 fd_openat2(int dir, const char *path, int flags, uint64_t resolve)
	    MUST_CHECK;

/*
 * Append all of data to a regular file of which we are the only writer, or
 * nothing: a partial write is truncated away.  0, or -1 with errno.
 */
int	 fd_append(int fd, const void *data, size_t len) MUST_CHECK;

/*
 * Read the first size - 1 bytes of a file in dir (openat(2)), not through a
 * symlink, and add a NUL.  Return their number, or -1 with errno and an empty
 * text.
 */
ssize_t	 fd_read_file(int dir, const char *path, char *out, size_t size);

/* Write /proc/self/fd/N, for calls that take a path only.  Return buf. */
#define FD_SELF_MAX	32
const char	*fd_self(int fd, char buf[FD_SELF_MAX]);

/*
 * SCM_RIGHTS (unix(7)): attach n descriptors (0: none).  room is aligned as a
 * struct cmsghdr, has CMSG_SPACE(n * sizeof(int)) bytes and is used until the
 * message is sent.
 */
void	 fd_put_rights(struct msghdr *m, void *room, const int *fds, size_t n);

/* Take the first max descriptors of a message, close the rest; return how
   many came. */
size_t	 fd_take_rights(struct msghdr *m, int *fds, size_t max);

/*
 * Enlarge a pipe to 256 KiB for bulk data.  The memory counts against the
 * user's share (pipe(7)); without any left the pipe stays as it is.
 * A trick (common/trick.h): t/bench/RESULTS.md has what it pays.
 */
void	 fd_widen(int pipe);

/* Make a non-blocking SOCK_SEQPACKET pair, close-on-exec.  0, or -1, errno. */
int	 fd_packet_pair(int pair[2]) MUST_CHECK;
