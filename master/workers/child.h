/* The master's record of a worker, from the request to fork it. */
#pragma once

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

struct membudget;
struct route;
struct world;

enum child_state {
	CHILD_STARTING,		/* fork requested; messages to it wait */
	CHILD_IDLE,		/* forked, without a connection */
	CHILD_GREETING,		/* has a connection, no session yet */
	CHILD_HANDING,		/* its client resumes: a verdict is due */
	CHILD_SERVING,
	CHILD_AWAITED,		/* of a killed master, has not come yet */
	CHILD_LEAVING,		/* will exit, or was killed */
	CHILD_STATES
};

enum child_process {
	CHILD_UNKNOWN,		/* the template has not answered */
	CHILD_RUNS,		/* has a pid; is in by_pid */
	CHILD_ENDING,		/* the same, and its channel is closed */
	CHILD_DRAINING,		/* reaped; messages are still to be read */
	CHILD_REAPED,
	CHILD_PROCESSES
};

enum child_end {
	CHILD_STAYS,
	CHILD_STOPS,
	CHILD_LEAVES,
	CHILD_KILLED,
	CHILD_ENDS
};

enum child_client {
	CHILD_SPARE,		/* never had one */
	CHILD_ASSIGNED,
	CHILD_TURNED_AWAY,	/* gets no session; in the audit log */
	CHILD_CLIENTS
};

enum child_token {
	CHILD_TOKEN_NONE,	/* may not present one */
	CHILD_TOKEN_AWAITED,	/* may present one, once */
	CHILD_TOKEN_REFUSED,
	CHILD_TOKEN_GOOD,	/* grant is set */
	CHILD_TOKENS
};

enum child_transcripts {
	CHILD_TRANSCRIPTS_NONE,
	CHILD_TRANSCRIPTS_WANTED,
	CHILD_TRANSCRIPTS_REFUSED,	/* a file failed; was logged */
	CHILD_TRANSCRIPTS
};

struct source;
struct children;

TAILQ_HEAD(child_list, child);

struct child {
	TAILQ_ENTRY(child)	 entry;
	TAILQ_ENTRY(child)	 gate_entry;	/* while place is set */
	TAILQ_ENTRY(child)	 process_entry;	/* in forking, in ending */
	TAILQ_ENTRY(child)	 spare_entry;	/* STARTING, IDLE */
	TAILQ_ENTRY(child)	 wanted_entry;	/* while wanted is set */
	struct children		*all;
	enum child_state	 state;
	enum child_process	 process;
	enum child_end		 end;
	enum child_client	 client;
	enum child_token	 token;
	enum child_transcripts	 transcripts;
	unsigned		 id;
	struct cgroups_worker	 cgroups;
	pid_t			 pid;		/* 0: not known yet */
	uint64_t		 started;	/* not later: ptree_now() */
	int			 pidfd;		/* not our child; else -1 */
	struct io		 pidfd_ev;
	uint64_t		 marks;		/* of its commands, a range */
	char			 version[24];	/* of its program, or "" */
	struct map_node		 by_pid, by_id;
	struct chan		*chan;		/* NULL: closed */
	int			 sock;		/* UNKNOWN: its end of chan, to
						   be forked by the next
						   template; else -1 */
	int			 status;	/* DRAINING: of waitpid(2) */
	struct source		*place;		/* in the gate; or NULL */
	struct route		*route;
	struct route		*wanted;	/* HANDING: session to resume */
	struct child_list	*waits_in;	/* list of these, for wanted */
	unsigned		 asked_id;	/* of the owner asked for it */
	struct peer		 peer;
	struct grant		 grant;
	uint64_t		 detached_ttl, grace;	/* ms, settings */
	bool			 is_alone;	/* OrphanTtl 0 */
	unsigned		 running;	/* processes, last report */
	unsigned		 max_running;
	uint64_t		 since;		/* ms: client assigned */
	struct share		*share;
	uint64_t		 max_held;	/* bytes, a setting */
	struct timer		 kill_ev;
};

struct child_events {
	/* The handler may take its descriptor. */
	void	(*on_msg)(struct child *c, struct ipc_msg *m);

	void	(*on_state)(struct child *c);

