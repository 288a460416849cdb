/*
 * The caller's terminal during a remote one.  There is only one, and signal
 * handlers must find it: hence no struct.
 */
#pragma once

#include <stdint.h>

#include "master/execsrvctl/table.h"

/*
 * Put the terminal at fd into raw mode, if it is one and we are in the
 * foreground.  It is restored however the process ends, except by SIGKILL. May
 * be called again.
 */
void	 term_raw(int fd);

/* Restore it; harmless if it was never raw. */
void	 term_restore(void);

/* Get the size of the first terminal among 0, 1 and 2.  0, or -1: none. */
int	 term_size(uint16_t *rows_out, uint16_t *cols_out);

/*
 * Choose the look of tables at fd: on a terminal its width, and colour unless
 * NO_COLOR is set or it is dumb; elsewhere plain.
 */
void	 term_look(int fd, struct table_look *look_out);
