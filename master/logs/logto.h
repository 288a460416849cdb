/* Where the log of all our processes goes: LogTo, LogFormat, SyslogFacility. */
#pragma once

#include "master/world.h"

/* Check the settings.  0, or -1 with the reason in e. */
int	 logto_check(const struct conf *c, struct conf_error *e) MUST_CHECK;

/*
 * For the monitor, and a master that it started until its log is open: to
 * syslog, unless it is standard error.  Whether it is syslog.
 */
bool	 logto_daemon(const struct conf *c);

/*
 * From checked settings, before any child.  0, or -1 after a line in the log.
 */
int	 logto_init(struct world_logs *l, const struct conf *c,
	    bool is_daemon) MUST_CHECK;

/* End logging to standard error, as it is until the server is up. */
void	 logto_switch(const struct world_logs *l);

/* Standard error of a child process; called between fork and exec. */
int	 logto_stderr(const struct world_logs *l);
