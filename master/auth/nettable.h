/* Lines of /proc/net/tcp and tcp6 (proc(5)), a TCP connection each.  Pure. */
#pragma once

#include <sys/types.h>

#include <netinet/in.h>

#include <stddef.h>
#include <stdint.h>

struct nettable_end {
	struct in6_addr	 address;	/* of IPv4: mapped (RFC 4291) */
	uint16_t	 port;
};

struct nettable_row {
	struct nettable_end local, remote;
	unsigned	 state;		/* TCP_ESTABLISHED ... */
	uid_t		 uid;
	uint64_t	 inode;		/* of the socket; 0: closed */
};

/* Parse a line without its newline.  0, or -1: the heading, or malformed. */
int	 nettable_parse(const char *line, size_t len,
	    struct nettable_row *out);
