/* The other end of a TCP connection on this machine (sock_diag(7)). */
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

/* -1 with errno. */
int	 sockdiag_open(void) MUST_CHECK;

/* The socket at theirs with peer ours, one family.  -1: errno, no answer. */
int	 sockdiag_find(int sock, const struct sockaddr *ours,
	    const struct sockaddr *theirs, struct sockdiag *out) MUST_CHECK;
