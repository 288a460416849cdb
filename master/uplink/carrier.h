/*
 * How streams travel on a websocket: sealed (Noise), as clear relay frames, or
 * one connection as it is.  Lives as long as the websocket; when it ends, so
 * do its streams, and their sessions are detached.
 */
#ifndef MASTER_UPLINK_CARRIER_H
#define MASTER_UPLINK_CARRIER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct carrier;
struct uplink_env;

/* The websocket. */
struct carrier_line {
	/* There are frames: carrier_next() is to be asked. */
	void		 (*want)(void *arg);

	/*
	 * Whether what was sent until there were that many bytes is safe to
	 * call arrived.  If not, carrier_on_proof() follows.
	 */
	bool		 (*has_read)(void *arg, uint64_t pos);

	/* How many bytes of frames were sent. */
	uint64_t	 (*sent)(const void *arg);

	/* It is of no use any more. */
	void		 (*fail)(void *arg);
};

/* For the websocket that was just connected.  NULL with errno. */
struct carrier	*carrier_new(struct uplink_env *env,
		    const struct carrier_line *line, void *arg);
void		 carrier_free(struct carrier **cp);

/* A message came; it may be written to. */
void		 carrier_on_message(struct carrier *c, uint8_t *data,
		    size_t len, bool is_binary);

/*
 * The next frame to send, with LWS_PRE bytes in front of it that may be
 * written to; it stays until the next call.  0: there is none.  Streams take
 * turns, frame by frame.
 */
size_t		 carrier_next(struct carrier *c, uint8_t **frame_out,
		    bool *is_binary_out);

/* More was read at the other end. */
void		 carrier_on_proof(struct carrier *c);

unsigned	 carrier_streams(const struct carrier *c);

#endif
