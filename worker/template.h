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

/*
 * Run a worker: wait on sock for an assignment, serve the session, return the
 * exit status.  http_exe: execsrv-http, or -1; group: its control group, taken,
 * or -1.
 */
int	 worker_run(int sock, const struct rlimit *nofile, int http_exe,
	    int group);
