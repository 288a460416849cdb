#include "master/hub/fleet/hubnames.h"

#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include <errno.h>
#include <netdb.h>
#include <signal.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/dial/netconfine.h"
#include "common/fd.h"
#include "common/log.h"

#define HOST_MAX	256	/* bytes with a NUL (RFC 1035) */

/* A question is a name, its answer an address: packets. */
struct hubnames {
	int		 sock;
	struct io	 io;
	hubnames_fn	*fn;
	void		*arg;
};

/* Take one of the addresses, not always the first. */
static void
hubnames_look_up(const char *host, char out[NI_MAXHOST])
{
	struct addrinfo	 hints, *list, *ai;
	uint32_t	 n = 0, i;

	out[0] = '\0';
	memset(&hints, 0, sizeof(hints));
	hints.ai_socktype = SOCK_STREAM;
	if (getaddrinfo(host, NULL, &hints, &list) != 0)
		return;
	for (ai = list; ai != NULL; ai = ai->ai_next)
		n++;
	for (ai = list, i = randombytes_uniform(n); i > 0; i--)
		ai = ai->ai_next;
	if (getnameinfo(ai->ai_addr, ai->ai_addrlen, out, NI_MAXHOST, NULL, 0,
	    NI_NUMERICHOST) != 0)
		out[0] = '\0';
	freeaddrinfo(list);
}

/* lint-ok: ends the process that hubnames_new() forked, and no other. */
static void NORETURN
hubnames_serve(int sock)
{
	char	 host[HOST_MAX], address[NI_MAXHOST];
	ssize_t	 n;

	for (;;) {
		if ((n = recv(sock, host, sizeof(host) - 1, 0)) == -1 &&
		    errno == EINTR)
			continue;
		if (n <= 0)
			_exit(n == 0 ? 0 : 1);
		host[n] = '\0';
		hubnames_look_up(host, address);
		if (send(sock, address, strlen(address) + 1, MSG_NOSIGNAL) ==
		    -1)
			_exit(0);
	}
}

struct hubnames *
hubnames_new(void (*forget)(void *), void *arg)
{
	struct hubnames	*n;
	int		 pair[2];
	pid_t		 pid;

	if ((n = calloc(1, sizeof(*n))) == NULL)
		return NULL;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) ==
	    -1) {
		free(n);
		return NULL;
	}
	if ((pid = fork()) == 0) {
		log_set_role("hub-names");
		forget(arg);
		if (prctl(PR_SET_PDEATHSIG, SIGKILL) == -1 ||
		    dup2(pair[1], STDIN_FILENO) == -1 ||
		    syscall(SYS_close_range, 3, ~0U, 0) == -1 ||
		    netconfine_resolver() == -1) {
			log_warn("names");
			_exit(1);
		}
		hubnames_serve(STDIN_FILENO);
	}
	fd_close(&pair[1]);
	n->sock = pair[0];
	if (pid == -1 || fd_nonblock(n->sock, 1) == -1)
		hubnames_free(&n);
	return n;
}

void
hubnames_free(struct hubnames **np)
{
	struct hubnames	*n = *np;

	*np = NULL;
	if (n == NULL)
		return;
	io_stop(&n->io);
	fd_close(&n->sock);
	free(n);
}

static void
hubnames_on_answer(void *arg)
{
	struct hubnames	*n = arg;
	char		 address[NI_MAXHOST];
	ssize_t		 len;

	if ((len = recv(n->sock, address, sizeof(address) - 1, 0)) == -1 &&
	    (errno == EAGAIN || errno == EINTR))
		return;
	if (len <= 0) {
		log_warnx("names: the process that looks them up is gone");
		io_stop(&n->io);
		len = 0;
	}
	address[len] = '\0';
	n->fn(n->arg, address);
}

int
hubnames_attach(struct hubnames *n, struct event_base *base, hubnames_fn *fn,
    void *arg)
{
	n->fn = fn;
	n->arg = arg;
	io_init(&n->io, base, n->sock, EV_READ | EV_PERSIST,
	    hubnames_on_answer, n);
	return io_start(&n->io);
}

int
hubnames_ask(struct hubnames *n, const char *host)
{
	return send(n->sock, host, strlen(host), MSG_NOSIGNAL) == -1 ? -1 : 0;
}
