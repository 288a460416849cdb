/*
 * The rendezvous: executors, one for an environment, their harnesses, and the
 * streams between, by ids.
 */
#pragma once

#include <sys/queue.h>

#include <stdbool.h>
#include <stdint.h>

#include "common/map.h"
#include "master/hub/admit/hubrules.h"
#include "master/hub/admit/subject.h"
#include "master/hub/admit/ticket.h"
#include "master/hub/relay/wslink.h"

#define BOARD_ADDRESS_MAX	48

struct switchboard;

struct executor {
	struct wslink		 link;
	struct map_node		 node;
	struct switchboard	*board;
	struct subject		*subject;
	const char		*environment, *labels, *address;
	uint8_t			 registration[REGISTRATION_LEN];
	struct hubkey		 key;
	uint64_t		 number;	/* of all, never used again */
	uint64_t		 since;		/* Unix seconds */
	TAILQ_HEAD(, harness)	 harnesses;	/* who sent last is last */
	unsigned		 nharness, nstream;
	bool			 is_full;	/* it reads too slowly */
	bool			 takes_flow;	/* it can stop a stream */
	uint64_t		 bytes_in, bytes_out;	/* from it, to it */
	char			 text[];	/* of environment and so on */
};

struct harness {
	struct wslink		 link;
	TAILQ_ENTRY(harness)	 entry, paced;
	struct executor		*executor;
	struct subject		*subject;
	uint32_t		 rate;		/* KiB per second; 0: any */
	uint64_t		 since;
	char			 address[BOARD_ADDRESS_MAX];
	LIST_HEAD(, board_stream) streams;
	unsigned		 nstream, nstopped;
	struct timer		 stall;		/* it reads too slowly */
	struct timer		 hold;
	bool			 is_paced;	/* too much is sent to it */
	uint64_t		 bytes_in, bytes_out;
};

/* For the audit log and the figures. */
struct switchboard_events {
	void	(*on_attach)(void *arg, const struct executor *x);
	void	(*on_detach)(void *arg, const struct executor *x,
		    const char *why);
	void	(*on_harness)(void *arg, const struct harness *h);
	void	(*on_harness_gone)(void *arg, const struct harness *h,
		    const char *why);
};

struct switchboard_counts {
	uint64_t	 frames, bytes;		/* forwarded */
	uint64_t	 dropped;		/* frames of nobody's stream */
	uint64_t	 stalls;		/* harnesses too slow */
	uint64_t	 stops;			/* streams told to wait */
	uint64_t	 streams_opened;
	uint64_t	 streams_refused;	/* too many of an executor */
};

struct switchboard {
	struct event_base		*base;
	struct wslinks			 links;
	struct map			 executors;
	struct map			 streams;	/* by executor and id */
	size_t				 nharness;
	/* Those whose subject has used up its rate, in turns. */
	TAILQ_HEAD(paced_list, harness)	 paced;
	struct timer			 pace;
	uint64_t			 last;		/* number given */
	struct switchboard_counts	 counts;
	const struct switchboard_events	*events;
	void				*arg;
};

void	 switchboard_init(struct switchboard *b, struct event_base *base,
	    uint64_t ping_ms, const struct switchboard_events *e, void *arg);

/* Close all, with a code. */
void	 switchboard_fini(struct switchboard *b, uint16_t code,
	    const char *why);

/* The executor of an environment that is attached here, or NULL. */
struct executor *switchboard_find(const struct switchboard *b,
	    const char *environment);

/*
 * Those with a label ("": all) after one, in order, to free.  NULL: no memory.
 */
struct executor **switchboard_list(const struct switchboard *b,
	    const char *label, const char *after, size_t *n_out);

/*
 * Replaces one that is there; *cp is taken, with rest, bytes from behind the
 * head.  NULL with errno ENOMEM.
 */
struct executor *switchboard_attach(struct switchboard *b,
	    const char *environment, const struct ticket *t,
	    struct subject *who, const char *address, struct hubconn **cp,
	    struct span rest);
void	 switchboard_detach(struct executor *x, uint16_t code,
	    const char *why);

/* Connect a harness to one; as above. */
struct harness *switchboard_connect(struct executor *x, const struct ticket *t,
	    struct subject *who, const char *address, struct hubconn **cp,
	    struct span rest);
