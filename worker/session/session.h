/*
 * A session: its client, connection, processes, unacknowledged output.  One in
 * each worker, which exits with it.
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

#define SESSION_ID_MAX		64	/* bytes */
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

/* ticket 0: none. */
struct acting {
	uint32_t		 ticket;
	size_t			 count;		/* processes to end */
};

/* Of worker/session/operator.h. */
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

/* By stream positions (conn_pos()). */
struct session_receipts {
	uint64_t	 asked;		/* sent_total at the last request */
	bool		 by_client;	/* session_received() is used */
	uint64_t	 base;		/* conn_pos() when attached */
};

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
	bool		 is_told;	/* the master was */
	bool		 is_read;	/* by the master */
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

/* To the layer above. */
struct session_events {
	/* is_utf8: known to be valid. */
	void	(*on_message)(void *arg, char *text, size_t len,
		    bool is_utf8);

	/* About a kept initialize: YOURS (answer it), ATTACHED; else: none. */
	void	(*on_decided)(void *arg, struct rpc_req *req,
		    Ipc__Verdict v);

	/* NULL: connection and requests have ended. */
	void	(*on_conn)(void *arg, struct conn *c);

	/* Give memory back. */
	void	(*on_idle)(void *arg);

	/* One became ready or failed. */
	void	(*on_holder)(void *arg);

	/* A kept request's input was accepted. */
	void	(*on_written)(struct rpc_req *req);

	/* Perhaps; continue what waits. */
	void	(*on_room)(void *arg);

	/* A child is no command; a helper exited. */
	bool	(*is_helper)(void *arg, pid_t pid);
	void	(*on_helper_exit)(void *arg, pid_t pid, int status);

	/* Work is under way that will wake the session soon. */
	bool	(*is_busy)(const void *arg);

	/* All processes are gone, the master not yet told. */
	void	(*on_end)(void *arg);
};

/* fd is taken.  Fatal on failure. */
void	 session_init(struct session *s, const struct session_events *events,
	    void *arg, struct event_base *base, int fd, int out,
	    const Ipc__Assign *a);
void	 session_fini(struct session *s);

/* The first message, read by another worker; before session_run(). */
void	 session_begin(struct session *s, const void *message, size_t len);

/* Serve until it is over. */
void	 session_run(struct session *s);

/* The only way to change it. */
void	 session_set_state(struct session *s, enum session_state to);

/* clientName, made printable. */
void	 session_set_client(struct session *s, const char *name, size_t len);

/* Why no new session may begin, or NULL; tells the master. */
const char *session_refuses(struct session *s);

/* For session/operate alone: may always begin, owns nothing, ends when left. */
void	 session_set_operates(struct session *s);
bool	 session_operates(const struct session *s);

/* has_receipts: by session_received().  holds: first what was missed. */
void	 session_set_delivery(struct session *s, bool has_receipts,
	    bool holds);

/* initialize succeeded. */
void	 session_attach(struct session *s);

/* From peer, its first message was read.  TAKEN: fd is taken. */
Ipc__Verdict session_resume(struct session *s, int fd, const char *peer,
	    char *message, size_t len);

/* Another client takes it: tell the present one, end its connection. */
void	 session_give_away(struct session *s);

/* Reap some children now, the rest soon.  arg: the session. */
void	 session_reap(void *arg);

/* While a process runs: a SIGCHLD may get lost. */
void	 session_schedule_reap(struct session *s);

const char *session_id(const struct session *s);

/* Whether the message being handled resumes it. */
bool	 session_is_resuming(const struct session *s);

bool	 session_is_closing(const struct session *s);

/* initialize has not been answered. */
bool	 session_is_new(const struct session *s);

/* By the next master: tell it what it does not know. */
void	 session_adopted(struct session *s);

/* Whether the connection can go to another worker. */
bool	 session_may_hand_over(const struct session *s);

/*
 * Ask the master who serves id; the connection goes there with the message.
 * on_decided answers req, a kept initialize.
 */
void	 session_hand_over(struct session *s, struct rpc_req *req,
	    const char *id, const char *message, size_t len);

/* The kept initialize is gone. */
void	 session_forget_handing(struct session *s);

/* Add to notifications, audit log, transcripts.  Fatal without memory. */
void	 session_add_process(struct session *s, struct proc *p,
	    const struct spawn *sp);

/* A short request was served: busy poll. */
void	 session_expect_request(struct session *s);

/* YOURS: the session is that one now, and retained as it was. */
void	 session_decided(struct session *s, Ipc__Verdict v, const char *id,
	    unsigned number, uint64_t retain_ms);

/* End it with its processes; grace: ms until SIGKILL. */
void	 session_end(struct session *s, const char *why, uint64_t grace);

/* End it for its client, with the settings' grace time. */
void	 session_close(struct session *s);

/* While detached, in ms; 0: DetachedTtl.  Return it, at most DetachedTtlMax. */
uint64_t session_retain(struct session *s, uint64_t ms);

/*
 * The client acknowledges bytes of messages since the answer to initialize;
 * replaces receipts of the transport.  -1: more than was sent.
 */
int	 session_received(struct session *s, uint64_t bytes);

/* For output: the client or, detached, the spool. */
bool	 session_has_room(const struct session *s);

/* Send what is queued, request receipts. */
void	 session_flush(struct session *s);

/* Release the worker if the session owns nothing. */
void	 session_maybe_release(struct session *s);
