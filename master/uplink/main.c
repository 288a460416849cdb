/*
 * execsrv-uplink: serves the harnesses of one environment through its registry
 * and rendezvous.  Started by execsrvd with its channel as standard input.
 */
#include <sys/socket.h>
#include <sys/syscall.h>

#include <fcntl.h>
#include <signal.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/log.h"
#include "master/uplink/confine.h"
#include "master/uplink/kem.h"
#include "master/uplink/link.h"
#include "master/uplink/uplink.h"

/* Nothing but the channel, on a number beyond the standard streams. */
static int
take_channel(bool is_daemon)
{
	int	 sock, null;

	syscall(SYS_close_range, 3, ~0U, 0);
	if ((sock = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3)) == -1 ||
	    (null = open("/dev/null", O_RDWR | O_CLOEXEC)) == -1 ||
	    dup2(null, STDIN_FILENO) == -1 ||
	    dup2(null, STDOUT_FILENO) == -1 ||
	    (is_daemon && dup2(null, STDERR_FILENO) == -1))
		fatal("standard streams");
	fd_close(&null);
	return sock;
}

/* Prepare everything that needs files, then do without. */
static void
start(struct uplink *u, int sock)
{
	char			 role[24];
	Ipc__UplinkStart	*about;
	Ipc__UplinkSecret	*secret;

	if (link_wait(sock, &about, &secret) == -1)
		exit(1);
	log_set_level((enum log_level)about->log_level);
	snprintf(role, sizeof(role), "uplink %u", about->number);
	log_set_role(role);
	if (uplink_init(u, about, secret) == -1)
		exit(2);
	sodium_memzero(secret->dh.data, secret->dh.len);
	sodium_memzero(secret->seed.data, secret->seed.len);
	ipc__uplink_secret__free_unpacked(secret, NULL);
	if (loop_init(&u->loop) == -1 ||
	    dialer_init(&u->dialer, &u->loop, u->resolver,
	    about->ca_file) == -1)
		exit(2);
	if (confine_uplink() == -1)
		fatal("confinement");
	if (resolver_attach(u->resolver, &u->loop) == -1 ||
	    (u->link = link_new(u, sock)) == NULL)
		fatal("event loop");
}

int
main(int argc, char **argv)
{
	static struct uplink	 u;
	int			 sock, type;
	socklen_t		 len = sizeof(type);

	if (argc != 2 || getsockopt(STDIN_FILENO, SOL_SOCKET, SO_TYPE, &type,
	    &len) == -1 || type != SOCK_SEQPACKET) {
		fprintf(stderr, "execsrv-uplink is started by execsrvd(8)\n");
		return 2;
	}
	log_init("uplink", LOG_LEVEL_INFO, strcmp(argv[1], "syslog") == 0);
	if (confine_early() == -1)
		fatal("confinement");
	sock = take_channel(strcmp(argv[1], "syslog") == 0);
	signal(SIGPIPE, SIG_IGN);
	/* Ctrl-C in the terminal of a foreground master is not for us. */
	if (setsid() == -1)
		log_debug("already a session leader");
	if (sodium_init() == -1)
		fatalx("sodium_init");
	kem_start();
	if (dialer_take_env(&u.dialer) == -1)
		fatal("environment");
	if ((u.resolver = resolver_start(confine_resolver)) == NULL)
		return 2;
	start(&u, sock);
	loop_run(&u.loop);
	uplink_fini(&u);
	fd_close(&sock);
	return 0;
}
