/*
 * execsrv-worker: the template of workers, executed by execsrvd with its
 * channel as standard input.
 */
#include <sys/resource.h>
#include <sys/socket.h>

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/log.h"
#include "worker/os/proctitle.h"
#include "worker/template.h"

/* Parse the RLIMIT_NOFILE of commands, "soft:hard".  Whether it is one. */
static bool
read_nofile(const char *text, struct rlimit *rl)
{
	unsigned long long	 soft, hard;

	if (sscanf(text, "%llu:%llu", &soft, &hard) != 2)
		return false;
	rl->rlim_cur = (rlim_t)soft;
	rl->rlim_max = (rlim_t)hard;
	return true;
}

/* Take what is needed of the arguments before ps(1) gets other ones. */
static int
run(int sock, const struct rlimit *nofile, int argc, char **argv)
{
	char	*groups = strdup(argc > 3 ? argv[3] : "");
	int	 r;

	if (groups == NULL)
		fatal("memory");
	proctitle_init(argc, argv);
	proctitle_set("execsrv-worker: template");
	r = template_run(sock, nofile, groups);
	free(groups);
	return r;
}

int
main(int argc, char **argv)
{
	struct rlimit	 nofile;
	int		 sock;

	unsetenv("LD_BIND_NOW");
	log_init("template", LOG_LEVEL_INFO, argc > 2 ? argv[2] : NULL);
	if (argc < 3 || !read_nofile(argv[1], &nofile) ||
	    !fd_is_socket(STDIN_FILENO, SOCK_SEQPACKET)) {
		fprintf(stderr, "execsrv-worker is started by execsrvd(8)\n");
		return 2;
	}
	/* The parent of a daemon may wait for EOF on standard error. */
	if ((sock = fd_take_stdin(log_is_syslog())) == -1)
		fatal("standard streams");
	/* Leave the terminal of a foreground master: no SIGINT by Ctrl-C. */
	if (setsid() == -1)
		log_debug("already a session leader");
	return run(sock, &nofile, argc, argv);
}
