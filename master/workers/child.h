/*
 * One worker, from the request to fork it to its burial.
 *
 *	STARTING	asked for; what is sent to it waits in its socket
 *	IDLE		forked and waiting
 *	GREETING	a connection is assigned, no session yet
 *	HANDING		the owner of the session it asked for decides
 *	SERVING		a session is its
 *	LEAVING		it will exit, or was killed
 */
#ifndef MASTER_WORKERS_CHILD_H
#define MASTER_WORKERS_CHILD_H

#include <sys/queue.h>
#include <sys/types.h>

#include <stdbool.h>
#include <stdint.h>

#include "common/ev.h"
#include "common/ipc/chan.h"
#include "common/map.h"
#include "master/auth/peer.h"
#include "master/auth/tokens.h"
#include "master/workers/cgroups.h"
#include "master/world.h"

enum child_state {
	CHILD_STARTING,
	CHILD_IDLE,
	CHILD_GREETING,
	CHILD_HANDING,
	CHILD_SERVING,
	CHILD_LEAVING
};

struct child {
	TAILQ_ENTRY(child)	 entry;
	TAILQ_ENTRY(child)	 gate_entry;	/* GREETING or HANDING */
	struct master		*master;
	enum child_state	 state;
	unsigned		 id;
	struct cgroups_worker	 cgroups;
	pid_t			 pid;		/* 0: not known yet */
	struct map_node		 by_pid;
	struct chan		*chan;		/* NULL: it is gone */
	bool			 reaped;
	bool			 has_left;	/* but is still heard */
	bool			 was_turned_away; /* its client */
	bool			 may_record;	/* transcripts */
	bool			 was_refused_file;	/* for one */
	int			 status;	/* then, as of waitpid(2) */
	bool			 asked_to_leave;
	bool			 in_gate;
	struct route		*route;		/* the session it serves */
	struct route		*wanted;	/* HANDING: it asked for */
	unsigned		 asked_id;	/* of the child that decides */
	struct peer		 peer;
	bool			 may_show;	/* its client a token */
	bool			 admitted;	/* it was good for: */
	struct grant		 grant;
	uint64_t		 detached_ttl, grace;	/* ms, for its client */
	unsigned		 running;	/* processes, as it said last */
	unsigned		 max_running;	/* MaxProcesses */
	uint64_t		 since;		/* ms: assigned */
	struct share		*share;		/* of memory */
	uint64_t		 max_held;	/* of its identity's, bytes */
	struct timer		 kill_ev;
};

/* What becomes of workers. */
struct child_events {
	/* It says something, which may take its descriptor. */
	void	(*on_msg)(struct child *c, struct ipc_msg *m);

	/* Its state is another one. */
	void	(*on_state)(struct child *c);

	/* Nothing more will be said by it, nor can be said to it. */
	void	(*on_settled)(struct child *c);

	/* It died, or broke the rules, before it had a client. */
	void	(*on_early_death)(struct child *c);

	/*
	 * HANDING: what became of the session that its client asked for, which
	 * is told to it.
	 */
	void	(*decide)(struct child *c, Ipc__Verdict v, struct route *r);
};

/*
 * A worker being started: the template is to be asked for its process, which
 * gets *sock_out, the caller's to close.  NULL with errno.
 */
struct child	*child_new(struct master *m, int *sock_out);

/* From one state to the next; another one is a fault of ours. */
void	 child_set_state(struct child *c, enum child_state to);

/* The template's answer: it has a process now, or (pid 0) never will. */
void	 child_on_forked(struct child *c, pid_t pid, int error);

/* Its process ended. */
void	 child_on_exit(struct child *c, int status);

/* Ask its session to end; kill it at once. */
void	 child_stop(struct child *c, bool is_too_many);
void	 child_kill(struct child *c);

/* Free all records; the processes are nobody's business any more. */
void	 child_forget_all(struct master *m);

/* It broke the rules: count, log, kill. */
void	 child_violates(struct child *c, const char *what);

/* The template is gone: nobody will say which processes these are. */
void	 child_on_template_gone(struct master *m);

/*
 * It handed its client over to the owner of a session.  If no answer comes (the
 * owner is stopped, or waits for a disk) the client is told to try again.
 */
void	 child_wait_for_owner(struct child *c);

/* Ask it how it is; the answer goes to ctl. */
void	 child_query(struct child *c, uint32_t ticket, bool processes);

/* Have something done in its session (fd stays the caller's). */
void	 child_act(struct child *c, const Ipc__Act *out);
void	 child_tail(struct child *c, const Ipc__Tail *out, int fd);

struct child	*child_by_id(struct master *m, unsigned id);
struct child	*child_by_pid(struct master *m, pid_t pid);
const char	*child_state_name(const struct child *c);

#endif
