/*
 * execsrv-uplink: serves the harnesses of one environment through its registry
 * and rendezvous.  Started by execsrvd with its channel as standard input.
 */
#include <sys/socket.h>

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/dial/netconfine.h"
#include "common/dial/netstart.h"
#include "common/fd.h"
#include "common/linux/confine.h"
#include "common/log.h"
#include "master/uplink/uplink.h"
#include "master/uplink/uplink_link.h"

static void
uplink_on_no_resolver(void *arg)
{
	uplink_report(arg);
}

/* Open all files that are needed, then give up the right to. */
static void
uplink_prepare(struct uplink *u, int sock)
{
	char			 role[24];
	Ipc__UplinkStart	*about;
	Ipc__UplinkSecret	*secret;

	if (uplink_link_wait(sock, &about, &secret) == -1)
		exit(1);
	log_set_level((enum log_level)about->log_level);
	snprintf(role, sizeof(role), "uplink %u", about->number);
	log_set_role(role);
	if (uplink_init(u, about, secret) == -1)
		exit(2);
	sodium_memzero(secret->dh.data, secret->dh.len);
	sodium_memzero(secret->seed.data, secret->seed.len);
	ipc__uplink_secret__free_unpacked(secret, NULL);
	if (wsloop_init(&u->env.loop) == -1 ||
	    dialer_init(&u->env.dialer, &u->env.loop, u->env.resolver,
	    about->ca_file) == -1)
		exit(2);
	/* Without a next master the end of this one is the end. */
	if ((u->env.start->orphan_ttl_ms == 0 &&
	    confine_to_parent() == -1) || netconfine_process() == -1)
		fatal("confinement");
	if (resolver_attach(u->env.resolver, &u->env.loop,
	    uplink_on_no_resolver, u) == -1 || uplink_serve(u, sock) == -1)
		fatal("event loop");
}

int
main(int argc, char **argv)
{
	static struct uplink	 u;
	int			 sock;

	if (argc != 2 || !fd_is_socket(STDIN_FILENO, SOCK_SEQPACKET)) {
		fprintf(stderr, "execsrv-uplink is started by execsrvd(8)\n");
		return 2;
	}
	if ((sock = netstart("uplink", argv[1], true, &u.env.dialer,
	    &u.env.resolver)) == -1)
		return 1;
	uplink_prepare(&u, sock);
	wsloop_run(&u.env.loop);
	uplink_fini(&u);
	return 0;
}
