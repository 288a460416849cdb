/*
 * File operations in a process of their own: an agent, which serves a session
 * under one view of the file system (worker/sandbox/holder.h makes that view).
 * What may take long it leaves to a child made for that one operation, so that
 * no operation waits for another.
 *
 * A request is one packet: the operation, a socket for its answer, and the
 * data or the open file it is about.  The answer is a head and the payload,
 * on that socket; whoever closes his end of it cancels the operation.  Before
 * an operation holds much it asks whether it may, and waits.
 *
 * One such socket is kept for what comes next (struct fsagent_line): to make,
 * to send and to close one for each costs 30 us, and a walk of the kernel's
 * over all sockets that are on their way.
 */
#ifndef WORKER_FS_FSAGENT_H
#define WORKER_FS_FSAGENT_H

#include <stdbool.h>
#include <stddef.h>

#include "worker/fs/fsop.h"

/*
 * Serve requests that come on sock until it ends, then exit.  quick: try
 * bounded first (nobody did before).  It may wait for them awake, if so
 * (worker/os/busypoll.h).
 */
void	 fsagent_serve(int sock, bool quick, bool may_stay_awake)
	    __attribute__((noreturn));

/* bytes of data that go with a request; what is more is a file. */
#define FSAGENT_INLINE	8192

/*
 * The data of WRITE and PWRITE as a file in memory, the caller's; -1 with
 * errno.
 */
int	 fsagent_data(const struct fsop *op)
	    __attribute__((warn_unused_result));

/* An answer that is being read; r is what came so far. */
struct fsagent_answer {
	struct fsop_result	 r;
	size_t			 head_len;	/* of the head, so far */
	size_t			 payload_len;	/* bytes in all; 0: not known */
	uint64_t		 wants;		/* see fsagent_let_hold() */
	bool			 leaves_line;	/* it is all, and free again */
	unsigned char		 head[128];
};

void	 fsagent_answer_init(struct fsagent_answer *a);
void	 fsagent_answer_fini(struct fsagent_answer *a);

/*
 * Where the answers of an agent come, for one request at a time, and for
 * another after FSAGENT_LINE_MS, when the one has another process at work.
 */
#define FSAGENT_LINE_MS	20
struct fsagent_line {
	int				 fd;	/* -1: there is none, or */
	const struct fsagent_answer	*user;	/* it is in use, */
	uint64_t			 since;	/* clock_ms() */
};

void	 fsagent_line_init(struct fsagent_line *line);
void	 fsagent_line_fini(struct fsagent_line *line);

/*
 * Send a request, with its data: op's, at most FSAGENT_INLINE bytes, or the
 * file data with op->data NULL; or -1 and NULL: none.  The descriptor on which
 * the answer comes, for a and fsagent_end(), or -1 with errno; EAGAIN: the
 * agent has not yet taken what was sent before.
 */
int	 fsagent_ask(int sock, const struct fsop *op, int data,
	    struct fsagent_line *line, const struct fsagent_answer *a)
	    __attribute__((warn_unused_result));

/*
 * The answer is there, or nobody waits for it any more, which cancels the
 * operation: *fd (or -1) goes, or is kept for the next one.
 */
void	 fsagent_end(struct fsagent_line *line, const struct fsagent_answer *a,
	    int *fd);

/*
 * Read on, not much at a time.  1: it is complete.  0: more will come, also
 * as soon as a payload longer than LIMIT_FILE_QUICK is announced, or as the
 * operation wants to hold more than that: wants is the bytes then, instead of
 * what it was allowed before.  -1: no more will, the operation was ended from
 * outside (r says so).
 */
int	 fsagent_answer_read(struct fsagent_answer *a, int fd)
	    __attribute__((warn_unused_result));

/* It may hold what it wants.  0, or -1 with errno. */
int	 fsagent_let_hold(struct fsagent_answer *a, int fd)
	    __attribute__((warn_unused_result));

#endif
