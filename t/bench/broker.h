/*
 * What remote mode is to an executor: an environment registry that takes every
 * registration and allows every harness at once, and the rendezvous to which
 * it then connects; HTTP and ws on one port of 127.0.0.1, in an event loop.
 * One executor only.  Pings are answered in their turn: when everything
 * before was taken.  As elsewhere here, failures end the program.
 */
#pragma once

#include <stdbool.h>

#include "common/noise/noise.h"
#include "common/noise/relay.h"

struct event_base;
struct broker;

#define BROKER_ENVIRONMENT	"bench"
#define BROKER_REGISTRATION	"bench-registration"
#define BROKER_PORT		"BROKER_PORT"	/* variable; or any port */

/* A frame of the executor; borrowed. */
typedef void	 broker_fn(const struct relay_frame *, void *arg);

struct broker	*broker_open(struct event_base *, broker_fn *, void *arg);
void		 broker_close(struct broker **);

/* Where it listens. */
unsigned	 broker_port(const struct broker *);

/* The executor's keys, once its websocket is there; NULL before. */
const struct noise_public	*broker_executor(const struct broker *);

/* Send the executor a frame, with the next broker_flush(). */
void		 broker_send(struct broker *, const struct relay_frame *);
void		 broker_flush(struct broker *);
