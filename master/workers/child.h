/*
 * One worker, from the request to fork it until its record is freed.  Each
 * question about it is a state of its own, with a table of legal moves in
 * child.c: what it does, what its process is, how it ends, what became of its
 * client, of a token, of transcripts.
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

/* What it does. */
enum child_state {
	CHILD_STARTING,		/* asked for; what is sent to it waits */
	CHILD_IDLE,		/* forked and waiting */
	CHILD_GREETING,		/* has a connection, no session yet */
	CHILD_HANDING,		/* the owner of the session that its client
				   asked for decides */
	CHILD_SERVING,		/* has a session */
	CHILD_LEAVING,		/* will exit, or was killed */
	CHILD_STATES
};

/* Its process. */
enum child_process {
	CHILD_UNKNOWN,		/* the template has not answered */
	CHILD_RUNS,		/* has a pid; is in by_pid */
	CHILD_UNHEARD,		/* reaped; its last messages and its exit
				   status are still to be looked at */
	CHILD_REAPED,
	CHILD_PROCESSES
};

/* How it ends. */
enum child_end {
	CHILD_STAYS,
	CHILD_STOPS,		/* asked to end its session */
	CHILD_LEAVES,		/* by itself: it said so, or has no client */
	CHILD_KILLED,
	CHILD_ENDS
};

/* Its client. */
enum child_client {
	CHILD_SPARE,		/* never had one */
	CHILD_MET,		/* assigned */
	CHILD_TURNED_AWAY,	/* gets no session; the audit log was told */
	CHILD_CLIENTS
};

/* A token by which its client says who it is. */
enum child_token {
	CHILD_TOKEN_NONE,	/* may show none */
	CHILD_TOKEN_AWAITED,	/* may show one, once */
	CHILD_TOKEN_REFUSED,
	CHILD_TOKEN_GOOD,	/* grant is what it is good for */
	CHILD_TOKENS
};

/* Transcripts of its session. */
enum child_tape {
	CHILD_TAPE_NONE,	/* none are wanted */
	CHILD_TAPE_WANTED,
	CHILD_TAPE_REFUSED,	/* no file for one; the log was told */
	CHILD_TAPES
};

struct source;

struct child {
	TAILQ_ENTRY(child)	 entry;
	TAILQ_ENTRY(child)	 gate_entry;	/* while it has a place */
	struct master		*master;
	enum child_state	 state;
	enum child_process	 process;
	enum child_end		 end;
	enum child_client	 client;
	enum child_token	 token;
	enum child_tape		 tape;
	unsigned		 id;
	struct cgroups_worker	 cgroups;
	pid_t			 pid;		/* 0: not known yet */
	struct map_node		 by_pid;
	struct chan		*chan;		/* NULL: it is gone */
	int			 status;	/* UNHEARD: of waitpid(2) */
	struct source		*place;		/* in the gate; NULL: none */
	struct route		*route;		/* the session it serves */
	struct route		*wanted;	/* HANDING: it asked for */
	unsigned		 asked_id;	/* of the child that decides */
	struct peer		 peer;
	struct grant		 grant;		/* TOKEN_GOOD: what it gives */
	uint64_t		 detached_ttl, grace;	/* ms, for its client */
	unsigned		 running;	/* processes, as it said last */
	unsigned		 max_running;	/* MaxProcesses */
	uint64_t		 since;		/* MET: ms, when */
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

/* Move to another state; a move that is not legal is a fault of ours. */
void	 child_set_state(struct child *c, enum child_state to);
void	 child_set_client(struct child *c, enum child_client to);
void	 child_set_token(struct child *c, enum child_token to);
void	 child_set_tape(struct child *c, enum child_tape to);

/* It ends by itself from here on, which is no failure: LEAVING. */
void	 child_leaves(struct child *c);

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
