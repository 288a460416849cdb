#include "master/auth/peer.h"

#include <sys/socket.h>
#include <sys/un.h>

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/net/sockdiag.h"
#include "common/net/tcp.h"
#include "master/auth/idmap.h"
#include "master/auth/nettable.h"
#include "master/auth/peer_sandbox.h"

union address {
	struct sockaddr		 any;
	struct sockaddr_in	 in;
	struct sockaddr_in6	 in6;
	struct sockaddr_un	 un;
	struct sockaddr_storage	 room;
};

static int
identify_unix(int fd, struct peer *p)
{
	struct ucred	 c;
	socklen_t	 len = sizeof(c);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &c, &len) == -1)
		return -1;
	p->known = true;
	p->uid = c.uid;
	p->has_gid = true;
	p->gid = c.gid;
	p->unfit = peer_sandbox_why(fd, c.pid);
	strcpy(p->address, "unix");
	strcpy(p->source, "unix");
	snprintf(p->text, sizeof(p->text), "unix pid %ld", (long)c.pid);
	return 0;
}

/* The socket stays open for the next one, unless it failed. */
static int
identify_tcp(int *diag, struct peer *p, const union address *ours,
    const union address *theirs, uint64_t sockmark)
{
	struct sockdiag	 d;

	if (*diag == -1 && (*diag = sockdiag_open()) == -1)
		return -1;
	if (sockdiag_find(*diag, &ours->any, &theirs->any, &d) == -1) {
		fd_close(diag);
		return -1;
	}
	if (d.is_found) {
		p->known = true;
		p->uid = d.uid;
		p->unfit = peer_sandbox_why_tcp(d.info, d.info_len, sockmark);
	}
	return 0;
}

static void
end_of(const union address *a, struct nettable_end *out)
{
	memset(out, 0, sizeof(*out));
	if (a->any.sa_family == AF_INET6) {
		out->address = a->in6.sin6_addr;
		out->port = ntohs(a->in6.sin6_port);
		return;
	}
	memset(&out->address.s6_addr[10], 0xff, 2);
	memcpy(&out->address.s6_addr[12], &a->in.sin_addr,
	    sizeof(a->in.sin_addr));
	out->port = ntohs(a->in.sin_port);
}

static bool
peer_is_same(const struct nettable_end *a, const struct nettable_end *b)
{
	return a->port == b->port &&
	    IN6_ARE_ADDR_EQUAL(&a->address, &b->address);
}

/* As identify_tcp(). */
static bool
find_in_table(const char *file, struct peer *p,
    const struct nettable_end *ours, const struct nettable_end *theirs)
{
	struct nettable_row	 row;
	char			*line = NULL;
	size_t			 cap = 0;
	ssize_t			 n;
	FILE			*f;

	if ((f = fopen(file, "re")) == NULL)
		return false;
	while (!p->known && (n = getline(&line, &cap, f)) > 0)
		if (nettable_parse(line, (size_t)n - 1, &row) == 0 &&
		    row.inode != 0 && row.state != TCP_LISTEN &&
		    row.state != TCP_SYN_SENT &&
		    peer_is_same(&row.local, theirs) &&
		    peer_is_same(&row.remote, ours)) {
			p->known = true;
			p->uid = row.uid;
		}
	free(line);
	fclose(f);
	return p->known;
}

/* An IPv6 socket may have an IPv4 address: look in both. */
static int
identify_by_table(struct peer *p, const union address *ours,
    const union address *theirs)
{
	struct nettable_end	 one, other;

	end_of(ours, &one);
	end_of(theirs, &other);
	if (theirs->any.sa_family == AF_INET6 ||
	    !find_in_table("/proc/net/tcp", p, &one, &other))
		(void)!find_in_table("/proc/net/tcp6", p, &one, &other);
	return 0;
}

