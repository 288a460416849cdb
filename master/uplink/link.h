/*
 * The master's end of an uplink: one wrapper for each message.
 */
#ifndef MASTER_UPLINK_LINK_H
#define MASTER_UPLINK_LINK_H

#include "common/dial/registry.h"
#include "common/dial/wsloop.h"
#include "proto/ipc.pb-c.h"

struct link;

struct link_events {
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
int	 link_wait(int sock, Ipc__UplinkStart **start_out,
	    Ipc__UplinkSecret **secret_out)
	    __attribute__((warn_unused_result));

/* Hear the master on sock, which stays the caller's.  NULL with errno. */
struct link	*link_new(struct wsloop *loop, int sock,
		    const struct link_events *events, void *arg);
void		 link_free(struct link **lp);

void	 link_answer(struct link *l, const struct registry_result *res);
void	 link_status(struct link *l, const Ipc__UplinkStatus *s);

/* The credential is not taken any more. */
void	 link_denied(struct link *l);

/* Give the master a connection; fd stays the caller's. */
void	 link_stream(struct link *l, int fd);

#endif
