/*
 * What the kernel knows of the socket at the other end of a TCP connection on
 * this machine (sock_diag(7)).
 */
#pragma once

#include <sys/socket.h>
#include <sys/types.h>

#include <linux/netlink.h>

#include <stdbool.h>
#include <stddef.h>

#include "common/attributes.h"

#define SOCKDIAG_MAX	8192	/* bytes of an answer */

struct sockdiag {
	bool		 is_found;	/* and a process has it open */
	uid_t		 uid;		/* of its owner, as we see it */
	const void	*info;		/* struct tcp_info, or NULL */
	size_t		 info_len;
	union {
		struct nlmsghdr	 head;
		char		 room[SOCKDIAG_MAX];
	} answer;
};

/* Open a socket for it.  -1 with errno. */
int	 sockdiag_open(void) MUST_CHECK;

/*
 * Find the socket whose own address is theirs and whose peer is ours, both of
 * the same family.  0, or -1 with errno: the kernel did not answer.
 */
int	 sockdiag_find(int sock, const struct sockaddr *ours,
	    const struct sockaddr *theirs, struct sockdiag *out) MUST_CHECK;
