/*
 * Where the log goes (LogTo, LogFormat, SyslogFacility), for us and for all
 * that we start.
 */
#ifndef MASTER_LOGTO_H
#define MASTER_LOGTO_H

#include "master/master.h"

/*
 * Decide, before anything is started: m->log_how.  0, or -1 after a line in the
 * log.
 */
int	 logto_init(struct master *m) __attribute__((warn_unused_result));

/* Our own lines went to standard error until now, where our starter reads. */
void	 logto_switch(struct master *m);

/* Standard error of processes that are started, between fork and exec. */
int	 logto_stderr(const struct master *m);

#endif
