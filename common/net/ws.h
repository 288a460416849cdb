/*
 * RFC 6455 frames, for servers and clients.  Pure: bytes in, events out.
 *
 * A ws_reader owns the bytes that were read and not used up.  A message of one
 * frame is unmasked in place, fragments are joined at the start of the buffer.
 *
 * Strict.  1002: masked (to a client) or unmasked (to a server) frames, lengths
 * not minimal or with the top bit, reserved bits and opcodes, fragmented or too
 * long control frames, stray continuations, new messages inside fragmented
 * ones, close frames of one byte or with a code other than 1000-1003,
 * 1007-1014, 3000-4999.  1007: text or close reason not UTF-8, at the end of
 * the message.  1009: above a limit, as soon as the header is read and before
 * allocating.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum ws_opcode {
	WS_CONTINUATION = 0,
	WS_TEXT = 1,
	WS_BINARY = 2,
	WS_CLOSE = 8,
	WS_PING = 9,
	WS_PONG = 10
};

#define WS_HEADER_MAX	14		/* bytes, with a mask */
#define WS_CONTROL_MAX	125		/* bytes of a control payload */

enum ws_event_type {
	WS_EV_NONE,		/* feed more bytes */
	WS_EV_MESSAGE,		/* a whole message, see is_binary */
	WS_EV_PING,		/* answer with a pong of the same data */
	WS_EV_PONG,
	WS_EV_CLOSE,		/* code (1005: none); data: reason */
	WS_EV_ERROR		/* send a close with code, then disconnect */
};

struct ws_event {
	enum ws_event_type	 type;
	bool			 is_binary;
	bool			 is_utf8;	/* message: data is UTF-8 */
	bool			 is_one_frame;	/* message: not fragmented */
	uint16_t		 code;
	uint8_t			*data;		/* the reader's, writable, until
						   the next call */
	size_t			 len;
};

/*
 * Embedded, members are private.  At base: msg_len bytes of fragments, a gap
 * left by used frames, len raw bytes from off.
 */
struct ws_reader {
	bool		 is_server;
	bool		 is_closed;	/* a close came: ignore the rest */
	uint16_t	 error;		/* close code of a violation, or 0 */
	int		 msg_opcode;	/* of a fragmented message, or -1 */
	size_t		 frame_max;
	size_t		 message_max;
	uint8_t		*base;
	size_t		 cap;
	size_t		 msg_len;
	size_t		 off, len;
	size_t		 frame;		/* length of the frame at off, or 0
					   until its header is accepted */
	size_t		 bare;		/* unmasked bytes of its payload; a
					   multiple of the mask */
	bool		 bare_ascii;	/* those, or the last frame's, are
					   ASCII; never on the client side */
	bool		 msg_ascii;	/* and the fragments, too */
};

/* Limits in bytes: of a frame, and of a message. */
void	 ws_reader_init(struct ws_reader *r, bool is_server, size_t frame_max,
	    size_t message_max);
void	 ws_reader_fini(struct ws_reader *r);

/*
 * Return room for at least min bytes, *size_out in fact; NULL with errno
 * ENOMEM.  Grows with what arrives, not with what a header announces.
 * Invalidates the data of the last event.
 */
uint8_t	*ws_reader_room(struct ws_reader *r, size_t min, size_t *size_out)
	    MUST_CHECK;

/* Add n bytes that were read into the room. */
void	 ws_reader_fed(struct ws_reader *r, size_t n);

/*
 * Return how many more bytes belong to the current frame for sure: a caller
 * that reads no more never holds a byte of the next one.  At least 1 after
 * WS_EV_NONE; 0: call ws_reader_next() first.
 */
size_t	 ws_reader_need(const struct ws_reader *r);

/* Return the number of bytes held. */
size_t	 ws_reader_held(const struct ws_reader *r);

/* Whether nothing is held: at a frame boundary outside any message. */
bool	 ws_reader_is_empty(const struct ws_reader *r);

/*
 * Get the next event.  Call until WS_EV_NONE, then feed.  Never allocates.
 * After a close only WS_EV_NONE follows, after an error only the same error.
 */
void	 ws_reader_next(struct ws_reader *r, struct ws_event *ev);

/* Free memory when idle.  Invalidates the data of the last event. */
void	 ws_reader_trim(struct ws_reader *r);

/*
 * Write a frame header for len bytes; without a mask if mask is NULL.  Return
 * its length: 2, 4 or 10, and 4 more with a mask.
 */
size_t	 ws_header(uint8_t out[WS_HEADER_MAX], bool fin, enum ws_opcode opcode,
	    uint64_t len, const uint8_t mask[4]);

/* Return the length of an unmasked header for len bytes of payload. */
static inline size_t
ws_header_len(uint64_t len)
{
	return len < 126 ? 2 : len < 65536 ? 4 : 10;
}

/* XOR with a mask, beginning with mask[0]: masks and unmasks. */
void	 ws_mask(uint8_t *data, size_t len, const uint8_t mask[4]);
