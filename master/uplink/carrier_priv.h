/* What the kinds of carriers share; for carr*.c only. */
#ifndef MASTER_UPLINK_CARRIER_PRIV_H
#define MASTER_UPLINK_CARRIER_PRIV_H

#include <sys/queue.h>
#include <sys/types.h>

#include "common/buf.h"
#include "common/noise/quota.h"
#include "common/noise/stream.h"
#include "master/uplink/carrier.h"
#include "master/uplink/local_end.h"
#include "master/uplink/uplink_env.h"

/* A stream and its way on this machine. */
struct carrier_stream {
	TAILQ_ENTRY(carrier_stream)	 entry, ready_entry;
	struct carrier		*carrier;
	struct local_end		*local_end;
	bool			 is_ready;	/* has something to send */
	uint64_t	 pings[LOCAL_END_PINGS];	/* to be answered */
	unsigned		 npings;	/* when that much was read */
	struct stream		*stream;	/* sealed ones */
	struct record_cutter	 cutter;
	bool			 is_cutting;
	struct stream_id	 id;		/* clear ones */
	uint32_t		 seq;
	bool			 is_sent;	/* the message in hand */
	STAILQ_HEAD(, queued_msg)	 notes;		/* for the server */
	size_t			 nnotes, held;	/* their number and bytes */
	struct quota_share	 share;
};

/* A message, or a frame. */
struct queued_msg {
	STAILQ_ENTRY(queued_msg)	 entry;
	size_t			 len;
	uint8_t			 data[];
};

struct carrier_ops {
	size_t	 size;			/* of what begins with a carrier */
	bool	 is_binary;
	int	(*init)(struct carrier *c);
	/* All streams are ended: flow_free() for each. */
	void	(*fini)(struct carrier *c);
	void	(*on_message)(struct carrier *c, uint8_t *data, size_t len,
		    bool is_binary);
	bool	(*first)(struct carrier_stream *f, uint8_t **data_out,
		    size_t *len_out);
	void	(*drop)(struct carrier_stream *f);
	/*
	 * The next frame of a message of the server: its length, 0 when there
	 * is no more of it, -1: the stream must end.
	 */
	ssize_t	(*seal)(struct carrier_stream *f, const uint8_t *data,
	    size_t len,
		    uint8_t **frame_out);
	/* End the stream for a reason of ours: the stream is freed. */
	void	(*end)(struct carrier_stream *f);
};

struct carrier {
	const struct carrier_ops	*ops;
	struct uplink_env		*env;
	const struct carrier_line	*line;
	void				*line_arg;
	TAILQ_HEAD(carrier_stream_list, carrier_stream)	 streams, ready;
	unsigned			 nstreams;
	STAILQ_HEAD(, queued_msg)		 control;	/* LWS_PRE,
								   frame */
	unsigned			 ncontrol;
	struct queued_msg			*current;	/* being sent */
	uint8_t				*frame;		/* of clear kinds */
	struct quota			 quota;		/* of notes */
};

extern const struct carrier_ops	carry_noise, carry_clear, carry_plain;

/* A stream with its local end; NULL after a line in the log. */
struct carrier_stream	*carrier_stream_new(struct carrier *c);
void		 carrier_stream_free(struct carrier_stream **fp);

/* It may have something to send. */
void		 carrier_stream_ready(struct carrier_stream *f);

/*
 * Keep a message for the server until it takes it.  0, or -1: more than may
 * wait, and the stream must end.
 */
int	 carrier_stream_put(struct carrier_stream *f, const uint8_t *data,
	    size_t len)
		    __attribute__((warn_unused_result));
bool	 carrier_stream_first(struct carrier_stream *f, uint8_t **data_out,
		    size_t *len_out);
void		 carrier_stream_drop(struct carrier_stream *f);

/* Of clear kinds: nothing to begin with, and what is left at the end. */
int		 carrier_init(struct carrier *c);
void		 carrier_fini(struct carrier *c);

/*
 * Of clear kinds, for carrier_ops.seal: a message is one frame.  Whether it is
 * still to be made, with room for len bytes at *room_out; NULL there: no
 * memory.
 */
bool	 carrier_stream_begins(struct carrier_stream *f, size_t len,
	    uint8_t **room_out);

/*
 * Send a frame ahead of all others.  One that may be lost is, when there are
 * too many of them already.
 */
void		 carrier_put(struct carrier *c, const uint8_t *frame,
		    size_t len, bool may_be_lost);

#endif
