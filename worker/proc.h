/*
 * One process of a session: its streams, its retained output and events, who
 * waits for them, and how it is ended.
 *
 *	RUNNING -> EXITED -> CLOSED
 *
 * EXITED: its status is known, others may still hold its output.  CLOSED: the
 * output is at its end as well, or the process was terminated.
 */
#ifndef WORKER_PROC_H
#define WORKER_PROC_H

#include <sys/queue.h>

#include <stdbool.h>
#include <stdint.h>

#include "common/ev.h"
#include "common/map.h"
#include "worker/input.h"
#include "worker/kin.h"
#include "worker/ring.h"
#include "worker/session.h"
#include "worker/spawn.h"
#include "worker/tail.h"

enum proc_state { PROC_RUNNING, PROC_EXITED, PROC_CLOSED };

#define PROC_NAME_MAX	48	/* of argv[0] and the id, for operators */

struct holder;
struct tail;
struct transcript;
struct waiter;

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
	struct session		*session;
	char			*id;
	size_t			 id_len;
	char			*json_id;	/* as a JSON string */
	size_t			 json_id_len;
	enum proc_state		 state;
	pid_t			 pid;
	unsigned		 cgroup;	/* its number, or 0 */
	struct kin		 kin;		/* who belongs to it */
	bool			 tty;
	bool			 has_input;	/* tty or pipeStdin */
	bool			 terminated;
	bool			 unheard;	/* nobody heard its end */
	bool			 sandboxed;
	struct holder		*holder;	/* until closed */
	bool			 denied;	/* by its sandbox */
	int			 exit_code;
	int			 lost;		/* errno: output was not read */
	struct input		 input;
	struct stream		 streams[2];
	struct ring		 ring;
	TAILQ_HEAD(, waiter)	 waiters;
	struct tails		 tails;
	struct transcript	*transcript;	/* or NULL */
	struct acting		 ending;
	struct timer		 timer_ev;	/* kill passes; retention */
	unsigned		 empty_passes;
	unsigned		 orphans;	/* of its kin, reaped by us */
	uint64_t		 kill_until;	/* ms: then others must */
	bool			 is_replayed;
	uint64_t		 replay_after;	/* this number */
	bool			 is_held;	/* by its client's reads */
	uint64_t		 caught_up;	/* ms: read after a resume; 0 */
	uint64_t		 born;		/* ms */
	uint64_t		 bytes_out;
	char			 command[PROC_NAME_MAX];
	char			 name[PROC_NAME_MAX];
};

/*
 * Start a process in a session under an id that is free.  NULL with errno;
 * *what_out then says what failed.
 */
struct proc	*proc_new(struct session *s, const char *id, size_t id_len,
		    struct spawn *sp, const char **what_out);
void		 proc_free(struct proc **pp);

/* Its status came. */
void	 proc_on_exit(struct proc *p, int status);

/* A descendant with that mark was left to us and is reaped now. */
void	 proc_on_orphan(struct session *s, uint64_t mark);

/*
 * Its client came back and will ask for what it missed: keep that, and for a
 * while what it was told as well.  The stock client asks again, from the same
 * place, when its own queue overflowed.
 */
void		 proc_catch_up(struct proc *p);

/* It has asked. */
void		 proc_was_read(struct proc *p);

/*
 * Its client has more to read and wants no new output before it has that: it
 * keeps all that comes before its turn, and has bounds for that.
 */
void		 proc_hold(struct proc *p, bool is_held);

/* Its client came back and did not read it: it wants what is new only. */
void		 proc_release_unread(struct proc *p);

/* If that was LIMIT_CAUGHT_UP ago, keep no more of it.  Whether it was. */
bool		 proc_end_catch_up(struct proc *p);

/*
 * Put a chunk of it, its exit, or its end, on the connection; there is one for
 * a chunk.
 */
void		 proc_tell_output(struct proc *p, struct chunk *c);
void		 proc_tell_exit(struct proc *p);
void		 proc_tell_close(struct proc *p);

/* Read what was held back. */
void	 proc_unhold(struct proc *p);
void	 proc_unpace(struct proc *p);

/*
 * Kill it and all its descendants; with a grace (ms) TERM goes to its group
 * first.  false: it has ended already, nothing is done.
 */
bool	 proc_terminate(struct proc *p, uint64_t grace);

/* Send a signal to its process group, if it runs. */
void	 proc_signal(struct proc *p, int sig);

/* Something was written to it: what it says now is an answer. */
void	 proc_on_input(struct proc *p);

/* Set the size of its terminal.  0, or -1 with errno. */
int	 proc_resize(struct proc *p, uint16_t rows, uint16_t cols);

const char	*proc_state_name(const struct proc *p);
#endif
