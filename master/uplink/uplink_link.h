/*
 * The channel to the master, with a wrapper for each message.  When the master
 * dies it looks for the next one; streams wait meanwhile.
 */
#pragma once

#include <stdbool.h>

#include "common/dial/registry.h"
#include "common/dial/wsloop.h"
#include "proto/ipc.pb-c.h"

struct uplink_link;

struct uplink_link_events {
	/* Wiped afterwards. */
	void	(*on_bearer)(void *arg, const char *token);
	void	(*on_register)(void *arg);
	bool	(*is_registered)(void *arg);
	/* It is the master now: report the status. */
	void	(*on_adopted)(void *arg);
	void	(*on_gone)(void *arg);
};

/* The first two messages, the caller's.  0, or -1 after a line in the log. */
int	 uplink_link_wait(int sock, Ipc__UplinkStart **start_out,
	    Ipc__UplinkSecret **secret_out) MUST_CHECK;

/*
 * dir, borrowed, and ttl: where, and for how many ms, the next master is looked
 * for.  NULL with errno; then sock stays the caller's.
 */
struct uplink_link	*uplink_link_new(struct wsloop *loop, int sock,
			    const char *dir, uint64_t ttl,
			    const struct uplink_link_events *events,
			    void *arg);
void			 uplink_link_free(struct uplink_link **lp);

void	 uplink_link_answer(struct uplink_link *l,
	    const struct registry_result *res);
void	 uplink_link_status(struct uplink_link *l, const Ipc__UplinkStatus *s);

void	 uplink_link_denied(struct uplink_link *l);

/* A connection, now or later; closes fd.  0, or -1: too many wait already. */
int	 uplink_link_stream(struct uplink_link *l, int fd) MUST_CHECK;
