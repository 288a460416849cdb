/*
 * Who is at the other end of a local connection: the kernel says it.  Reads
 * nothing that the peer sent.
 */
#ifndef MASTER_AUTH_PEER_H
#define MASTER_AUTH_PEER_H

#include <sys/types.h>

#include <stdbool.h>
#include <stdint.h>

struct idmap;

#define PEER_TEXT_MAX	80
#define IDENTITY_MAX	80	/* bytes of "token:NAME", with a NUL */
#define PEER_LISTENER_MAX 160

struct peer {
	bool	 known;			/* by the kernel, or by a token */
	uid_t	 uid;			/* that its sessions run as */
	uid_t	 client_uid;		/* who it is itself */
	bool	 has_gid, has_client_gid;
	gid_t	 gid, client_gid;	/* likewise */
	bool	 is_tcp;
	bool	 is_given;		/* came in by a listener of --listen */
	bool	 must_show;		/* a token: nothing else will do */
	bool	 has_shown;		/* a good one: uids are what it says */
	unsigned uplink;		/* it came through; 0: none */
	bool	 is_strict;		/* what is no JSON-RPC ends it */
	bool	 is_metrics;		/* came for figures: no session */
	const char *unfit;		/* why it is not served, or NULL */
	const char *why;		/* all things considered; the same */
	char	 text[PEER_TEXT_MAX];	/* for people: "127.0.0.1:40123" */
	char	 user[PEER_TEXT_MAX];	/* what shares are counted by: */
	char	 source[PEER_TEXT_MAX];	/* the user, and his address; of
					   other machines by IPv6 their
					   network, which they choose from */
	char	 identity[IDENTITY_MAX];	/* what sessions belong to */
	char	 address[PEER_TEXT_MAX];	/* IP, "unix", ... */
	char	 listener[PEER_LISTENER_MAX];	/* where it came in */
};

/*
 * Which way the kernel tells whose a TCP connection is: sock_diag(7), which
 * wants its module tcp_diag, or its table in /proc (master/auth/nettable.h),
 * which is read whole for each client and does not show what is in a sandbox.
 */
enum peer_way { PEER_WAY_NONE, PEER_WAY_DIAG, PEER_WAY_TABLE };

/*
 * Try them with a connection of our own to loopback.  NONE: neither knows it.
 * DIAG too where there is no loopback to try it with.
 */
enum peer_way	 peer_find_way(void);

/* For people: "sock_diag". */
const char	*peer_way_name(enum peer_way way);

/* What a peer's wrong tokens are counted by: its user, or else its address. */
const char	*peer_culprit(const struct peer *p);

/* Another identity, by a token, for the same peer; its text names it. */
void	 peer_grant(struct peer *p, const char *identity, uid_t uid,
	    bool has_gid, gid_t gid);

/*
 * Identify the peer of an accepted Unix (SO_PEERCRED, unix(7)) or TCP socket
 * (the exact pair of addresses, which way tells).  A peer that is not on
 * loopback, or gone already, or who has no number here (master/auth/idmap.h),
 * is not known; one in a sandbox of ours is unfit (master/auth/peer_sandbox.h;
 * sockmark is ours).  0, or -1 with errno.
 */
int	 peer_identify(int fd, enum peer_way way, uint64_t sockmark,
	    const struct idmap *im, struct peer *p)
	    __attribute__((warn_unused_result));

/* Its identity is the user whom the kernel names. */
void	 peer_is_user(struct peer *p);

#endif
