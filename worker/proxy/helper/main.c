/*
 * execsrv-proxy: the way out for commands with a managed network.  Started by
 * the worker with its channel as standard input, one for a session.  A separate
 * process, since it parses data of commands and of any server; it has no
 * secrets but those of a proxy in the environment.
 */
#include <sys/socket.h>
#include <sys/syscall.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <ares.h>

#include "common/fd.h"
#include "common/linux/confine.h"
#include "common/log.h"
#include "common/net/sockdiag.h"
#include "worker/proxy/helper/proxy_confine.h"
#include "worker/proxy/helper/proxy_serve.h"

/* A variable of either case; the lower one wins, as in curl(1). */
static char *
proxy_variable(const char *lower, const char *upper)
{
	char	*value = getenv(lower);

	return value != NULL && value[0] != '\0' ? value : getenv(upper);
}

int
main(int argc, char **argv)
{
	struct proxy_env	 upstream;
	int			 sock, diag;

	if (argc != 3 || !fd_is_socket(STDIN_FILENO, SOCK_SEQPACKET)) {
		fprintf(stderr, "execsrv-proxy is started by execsrv-worker\n");
		return 2;
	}
	/* Before the log opens a descriptor. */
	syscall(SYS_close_range, 3, ~0U, 0);
	log_init("proxy", LOG_LEVEL_INFO, argv[2]);
	log_set_session((unsigned)strtoul(argv[1], NULL, 10));
	if (confine_to_parent() == -1 || confine_early() == -1)
		fatal("confinement");
	if ((sock = fd_take_stdin(false)) == -1)
		fatal("standard streams");
	signal(SIGPIPE, SIG_IGN);
	/* Each connection has two. */
	if (fd_raise_limit(NULL) == -1)
		log_debug("RLIMIT_NOFILE");
	upstream.http = proxy_variable("http_proxy", "HTTP_PROXY");
	upstream.https = proxy_variable("https_proxy", "HTTPS_PROXY");
	upstream.all = proxy_variable("all_proxy", "ALL_PROXY");
	upstream.none = proxy_variable("no_proxy", "NO_PROXY");
	if ((diag = sockdiag_open()) == -1)
		log_debug("sock_diag");
	if (ares_library_init(ARES_LIB_INIT_ALL) != ARES_SUCCESS)
		fatalx("c-ares");
	if (proxy_confine() == -1)
		fatal("confinement");
	return proxy_serve(sock, &upstream, diag);
}
