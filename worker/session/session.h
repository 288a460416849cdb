/*
 * A session: whose it is, the connection it is attached to, its processes,
 * and what the client has not yet acknowledged.  One in each worker; the
 * worker ends with it.
 *
 *	NEW		greeted: initialize did not succeed yet
 *	HANDING		the master decides who serves the session asked for
 *	ATTACHED	a client is there
 *	DETACHED	nobody is: kept for DetachedTtl
 *	RELEASED	owned nothing when its client left: the master keeps
 *			the id, the worker waits for its leave
 *	CLOSING		its processes are being ended
 */
#ifndef WORKER_SESSION_SESSION_H
#define WORKER_SESSION_SESSION_H

#include <sys/queue.h>

#include <event2/event.h>

#include <stdbool.h>
#include <stdint.h>

#include "common/ev.h"
#include "common/ipc/ipc.h"
#include "common/map.h"
#include "worker/conn/ratelimit.h"
#include "worker/os/busypoll.h"
#include "worker/os/env.h"
#include "worker/proc/overflow.h"
#include "worker/proc/proc.h"
#include "worker/proc/retain.h"
#include "worker/session/budget.h"
#include "worker/session/notify.h"
#include "worker/session/session_kill.h"

#define SESSION_ID_MAX		64	/* bytes of a session id */
#define SESSION_CLIENT_MAX	64	/* bytes of clientName that are kept */

enum session_state {
	SESSION_NEW,
	SESSION_HANDING,
	SESSION_ATTACHED,
	SESSION_DETACHED,
	SESSION_RELEASED,
	SESSION_CLOSING
};

struct conn;
struct holders;
struct link;
struct rpc_req;
struct transcripts;

/* An operator wants an end, and hears when it has come; ticket 0: nobody. */
struct acting {
	uint32_t		 ticket;
	size_t			 count;		/* processes it is about */
};

/* What operators do with a session: worker/session/operator.h. */
struct session_operator {
	struct acting	 ending;	/* of the session */
	unsigned	 tails;		/* of its processes, being read */
};

/* Who is on the other end. */
struct session_client {
	char	 name[SESSION_CLIENT_MAX + 1];	/* clientName, printable */
	char	 peer[80];	/* its address, for people */
	bool	 is_stdio;
	bool	 is_relayed;	/* by an uplink */
};

/* How far output is known to have arrived, as positions of messages. */
struct session_receipts {
	uint64_t	 asked;		/* window.sent_total at the last ask */
	bool		 by_client;	/* it acknowledges by itself */
	uint64_t	 base;		/* conn_pos() that it counts from */
};

/* What the master was told of running processes. */
struct session_load {
	unsigned	 told;
	struct timer	 ev;		/* until it is told again */
};

/* How it ends; set by session_end() and the like. */
struct session_end {
	const char	*why;
	Ipc__EndReason	 reason;
	uint16_t	 code;		/* RFC 6455 section 7.4 */
	uint64_t	 tell_until;	/* clock_ms(): for the last words */
};

struct session {
	struct env		 env;
	const struct session_events *events;
	void			*arg;		/* of the events */
	struct link		*link;
	enum session_state	 state;
	bool			 done;		/* the worker may leave */
	char			 id[SESSION_ID_MAX];
	struct session_client	 client;
	uint64_t		 retain_ms;	/* 0: of the settings */
	const char		*refusal;	/* of new ones; NULL: none */
	bool			 was_refused;	/* and the master knows */
	struct ratelimit	 bucket;	/* messages that may come */
	struct busypoll		 busypoll;		/* until the next one */

	struct conn		*conn;		/* or NULL */
	unsigned		 lingering;	/* that say goodbye */
	bool			 resuming;	/* its first message */
	struct rpc_req		*handing;	/* initialize */

	struct procs		 procs;
	struct notifier		 notifier;
	struct window		 window;
	struct overflow		 overflow;
	struct budget		 budget;
	struct session_receipts	 receipts;
	bool			 holds;		/* no news before it read */
	struct holders		*holders;
	struct transcripts	*transcripts;	/* made when needed */
	uint64_t		 transcripts_before;	/* bytes */
	struct session_operator	 operator;
	struct session_load	 load;
	struct timer		 ttl_ev, reap_ev,
				 relayed_ev, hold_ev;
	struct sigfd		*signals;
	struct session_kill	 kill;
	struct session_end	 end;
};

/* What is done for a session above it; arg as given to session_init(). */
struct session_events {
	/* A message came in; is_utf8 tells what the transport found. */
	void	(*on_message)(void *arg, char *text, size_t len,
		    bool is_utf8);

