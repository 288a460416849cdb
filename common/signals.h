/* Signal dispositions and names. */
#ifndef COMMON_SIGNALS_H
#define COMMON_SIGNALS_H

/*
 * Set every signal to its default, also the two that glibc keeps for itself
 * and refuses in sigaction(2): a starter may have left them ignored.  Only
 * system calls: may be used between clone and exec.
 */
void	 signals_default(void);

/*
 * The number of a signal: SIGTERM, SIGRTMIN, SIGRTMIN+3 ... (proto/signal.def);
 * 0: there is none of that name.
 */
int	 signals_number(const char *name);

#endif
