#include "master/hub/hublink.h"

#include <sys/socket.h>

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "common/fd.h"

int
hublink_send(int sock, enum hublink_word word, const char *text, int fd)
{
	uint8_t		 byte = (uint8_t)word;
	struct iovec	 iov[2] = { { &byte, 1 },
			    { (void *)(uintptr_t)text, strlen(text) } };
	struct msghdr	 m = { .msg_iov = iov, .msg_iovlen = 2 };
	union {
		struct cmsghdr	 align;
		char		 room[CMSG_SPACE(sizeof(int))];
	}		 u;

	assert(word < HUBLINK_WORDS);
	if (fd != -1)
		fd_put_rights(&m, &u, &fd, 1);
	return sendmsg(sock, &m, MSG_NOSIGNAL) == -1 ? -1 : 0;
}

int
hublink_recv(int sock, struct hublink_message *m)
{
	uint8_t		 byte;
	struct iovec	 iov[2] = { { &byte, 1 },
			    { m->text, sizeof(m->text) - 1 } };
	union {
		struct cmsghdr	 align;
		char		 room[CMSG_SPACE(sizeof(int))];
	}		 u;
	struct msghdr	 h = { .msg_iov = iov, .msg_iovlen = 2,
			    .msg_control = &u, .msg_controllen = sizeof(u) };
	ssize_t		 n;

	m->fd = -1;
	if ((n = recvmsg(sock, &h, MSG_CMSG_CLOEXEC)) == -1)
		return errno == EAGAIN || errno == EINTR ? 0 : -1;
	errno = 0;
	if (n == 0)
		return -1;
	fd_take_rights(&h, &m->fd, 1);
	m->text[n - 1] = '\0';
	m->word = (enum hublink_word)byte;
	return 1;
}
