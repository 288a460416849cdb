/*
 * The caller's terminal, while a remote one stands behind it.  There is only
 * one, and signal handlers must find it: hence no struct.
 */
#ifndef MASTER_EXECSRVCTL_TERM_H
#define MASTER_EXECSRVCTL_TERM_H

#include <stdint.h>

#include "master/execsrvctl/table.h"

/*
 * Raw mode for the terminal at fd, if it is one and ours at the moment (not in
 * the background).  However the process ends, but by SIGKILL, the terminal is
 * restored.  May be called again.
 */
void	 term_raw(int fd);

/* As it was before.  Harmless when it was never raw. */
void	 term_restore(void);

/* The size of the first terminal among 0, 1 and 2.  0, or -1: there is none. */
int	 term_size(uint16_t *rows_out, uint16_t *cols_out);

/*
 * How tables look at fd: on a terminal as wide as that, and with colour unless
 * NO_COLOR is set or the terminal is dumb; elsewhere plain.
 */
void	 term_look(int fd, struct table_look *look_out);

#endif
