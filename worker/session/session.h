/*
 * A session: its client and connection, its processes, and output that the
 * client has not acknowledged.  One in each worker, which exits with it.
 *
 *	NEW		connected: initialize has not succeeded yet
 *	HANDING		the master decides which worker serves the session
 *	ATTACHED	a client is connected
 *	DETACHED	no client: kept for DetachedTtl
 *	RELEASED	owned nothing when its client left: the master keeps
 *			the id, the worker waits until it may exit
 *	CLOSING		its processes are being killed
 */
#pragma once

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
#include "worker/session/lifetime.h"
#include "worker/session/notify.h"
#include "worker/session/session_kill.h"

#define SESSION_ID_MAX		64	/* bytes of a session id */
#define SESSION_CLIENT_MAX	64	/* bytes of clientName kept */

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

/* An operator's request to end something; ticket 0: none. */
struct acting {
	uint32_t		 ticket;
	size_t			 count;		/* processes to end */
};

/* Members of worker/session/operator.h. */
struct session_operator {
	struct acting	 ending;	/* of the session */
	unsigned	 tails;		/* of processes */
};

struct session_client {
	char	 name[SESSION_CLIENT_MAX + 1];	/* clientName, printable */
	char	 peer[80];	/* address, for logs */
	bool	 is_stdio;
	bool	 is_relayed;	/* by an uplink */
	bool	 operates;	/* and does nothing else */
};

/* Acknowledgement of output, by stream positions (conn_pos()). */
struct session_receipts {
	uint64_t	 asked;		/* sent_total at the last request */
	bool		 by_client;	/* session_received() is used */
	uint64_t	 base;		/* conn_pos() when attached */
};

/* The reported number of running processes. */
struct session_load {
	unsigned	 told;
	struct timer	 ev;		/* until the next report */
};

struct session_end {
	const char	*why;
	const char	*detached;	/* why, for the same line of the log */
	Ipc__EndReason	 reason;
	uint16_t	 code;		/* RFC 6455 section 7.4 */
	uint64_t	 notify_deadline;	/* clock_ms(), or 0 */
	bool		 is_told;	/* the master was: used */
	bool		 is_read;	/* by the master, at the last look */
	Ipc__Used	 used;
	uint64_t	 leave_by;	/* clock_ms(); 0: not orphaned */
	struct timer	 leave_ev;
};

struct session {
	struct env		 env;
	const struct session_events *events;
	void			*arg;
	struct link		*link;
	enum session_state	 state;
	bool			 done;		/* the worker may exit */
	char			 id[SESSION_ID_MAX];
	struct session_client	 client;
	uint64_t		 retain_ms;	/* 0: DetachedTtl */
	const char		*refusal;	/* of new sessions; or NULL */
	bool			 was_refused;	/* and the master was told */
	struct ratelimit	 bucket;
	struct busypoll		 busypoll;

	struct conn		*conn;		/* or NULL */
	unsigned		 lingering;	/* closing connections */
	bool			 resuming;	/* in the first message */
	struct rpc_req		*handing;	/* initialize, kept */

	struct procs		 procs;
	struct notifier		 notifier;
	struct window		 window;
	struct overflow		 overflow;
	struct budget		 budget;
	struct session_receipts	 receipts;
	bool			 holds;		/* no new output before reads */
	struct holders		*holders;
	struct transcripts	*transcripts;	/* made when needed */
	uint64_t		 transcripts_before;	/* bytes */
	struct session_operator	 operator;
	struct session_load	 load;
	struct lifetime		 lifetime;
	uint64_t		 messages;	/* of the client */
	bool			 is_used;	/* since idle_ev was set */
	struct timer		 idle_ev;	/* gives memory back */
	struct timer		 ttl_ev, reap_ev,
				 relayed_ev, hold_ev;
	struct sigfd		*signals;
	struct session_kill	 kill;
	struct session_end	 end;
};

/* Callbacks to the layer above; arg as given to session_init(). */
struct session_events {
	/* A message was received.  is_utf8: the transport found it valid. */
	void	(*on_message)(void *arg, char *text, size_t len,
		    bool is_utf8);

	/*
	 * The master decided about a kept initialize: YOURS (answer it),
	 * ATTACHED, or anything else: there is no such session.
	 */
	void	(*on_decided)(void *arg, struct rpc_req *req,
		    Ipc__Verdict v);

	/* A client is connected; NULL: connection and requests have ended. */
	void	(*on_conn)(void *arg, struct conn *c);

	/* The client is silent: give memory back. */
	void	(*on_idle)(void *arg);

	/* A holder became ready or failed. */
	void	(*on_holder)(void *arg);

