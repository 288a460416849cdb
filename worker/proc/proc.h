/*
 * The processes of a session.  Sinks (worker/proc/sink.h) get their events.
 *
 *	RUNNING -> EXITED -> CLOSED
 *
 * EXITED: the status is known, descendants may hold its output open.  CLOSED:
 * all output is at EOF, or it was terminated.
 */
#pragma once

#include <sys/queue.h>

#include <stdbool.h>
#include <stdint.h>

#include "common/ev.h"
#include "common/map.h"
#include "worker/os/env.h"
#include "worker/proc/descendants.h"
#include "worker/proc/procin.h"
#include "worker/proc/retain.h"
#include "worker/proc/sink.h"
#include "worker/proc/spawn.h"

enum proc_state { PROC_RUNNING, PROC_EXITED, PROC_CLOSED };

#define PROC_NAME_MAX	48	/* bytes shown of argv[0] and the id */

struct holder;
struct proc;

TAILQ_HEAD(proc_list, proc);

/* What they need from the session. */
struct proc_events {
	/* Whether to read more output; false: wait for procs_unhold(). */
	bool	(*has_room)(void *arg, const struct proc *p);

	/* How much to read at once, up to LIMIT_READ_CHUNK. */
	size_t	(*read_size)(void *arg);

	/* Reap children, in a kill pass. */
	void	(*reap)(void *arg);

	/* A parked write was accepted: answer it. */
	void	(*on_written)(void *arg, struct rpc_req *req);

	/* A process was, at the end of its retention. */
	void	(*on_forgotten)(void *arg);
};

/* Of a session.  Embedded. */
struct procs {
	const struct proc_events *events;
	void			*arg;
	const struct env	*env;
	struct window		*window;
	struct map		 by_id;
	struct map		 by_pid;	/* running ones */
	struct proc_list	 all;		/* oldest first */
	unsigned		 running;
	unsigned		 known;
	unsigned		 started;	/* in all */
	uint64_t		 marked;	/* in all, tried */
	size_t			 closed_bytes;	/* output of closed ones */
	size_t			 parked;	/* bytes of waiting input */
	uint64_t		 bytes_out, bytes_in;	/* in all */
	bool			 has_client;	/* events are sent at once */
	uint64_t		 client_since;	/* ms */
	bool			 is_held;	/* some output is held back */
	struct timer		 evict_ev;
	struct io		 pace_ev;
	int			 pace_fd;	/* timerfd of paced output */
};

struct stream {
	struct proc	*proc;
	int		 fd;		/* -1: at EOF */
	uint8_t		 stream;	/* enum proc_stream */
	struct io	 read_ev;
	bool		 held;		/* not read: no room */
	bool		 paced;		/* not read: pausing */
	bool		 bulky;		/* the last read was large */
	unsigned	 full;		/* reads in a row of maximum size */
	unsigned	 streak;	/* short reads in quick succession */
	unsigned	 failed;	/* failed reads in a row */
	uint64_t	 last_read;	/* us, monotonic */
};

struct proc {
	TAILQ_ENTRY(proc)	 entry;
	struct map_node		 node;
	struct map_node		 pid_node;	/* while it runs */
	struct procs		*procs;
	char			*id;
	size_t			 id_len;
	char			*json_id;	/* as a JSON string */
	size_t			 json_id_len;
	enum proc_state		 state;
	pid_t			 pid;
	unsigned		 cgroup;	/* group number, or 0 */
	struct descendants	 descendants;
	bool			 tty;
	bool			 has_input;	/* tty or pipeStdin */
	bool			 terminated;
	bool			 unreported;	/* exit not yet reported */
	bool			 sandboxed;
	bool			 is_internal;	/* unknown to the client, and
						   its output not kept */
	struct holder		*holder;	/* until closed */
	bool			 denied;	/* denial() */
	int			 exit_code;
	int			 lost;		/* errno of a read, or 0 */
	struct procin		 procin;
	struct stream		 streams[2];
	struct retain		 retain;
	struct sinks		 sinks;
	struct timer		 timer_ev;	/* kill passes; retention */
	unsigned		 empty_passes;
	unsigned		 orphans;	/* with its mark, reaped */
	uint64_t		 kill_until;	/* ms, then yield to others */
	bool			 is_held;	/* proc_hold() */
	uint64_t		 caught_up;	/* ms, of a read after resume */
	uint64_t		 asked_at;	/* ms, of the last read */
	uint64_t		 started_at;		/* ms, of the start */
	uint64_t		 bytes_out;
	char			 command[PROC_NAME_MAX];
	char			 name[PROC_NAME_MAX];
};

void		 procs_init(struct procs *ps, const struct env *env,
		    struct window *window, const struct proc_events *events,
		    void *arg);
void		 procs_fini(struct procs *ps);

/* Find by the client's id; a running one by pid; or NULL. */
struct proc	*procs_find(const struct procs *ps, const char *id,
		    size_t id_len);
struct proc	*procs_find_pid(const struct procs *ps, pid_t pid);

/*
 * A client is attached.  What it asks for after a resume is kept for a while,
 * as the stock client may ask again.  holds: send nothing new before
 * (proc_hold()).
 */
void		 procs_on_client(struct procs *ps, bool holds);
void		 procs_on_client_lost(struct procs *ps);

/* Send new output: what was not asked for is not wanted. */
void		 procs_release_unread(struct procs *ps);

/* There may be room for output held back. */
void		 procs_unhold(struct procs *ps);

/* An orphan with a mark was reaped. */
void		 procs_on_orphan(struct procs *ps, uint64_t mark);

/* The id must be unused.  NULL with errno and the failed step in what_out. */
struct proc	*proc_new(struct procs *ps, const char *id, size_t id_len,
		    struct spawn *sp, const char **what_out);

void		 proc_on_exit(struct proc *p, int status);

/* The client has read what it missed. */
void		 proc_was_read(struct proc *p);

/* Send nothing new while the client, which has a queue, reads missed output. */
void		 proc_hold(struct proc *p, bool is_held);

/* Kill all of it, grace ms after SIGTERM to the group, or 0.  false: gone. */
bool		 proc_terminate(struct proc *p, uint64_t grace);

/* Signal the group of a running one. */
void		 proc_signal(struct proc *p, int sig);

/* Do not pace the output that answers input. */
void		 proc_on_input(struct proc *p);

/* The terminal's size.  -1 with errno. */
int		 proc_resize(struct proc *p, uint16_t rows, uint16_t cols);
