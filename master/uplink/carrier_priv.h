/* What the kinds of carriers share; for carr*.c only. */
#pragma once

#include <sys/queue.h>
#include <sys/types.h>

#include "common/buf.h"
#include "common/noise/quota.h"
#include "common/noise/stream.h"
#include "master/uplink/local_end.h"
#include "master/uplink/uplink_env.h"

struct carrier_stream {
	TAILQ_ENTRY(carrier_stream)	 entry, ready_entry;
	struct carrier		*carrier;
	struct local_end	*local_end;
	bool			 is_ready;	/* has something to send */
	bool			 is_held;	/* but may not */
	/* Positions; a ping is answered when the peer has read up to its. */
	uint64_t		 pings[LOCAL_END_PINGS];
	unsigned		 npings;
	struct stream		*stream;
	struct record_cutter	 cutter;
	bool			 is_cutting;
	struct stream_id	 id;
	uint32_t		 seq;
	bool			 is_sent;	/* the message in hand */
	/* Messages for the server, their number and bytes. */
	STAILQ_HEAD(, queued_msg)	 queue;
	size_t			 nqueued, held;
	struct quota_share	 share;
};

struct queued_msg {
	STAILQ_ENTRY(queued_msg)	 entry;
	size_t			 len;
	uint8_t			 data[];
};

struct carrier_ops {
	size_t	 size;			/* of what begins with a carrier */
	bool	 is_binary;
	int	(*init)(struct carrier *c);
	/* The rest; all streams are freed. */
	void	(*fini)(struct carrier *c);
	void	(*on_message)(struct carrier *c, uint8_t *data, size_t len,
		    bool is_binary);
	bool	(*first)(struct carrier_stream *f, uint8_t **data_out,
		    size_t *len_out);
	void	(*drop)(struct carrier_stream *f);
	/*
	 * The next frame of a message: its length; 0: no more; -1: end the
	 * stream.
	 */
	ssize_t	(*seal)(struct carrier_stream *f, const uint8_t *data,
		    size_t len, uint8_t **frame_out);
	/* End the stream for a reason of ours, and free it. */
	void	(*end)(struct carrier_stream *f);
};

struct carrier {
	const struct carrier_ops	*ops;
	struct uplink_env		*env;
	const struct carrier_line	*line;
	void				*line_arg;
	TAILQ_HEAD(carrier_stream_list, carrier_stream)	 streams, ready;
	unsigned			 nstreams;
	/* Frames to send first, each with LWS_PRE bytes in front. */
	STAILQ_HEAD(, queued_msg)	 control;
	unsigned			 ncontrol;
	struct queued_msg		*current;	/* being sent */
	uint8_t				*frame;		/* of clear kinds */
	struct quota			 quota;		/* of queued messages */
};

extern const struct carrier_ops	carry_noise, carry_clear, carry_plain;

/* With its local end; NULL after a line in the log. */
struct carrier_stream	*carrier_stream_new(struct carrier *c);
void			 carrier_stream_free(struct carrier_stream **fp);

/* Queue a message for the server.  -1: too many, and the stream must end. */
int	 carrier_stream_put(struct carrier_stream *f, const uint8_t *data,
	    size_t len) MUST_CHECK;
bool	 carrier_stream_first(struct carrier_stream *f, uint8_t **data_out,
	    size_t *len_out);
void	 carrier_stream_drop(struct carrier_stream *f);

/* Send nothing of the stream, or go on. */
void			 carrier_stream_hold(struct carrier_stream *f,
			    bool is_held);

/* init and fini of clear kinds. */
int	 carrier_init(struct carrier *c);
void	 carrier_fini(struct carrier *c);

/*
 * For seal of clear kinds, where a message is one frame: whether it is still to
 * be made, with room for len bytes at *room_out, or NULL: no memory.
 */
bool	 carrier_stream_begins(struct carrier_stream *f, size_t len,
	    uint8_t **room_out);

/* Ahead of all others.  may_be_lost: drop it if too many wait already. */
void	 carrier_put(struct carrier *c, const uint8_t *frame, size_t len,
	    bool may_be_lost);
