/* The streams on a rendezvous websocket: Noise, clear frames, or one alone. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct carrier;
struct uplink_env;

struct carrier_line {
	/* There are frames: call carrier_next(). */
	void		 (*want)(void *arg);

	/*
	 * Whether the first pos bytes were read; if not, carrier_on_proof()
	 * comes.
	 */
	bool		 (*has_read)(void *arg, uint64_t pos);

	uint64_t	 (*sent)(const void *arg);

	/* Close the websocket: it is of no use any more. */
	void		 (*fail)(void *arg);
};

/* For a websocket that was just connected.  NULL with errno. */
struct carrier	*carrier_new(struct uplink_env *env,
		    const struct carrier_line *line, void *arg);
void		 carrier_free(struct carrier **cp);

/* Take a message, which may be written to. */
void		 carrier_on_message(struct carrier *c, uint8_t *data,
		    size_t len, bool is_binary);

/*
 * The next frame to send, with LWS_PRE writable bytes in front, valid until the
 * next call; 0: none.  Streams take turns, frame by frame.
 */
size_t		 carrier_next(struct carrier *c, uint8_t **frame_out,
		    bool *is_binary_out);

/* The peer has read more: see has_read. */
void		 carrier_on_proof(struct carrier *c);

unsigned	 carrier_streams(const struct carrier *c);
