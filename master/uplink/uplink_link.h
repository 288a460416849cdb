/* The channel to the master: a wrapper for each message. */
#pragma once

#include "common/dial/registry.h"
#include "common/dial/wsloop.h"
#include "proto/ipc.pb-c.h"

struct uplink_link;

struct uplink_link_events {
	/* A credential, wiped afterwards. */
	void	(*on_bearer)(void *arg, const char *token);
	void	(*on_register)(void *arg);
	/* The master is gone. */
	void	(*on_gone)(void *arg);
};

/*
 * Wait for the first two messages, the caller's: settings, and the key.  0, or
 * -1 after a line in the log.
 */
int	 uplink_link_wait(int sock, Ipc__UplinkStart **start_out,
	    Ipc__UplinkSecret **secret_out) MUST_CHECK;

/* Receive on sock, the caller's.  NULL with errno. */
struct uplink_link	*uplink_link_new(struct wsloop *loop, int sock,
			    const struct uplink_link_events *events,
			    void *arg);
void			 uplink_link_free(struct uplink_link **lp);

void	 uplink_link_answer(struct uplink_link *l,
	    const struct registry_result *res);
void	 uplink_link_status(struct uplink_link *l, const Ipc__UplinkStatus *s);

/* The registry rejects the credential. */
void	 uplink_link_denied(struct uplink_link *l);

/* Give the master a connection; fd stays the caller's. */
void	 uplink_link_stream(struct uplink_link *l, int fd);
