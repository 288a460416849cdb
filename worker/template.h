/*
 * The template: executed once by the master, with only initialized libraries in
 * its memory.  It forks idle workers on request, as children of the master
 * (CLONE_PARENT), and reads nothing else.
 */
#pragma once

#include <sys/resource.h>

/*
 * Serve the master on sock until it closes; returns the exit status, in a
 * worker as well.  nofile: for commands; groups: the directory of control
 * groups (worker/os/pcgroup.h), or "".
 */
int	 template_run(int sock, const struct rlimit *nofile,
	    const char *groups);
