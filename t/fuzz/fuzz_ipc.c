/*
 * Any packet between any two roles: EPROTO, or a message that these two may
 * exchange and that packs again; never a descriptor left over.  The first
 * byte says how many descriptors come along.
 */
#include <sys/socket.h>
#include <sys/uio.h>

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/ipc/ipc.h"
#include "common/limit.h"

#define MUST(claim)	do { if (!(claim)) abort(); } while (0)
#define ROLES		(IPC_ROLE_MONITOR + 1)
#define FDS_MAX		4

int	 LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void
send_raw(int sock, const void *data, size_t len, unsigned n)
{
	union {
		struct cmsghdr	 hdr;
		char		 room[CMSG_SPACE(FDS_MAX * sizeof(int))];
	} ctl;
	struct iovec	 iov = { (void *)(uintptr_t)data, len };
	struct msghdr	 msg;
	struct cmsghdr	*c;
	int		 fds[FDS_MAX] = { 0, 1, 2, 0 };

	memset(&msg, 0, sizeof(msg));
	memset(&ctl, 0, sizeof(ctl));
	msg.msg_iov = &iov;
	msg.msg_iovlen = 1;
	if (n > 0) {
		msg.msg_control = ctl.room;
		msg.msg_controllen = CMSG_SPACE(n * sizeof(int));
		c = CMSG_FIRSTHDR(&msg);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(n * sizeof(int));
		memcpy(CMSG_DATA(c), fds, n * sizeof(int));
	}
	MUST(sendmsg(sock, &msg, MSG_NOSIGNAL) == (ssize_t)len);
}

/* The lowest free descriptor: it moves when one was left over. */
static int
lowest(void)
{
	int	 fd = dup(0);

	MUST(fd != -1);
	close(fd);
	return fd;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static int	 pair[2] = { -1, -1 };
	struct ipc_msg	 m;
	unsigned	 from, to, n;
	uint8_t		*packet;
	size_t		 packed;
	int		 r, before;

	if (len < 2 || len > 65536)
		return 0;
	if (pair[0] == -1)
		MUST(fd_packet_pair(pair) == 0);
	before = lowest();
	n = data[0] % (FDS_MAX + 1);
	for (from = 0; from < ROLES; from++)
		for (to = 0; to < ROLES; to++) {
			send_raw(pair[0], data + 1, len - 1, n);
			r = ipc_recv(pair[1], (enum ipc_role)from,
			    (enum ipc_role)to, &m);
			if (r == 1) {
				MUST(ipc_rows[m.kind].from == from);
				MUST(ipc_rows[m.kind].to == to);
				MUST(ipc_rows[m.kind].has_fd == (m.fd != -1));
				packet = ipc_pack(m.kind, m.body, &packed);
				MUST(packet != NULL || errno == EMSGSIZE);
				free(packet);
				ipc_msg_fini(&m);
			} else {
				/* A kind of a later master is skipped. */
				MUST(r == -1 && (errno == EPROTO ||
				    (errno == EAGAIN &&
				    from == IPC_ROLE_MASTER)));
				MUST(m.body == NULL && m.fd == -1);
			}
			MUST(lowest() == before);
		}
	return 0;
}