/* Find the owner of a connection; in a sandbox: set p->unfit. */
static int
identify_pair(enum peer_way way, int *diag, struct peer *p,
    const union address *ours, const union address *theirs, uint64_t sockmark)
{
	assert(!p->known && p->unfit == NULL);
	switch (way) {
	case PEER_WAY_DIAG:
		return identify_tcp(diag, p, ours, theirs, sockmark);
	case PEER_WAY_TABLE:
		return identify_by_table(p, ours, theirs);
	default:
		return 0;
	}
}

/* Connect to ourselves.  -1: no loopback. */
static int
connect_ourselves(int fds[2], union address *ours, union address *theirs)
{
	socklen_t	 len = sizeof(ours->in);
	int		 lfd;

	memset(ours, 0, sizeof(*ours));
	ours->in.sin_family = AF_INET;
	ours->in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	lfd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	fds[0] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (lfd == -1 || fds[0] == -1 || bind(lfd, &ours->any, len) == -1 ||
	    listen(lfd, 1) == -1 || getsockname(lfd, &ours->any, &len) == -1 ||
	    connect(fds[0], &ours->any, len) == -1 ||
	    getsockname(fds[0], &theirs->any, &len) == -1 ||
	    (fds[1] = accept4(lfd, NULL, NULL, SOCK_CLOEXEC)) == -1) {
		fd_close(&lfd);
		fd_close(&fds[0]);
		return -1;
	}
	fd_close(&lfd);
	return 0;
}

enum peer_way
peer_find_way(void)
{
	static const enum peer_way	 ways[] = {
		PEER_WAY_DIAG, PEER_WAY_TABLE
	};
	union address			 ours, theirs;
	struct peer			 p;
	enum peer_way			 found = PEER_WAY_NONE;
	size_t				 i;
	int				 fds[2], diag = -1;

	if (connect_ourselves(fds, &ours, &theirs) == -1)
		return PEER_WAY_DIAG;
	for (i = 0; i < sizeof(ways) / sizeof(ways[0]) &&
	    found == PEER_WAY_NONE; i++) {
		memset(&p, 0, sizeof(p));
		if (identify_pair(ways[i], &diag, &p, &ours, &theirs, 0) ==
		    0 && p.known)
			found = ways[i];
	}
	fd_close(&diag);
	fd_close(&fds[0]);
	fd_close(&fds[1]);
	return found;
}

const char *
peer_way_name(enum peer_way way)
{
	static const char *const	 names[] = {
		[PEER_WAY_NONE] = "none",
		[PEER_WAY_DIAG] = "sock_diag",
		[PEER_WAY_TABLE] = "/proc/net/tcp"
	};

	return names[way];
}

/* Turn ::ffff:127.0.0.1, an IPv4 peer of an IPv6 socket, into IPv4. */
static void
unmap(union address *a)
{
	struct sockaddr_in	 in;

	if (a->any.sa_family != AF_INET6 ||
	    !IN6_IS_ADDR_V4MAPPED(&a->in6.sin6_addr))
		return;
	memset(&in, 0, sizeof(in));
	in.sin_family = AF_INET;
	in.sin_port = a->in6.sin6_port;
	memcpy(&in.sin_addr, &a->in6.sin6_addr.s6_addr[12],
	    sizeof(in.sin_addr));
	a->in = in;
}

/* The /64 of an address: a machine can use any address in it. */
static void
name_network(const union address *a, char host[INET6_ADDRSTRLEN])
{
	struct in6_addr	 net = a->in6.sin6_addr;

	memset(&net.s6_addr[8], 0, 8);
	inet_ntop(AF_INET6, &net, host, INET6_ADDRSTRLEN);
}

static void
peer_describe(struct peer *p, const union address *a)
{
	char	 host[INET6_ADDRSTRLEN] = "?";

	if (a->any.sa_family == AF_INET) {
		inet_ntop(AF_INET, &a->in.sin_addr, host, sizeof(host));
		snprintf(p->text, sizeof(p->text), "%s:%u", host,
		    ntohs(a->in.sin_port));
	} else {
		inet_ntop(AF_INET6, &a->in6.sin6_addr, host, sizeof(host));
		snprintf(p->text, sizeof(p->text), "[%s]:%u", host,
		    ntohs(a->in6.sin6_port));
	}
	snprintf(p->address, sizeof(p->address), "%s", host);
	if (a->any.sa_family == AF_INET6 && !tcp_is_loopback(&a->any))
		name_network(a, host);
	snprintf(p->source, sizeof(p->source), "%s", host);
}