	/*
	 * What became of the session that a kept initialize asked for: YOURS
	 * (answer it), ATTACHED, or anything else: there is no such session.
	 */
	void	(*on_decided)(void *arg, struct rpc_req *req,
		    Ipc__Verdict v);

	/* A connection is there; NULL: it is over, and all asked over it. */
	void	(*on_conn)(void *arg, struct conn *c);

	/* A holder became ready or failed. */
	void	(*on_holder)(void *arg);

	/* What a request that was kept wanted to be written is taken. */
	void	(*on_written)(struct rpc_req *req);

	/* The client may have read: what waits for that can go on. */
	void	(*on_room)(void *arg);

	/* Whether a child is no command of the client; its end. */
	bool	(*is_helper)(void *arg, pid_t pid);
	void	(*on_helper_exit)(void *arg, pid_t pid, int status);

	/* Whether something is under way that will wake the session soon. */
	bool	(*is_busy)(const void *arg);

	/* Its processes are gone, before the master hears of it. */
	void	(*on_end)(void *arg);
};

/*
 * A session for an assignment, on fd (taken) in a greeting state.  Fatal when
 * it cannot be made: the worker is of no use then.
 */
void	 session_init(struct session *s, const struct session_events *events,
	    void *arg, struct event_base *base, int fd, int out,
	    const Ipc__Assign *a);
void	 session_fini(struct session *s);

/* The first message, which another worker has read; before session_run(). */
void	 session_begin(struct session *s, const void *message, size_t len);

/* Serve it until it is over. */
void	 session_run(struct session *s);

/* The only way to another state. */
void	 session_set_state(struct session *s, enum session_state to);

/* Remember the name by which the client calls itself, printable. */
void	 session_set_client(struct session *s, const char *name, size_t len);

/* Why no new session may begin, or NULL; the master is told of a refusal. */
const char *session_refuses(struct session *s);

/*
 * How the client of the present connection wants its output: it acknowledges
 * what it has by itself (session_received()); it reads what it missed before
 * it is sent new output.
 */
void	 session_set_delivery(struct session *s, bool has_receipts,
	    bool holds);

/* initialize succeeded on the present connection. */
void	 session_attach(struct session *s);

/* A connection from peer that another worker greeted, and its first message. */
Ipc__Verdict session_resume(struct session *s, int fd, const char *peer,
	    char *message, size_t len);

/*
 * Reap children that ended, soon those as well that are too many for one turn;
 * arg is the session.
 */
void	 session_reap(void *arg);

/*
 * While a process runs, look now and then whether it ended: a SIGCHLD may get
 * lost (the pipe that wakes us, a waitid(2) that fails).
 */
void	 session_look_later(struct session *s);


const char *session_id(const struct session *s);

/* Whether it is being resumed, by the message that is handled now. */
bool	 session_is_resuming(const struct session *s);

/* Whether its processes are being ended. */
bool	 session_is_closing(const struct session *s);

/* Whether its connection can be given to another worker. */
bool	 session_may_hand_over(const struct session *s);

/*
 * Ask the master who serves the session with that id, and give it the message
 * that asks for it: req, a kept initialize, is answered by on_decided.
 */
void	 session_hand_over(struct session *s, struct rpc_req *req,
	    const char *id, const char *message, size_t len);

/* That request is gone. */
void	 session_forget_handing(struct session *s);

/* A process was started as sp says: it is told of, audited, transcribed. */
void	 session_add_process(struct session *s, struct proc *p,
	    const struct spawn *sp);

/* A short request was served: the next one is expected soon. */
void	 session_expect_request(struct session *s);

/* What the master decided about the initialize that was handed over. */
void	 session_decided(struct session *s, Ipc__Verdict v, const char *id,
	    unsigned number);

/* End it and all its processes, after the grace time (ms) at most. */
void	 session_end(struct session *s, const char *why, uint64_t grace);

/* The same as its client asked for it, with the grace time of the settings. */
void	 session_close(struct session *s);

/*
 * How long its client wants it kept while detached, ms; 0: as the settings
 * say.  What it gets: DetachedTtlMax at most.
 */
uint64_t session_retain(struct session *s, uint64_t ms);

/*
 * The client has that many bytes of messages, from the answer to initialize
 * on; from here on nothing else counts as acknowledged.  0, or -1: so many
 * were not sent.
 */
int	 session_received(struct session *s, uint64_t bytes);

/* Whether output may be read: the client, or the spool, can take it. */
bool	 session_has_room(const struct session *s);

/* Send what is waiting, and ask for receipts for it. */
void	 session_flush(struct session *s);

/* Look again whether held-back output may go on. */
void	 session_unhold(struct session *s);

/* Look whether the worker is needed any more. */
void	 session_maybe_release(struct session *s);

#endif
