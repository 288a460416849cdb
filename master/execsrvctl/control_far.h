/*
 * The same questions to a server that is not of this machine, as a client of it
 * (session/operate); about other sessions of the caller only.
 */
#pragma once

#include "common/client/execsrv.h"
#include "master/execsrvctl/control.h"

/* As control_ask(), which calls it; *has_output_out: control_far_read(). */
int	 control_far_ask(const struct control_request *q, struct table **t_out,
	    bool *has_output_out, struct control_error *e);

/* Output of a process that was asked for. */
struct control_piece {
	uint64_t	 seq;
	const char	*stream;	/* "stdout", "stderr", "pty" */
	void		*data;		/* writable */
	size_t		 len;
};

typedef int control_piece_fn(void *arg, const struct control_piece *p);

/*
 * Wait for output, and call fn for each piece.  1: there may be more; 0: the
 * end; -1 with the reason in e: ask again, or fn returned -1 (empty reason).
 */
int	 control_far_read(struct execsrv *x, control_piece_fn *fn, void *arg,
	    struct execsrv_error *e);
