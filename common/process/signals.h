/* Signal dispositions and names. */
#pragma once

/* All to SIG_DFL.  System calls only: for use between clone and exec. */
void	 signals_default(void);

/* The same, and block none. */
void	 signals_reset(void);

/* SIGTERM, SIGRTMIN+3 ... (proto/signal.def); 0: none. */
int	 signals_number(const char *name);

#define SIGNALS_NAME	16

/* Of "TERM", "sigterm", "15" the number, and the full name; 0: unknown. */
int	 signals_read(const char *text, char name[SIGNALS_NAME]);
