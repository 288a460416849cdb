#include "common/dial/resolve_process.h"

#include <sys/socket.h>
#include <sys/syscall.h>

#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/log.h"

_Static_assert(sizeof(struct resolve_question) == 4 + 256 &&
    offsetof(struct resolve_question, host) == 4, "a question as it is sent");
_Static_assert(offsetof(struct resolve_reply, answer) == sizeof(size_t) &&
    offsetof(struct resolve_answer, address) == sizeof(size_t) &&
    sizeof(struct resolve_answer) == sizeof(size_t) +
    RESOLVE_MAX * RESOLVE_TEXT && sizeof(struct resolve_reply) ==
    sizeof(size_t) + sizeof(struct resolve_answer), "an answer as it is sent");

/* Loopback, whether or not /etc/hosts says so (RFC 6761 section 6.3). */
static void
answer_localhost(const char *host, struct resolve_answer *a)
{
	if (strcasecmp(host, "localhost") != 0)
		return;
	snprintf(a->address[a->n++], RESOLVE_TEXT, "::1");
	snprintf(a->address[a->n++], RESOLVE_TEXT, "127.0.0.1");
}

static void
resolve_look_up(const char *host, struct resolve_answer *a)
{
	struct addrinfo	 hints, *list, *ai;

	memset(a, 0, sizeof(*a));
	memset(&hints, 0, sizeof(hints));
	hints.ai_socktype = SOCK_STREAM;
	if (getaddrinfo(host, NULL, &hints, &list) != 0) {
		answer_localhost(host, a);
		return;
	}
	for (ai = list; ai != NULL && a->n < RESOLVE_MAX; ai = ai->ai_next)
		if (getnameinfo(ai->ai_addr, ai->ai_addrlen,
		    a->address[a->n], RESOLVE_TEXT, NULL, 0,
		    NI_NUMERICHOST) == 0)
			a->n++;
	freeaddrinfo(list);
}

/* Keep only the channel: its end ends this process. */
static int
resolve_keep_only(int sock)
{
	return dup2(sock, STDIN_FILENO) == -1 ||
	    syscall(SYS_close_range, 3, ~0U, 0) == -1 ? -1 : 0;
}

/* lint-ok: ends the process that resolve_process() forked, and no other. */
static void NORETURN
resolve_serve(int sock)
{
	struct resolve_question	 q;
	struct resolve_reply	 r;
	ssize_t			 n;

	for (;;) {
		n = recv(sock, &q, sizeof(q), 0);
		if (n == -1 && errno == EINTR)
			continue;
		if (n != (ssize_t)sizeof(q))
			_exit(n == 0 ? 0 : 1);
		q.host[RESOLVE_HOST] = '\0';
		memset(&r, 0, sizeof(r));
		r.number = q.number;
		resolve_look_up(q.host, &r.answer);
		if (send(sock, &r, sizeof(r), MSG_NOSIGNAL) !=
		    (ssize_t)sizeof(r))
			_exit(0);
	}
}

/* lint-ok: as above. */
static void NORETURN
resolve_begin(const struct resolve_how *how, int sock)
{
	log_set_role(how->role);
	if (how->forget != NULL)
		how->forget(how->arg);
	if (resolve_keep_only(sock) == -1 || how->confine_self() == -1) {
		log_warn("%s", how->role);
		_exit(1);
	}
	resolve_serve(STDIN_FILENO);
}

int
resolve_process(const struct resolve_how *how)
{
	int	 pair[2], error;
	pid_t	 pid;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == -1)
		return -1;
	if ((pid = fork()) == 0)
		resolve_begin(how, pair[1]);
	error = errno;
	fd_close(&pair[1]);
	if (pid != -1) {
		if (fd_nonblock(pair[0], 1) == 0)
			return pair[0];
		error = errno;
	}
	fd_close(&pair[0]);
	errno = error;
	return -1;
}

int
resolve_take(int sock, struct resolve_reply *out)
{
	ssize_t	 n = recv(sock, out, sizeof(*out), MSG_DONTWAIT);
	size_t	 i;

	if (n == 0)
		errno = 0;
	if (n == 0 || (n == -1 && errno != EAGAIN && errno != EINTR))
		return -1;
	/* A packet as it is: both ends are of this program. */
	if (n != (ssize_t)sizeof(*out) || out->answer.n > RESOLVE_MAX)
		return 0;
	for (i = 0; i < RESOLVE_MAX; i++)
		out->answer.address[i][RESOLVE_TEXT - 1] = '\0';
	return 1;
}
