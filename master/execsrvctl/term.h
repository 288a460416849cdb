/* The caller's terminal during a remote one. */
#pragma once

#include <stdint.h>

#include "master/execsrvctl/table.h"

/*
 * Raw mode, if it is a terminal and we are in the foreground; restored however
 * the process ends, except by SIGKILL.  May be called again.
 */
void	 term_raw(int fd);

/* Restore it; harmless if it was never raw. */
void	 term_restore(void);

/* Of the first terminal among 0, 1 and 2.  0, or -1: none. */
int	 term_size(uint16_t *rows_out, uint16_t *cols_out);

/* On a terminal its width, and colour unless it is dumb or NO_COLOR is set. */
void	 term_look(int fd, struct table_look *look_out);
