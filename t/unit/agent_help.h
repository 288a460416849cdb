/* A real agent for tests, which works below base. */
#pragma once

#include <sys/types.h>

#include <stdbool.h>
#include <stddef.h>

#include "t/unit/fstree_help.h"
#include "worker/fs/fsagent.h"

#define PATIENCE	20000		/* ms, for what should be quick */

/* A line that is in use and will be: its "since". */
#define AGENT_LINE_EVER	(UINT64_MAX / 2)

/* Where it is asked, and where it answers; sock is closed by the teardown. */
extern int		 sock;
extern pid_t		 agent;		/* 0: not started yet */
extern struct fsagent_line line;

void	 agent_setup(void);
void	 start_agent(bool nonblock);

/* It ends in order when nobody will ask any more. */
void	 agent_teardown(void);

/* Ask it, for a; or for an answer on a socket of its own. */
int	 ask_on(struct fsagent_line *l, const struct fsop *op,
	    const struct fsagent_answer *a);
int	 ask(const struct fsop *op);

/*
 * Read an answer to its end: what fsagent_answer_read() said last.  hear()
 * closes its descriptor.
 */
int	 read_on(struct fsagent_answer *a, int fd);
int	 hear(struct fsagent_answer *a, int *fd);

/* What came of it, as op_run() has it. */
int	 outcome(const struct fsagent_answer *a);

/* Ask and hear: the result of the operation; a is the caller's to end. */
int	 do_it(const struct fsop *op, struct fsagent_answer *a);

/* The bytes that were read; a quick agent may give the file instead. */
void	 has_content(struct fsagent_answer *a, const void *want, size_t len);

/* Until another process sleeps: what it does after an answer is done. */
void	 wait_idle(pid_t pid);

size_t	 count_fds(pid_t pid);

/* Whether it has children now; wait up to ms until it has some, or none. */
bool	 has_children(void);
bool	 children_within(bool some, int ms);
