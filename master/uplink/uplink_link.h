/*
 * The master's end of an uplink: one wrapper for each message.
 */
#ifndef MASTER_UPLINK_UPLINK_LINK_H
#define MASTER_UPLINK_UPLINK_LINK_H

#include "common/dial/registry.h"
#include "common/dial/wsloop.h"
#include "proto/ipc.pb-c.h"

struct uplink_link;

struct uplink_link_events {
	/* A credential, which is wiped afterwards. */
	void	(*on_bearer)(void *arg, const char *token);

	/* It is to be registered. */
	void	(*on_register)(void *arg);

	/* The master is gone. */
	void	(*on_gone)(void *arg);
};

/*
 * Read the first two messages, waiting for them: what the uplink is about
 * (the caller's, see protobuf-c) and its key.  0, or -1 after a line in the
 * log.
 */
int	 uplink_link_wait(int sock, Ipc__UplinkStart **start_out,
	    Ipc__UplinkSecret **secret_out)
	    __attribute__((warn_unused_result));

/* Hear the master on sock, which stays the caller's.  NULL with errno. */
struct uplink_link	*uplink_link_new(struct wsloop *loop, int sock,
			    const struct uplink_link_events *events,
			    void *arg);
void			 uplink_link_free(struct uplink_link **lp);

void	 uplink_link_answer(struct uplink_link *l,
	    const struct registry_result *res);
void	 uplink_link_status(struct uplink_link *l, const Ipc__UplinkStatus *s);

/* The credential is not taken any more. */
void	 uplink_link_denied(struct uplink_link *l);

/* Give the master a connection; fd stays the caller's. */
void	 uplink_link_stream(struct uplink_link *l, int fd);

#endif