const char *
peer_culprit(const struct peer *p)
{
	const char	*name = p->known ? p->user : p->source;

	assert(name[0] != '\0');
	return name;
}

void
peer_grant(struct peer *p, const char *identity, uid_t uid, bool has_gid,
    gid_t gid)
{
	char	 was[PEER_TEXT_MAX];

	assert(!p->has_shown);
	assert(strlen(identity) < sizeof(p->identity));
	p->known = true;
	p->must_show = false;
	p->has_shown = true;
	p->uid = p->client_uid = uid;
	p->has_gid = p->has_client_gid = has_gid;
	p->gid = p->client_gid = gid;
	snprintf(p->identity, sizeof(p->identity), "%s", identity);
	memcpy(was, p->text, sizeof(was));
	snprintf(p->text, sizeof(p->text), "%.47s %.31s", was, identity);
	/* From here on it has shares of its own. */
	memcpy(was, p->source, sizeof(was));
	snprintf(p->user, sizeof(p->user), "%.30s", identity);
	snprintf(p->source, sizeof(p->source), "%.24s %.50s", identity, was);
}

static void
forget_user(struct peer *p)
{
	p->known = p->has_gid = false;
	p->uid = 0;
	p->gid = 0;
}

/* Set p->user, and prepend it to p->source. */
static void
name_user(struct peer *p)
{
	char	 from[PEER_TEXT_MAX];

	if (p->known)
		snprintf(p->user, sizeof(p->user), "uid %lu",
		    (unsigned long)p->uid);
	else
		strcpy(p->user, "unknown");
	memcpy(from, p->source, sizeof(from));
	snprintf(p->source, sizeof(p->source), "%.30s %.46s", p->user, from);
}

static int
peer_identify_fd(int fd, enum peer_way way, int *diag,
    uint64_t sockmark, struct peer *p)
{
	union address	 ours, theirs;
	socklen_t	 len = sizeof(ours);

	memset(p, 0, sizeof(*p));
	if (getsockname(fd, &ours.any, &len) == -1)
		return -1;
	if (ours.any.sa_family == AF_UNIX)
		return identify_unix(fd, p);
	len = sizeof(theirs);
	if (getpeername(fd, &theirs.any, &len) == -1)
		return -1;
	unmap(&ours);
	unmap(&theirs);
	p->is_tcp = true;
	if (identify_pair(way, diag, p, &ours, &theirs, sockmark) == -1)
		return -1;
	/*
	 * A sandbox is detected also on other addresses of this machine, but
	 * only on loopback is the uid to be trusted.
	 */
	if (!tcp_is_loopback(&ours.any) || !tcp_is_loopback(&theirs.any))
		forget_user(p);
	peer_describe(p, &theirs);
	return 0;
}

void
peer_is_user(struct peer *p)
{
	p->client_uid = p->uid;
	p->has_client_gid = p->has_gid;
	p->client_gid = p->gid;
	if (p->known)
		snprintf(p->identity, sizeof(p->identity), "uid:%lu",
		    (unsigned long)p->uid);
	else
		strcpy(p->identity, "unknown");
}

int
peer_identify(int fd, enum peer_way way, int *diag,
    uint64_t sockmark, const struct idmap *im, struct peer *p)
{
	if (peer_identify_fd(fd, way, diag, sockmark, p) == -1)
		return -1;
	if (!idmap_is_user(im, p->uid) || (p->has_gid &&
	    !idmap_is_group(im, p->gid)))
		forget_user(p);
	name_user(p);
	peer_is_user(p);
	return 0;
}
