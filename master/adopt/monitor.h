/*
 * The monitor of a daemon without a service manager (Respawn): keeps the
 * listening sockets, and starts the master again when it was killed.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

struct conf;

struct handoff_program;

/*
 * Fork the master: return in it, with its channel to the monitor, which is this
 * process and exits with it.  log: where it logs.  unused: a descriptor of the
 * master alone, or -1.  -1 after a line in the log.
 */
int	 monitor_start(const struct handoff_program *p, const struct conf *log,
	    int unused) MUST_CHECK;

/* The master has a socket, drops it; serves; upgrades; ends.  sock -1: none. */
void	 monitor_keep(int sock, int fd, const char *spec, bool is_metrics);
void	 monitor_drop(int sock, const char *spec, bool is_metrics);
void	 monitor_serves(int sock);
void	 monitor_upgrades(int sock);
void	 monitor_ends(int sock);
