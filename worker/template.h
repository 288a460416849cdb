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
 * well, with its status: exit with it.  nofile: what commands shall have.
 */
int	 template_run(int sock, const struct rlimit *nofile);

/* A worker's life, from waiting on sock to the end of its session. */
int	 worker_run(int sock, const struct rlimit *nofile);

#endif
