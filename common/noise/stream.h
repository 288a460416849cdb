/*
 * The streams of a rendezvous websocket (PROTOCOL 12.6), and handshakes that
 * wait for the registry.  Pure: frames, answers, time (monotonic, ms) in; acts
 * out.  Keep tables in locked memory.
 */
#pragma once

#include <sys/types.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/limit.h"
#include "common/map.h"
#include "common/noise/noise.h"
#include "common/noise/record.h"
#include "common/noise/relay.h"
#include "common/span.h"

/* Payload of message 2 if the registry refuses our credential. */
#define STREAM_REJECTION	"codex-registry-authentication-rejected/v1"

/* Of a frame in a struct stream_act; with a record. */
#define STREAM_ACT_MAX		(NOISE_RESPONSE + sizeof(STREAM_REJECTION) + \
				RELAY_ROOM)
#define STREAM_FRAME_MAX	(RECORD_SEALED_MAX + RELAY_ROOM)

struct stream_id {
	size_t	 len;
	char	 text[LIMIT_RELAY_STREAM_ID];
};

/* The table's until STREAM_ENDED, then the caller's. */
struct stream {
	struct map_node		 node;		/* private */
	struct stream_id	 id;
	struct record_writer	 out;		/* see stream_seal() */
	struct record_reader	 in;		/* record_first(), _drop() */
	void			*owner;		/* the caller's */
};

/* Private. */
struct stream_pending {
	uint64_t		 number;	/* 0: none */
	uint64_t		 deadline;
	struct stream_id	 id;
	struct noise_responder	 noise;
};

/* Private. */
struct stream_table {
	const struct noise_identity	*identity;
	struct span			 environment;
	struct span			 registration;
	struct map			 active;
	struct stream_pending		 pending[LIMIT_STREAMS_PENDING];
	uint64_t			 last_number;
	unsigned			 failures;	/* since a pause */
	uint64_t			 paused_until;
	struct quota			 quota;
	uint8_t			 authorization[LIMIT_RELAY_AUTHORIZATION];
};

enum stream_event {
	STREAM_NOTHING,
	STREAM_VALIDATE,	/* ask the registry: stream_validated() */
	STREAM_FORGET,		/* cancel that question */
	STREAM_OPENED,
	STREAM_ARRIVED,		/* call record_first() */
	STREAM_ENDED		/* call stream_free() */
};

/* Send the frame, if any, then act on the event. */
struct stream_act {
	enum stream_event	 event;
	struct stream		*stream;	/* OPENED, ARRIVED, ENDED */

	uint64_t		 number;	/* VALIDATE, FORGET; unique */
	/* VALIDATE: until the next call. */
	const struct noise_public *harness;
	struct span		 authorization;	/* UTF-8 */
	struct span		 id;

	bool			 is_reset;	/* may be lost */
	size_t			 len;		/* of frame; 0: none */
	uint8_t			 frame[STREAM_ACT_MAX];
};

enum stream_verdict {
	STREAM_YES,
	STREAM_NO,		/* or no answer */
	STREAM_UNKNOWN_US	/* 401: our credential is refused */
};

/* For a new websocket.  Identity and texts stay the caller's. */
void	 stream_table_init(struct stream_table *t,
	    const struct noise_identity *identity, struct span environment,
	    struct span registration);

/* Remove one, then the caller's; NULL: no more. */
struct stream	*stream_take(struct stream_table *t);

/* Wipe, when all streams are taken. */
void	 stream_table_fini(struct stream_table *t);

/* Active streams; pending handshakes. */
size_t	 stream_active(const struct stream_table *t);
size_t	 stream_waiting(const struct stream_table *t);

/* An active one, or NULL. */
struct stream	*stream_find(const struct stream_table *t, struct span id);

void	 stream_on_frame(struct stream_table *t, const struct relay_frame *f,
	    uint64_t now, struct stream_act *act);

/* Unknown numbers are ignored.  random: for tests. */
void	 stream_validated(struct stream_table *t, uint64_t number,
	    enum stream_verdict verdict, const struct noise_random *random,
	    uint64_t now, struct stream_act *act);

/* Call it then, until it returns false; UINT64_MAX: never. */
uint64_t stream_deadline(const struct stream_table *t);
bool	 stream_on_time(struct stream_table *t, uint64_t now,
	    struct stream_act *act);

/* Reset: STREAM_ENDED. */
void	 stream_end(struct stream_table *t, struct stream *s,
	    struct stream_act *act);

/*
 * The next frame, up to STREAM_FRAME_MAX bytes.  Return its length; 0: no more;
 * -1 with errno (EOVERFLOW, ENOMEM): end the stream.
 */
ssize_t	 stream_seal(struct stream *s, struct record_cutter *c, uint8_t *out)
	    MUST_CHECK;

void	 stream_free(struct stream **sp);
