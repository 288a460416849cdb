/*
 * RFC 6455 frames, for servers and clients, strict.  Pure: bytes in, events
 * out.
 *
 * 1002: masked (to a client) or unmasked (to a server) frames, lengths not
 * minimal or with the top bit, reserved bits and opcodes, fragmented or too
 * long control frames, stray continuations, new messages inside fragmented
 * ones, close frames of one byte or with a code other than 1000-1003,
 * 1007-1014, 3000-4999.  1007: text or close reason not UTF-8, at the end of
 * the message.  1009: above a limit, at the header.
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
	uint8_t			*data;		/* until the next call */
	size_t			 len;
};

/* Private.  At base: msg_len bytes of fragments, a gap, len raw from off. */
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
	size_t		 frame;		/* at off; 0: header not accepted */
	size_t		 bare;		/* unmasked bytes of its payload */
	bool		 bare_ascii;	/* ASCII; a client: never */
	bool		 msg_ascii;	/* with the fragments */
};

/* In bytes. */
void	 ws_reader_init(struct ws_reader *r, bool is_server, size_t frame_max,
	    size_t message_max);
void	 ws_reader_fini(struct ws_reader *r);

/*
 * Return room for at least min bytes; NULL with errno ENOMEM.  Grows with what
 * arrives.  Ends the last event's data.
 */
uint8_t	*ws_reader_room(struct ws_reader *r, size_t min, size_t *size_out)
	    MUST_CHECK;

/* Add n bytes that were read into the room. */
void	 ws_reader_fed(struct ws_reader *r, size_t n);

/* Bytes that surely belong to this frame yet; 0: ws_reader_next() first. */
size_t	 ws_reader_need(const struct ws_reader *r);

/* In bytes. */
size_t	 ws_reader_held(const struct ws_reader *r);

/* At a frame boundary outside any message. */
bool	 ws_reader_is_empty(const struct ws_reader *r);

/*
 * Call until WS_EV_NONE, then feed.  Never allocates.  A close is followed by
 * WS_EV_NONE, an error by the same error.
 */
void	 ws_reader_next(struct ws_reader *r, struct ws_event *ev);

/* When idle.  Ends the last event's data. */
void	 ws_reader_trim(struct ws_reader *r);

/* mask: or NULL.  Return the length: 2, 4 or 10, and 4 more with a mask. */
size_t	 ws_header(uint8_t out[WS_HEADER_MAX], bool fin, enum ws_opcode opcode,
	    uint64_t len, const uint8_t mask[4]);

/* Without a mask. */
static inline size_t
ws_header_len(uint64_t len)
{
	return len < 126 ? 2 : len < 65536 ? 4 : 10;
}

/* Begins with mask[0]; masks and unmasks. */
void	 ws_mask(uint8_t *data, size_t len, const uint8_t mask[4]);
