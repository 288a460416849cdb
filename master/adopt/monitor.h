/*
 * The monitor of a daemon without a service manager (Respawn): the process that
 * went into the background.  It holds the listening sockets as well, so that
 * connections wait while there is no master, and starts the master again when
 * it was killed.  It ends when the master ends in order.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

struct conf;

struct handoff_program;

/*
 * Fork the master: return in it, with its channel to the monitor, which is this
 * process and exits when the master has ended.  log: where it logs.  unused: a
 * descriptor of the master alone, or -1.  -1 after a line in the log.
 */
int	 monitor_start(const struct handoff_program *p, const struct conf *log,
	    int unused) MUST_CHECK;

/*
 * What the master tells: a listening socket that it has, or no longer has; that
 * it serves; that its end, which may come, is part of an upgrade, after which
 * another process may serve; that it ends in order.  sock -1: no monitor.
 */
void	 monitor_keep(int sock, int fd, const char *spec, bool is_metrics);
void	 monitor_drop(int sock, const char *spec, bool is_metrics);
void	 monitor_serves(int sock);
void	 monitor_upgrades(int sock);
void	 monitor_ends(int sock);
