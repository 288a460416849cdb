/*
 * Where the log goes (LogTo, LogFormat, SyslogFacility), for us and for all
 * that we start.
 */
#ifndef MASTER_LOGS_LOGTO_H
#define MASTER_LOGS_LOGTO_H

#include "master/world.h"


/* Whether it can go there.  0, or -1 with the reason in e. */
int	 logto_check(const struct conf *c, struct conf_error *e)
	    __attribute__((warn_unused_result));

/*
 * Decide, of a configuration that was checked, before anything is started:
 * m->log_how.  0, or -1 after a line in the log.
 */
int	 logto_init(struct master *m) __attribute__((warn_unused_result));

/* Our own lines went to standard error until now, where our starter reads. */
void	 logto_switch(struct master *m);

/* Standard error of processes that are started, between fork and exec. */
int	 logto_stderr(const struct master *m);

#endif
