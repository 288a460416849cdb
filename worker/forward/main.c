/*
 * execsrv-forward: one end of a forwarded connection, started as a process of
 * a session (PROTOCOL 10.4).  execsrvctl forward is the other end.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "worker/forward/forward_carry.h"
#include "worker/forward/forward_sock.h"

static int
usage(void)
{
	fputs("usage: execsrv-forward connect HOST PORT | connect PATH |\n"
	    "       listen ADDRESS PORT | listen PATH | accept TOKEN\n",
	    stderr);
	return 2;
}

/* Tell the port and the token, and lend the sockets. */
static int
do_listen(const char *name, const char *port)
{
	struct forward_listeners	 l;
	char				 token[FORWARD_TOKEN];
	int				 door, r;

	if (forward_listen(name, port, &l) == -1)
		return 1;
	r = (door = forward_open_door(token)) == -1 ||
	    printf("%u %s\n", tcplisten_port(l.fds[0]), token) < 0 ||
	    fflush(stdout) == EOF || forward_lend(&l, door) == -1;
	if (port == NULL)
		unlink(name);
	return r;
}

static int
carry(int fd)
{
	if (fd == -1)
		return 1;
	fputs("open\n", stderr);
	return forward_carry(fd) == -1;
}

int
main(int argc, char **argv)
{
	const char	*port;

	if (argc < 3 || argc > 4)
		return usage();
	port = argc > 3 ? argv[3] : NULL;
	if (forward_signals() == -1) {
		fprintf(stderr, "signals: %s\n", strerror(errno));
		return 1;
	}
	if (strcmp(argv[1], "connect") == 0)
		return carry(forward_connect(argv[2], port));
	if (strcmp(argv[1], "listen") == 0)
		return do_listen(argv[2], port);
	if (strcmp(argv[1], "accept") == 0 && argc == 3)
		return carry(forward_accept(argv[2]));
	return usage();
}
