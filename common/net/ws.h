/*
 * RFC 6455 frames, for the server and the client side.  Pure: bytes in,
 * events out; no sockets, no clock.
 *
 * A ws_reader owns the bytes that were read and not yet used up.  A message
 * in one frame is unmasked in place and handed out without a copy; fragments
 * are put together behind one another at the start of the same memory.
 *
 * Strict: a server refuses unmasked frames and a client masked ones; lengths
 * that are not minimal, reserved bits and opcodes, fragmented or oversized
 * control frames, stray continuations and new messages inside fragmented
 * ones are 1002 (also a length with the top bit set); text that is not UTF-8
 * is 1007 when the message ends; a frame or message above its limit is 1009
 * as soon as its header says so, before anything is allocated for it (control
 * frames have no limit but their own 125); close frames of one byte or with a
 * code that must not be sent are 1002 (valid: 1000-1003, 1007-1014,
 * 3000-4999), with a reason that is not UTF-8 1007.
 */
#ifndef COMMON_NET_WS_H
#define COMMON_NET_WS_H

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
	WS_EV_MESSAGE,		/* a whole message, is_binary says which kind */
	WS_EV_PING,		/* answer with a pong of the same data */
	WS_EV_PONG,
	WS_EV_CLOSE,		/* code (1005: there was none); data: reason */
	WS_EV_ERROR		/* send a close with code, then end */
};

struct ws_event {
	enum ws_event_type	 type;
	bool			 is_binary;
	bool			 is_utf8;	/* of a message: its data is */
	bool			 is_one_frame;	/* of a message */
	uint16_t		 code;
	uint8_t			*data;		/* in the reader, writable,
						   until the next call */
	size_t			 len;
};

/*
 * Embedded.  Members are private.  At base: msg_len bytes of fragments, a gap
 * left by frames used up, then len raw bytes from off.
 */
struct ws_reader {
	bool		 is_server;
	bool		 is_closed;	/* a close came: the rest is ignored */
	uint16_t	 error;		/* only this from here on, or 0 */
	int		 msg_opcode;	/* of a message in fragments, or -1 */
	size_t		 frame_max;
	size_t		 message_max;
	uint8_t		*base;
	size_t		 cap;
	size_t		 msg_len;
	size_t		 off, len;
	size_t		 frame;		/* whole length of the frame at off, or
					   0 until its header is accepted */
	size_t		 bare;		/* bytes of its payload that are
					   unmasked; a multiple of the mask */
	bool		 bare_ascii;	/* they are, or those of the last frame;
					   never on the client side */
	bool		 msg_ascii;	/* and what the fragments had */
};

/*
 * A reader for one connection.  Limits in bytes: frame_max for one frame,
 * message_max for a message put together.
 */
void	 ws_reader_init(struct ws_reader *r, bool is_server, size_t frame_max,
	    size_t message_max);
void	 ws_reader_fini(struct ws_reader *r);

/*
 * Where the next bytes may be read to, *size_out bytes of room and at least
 * min; NULL with errno ENOMEM.  Grows with what arrives, never with what a
 * header promises.  Invalidates the data of the last event.
 */
uint8_t	*ws_reader_room(struct ws_reader *r, size_t min, size_t *size_out)
	    __attribute__((warn_unused_result));

/* n bytes were read there (n <= *size_out). */
void	 ws_reader_fed(struct ws_reader *r, size_t n);

/*
 * How many more bytes surely belong to the frame at hand: a reader that is
 * fed no more than that never holds a byte of the next frame.  At least 1
 * while WS_EV_NONE was the last event; 0 asks for ws_reader_next() first.
 */
size_t	 ws_reader_need(const struct ws_reader *r);

/* Bytes held: read, and not used up. */
size_t	 ws_reader_held(const struct ws_reader *r);

/*
 * Whether nothing is held: the connection stands at a frame boundary outside
 * any message.
 */
bool	 ws_reader_is_empty(const struct ws_reader *r);

/*
 * The next event.  Call until WS_EV_NONE, then feed.  Never allocates.  Behind
 * a close there is only WS_EV_NONE, behind an error only the same error.
 */
void	 ws_reader_next(struct ws_reader *r, struct ws_event *ev);

/*
 * Give memory back that an earlier large message needed: all of it when
 * nothing is held.  Call when idle; the data of the last event is gone.
 */
void	 ws_reader_trim(struct ws_reader *r);

/*
 * Write the header of a frame with len bytes of payload to out; mask NULL
 * leaves it unmasked.  Returns its length: 2, 4 or 10, and 4 more with a mask.
 */
size_t	 ws_header(uint8_t out[WS_HEADER_MAX], bool fin, enum ws_opcode opcode,
	    uint64_t len, const uint8_t mask[4]);

/* Length of an unmasked header for len bytes of payload. */
static inline size_t
ws_header_len(uint64_t len)
{
	return len < 126 ? 2 : len < 65536 ? 4 : 10;
}

/* XOR len bytes with a mask, the first with mask[0].  Masks and unmasks. */
void	 ws_mask(uint8_t *data, size_t len, const uint8_t mask[4]);

#endif
