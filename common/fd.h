/* Descriptors: small helpers that keep errno and check what they do. */
#ifndef COMMON_FD_H
#define COMMON_FD_H

#include <sys/socket.h>

#include <stddef.h>
#include <stdint.h>

/* Close *fd unless it is -1, and forget it.  errno stays. */
void	 fd_close(int *fd);

/* O_NONBLOCK on or off.  0, or -1 with errno. */
int	 fd_nonblock(int fd, int on) __attribute__((warn_unused_result));

/* FD_CLOEXEC on or off.  0, or -1 with errno. */
int	 fd_cloexec(int fd, int on) __attribute__((warn_unused_result));

/*
 * Make sure that 0, 1 and 2 are open (on /dev/null), so that no descriptor
 * of ours ever gets one of these numbers.  0, or -1 with errno.
 */
int	 fd_reserve_std(void) __attribute__((warn_unused_result));

/* openat2(2), close-on-exec.  The descriptor, or -1 with errno. */
int	 fd_openat2(int dir, const char *path, int flags, uint64_t resolve)
	    __attribute__((warn_unused_result));

/*
 * All of it at the end of a regular file of which nobody else writes to the end
 * (O_APPEND), or nothing: a part that found room is cut off again.  0, or -1
 * with errno.
 */
int	 fd_append(int fd, const void *data, size_t len)
	    __attribute__((warn_unused_result));

/*
 * The path in /proc of an open file of ours, O_PATH or not, into buf: for calls
 * that take no descriptor.  Returns buf.
 */
#define FD_SELF_MAX	32
const char	*fd_self(int fd, char buf[FD_SELF_MAX]);

/*
 * Descriptors in messages (SCM_RIGHTS, unix(7)).  Attach n of them, 0 is fine;
 * room, aligned as a struct cmsghdr, has CMSG_SPACE(n * sizeof(int)) bytes and
 * is needed until the message is sent.
 */
void	 fd_put_rights(struct msghdr *m, void *room, const int *fds, size_t n);

/*
 * Take those that came with a message: the first max of them; the rest is
 * closed.  How many came.
 */
size_t	 fd_take_rights(struct msghdr *m, int *fds, size_t max);

/*
 * Room for 256 KiB in a pipe that has much to carry: fewer wake-ups of both
 * sides.  Only then, since of such memory a user has a share, and if there is
 * none left it stays as it is (pipe(7)).
 */
void	 fd_widen(int pipe);

/* A close-on-exec, non-blocking SOCK_SEQPACKET pair.  0, or -1 with errno. */
int	 fd_packet_pair(int pair[2]) __attribute__((warn_unused_result));

#endif
