/*
 * File operations in a process of their own, an agent, under one set of
 * namespaces (worker/sandbox/holder.h); those that may take long in a child
 * each.
 *
 * A request is a packet: the operation, a socket for the answer, and a file
 * with data or the open file.  The answer is a head and the payload.  Closing
 * the socket cancels. Much memory is requested first, and granted.  A socket is
 * kept for later requests (struct fsagent_line). A trick (common/trick.h):
 * t/bench/RESULTS.md has what it pays.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "worker/fs/fsop.h"

/*
 * Until sock ends, then exit.  leave: out of struct scgroup
 * (worker/os/scgroup.h), or -1.  nonblock_first: try without blocking.
 * may_busypoll: worker/os/busypoll.h.
 */
void	 fsagent_serve(int sock, int leave, bool nonblock_first,
	    bool may_busypoll) NORETURN;

/* In a request; more goes by a file. */
#define FSAGENT_INLINE	8192

/* A memfd of a WRITE or PWRITE; -1 with errno. */
int	 fsagent_data(const struct fsop *op) MUST_CHECK;

/* Being read; r: so far. */
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

/* For one request at a time; replaced after that time: a child has it. */
#define FSAGENT_LINE_MS	20
struct fsagent_line {
	int				 fd;	/* -1: none, or in use */
	const struct fsagent_answer	*user;
	uint64_t			 since;	/* clock_ms() */
};

void	 fsagent_line_init(struct fsagent_line *line);
void	 fsagent_line_fini(struct fsagent_line *line);

/*
 * Send a request with its data: op's, up to FSAGENT_INLINE bytes; the file
 * data, with op->data NULL; or none (-1, NULL).  Return the descriptor for the
 * answer, for fsagent_end(), or -1 with errno; EAGAIN: the agent is behind.
 */
int	 fsagent_ask(int sock, const struct fsop *op, int data,
	    struct fsagent_line *line, const struct fsagent_answer *a)
	    MUST_CHECK;

/* Cancel it if incomplete.  Closes *fd or keeps it as the line. */
void	 fsagent_end(struct fsagent_line *line, const struct fsagent_answer *a,
	    int *fd);

/*
 * Read on.  1: complete.  0: more to come, also if payload or memory requested
 * (in place of earlier grants) exceed LIMIT_FILE_QUICK: see fsagent_grant().
 * -1: the operation was killed, as r says.
 */
int	 fsagent_answer_read(struct fsagent_answer *a, int fd) MUST_CHECK;

/* 0, or -1 with errno. */
int	 fsagent_grant(struct fsagent_answer *a, int fd) MUST_CHECK;
