/*
 * execsrv-reach: a connection for libexecsrv, which starts it with a socket as
 * standard input and output, and sends a line with the target there.
 */
#include <sys/socket.h>

#include <sodium.h>
#include <stdio.h>
#include <unistd.h>

#include "common/client/reach/reach_conn.h"
#include "common/dial/netconfine.h"
#include "common/dial/netstart.h"
#include "common/fd.h"
#include "common/log.h"

/* Report an error of reach_init(), before there is a loop. */
static void
reach_report(const struct reach *r, int fd)
{
	char	 line[2048];
	size_t	 n = reach_put_why(r, line, sizeof(line) - 1);

	line[n++] = '\n';
	if (send(fd, line, n, MSG_NOSIGNAL) != (ssize_t)n)
		log_debug("its parent has died");
}

/* Read the target.  The line has secrets: keep it in locked memory. */
static char *
read_target(struct reach *r, int fd)
{
	ssize_t	 n;
	char	*text;

	if ((text = sodium_malloc(REACH_TARGET_MAX)) == NULL)
		fatal("memory");
	if ((n = stdio_peer_read_first(fd, text, REACH_TARGET_MAX)) == -1 ||
	    reach_target_read(&r->reach_target, text, (size_t)n) == -1) {
		sodium_free(text);
		return NULL;
	}
	return text;
}

/* An open connection needs no resolver; one being made fails by itself. */
static void
reach_on_no_resolver(void *arg)
{
	(void)arg;
}

static int
reach_serve(struct reach *r, int fd)
{
	if (reach_init(r) == -1) {
		reach_report(r, fd);
		return 1;
	}
	if (netconfine_process() == -1)
		fatal("confinement");
	if (resolver_attach(r->resolver, &r->loop, reach_on_no_resolver,
	    r) == -1)
		fatal("event loop");
	reach_run(r, fd);
	reach_fini(r);
	return 0;
}

int
main(int argc, char **argv)
{
	static struct reach	 r;
	int			 fd, status;
	char			*text;

	(void)argv;
	if (argc != 1 || !fd_is_socket(STDIN_FILENO, SOCK_STREAM)) {
		fprintf(stderr, "execsrv-reach is started by "
		    "libexecsrv(3)\n");
		return 2;
	}
	if ((fd = netstart("reach", "stderr", false, &r.dialer,
	    &r.resolver)) == -1)
		return 1;
	if ((text = read_target(&r, fd)) == NULL)
		return 2;
	status = reach_serve(&r, fd);
	sodium_free(text);
	fd_close(&fd);
	return status;
}
