/*
 * The processes of a session: their streams, their retained output and events,
 * and how they are ended.  Who hears of that are their sinks.
 *
 *	RUNNING -> EXITED -> CLOSED
 *
 * EXITED: its status is known, others may still hold its output.  CLOSED: the
 * output is at its end as well, or the process was terminated.
 */
#ifndef WORKER_PROC_PROC_H
#define WORKER_PROC_PROC_H

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

#define PROC_NAME_MAX	48	/* of argv[0] and the id, for operators */

struct holder;
struct proc;

TAILQ_HEAD(proc_list, proc);

/* What they need of their session. */
struct proc_events {
	/*
	 * Whether more output of a process may be read.  If not it waits for
	 * procs_unhold().
	 */
	bool	(*has_room)(void *arg, const struct proc *p);

	/* Reap children that ended: somebody is being killed. */
	void	(*reap)(void *arg);

	/* What a request that was kept wanted to be written is taken. */
	void	(*on_written)(void *arg, struct rpc_req *req);

	/* One was known long enough and is forgotten. */
	void	(*on_forgotten)(void *arg);
};

/* All of a session.  Embedded. */
struct procs {
	const struct proc_events *events;
	void			*arg;
	const struct env	*env;
	struct window		*window;
	struct map		 by_id;
	struct map		 by_pid;	/* those that run */
	struct proc_list	 all;		/* oldest first */
	unsigned		 running;
	unsigned		 known;
	unsigned		 started;	/* all told */
	size_t			 closed_bytes;	/* output kept of closed ones */
	size_t			 parked;	/* bytes of input that wait */
	uint64_t		 bytes_out, bytes_in;	/* all told */
	bool			 has_client;	/* who is told at once */
	bool			 is_held;	/* some output is not read */
	struct timer		 evict_ev;
	struct io		 pace_ev;
	int			 pace_fd;	/* timerfd of paced output */
};

/* One source of output. */
struct stream {
	struct proc	*proc;
	int		 fd;		/* -1: at its end */
	uint8_t		 stream;	/* enum proc_stream */
	struct io	 read_ev;
	bool		 held;		/* not read until there is room */
	bool		 paced;		/* not read for a moment */
	bool		 bulky;		/* the last read was a large one */
	unsigned	 full;		/* in a row that could not be larger */
	unsigned	 streak;	/* short reads close to one another */
	unsigned	 failed;	/* reads in a row */
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
	unsigned		 cgroup;	/* its number, or 0 */
	struct descendants	 descendants;		/* who belongs to it */
	bool			 tty;
	bool			 has_input;	/* tty or pipeStdin */
	bool			 terminated;
	bool			 unheard;	/* nobody heard its end */
	bool			 sandboxed;
	struct holder		*holder;	/* until closed */
	bool			 denied;	/* by its sandbox */
	int			 exit_code;
	int			 lost;		/* errno: output was not read */
	struct procin		 procin;
	struct stream		 streams[2];
	struct retain		 retain;
	struct sinks		 sinks;
	struct timer		 timer_ev;	/* kill passes; retention */
	unsigned		 empty_passes;
	unsigned		 orphans;	/* of its kin, reaped by us */
	uint64_t		 kill_until;	/* ms: then others must */
	bool			 is_held;	/* by its client's reads */
	uint64_t		 caught_up;	/* ms: read after a resume; 0 */
	uint64_t		 born;		/* ms */
	uint64_t		 bytes_out;
	char			 command[PROC_NAME_MAX];
	char			 name[PROC_NAME_MAX];
};

void		 procs_init(struct procs *ps, const struct env *env,
		    struct window *window, const struct proc_events *events,
		    void *arg);
void		 procs_fini(struct procs *ps);

/* By what the client calls it, or by its number while it runs; or NULL. */
struct proc	*procs_find(const struct procs *ps, const char *id,
		    size_t id_len);
struct proc	*procs_find_pid(const struct procs *ps, pid_t pid);

/*
 * A client is there.  One that came back will ask for what it missed: keep
 * that, and for a while what it was told as well.  The stock client asks again,
 * from the same place, when its own queue overflowed.  With holds: nothing new
 * before it has asked, see proc_hold().
 */
void		 procs_on_client(struct procs *ps, bool holds);
void		 procs_on_client_lost(struct procs *ps);

/* What it did not ask for it does not want: tell it what is new. */
void		 procs_release_unread(struct procs *ps);

/* Look again whether what is held back has room. */
void		 procs_unhold(struct procs *ps);

/* A descendant with that mark was left to us and is reaped now. */
void		 procs_on_orphan(struct procs *ps, uint64_t mark);

/*
 * Start a process under an id that is free.  NULL with errno; *what_out then
 * says what failed.
 */
struct proc	*proc_new(struct procs *ps, const char *id, size_t id_len,
		    struct spawn *sp, const char **what_out);
void		 proc_free(struct proc **pp);

/* Its status came. */
void		 proc_on_exit(struct proc *p, int status);

/* Its client has asked for what it missed. */
void		 proc_was_read(struct proc *p);

/*
 * Its client has more to read and wants no new output before it has that: it
 * keeps all that comes before its turn, and has bounds for that.
 */
void		 proc_hold(struct proc *p, bool is_held);

/*
 * Kill it and all its descendants; with a grace (ms) TERM goes to its group
 * first.  false: it has ended already, nothing is done.
 */
bool		 proc_terminate(struct proc *p, uint64_t grace);

/* Send a signal to its process group, if it runs. */
void		 proc_signal(struct proc *p, int sig);

/* Something was written to it: what it says now is an answer. */
void		 proc_on_input(struct proc *p);

/* Set the size of its terminal.  0, or -1 with errno. */
int		 proc_resize(struct proc *p, uint16_t rows, uint16_t cols);

#endif
