/*
 * execsrv-http: does the http/request calls of a session.  Started by the
 * worker with its channel as standard input.  A separate process, since it
 * parses data of any server, and TLS.
 */
#include <sys/socket.h>
#include <sys/syscall.h>

#include <curl/curl.h>

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/linux/confine.h"
#include "common/log.h"
#include "worker/http/helper/http_confine.h"
#include "worker/http/helper/http_serve.h"

/*
 * libcurl ignores HTTP_PROXY, which in a CGI program is a request header.  This
 * is no CGI program.
 */
static void
use_proxy(void)
{
	const char	*proxy = getenv("HTTP_PROXY");

	if (proxy != NULL && getenv("http_proxy") == NULL &&
	    getenv("REQUEST_METHOD") == NULL &&
	    setenv("http_proxy", proxy, 1) == -1)
		fatal("cannot set the environment");
}

static const char *
env_path(const char *name)
{
	const char	*value = getenv(name);

	return value != NULL && value[0] == '/' ? value : NULL;
}

int
main(int argc, char **argv)
{
	const char	*paths[3] = { NULL, NULL, NULL };
	struct trust	 trust;
	size_t		 n = 0;
	int		 sock;

	if (argc != 3 || !fd_is_socket(STDIN_FILENO, SOCK_SEQPACKET)) {
		fprintf(stderr, "execsrv-http is started by execsrv-worker\n");
		return 2;
	}
	/* Before the log opens a descriptor. */
	syscall(SYS_close_range, 3, ~0U, 0);
	log_init("http", LOG_LEVEL_INFO, argv[2]);
	log_set_session((unsigned)strtoul(argv[1], NULL, 10));
	if (confine_to_parent() == -1 || confine_early() == -1)
		fatal("confinement");
	if ((sock = fd_take_stdin(false)) == -1)
		fatal("standard streams");
	use_proxy();
	/* For international domain names. */
	if (setlocale(LC_CTYPE, "C.UTF-8") == NULL)
		log_debug("no UTF-8 locale");
	if ((trust.file = env_path("CODEX_CA_CERTIFICATE")) == NULL)
		trust.file = env_path("SSL_CERT_FILE");
	trust.folder = env_path("SSL_CERT_DIR");
	if (trust.file != NULL)
		paths[n++] = trust.file;
	if (trust.folder != NULL)
		paths[n] = trust.folder;
	if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
		fatalx("libcurl");
	if (http_confine(paths) == -1)
		fatal("confinement");
	return http_serve(sock, &trust);
}
