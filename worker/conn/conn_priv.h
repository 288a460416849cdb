/* What the kinds of connections share; for conn*.c only. */
#ifndef WORKER_CONN_CONN_PRIV_H
#define WORKER_CONN_CONN_PRIV_H

#include "common/ev.h"
#include "worker/conn/conn.h"

/*
 * Where a control frame goes: behind all messages, or in front of what is not
 * yet written of the long one and of all behind that.
 */
enum conn_place { CONN_IN_TURN, CONN_SOON };

struct conn_ops {
	/* Length of the frame around len bytes, in front of and behind them. */
	size_t	(*head_len)(size_t len);
	size_t	(*tail_len)(size_t len);
	/*
	 * Write what stands before len bytes of payload, the first of a
	 * message or the last or both; and what stands behind the last.
	 */
	void	(*put_head)(char *at, size_t len, bool first, bool last);
	void	(*put_tail)(char *at);
	/* Input is there, or may be handed out again. */
	void	(*on_input)(struct conn *);
	/* Bytes that were read and not handed out. */
	size_t	(*unfinished)(const struct conn *);
	/* Ask for a receipt for pos; NULL: writing is the receipt. */
	void	(*ask_receipt)(struct conn *, uint64_t pos, enum conn_place);
	/* The last words. */
	void	(*put_close)(struct conn *, uint16_t code, const char *why);
	/* Something was given to the kernel; NULL: no matter. */
	void	(*on_flushed)(struct conn *);
	void	(*trim)(struct conn *);
	void	(*fini)(struct conn *);
};

/*
 * OPEN: messages both ways.  ENDING: the last words are on their way.
 * LINGERING: they are sent, the client may still say something.  GONE.
 */
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
	struct buf			 queue;		/* whole frames, but: */
	bool				 in_frame;	/* one is begun */
	size_t				 begun;		/* payload */
	TAILQ_HEAD(conn_sources, conn_source) sources;	/* behind queue */
	uint64_t			 pos;
	uint64_t			 flushed;	/* bytes sent */
	uint64_t			 last_life;	/* ms */
	uint64_t			 asked_end;	/* bytes, with it */
	uint64_t			 seen;		/* of them, by TCP */
	uint64_t			 asked;		/* ms; 0: not */
	uint64_t			 patience;	/* ms */
	bool				 exact;
	bool				 has_long_frame; /* the message */
	bool				 relayed;
	bool				 paused;	/* by the owner */
	bool				 stalled;	/* answers unread */
	bool				 slowed;	/* it was too fast */
	bool				 hungry;	/* conn_allow() */
	size_t				 allowed;	/* by that */
	bool				 writing;	/* write_ev is on */
};

struct conn	*conn_new(size_t size, struct event_base *base, int in, int out,
		    const struct conn_ops *ops,
		    const struct conn_events *events, void *arg);
int		 conn_put(struct conn *c, enum conn_place place,
		    const void *data, size_t len);

/* The other end is gone or broke the rules: no goodbye. */
void		 conn_end(struct conn *c, const char *why);

/* It will say no more, but may still listen: send what waits, then end. */
void		 conn_end_of_input(struct conn *c, const char *why);

/* Whether messages may be handed out now. */
bool		 conn_may_read(const struct conn *c);

/*
 * Whether more may be held; if not, the owner hears that so many bytes are
 * wanted, and on_input is not called until it allows them.
 */
bool		 conn_may_hold(struct conn *c, size_t want);

/* The client gave a sign of life: bytes came, or a whole message. */
void		 conn_alive(struct conn *c);
void		 conn_on_bytes(struct conn *c);

#endif
