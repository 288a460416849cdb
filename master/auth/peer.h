/* Identifies the peer of a local connection; reads nothing that it sent. */
#pragma once

#include <sys/types.h>

#include <stdbool.h>
#include <stdint.h>

struct idmap;

#define PEER_TEXT_MAX	80
#define IDENTITY_MAX	80	/* bytes of "token:NAME", with a NUL */
#define PEER_LISTENER_MAX 160

struct peer {
	bool	 known;			/* by the kernel, or by a token */
	uid_t	 uid;			/* its sessions run as */
	uid_t	 client_uid;		/* its own */
	bool	 has_gid, has_client_gid;
	gid_t	 gid, client_gid;	/* likewise */
	bool	 is_tcp;
	bool	 is_given;		/* came in by a listener of --listen */
	bool	 must_show;		/* a token is required */
	bool	 lacks_token;		/* is all that why says */
	bool	 has_shown;		/* a valid one, which gave the uids */
	unsigned uplink;		/* it came through; 0: none */
	bool	 is_strict;		/* what is no JSON-RPC ends it */
	bool	 is_metrics;		/* asks for metrics: no session */
	const char *unfit;		/* why peer_identify() refuses it */
	const char *why;		/* why it is not served; or NULL */
	char	 text[PEER_TEXT_MAX];	/* for people: "127.0.0.1:40123" */
	char	 user[PEER_TEXT_MAX];	/* shares are counted by this, */
	char	 source[PEER_TEXT_MAX];	/* and by this: user and address, of
					   another machine by IPv6 its /64 */
	char	 identity[IDENTITY_MAX];	/* owner of its sessions */
	char	 address[PEER_TEXT_MAX];	/* IP, "unix", ... */
	char	 listener[PEER_LISTENER_MAX];	/* that it connected to */
};

/*
 * The owner of a TCP connection is found by sock_diag(7), which needs the
 * kernel module tcp_diag, or the table in /proc, which is slow and has no marks
 * of sandboxes.
 */
enum peer_way { PEER_WAY_NONE, PEER_WAY_DIAG, PEER_WAY_TABLE };

/* Try them on loopback.  NONE: both fail.  DIAG also without loopback. */
enum peer_way	 peer_find_way(void);

const char	*peer_way_name(enum peer_way way);

/* Its user, or else its address: wrong tokens are counted by it. */
const char	*peer_culprit(const struct peer *p);

/* Set the identity of its token; peer_is_user(): that of its user. */
void	 peer_grant(struct peer *p, const char *identity, uid_t uid,
	    bool has_gid, gid_t gid);

/*
 * Identify the peer of an accepted Unix (SO_PEERCRED, unix(7)) or TCP socket.
 * Not known: it is not on loopback, is gone, or has no uid here
 * (master/auth/idmap.h).  Unfit: in a sandbox of ours, by sockmark and the like
 * (master/auth/peer_sandbox.h).  diag: -1, or what an earlier call left there.
 * 0, or -1 with errno.
 */
int	 peer_identify(int fd, enum peer_way way, int *diag,
	    uint64_t sockmark, const struct idmap *im, struct peer *p)
	    MUST_CHECK;

void	 peer_is_user(struct peer *p);
