/* "execsrvctl tail": the output of a process, from its session's worker. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "common/attributes.h"

/* Lines of output: to be counted, or how many are left out. */
struct ctl_tail_lines {
	bool		 counts;
	bool		 is_open;	/* the last one has no end */
	uint64_t	 n;
};

/*
 * Show the output of an answer (stream is taken), byte for byte, but to a
 * terminal printable; JSON: a line for each piece.  lines NULL: all.  An exit
 * status.
 */
struct control_request;
struct execsrv;
int	 ctl_tail_show(const struct control_request *q, int stream,
	    bool is_json, struct ctl_tail_lines *lines);

/* Print output; what goes to a terminal is made printable. */
int	 ctl_tail_put(FILE *out, const void *data, size_t len) MUST_CHECK;

/* Count output, or return how many of its bytes are left out. */
size_t	 ctl_tail_skip(struct ctl_tail_lines *l, const void *data, size_t len);

/*
 * Find the only process of a session: malloc'd.  An exit status, having said
 * what is wrong.
 */
int	 ctl_tail_choose(const char *dir, struct execsrv *x, char *session,
	    char **process_out) MUST_CHECK;
