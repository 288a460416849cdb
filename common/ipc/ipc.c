#include "common/ipc/ipc.h"

#include <sys/socket.h>
#include <sys/uio.h>

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/limit.h"

#define SMALL	512	/* packets up to this size need no malloc */

const struct ipc_row ipc_rows[IPC_KINDS] = {
#define FD_NO	false
#define FD_ONE	true
#define IPC(name, type, from, to, fd)					\
	{ #name, &ipc__##name##__descriptor, IPC_ROLE_##from,		\
	  IPC_ROLE_##to, FD_##fd },
#include "proto/ipc.def"
#undef IPC
};

void *
ipc_pack(enum ipc_kind kind, const void *body, size_t *len_out)
{
	uint8_t	*p;
	size_t	 n = protobuf_c_message_get_packed_size(body);

	assert(kind < IPC_KINDS);
	if (n >= LIMIT_CONTROL_MESSAGE) {
		errno = EMSGSIZE;
		return NULL;
	}
	if ((p = malloc(n + 1)) == NULL)
		return NULL;
	p[0] = (uint8_t)kind;
	protobuf_c_message_pack(body, p + 1);
	*len_out = n + 1;
	return p;
}

int
ipc_send_packed(int sock, const void *packet, size_t len, int fd)
{
	union {
		struct cmsghdr	 hdr;
		char		 room[CMSG_SPACE(sizeof(int))];
	} ctl;
	struct iovec	 iov;
	struct msghdr	 msg;
	ssize_t		 n;

	memset(&msg, 0, sizeof(msg));
	iov.iov_base = (void *)(uintptr_t)packet;
	iov.iov_len = len;
	msg.msg_iov = &iov;
	msg.msg_iovlen = 1;
	fd_put_rights(&msg, &ctl, &fd, fd != -1);
	do
		n = sendmsg(sock, &msg, MSG_NOSIGNAL);
	while (n == -1 && errno == EINTR);
	return n == -1 ? -1 : 0;
}

int
ipc_send(int sock, enum ipc_kind kind, const void *body, int fd)
{
	uint8_t	 small[SMALL];
	void	*packet;
	size_t	 n = protobuf_c_message_get_packed_size(body);
	int	 r;

	assert(kind < IPC_KINDS && sock != -1);
	if (n < sizeof(small)) {
		small[0] = (uint8_t)kind;
		protobuf_c_message_pack(body, small + 1);
		r = ipc_send_packed(sock, small, n + 1, fd);
		explicit_bzero(small, n + 1);
		return r;
	}
	if ((packet = ipc_pack(kind, body, &n)) == NULL)
		return -1;
	r = ipc_send_packed(sock, packet, n, fd);
	explicit_bzero(packet, n);
	free(packet);
	return r;
}

/* Take the one descriptor or -1; with more of them fail with EPROTO. */
static int
take_fd(struct msghdr *msg, int *fd_out)
{
	*fd_out = -1;
	return fd_take_rights(msg, fd_out, 1) > 1 ||
	    (msg->msg_flags & MSG_TRUNC) != 0 ? -1 : 0;
}

/*
 * Where the part of a packet goes that is longer than SMALL.  Without a look at
 * the length first it must be large, and on the stack all its pages would be
 * touched (-fstack-clash-protection).  Cleared after use; our programs have one
 * thread.  lint-ok: keeps
 */
static uint8_t	 overlong[LIMIT_CONTROL_MESSAGE - SMALL];

/*
 * Receive a packet by one system call.  was_lost_out: a descriptor came, but we
 * have none left (EMFILE).
 */
static int
ipc_receive(int sock, uint8_t small[SMALL], size_t *len_out, int *fd_out,
    bool *was_lost_out)
{
	union {
		struct cmsghdr	 hdr;
		char		 room[CMSG_SPACE(2 * sizeof(int))];
	} ctl;
	struct iovec	 iov[2];
	struct msghdr	 msg;
	int		 was_reset = 0;
	ssize_t		 n;

	memset(&msg, 0, sizeof(msg));
	iov[0].iov_base = small;
	iov[0].iov_len = SMALL;
	iov[1].iov_base = overlong;
	iov[1].iov_len = sizeof(overlong);
	msg.msg_iov = iov;
	msg.msg_iovlen = 2;
	msg.msg_control = ctl.room;
	msg.msg_controllen = sizeof(ctl.room);
	/*
	 * If a peer closes with unread packets of ours, ECONNRESET is reported
	 * once before its last packets: call again for these.
	 */
	do
		n = recvmsg(sock, &msg, MSG_CMSG_CLOEXEC);
	while (n == -1 && (errno == EINTR || (errno == ECONNRESET &&
	    !was_reset++)));
	if (n == -1)
		return errno == ECONNRESET ? 0 : -1;
	if (take_fd(&msg, fd_out) == -1) {
		fd_close(fd_out);
		errno = EPROTO;
		return -1;
	}
	*was_lost_out = *fd_out == -1 && (msg.msg_flags & MSG_CTRUNC) != 0;
	*len_out = (size_t)n;
	return n == 0 ? 0 : 1;
}

/* Unpack a message in one piece of memory.  0, or -1 with errno. */
static int
ipc_unpack(const uint8_t *packet, size_t len, enum ipc_role from,
    enum ipc_role to, bool was_lost, struct ipc_msg *m)
{
	const struct ipc_row	*row;

	errno = EPROTO;
	if (packet[0] >= IPC_KINDS)
		return -1;
	m->kind = packet[0];
	row = &ipc_rows[m->kind];
	if (row->from != from || row->to != to ||
	    row->has_fd != (m->fd != -1 || was_lost))
		return -1;
	m->body = protobuf_c_message_unpack(row->type, NULL, len - 1,
	    packet + 1);
	errno = EPROTO;
	return m->body == NULL ? -1 : 0;
}

/* The same for a long packet: put its pieces together. */
static int
unpack_long(const uint8_t small[SMALL], size_t len, enum ipc_role from,
    enum ipc_role to, bool was_lost, struct ipc_msg *m)
{
	uint8_t	*packet = malloc(len);
	int	 r = -1;

	assert(len > SMALL && len - SMALL <= sizeof(overlong));
	if (packet != NULL) {
		memcpy(packet, small, SMALL);
		memcpy(packet + SMALL, overlong, len - SMALL);
		r = ipc_unpack(packet, len, from, to, was_lost, m);
		explicit_bzero(packet, len);
	}
	explicit_bzero(overlong, len - SMALL);
	free(packet);
	return r;
}

int
ipc_recv(int sock, enum ipc_role from, enum ipc_role to, struct ipc_msg *m)
{
	uint8_t	 small[SMALL];
	size_t	 len;
	bool	 was_lost;
	int	 r;

	assert(sock != -1);
	m->body = NULL;
	m->fd = -1;
	do {
		fd_close(&m->fd);
		if ((r = ipc_receive(sock, small, &len, &m->fd, &was_lost)) !=
		    1) {
			fd_close(&m->fd);
			return r;
		}
		/* A master of a later version, which has adopted us. */
	} while (from == IPC_ROLE_MASTER && small[0] >= IPC_KINDS);
	r = len <= SMALL ? ipc_unpack(small, len, from, to, was_lost, m) :
	    unpack_long(small, len, from, to, was_lost, m);
	explicit_bzero(small, len < SMALL ? len : SMALL);
	if (r == 0)
		return 1;
	fd_close(&m->fd);
	return -1;
}

int
ipc_wait(int sock, enum ipc_role from, enum ipc_role to, struct ipc_msg *m)
{
	struct pollfd	 p = { sock, POLLIN, 0 };
	int		 r;

	while ((r = ipc_recv(sock, from, to, m)) == -1 && errno == EAGAIN)
		if (poll(&p, 1, -1) == -1 && errno != EINTR)
			return -1;
	return r;
}

void
ipc_msg_fini(struct ipc_msg *m)
{
	if (m->body != NULL)
		protobuf_c_message_free_unpacked(m->body, NULL);
	m->body = NULL;
	fd_close(&m->fd);
}