	void	(*on_pid)(struct child *c);

	/* No more messages in either direction. */
	void	(*on_settled)(struct child *c);

	/* It died, or violated the protocol, before it had a client. */
	void	(*on_early_death)(struct child *c);

	/* HANDING: send it the verdict on the session to resume. */
	void	(*decide)(struct child *c, Ipc__Verdict v, struct route *r);
};

/* All workers; the lists and counts are for child.c alone to change. */
struct children {
	struct world		*world;
	const struct child_events *events;
	struct cgroups		*cgroups;
	struct membudget	*budget;
	struct child_list	 list;
	struct map		 by_pid, by_id;
	struct child_list	 forking;	/* their pid is not known yet */
	struct child_list	 ending;	/* their channel is closed */
	struct child_list	 starting, idle;	/* spare */
	size_t			 in_state[CHILD_STATES];
	uint64_t		 running;	/* processes of all sessions */
	unsigned		 next_id;
};

/* Without any; cgroups and budget are set before the first. */
void	 children_init(struct children *cs, struct world *w,
	    const struct child_events *events);
void	 children_fini(struct children *cs);

/* There was one of that id: the next has a higher one. */
void	 children_number(struct children *cs, unsigned id);

/* STARTING; the caller closes *sock_out, its channel.  NULL with errno. */
struct child	*child_new(struct children *cs, int *sock_out);

/* AWAITED.  pidfd (taken): it is not our child.  NULL with errno. */
struct child	*child_former(struct children *cs, unsigned id, pid_t pid,
		    int pidfd);

/* It has come, on sock (taken if 0): messages follow.  0, or -1 with errno. */
int		 child_come(struct child *c, int sock) MUST_CHECK;

/* Change a state; an illegal move is fatal. */
void	 child_set_state(struct child *c, enum child_state to);
void	 child_set_client(struct child *c, enum child_client to);
void	 child_set_token(struct child *c, enum child_token to);
void	 child_set_transcripts(struct child *c, enum child_transcripts to);

/* It is about to exit by itself, which is no failure: LEAVING. */
void	 child_leaves(struct child *c);

/* The template's answer; pid 0: fork failed with error. */
void	 child_on_forked(struct child *c, pid_t pid, int error);

/* Whether it has a process that is not reaped. */
bool	 child_has_process(const struct child *c);

/* Its process was reaped, with a status of waitpid(2). */
void	 child_on_exit(struct child *c, int status);

/* End its session, now or when it comes; kill it; only send SIGKILL. */
void	 child_stop(struct child *c, bool is_too_many);
void	 child_kill(struct child *c);
void	 child_signal(const struct child *c);

/* Free all records; processes still running are ignored. */
void	 child_forget_all(struct children *cs);

/* It violated the protocol: count, log, kill. */
void	 child_violates(struct child *c, const char *what);

/*
 * The template is gone: drop workers whose fork was not answered.  may_again:
 * not those with a client; the caller asks another one, and closes c->sock.
 */
void	 child_on_template_gone(struct children *cs, bool may_again);

/* Wait for the owner of the session to resume, for a limited time. */
void	 child_wait_for_owner(struct child *c);

/* Ask it for a report, which goes to ctl. */
void	 child_query(struct child *c, uint32_t ticket, bool processes);

/* Ask for an action in its session (fd stays the caller's). */
void	 child_act(struct child *c, const Ipc__Act *out);
void	 child_tail(struct child *c, const Ipc__Tail *out, int fd);

/* Set the session that it waits for, with its list; or NULL, NULL. */
void	 child_want(struct child *c, struct route *r,
	    struct child_list *waiting);

void	 child_set_running(struct child *c, unsigned running);

struct child	*child_by_id(struct children *cs, unsigned id);
struct child	*child_by_pid(struct children *cs, pid_t pid);

/* Spare workers: how many; an idle one first; an idle one; or NULL. */
size_t		 child_count_spare(const struct children *cs);
struct child	*child_find_spare(const struct children *cs);
struct child	*child_find_idle(const struct children *cs);

/* Whether any pid is not known yet; one that is about to exit, or 0. */
bool		 child_is_forking(const struct children *cs);
pid_t		 child_next_exit(const struct children *cs);
