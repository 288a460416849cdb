/*
 * The template: exec'd once by the master, with nothing in its memory but
 * libraries ready to use; it forks idle workers on request, as children of
 * the master (CLONE_PARENT), and reads nothing else, ever.
 */
#ifndef WORKER_TEMPLATE_H
#define WORKER_TEMPLATE_H

#include <sys/resource.h>

/*
 * Serve the master on sock until it closes; in a worker this returns as
 * well, with its status: exit with it.  nofile: what commands shall have;
 * groups: the directory of control groups (worker/os/pcgroup.h), or "".
 */
int	 template_run(int sock, const struct rlimit *nofile,
	    const char *groups);

/*
 * A worker's life, from waiting on sock to the end of its session.  http_exe
 * is open on execsrv-http, or -1; group is its control group, taken, or -1.
 */
int	 worker_run(int sock, const struct rlimit *nofile, int http_exe,
	    int group);

#endif
