/* Signal dispositions and names. */
#pragma once

/*
 * Reset all signals to SIG_DFL, also the two that glibc's sigaction() refuses.
 * System calls only: for use between clone and exec.
 */
void	 signals_default(void);

/* Return the number of SIGTERM, SIGRTMIN+3 ... (proto/signal.def), 0: none. */
int	 signals_number(const char *name);
