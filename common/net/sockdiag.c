#include "common/net/sockdiag.h"

#include <sys/time.h>

#include <assert.h>
#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>

#include "common/clock.h"
#include "common/fd.h"

#define ANSWER_WAIT	1	/* seconds; the kernel answers at once */

union sockdiag_address {
	struct sockaddr_in	 in;
	struct sockaddr_in6	 in6;
};

int
sockdiag_open(void)
{
	struct timeval	 wait = { ANSWER_WAIT, 0 };
	int		 sock;

	if ((sock = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC,
	    NETLINK_SOCK_DIAG)) == -1)
		return -1;
	if (setsockopt(sock, SOL_SOCKET, SO_RCVTIMEO, &wait,
	    sizeof(wait)) == -1)
		fd_close(&sock);
	return sock;
}

/* Request the socket at the peer's end of ours. */
static int
sockdiag_ask(int sock, uint32_t seq, bool is_in,
    const union sockdiag_address *ours, const union sockdiag_address *theirs)
{
	struct {
		struct nlmsghdr			 head;
		struct inet_diag_req_v2		 body;
	} req;
	struct inet_diag_sockid	*id = &req.body.id;

	memset(&req, 0, sizeof(req));
	req.head.nlmsg_len = sizeof(req);
	req.head.nlmsg_type = SOCK_DIAG_BY_FAMILY;
	req.head.nlmsg_flags = NLM_F_REQUEST;
	req.head.nlmsg_seq = seq;
	req.body.sdiag_family = is_in ? AF_INET : AF_INET6;
	req.body.sdiag_protocol = IPPROTO_TCP;
	req.body.idiag_states = ~0U;
	req.body.idiag_ext = 1 << (INET_DIAG_INFO - 1);
	id->idiag_cookie[0] = id->idiag_cookie[1] = INET_DIAG_NOCOOKIE;
	if (is_in) {
		id->idiag_sport = theirs->in.sin_port;
		id->idiag_dport = ours->in.sin_port;
		memcpy(id->idiag_src, &theirs->in.sin_addr,
		    sizeof(theirs->in.sin_addr));
		memcpy(id->idiag_dst, &ours->in.sin_addr,
		    sizeof(ours->in.sin_addr));
	} else {
		id->idiag_sport = theirs->in6.sin6_port;
		id->idiag_dport = ours->in6.sin6_port;
		memcpy(id->idiag_src, &theirs->in6.sin6_addr,
		    sizeof(theirs->in6.sin6_addr));
		memcpy(id->idiag_dst, &ours->in6.sin6_addr,
		    sizeof(ours->in6.sin6_addr));
		/* The interface of link-local addresses. */
		id->idiag_if = theirs->in6.sin6_scope_id;
	}
	return send(sock, &req, sizeof(req), 0) == (ssize_t)sizeof(req) ?
	    0 : -1;
}

/* Return an attribute of the answer and its length, or NULL. */
static const void *
sockdiag_attribute(const struct nlmsghdr *head, unsigned short type,
    size_t *len_out)
{
	const struct rtattr	*a;
	size_t			 left;

	left = head->nlmsg_len - NLMSG_SPACE(sizeof(struct inet_diag_msg));
	a = (const struct rtattr *)(const void *)((const char *)head +
	    NLMSG_SPACE(sizeof(struct inet_diag_msg)));
	for (; RTA_OK(a, left); a = RTA_NEXT(a, left))
		if (a->rta_type == type) {
			*len_out = RTA_PAYLOAD(a);
			return RTA_DATA(a);
		}
	*len_out = 0;
	return NULL;
}

/*
 * Take the uid from the answer.  A socket that its process has closed already
 * (TIME-WAIT, or an orphan in FIN-WAIT) has uid 0 and inode 0: not root.
 */
static void
sockdiag_read(struct sockdiag *d, size_t len, in_port_t ours,
    in_port_t theirs)
{
	const struct nlmsghdr		*head = &d->answer.head;
	const struct inet_diag_msg	*m;

	if (!NLMSG_OK(head, len) || head->nlmsg_type != SOCK_DIAG_BY_FAMILY ||
	    head->nlmsg_len < NLMSG_LENGTH(sizeof(*m)))
		return;
	m = NLMSG_DATA(head);
	if (m->idiag_inode == 0 || m->idiag_state == TCP_LISTEN ||
	    m->idiag_state == TCP_SYN_SENT)
		return;
	/* Without a match the kernel may answer with a listener. */
	if (m->id.idiag_sport != theirs || m->id.idiag_dport != ours)
		return;
	d->is_found = true;
	d->uid = (uid_t)m->idiag_uid;
	d->info = sockdiag_attribute(head, INET_DIAG_INFO, &d->info_len);
}

/*
 * Read the answer to a question.  One to an earlier question, for which nobody
 * waited long enough, may come first.
 */
static ssize_t
sockdiag_answer(int sock, uint32_t seq, struct sockdiag *d)
{
	struct sockaddr_nl	 from;
	socklen_t		 len;
	ssize_t			 n;

	do {
		len = sizeof(from);
		n = recvfrom(sock, &d->answer, sizeof(d->answer), 0,
		    (struct sockaddr *)&from, &len);
		if (n == -1 && errno != EINTR)
			return -1;
	} while (n == -1 || len < sizeof(from) || from.nl_pid != 0 ||
	    !NLMSG_OK(&d->answer.head, (size_t)n) ||
	    d->answer.head.nlmsg_seq != seq);
	return n;
}

int
sockdiag_find(int sock, const struct sockaddr *ours,
    const struct sockaddr *theirs, struct sockdiag *out)
{
	const union sockdiag_address	*one = (const void *)ours;
	const union sockdiag_address	*other = (const void *)theirs;
	/* No question that may still be answered has this number. */
	uint32_t			 seq = (uint32_t)clock_us();
	bool				 is_in;
	ssize_t				 n;

	is_in = theirs->sa_family == AF_INET;
	assert(ours->sa_family == theirs->sa_family);
	out->is_found = false;
	out->uid = (uid_t)-1;
	out->info = NULL;
	out->info_len = 0;
	if (sockdiag_ask(sock, seq, is_in, one, other) == -1 ||
	    (n = sockdiag_answer(sock, seq, out)) == -1)
		return -1;
	sockdiag_read(out, (size_t)n, is_in ? one->in.sin_port :
	    one->in6.sin6_port, is_in ? other->in.sin_port :
	    other->in6.sin6_port);
	return 0;
}
