/* Descriptors: small helpers that keep errno and check what they do. */
#ifndef COMMON_FD_H
#define COMMON_FD_H

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

/* A close-on-exec, non-blocking SOCK_SEQPACKET pair.  0, or -1 with errno. */
int	 fd_packet_pair(int pair[2]) __attribute__((warn_unused_result));

#endif