	/* The input of a kept request was accepted. */
	void	(*on_written)(struct rpc_req *req);

	/* There may be room again: continue what waits for it. */
	void	(*on_room)(void *arg);

	/* Whether a child is a helper and not a command; a helper exited. */
	bool	(*is_helper)(void *arg, pid_t pid);
	void	(*on_helper_exit)(void *arg, pid_t pid, int status);

	/* Whether work is under way that will wake the session soon. */
	bool	(*is_busy)(const void *arg);

	/* All processes are gone; called before the master is told. */
	void	(*on_end)(void *arg);
};

/* Begin a session for an assignment, on fd (taken).  Fatal on failure. */
void	 session_init(struct session *s, const struct session_events *events,
	    void *arg, struct event_base *base, int fd, int out,
	    const Ipc__Assign *a);
void	 session_fini(struct session *s);

/* Handle the first message, read by another worker; before session_run(). */
void	 session_begin(struct session *s, const void *message, size_t len);

/* Serve until the session is over. */
void	 session_run(struct session *s);

/* Change the state; nothing else may. */
void	 session_set_state(struct session *s, enum session_state to);

/* Set clientName, made printable. */
void	 session_set_client(struct session *s, const char *name, size_t len);

/* Return why no new session may begin, or NULL; reports it to the master. */
const char *session_refuses(struct session *s);

/*
 * The session is for session/operate alone: it may begin where others may not,
 * owns nothing, and ends with its connection.
 */
void	 session_set_operates(struct session *s);
bool	 session_operates(const struct session *s);

/*
 * has_receipts: output is acknowledged by session_received().  holds: nothing
 * new is sent before missed output was read.
 */
void	 session_set_delivery(struct session *s, bool has_receipts,
	    bool holds);

/* initialize succeeded on this connection. */
void	 session_attach(struct session *s);

/*
 * Resume on a connection from peer, whose first message another worker read. fd
 * is taken if the verdict is TAKEN.
 */
Ipc__Verdict session_resume(struct session *s, int fd, const char *peer,
	    char *message, size_t len);

/* Another client takes the session: tell the present one, if any, and end its
   connection. */
void	 session_give_away(struct session *s);

/* Reap exited children, some now and the rest soon.  arg: the session. */
void	 session_reap(void *arg);

/* While a process runs, reap again later: a SIGCHLD may get lost. */
void	 session_schedule_reap(struct session *s);

const char *session_id(const struct session *s);

/* Whether the message being handled resumes the session. */
bool	 session_is_resuming(const struct session *s);

bool	 session_is_closing(const struct session *s);

/* Whether initialize has not been answered. */
bool	 session_is_new(const struct session *s);

/* The next master has adopted the session: tell it what it does not know. */
void	 session_adopted(struct session *s);

/* Whether the connection can be handed over to another worker. */
bool	 session_may_hand_over(const struct session *s);

/*
 * Ask the master which worker serves session id, and hand the connection over
 * to it with the message.  on_decided answers req, a kept initialize.
 */
void	 session_hand_over(struct session *s, struct rpc_req *req,
	    const char *id, const char *message, size_t len);

/* The kept initialize is gone. */
void	 session_forget_handing(struct session *s);

/*
 * Add a started process to notifications, audit log and transcripts. Fatal
 * without memory.
 */
void	 session_add_process(struct session *s, struct proc *p,
	    const struct spawn *sp);

/* A short request was served: busy poll for the next one. */
void	 session_expect_request(struct session *s);

/* YOURS: the session is that one now, and retained as it was. */
void	 session_decided(struct session *s, Ipc__Verdict v, const char *id,
	    unsigned number, uint64_t retain_ms);

/* End the session and its processes; grace: ms until SIGKILL. */
void	 session_end(struct session *s, const char *why, uint64_t grace);

/* End the session for its client, with the grace time of the settings. */
void	 session_close(struct session *s);

/*
 * Set how long to keep the session while detached, in ms; 0: DetachedTtl.
 * Return the time granted: at most DetachedTtlMax.
 */
uint64_t session_retain(struct session *s, uint64_t ms);

/*
 * The client acknowledges so many bytes of messages, counted from the answer to
 * initialize.  From now on receipts of the transport are ignored.  0, or -1:
 * more than was sent.
 */
int	 session_received(struct session *s, uint64_t bytes);

/* Whether the client, or the spool while detached, has room for output. */
bool	 session_has_room(const struct session *s);

/* Send queued messages, and request receipts for them. */
void	 session_flush(struct session *s);

/* Release the worker if the session owns nothing. */
void	 session_maybe_release(struct session *s);
