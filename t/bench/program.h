/* A server program that is measured, as a child of ours. */
#pragma once

#include <sys/types.h>

/*
 * Start it with nothing on its standard input.  Its standard output goes to a
 * pipe, of which *out_out is our end, or to nobody when that is NULL.
 */
pid_t	 program_start(char **argv, int *out_out);

/* Stop it, in order if it can, and await its end. */
void	 program_stop(pid_t);
