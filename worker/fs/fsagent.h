/*
 * File operations in a process of their own, an agent: it serves a session
 * under one set of namespaces, made by worker/sandbox/holder.h.  Operations
 * that may take long run in a child each, so that none waits for another.
 *
 * A request is one packet: the operation, and as descriptors a socket for the
 * answer and a file with data or the open file.  The answer is a head and the
 * payload.  Closing the socket cancels the operation.  An operation that needs
 * much memory requests it first, and waits for the grant.
 *
 * One such socket is kept for later requests (struct fsagent_line), as making,
 * passing and closing one for each is slow.
 * A trick (common/trick.h): t/bench/RESULTS.md has what it pays.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "worker/fs/fsop.h"

/*
 * Serve requests until sock ends, then exit.  leave: out of struct scgroup
 * (worker/os/scgroup.h), or -1.  nonblock_first: try to do them without
 * blocking.  may_busypoll: busy poll (worker/os/busypoll.h).
 */
void	 fsagent_serve(int sock, int leave, bool nonblock_first,
	    bool may_busypoll) NORETURN;

/* Bytes of data in a request; more goes by a file. */
#define FSAGENT_INLINE	8192

/* Make a memfd with the data of a WRITE or PWRITE; -1 with errno. */
int	 fsagent_data(const struct fsop *op) MUST_CHECK;

/* An answer being read; r has what came so far. */
struct fsagent_answer {
	struct fsop_result	 r;
	size_t			 head_len;	/* bytes so far */
	size_t			 payload_len;	/* bytes in all; 0: unknown */
	uint64_t		 request;	/* bytes of memory, or 0 */
	bool			 leaves_line;	/* complete, line is free */
	unsigned char		 head[128];
};

void	 fsagent_answer_init(struct fsagent_answer *a);
void	 fsagent_answer_fini(struct fsagent_answer *a);

/*
 * The socket for answers, one request at a time.  After FSAGENT_LINE_MS it is
 * replaced, as a child is at work.
 */
#define FSAGENT_LINE_MS	20
struct fsagent_line {
	int				 fd;	/* -1: none, or in use */
	const struct fsagent_answer	*user;
	uint64_t			 since;	/* clock_ms() */
};

void	 fsagent_line_init(struct fsagent_line *line);
void	 fsagent_line_fini(struct fsagent_line *line);

/*
 * Send a request with its data: op's, up to FSAGENT_INLINE bytes, or the file
 * data with op->data NULL; -1 and NULL: none.  Return the descriptor for the
 * answer, to be ended by fsagent_end(), or -1 with errno; EAGAIN: the agent is
 * behind.
 */
int	 fsagent_ask(int sock, const struct fsop *op, int data,
	    struct fsagent_line *line, const struct fsagent_answer *a)
	    MUST_CHECK;

/* End an answer, if incomplete cancel it: close *fd or keep it as the line. */
void	 fsagent_end(struct fsagent_line *line, const struct fsagent_answer *a,
	    int *fd);

/*
 * Read a part of the answer.  1: complete.  0: more to come; also if the
 * payload is longer than LIMIT_FILE_QUICK, or if the operation requests more
 * memory than that, in place of earlier grants: see fsagent_grant().  -1: the
 * operation was killed, as r says.
 */
int	 fsagent_answer_read(struct fsagent_answer *a, int fd) MUST_CHECK;

/* Grant the requested memory.  0, or -1 with errno. */
int	 fsagent_grant(struct fsagent_answer *a, int fd) MUST_CHECK;
