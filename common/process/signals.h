/* Signal dispositions and names. */
#pragma once

/*
 * Reset all signals to SIG_DFL, also the two that glibc's sigaction() refuses.
 * System calls only: for use between clone and exec.
 */
void	 signals_default(void);

/* The same, and block none. */
void	 signals_reset(void);

/* Return the number of SIGTERM, SIGRTMIN+3 ... (proto/signal.def), 0: none. */
int	 signals_number(const char *name);

#define SIGNALS_NAME	16

/*
 * Read a signal as people write it, "TERM", "sigterm" or "15": return its
 * number and write its full name; 0: unknown.
 */
int	 signals_read(const char *text, char name[SIGNALS_NAME]);
