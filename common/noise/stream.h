/*
 * The streams of one rendezvous websocket (PROTOCOL 12.6): which are
 * active, which wait for the registry, which frames answer which, and when
 * handshakes are refused for a while.  Pure: a frame, an answer of the
 * registry or the time goes in, and what is to be done comes out; the time is
 * the caller's (milliseconds that only go forward).
 *
 * A table holds secrets of handshakes that are under way, and should be in
 * memory that is never written out; stream_table_fini() wipes it.
 */
#ifndef COMMON_NOISE_STREAM_H
#define COMMON_NOISE_STREAM_H

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

/* What message 2 carries when the registry refuses our own credential. */
#define STREAM_REJECTION	"codex-registry-authentication-rejected/v1"

/* Room for any frame of a table, and for one that carries a record. */
#define STREAM_ACT_MAX		(NOISE_RESPONSE + sizeof(STREAM_REJECTION) + \
				RELAY_ROOM)
#define STREAM_FRAME_MAX	(RECORD_SEALED_MAX + RELAY_ROOM)

/* The name of a stream: compared byte by byte. */
struct stream_id {
	size_t	 len;
	char	 text[LIMIT_RELAY_STREAM_ID];
};

/*
 * An active stream.  Its table knows it until STREAM_ENDED: then it is the
 * caller's, to end with stream_free().
 */
struct stream {
	struct map_node		 node;		/* private */
	struct stream_id	 id;
	struct record_writer	 out;		/* see stream_seal() */
	struct record_reader	 in;		/* record_first(), _drop() */
	void			*owner;		/* the caller's, NULL first */
};

/* A handshake that waits for the registry.  Private. */
struct stream_pending {
	uint64_t		 number;	/* 0: none */
	uint64_t		 deadline;
	struct stream_id	 id;
	struct noise_responder	 noise;
};

/* Members are private. */
struct stream_table {
	const struct noise_identity	*identity;
	struct span			 environment;
	struct span			 registration;
	struct map			 active;
	struct stream_pending		 pending[LIMIT_STREAMS_PENDING];
	uint64_t			 last_number;
	unsigned			 failures;	/* not yet a pause */
	uint64_t			 paused_until;
	struct quota			 quota;
	uint8_t			 authorization[LIMIT_RELAY_AUTHORIZATION];
};

enum stream_event {
	STREAM_NOTHING,		/* but there may be a frame to send */
	STREAM_VALIDATE,	/* ask the registry, see stream_validated() */
	STREAM_FORGET,		/* nobody waits for that answer any more */
	STREAM_OPENED,		/* serve it */
	STREAM_ARRIVED,		/* it may have messages: record_first() */
	STREAM_ENDED		/* detach its session, then stream_free() */
};

/* What is to be done.  A frame is sent first. */
struct stream_act {
	enum stream_event	 event;
	struct stream		*stream;	/* OPENED, ARRIVED, ENDED */

	/* VALIDATE and FORGET: which; never used again. */
	uint64_t		 number;
	/* VALIDATE: what to ask about; until the next call with the table. */
	const struct noise_public *harness;
	struct span		 authorization;	/* UTF-8 */
	struct span		 id;

	bool			 is_reset;	/* best effort: may be lost */
	size_t			 len;		/* of the frame, 0: none */
	uint8_t			 frame[STREAM_ACT_MAX];
};

enum stream_verdict {
	STREAM_YES,
	STREAM_NO,		/* or no answer that says yes */
	STREAM_UNKNOWN_US	/* 401: our credential is what is wrong */
};

/*
 * For a websocket that was just connected.  Identity and texts are the
 * caller's and stay.  Needs no memory.
 */
void	 stream_table_init(struct stream_table *t,
	    const struct noise_identity *identity, struct span environment,
	    struct span registration);

/* The websocket is gone: one stream after another, now the caller's. */
struct stream	*stream_take(struct stream_table *t);

/* Wipe it.  There are no active streams, see stream_take(). */
void	 stream_table_fini(struct stream_table *t);

/* Number of active streams, and of handshakes that wait. */
size_t	 stream_active(const struct stream_table *t);
size_t	 stream_waiting(const struct stream_table *t);

/* A frame came.  Never fails: what is wrong with it is in act. */
void	 stream_on_frame(struct stream_table *t, const struct relay_frame *f,
	    uint64_t now, struct stream_act *act);

/*
 * The registry answered for the number, or never will (STREAM_NO).  Numbers
 * that nobody waits for are ignored.  random is NULL, or what to use (tests).
 */
void	 stream_validated(struct stream_table *t, uint64_t number,
	    enum stream_verdict verdict, const struct noise_random *random,
	    uint64_t now, struct stream_act *act);

/*
 * When the first handshake has waited too long, or UINT64_MAX; call
 * stream_on_time() then, until it is false.
 */
uint64_t stream_deadline(const struct stream_table *t);
bool	 stream_on_time(struct stream_table *t, uint64_t now,
	    struct stream_act *act);

/* End an active stream for a reason of ours: a reset, and STREAM_ENDED. */
void	 stream_end(struct stream_table *t, struct stream *s,
	    struct stream_act *act);

/*
 * The next frame of a message (see record_cut()), at out, where there is room
 * for STREAM_FRAME_MAX.  Returns its length, 0 when there is no more, or -1
 * with errno (EOVERFLOW, ENOMEM) and the stream must be ended.
 */
ssize_t	 stream_seal(struct stream *s, struct record_cutter *c, uint8_t *out)
	    __attribute__((warn_unused_result));

/* Free one that its table does not know any more, and forget the pointer. */
void	 stream_free(struct stream **sp);

#endif
