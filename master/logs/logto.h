/* Where the log of all our processes goes: LogTo, LogFormat, SyslogFacility. */
#pragma once

#include "master/world.h"

/* Check the settings.  0, or -1 with the reason in e. */
int	 logto_check(const struct conf *c, struct conf_error *e) MUST_CHECK;

/*
 * Set log_how from checked settings, before any process is started.  0, or -1
 * after a line in the log.
 */
int	 logto_init(struct master *m) MUST_CHECK;

/* End logging to standard error, as it is until the server is up. */
void	 logto_switch(struct master *m);

/* Standard error of a child process; called between fork and exec. */
int	 logto_stderr(const struct master *m);
