/*
 * The template: executed once by the master, with initialized libraries only.
 * Forks idle workers, as children of the master (CLONE_PARENT); reads nothing
 * else.
 */
#pragma once

#include <sys/resource.h>

/*
 * Until sock closes; the exit status, in a worker as well.  nofile: for
 * commands; groups: the directory of control groups (worker/os/pcgroup.h), or
 * "".
 */
int	 template_run(int sock, const struct rlimit *nofile,
	    const char *groups);
