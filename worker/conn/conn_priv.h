/* Internal to worker/conn/conn*.c. */
#pragma once

#include "common/ev.h"
#include "common/net/inflight.h"
#include "worker/conn/conn.h"

/* A control frame: after all messages, or before the rest of a long one. */
enum conn_place { CONN_IN_TURN, CONN_SOON };

struct conn_ops {
	/* Bytes of framing before and after len bytes. */
	size_t	(*head_len)(size_t len);
	size_t	(*tail_len)(size_t len);
	/* Write it, for the first and/or last part of a message. */
	void	(*put_head)(char *at, size_t len, bool first, bool last);
	void	(*put_tail)(char *at);
	/* Input is ready, or may be handed out again. */
	void	(*on_input)(struct conn *);
	/* Bytes read, not handed out. */
	size_t	(*unfinished)(const struct conn *);
	/* Ask for one for pos; NULL: writing is a receipt. */
	void	(*ask_receipt)(struct conn *, uint64_t pos, enum conn_place);
	void	(*put_close)(struct conn *, uint16_t code, const char *why);
	/* Something was written to the kernel; or NULL. */
	void	(*on_flushed)(struct conn *);
	void	(*trim)(struct conn *);
	void	(*fini)(struct conn *);
};

/* Why nothing is read: owner, unread output, conn_slow(), conn_allow(). */
enum conn_hold {
	CONN_PAUSED = 1, CONN_STALLED = 2, CONN_SLOWED = 4, CONN_HUNGRY = 8
};

/* ENDING: a close frame is queued.  LINGERING: it is sent, input discarded. */
enum conn_state { CONN_OPEN, CONN_ENDING, CONN_LINGERING, CONN_GONE };

struct conn {
	const struct conn_ops		*ops;
	const struct conn_events	*events;
	void				*arg;
	enum conn_state			 state;
	int				 in, out;
	bool				 is_socket;
	struct io			 read_ev, write_ev;
	struct timer			 timer_ev, gone_ev, slow_ev;
	struct buf			 queue;		/* whole frames */
	bool				 in_frame;	/* but one is begun */
	size_t				 begun;		/* payload */
	TAILQ_HEAD(conn_sources, conn_source) sources;	/* after queue */
	uint64_t			 pos;
	uint64_t			 flushed;	/* bytes written */
	uint64_t			 last_life;	/* ms, last input */
	uint64_t			 asked_end;	/* flushed after ping */
	uint64_t			 seen;		/* acked by TCP */
	uint64_t			 asked;		/* ms, a ping; or 0 */
	uint64_t			 patience;	/* ms to wait */
	bool				 exact;
	bool				 has_long_frame; /* this message */
	bool				 relayed;
	unsigned			 holds;		/* enum conn_hold */
	size_t				 allowed;	/* conn_allow() */
	bool				 writing;	/* write_ev is on */
	struct inflight			 inflight;	/* of bulk */
	uint64_t			 bulk;		/* payload, in all */
	uint64_t			 bulk_pos;	/* pos, asked for */
};

struct conn	*conn_new(size_t size, struct event_base *base, int in, int out,
		    const struct conn_ops *ops,
		    const struct conn_events *events, void *arg);
int		 conn_put(struct conn *c, enum conn_place place,
		    const void *data, size_t len);

/* End without a close frame: EOF, or a violation. */
void		 conn_end(struct conn *c, const char *why);

/* Of input only: write what is queued, then end. */
void		 conn_end_of_input(struct conn *c, const char *why);

/* Hand out messages? */
bool		 conn_may_read(const struct conn *c);

/* Hold want bytes?  If not, on_hungry; on_input follows conn_allow(). */
bool		 conn_may_hold(struct conn *c, size_t want);

/* Input came; a whole message. */
void		 conn_alive(struct conn *c);
void		 conn_on_bytes(struct conn *c);

void		 conn_on_receipt(struct conn *c, uint64_t pos);
