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
#include <sys/resource.h>

#include <event2/event.h>

#include <stdbool.h>
#include <stdint.h>

#include "common/buf.h"
#include "common/ev.h"
#include "common/ipc/ipc.h"
#include "common/json/json.h"
#include "common/map.h"
#include "worker/conn/ratelimit.h"
#include "worker/os/busypoll.h"
#include "worker/os/env.h"
#include "worker/os/rlimits.h"
#include "worker/proc/overflow.h"
#include "worker/proc/proc.h"
#include "worker/proc/retain.h"
#include "worker/session/budget.h"
#include "worker/session/notify.h"

#define SESSION_ID_MAX	64		/* bytes of a session id */

enum session_state {
	SESSION_NEW,
	SESSION_HANDING,
	SESSION_ATTACHED,
	SESSION_DETACHED,
	SESSION_RELEASED,
	SESSION_CLOSING
};

/* How far the handshake of the present connection is. */
enum session_phase { PHASE_NEW, PHASE_ATTACHED, PHASE_READY };

struct sockmark;
struct conn;
struct fsjobs;
struct holders;
struct http;
struct link;
struct rpc_req;
struct transcripts;
struct watcher;

TAILQ_HEAD(rpc_req_list, rpc_req);
TAILQ_HEAD(start_list, start);

/* An operator wants an end, and hears when it has come; ticket 0: nobody. */
struct acting {
	uint32_t		 ticket;
	size_t			 count;		/* processes it is about */
};

struct session {
	struct env		 env;
	const struct session_events *events;
	struct link		*link;
	enum session_state	 state;
	enum session_phase	 phase;
	bool			 done;		/* the worker may leave */
	char			 id[SESSION_ID_MAX];
	char			*client;	/* its name, or NULL */
	char			 peer[80];	/* where it is, for people */
	uint64_t		 retain_ms;	/* 0: of the settings */
	bool			 is_stdio;
	bool			 is_relayed;	/* by an uplink */
	bool			 is_strict;	/* what is no JSON-RPC ends
						   the connection */
	bool			 is_full;	/* no new sessions */
	bool			 is_draining;	/* and that is why */
	bool			 was_turned_away;	/* and was told */
	struct rlimit		 nofile;	/* of commands */
	struct rlimits		 rlimits;	/* of them as well */
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
	uint64_t		 receipt_total;	/* asked for up to here */
	bool			 has_receipts;	/* by the client itself */
	bool			 holds;		/* no news before it read */
	uint64_t		 receipt_base;	/* pos that they count from */
	struct rpc_req_list	 waiting;	/* answered later */
	unsigned		 nwaiting;
	struct start_list	 starts;	/* wait for their sandbox */
	struct fsjobs	*fsjobs;		/* made when needed, both */
	struct holders		*holders;
	struct sockmark		*sockmark;		/* made when needed */

	struct http		*http;		/* made when needed */
	int			 http_exe;	/* its program, or -1 */
	struct watcher		*watcher;	/* fs/watchMissing, or NULL */
	struct transcripts	*transcripts;	/* made when needed */
	uint64_t		 transcripts_before;	/* bytes */
	struct acting		 ending;
	unsigned		 tails;		/* operators who look */
	unsigned		 told_running;	/* the master, with load_ev */
	struct json		 json;
	struct buf		 scratch;	/* one answer being written */
	struct timer		 ttl_ev, kill_ev, reap_ev, load_ev,
				 relayed_ev, hold_ev;
	struct sigfd		*signals;
	unsigned		 empty_passes;	/* found nobody to kill */
	unsigned		 orphans;	/* reaped since the last one */
	uint64_t		 deadline;	/* of the grace time */
	uint64_t		 tell_until;	/* ms: its last words */
	uint16_t		 close_code;	/* RFC 6455 */
	const char		*why;		/* it ends */
	Ipc__EndReason		 reason;	/* that, for the master */
	uint64_t		 born;		/* clock_ms() */
	uint64_t		 bytes_in;
};

/* What is done for a session above it. */
struct session_events {
	/* A message came in; is_utf8 tells what the transport found. */
	void	(*on_message)(struct session *s, char *text, size_t len,
		    bool is_utf8);

	/*
	 * What became of the session that a kept initialize asked for: YOURS
	 * (answer it), ATTACHED, or anything else: there is no such session.
	 */
	void	(*on_decided)(struct session *s, struct rpc_req *req,
		    Ipc__Verdict v);

	/* The connection is over, and all that was asked over it. */
	void	(*on_conn_end)(struct session *s);

	/* A holder became ready or failed; arg: the session. */
	void	(*on_holder)(void *arg);

	/* What a request that was kept wanted to be written is taken. */
	void	(*on_written)(struct rpc_req *req);

	/* The client may have read: what waits for that can go on. */
	void	(*on_room)(struct session *s);

	/* Whether a child is no command of the client; its end. */
	bool	(*is_helper)(const struct session *s, pid_t pid);
	void	(*on_helper_exit)(struct session *s, pid_t pid, int status);

	/* Whether something is under way that will wake the session soon. */
	bool	(*is_busy)(const struct session *s);

	/* Its processes are gone, before the master hears of it. */
	void	(*on_end)(struct session *s);

	/* It is freed. */
	void	(*on_fini)(struct session *s);
};

/*
 * A session for an assignment, on fd (taken) in a greeting state.  Fatal when
 * it cannot be made: the worker is of no use then.
 */
void	 session_init(struct session *s, const struct session_events *events,
	    struct event_base *base, int fd, int out, const Ipc__Assign *a);
void	 session_fini(struct session *s);

/* The first message, which another worker has read; before session_run(). */
void	 session_begin(struct session *s, const void *message, size_t len);

/* Serve it until it is over. */
void	 session_run(struct session *s);

/* The only way to another state. */
void	 session_set_state(struct session *s, enum session_state to);

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
