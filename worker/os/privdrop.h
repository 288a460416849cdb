/* From an idle worker to a session's user, before its first byte; or exits. */
#pragma once

#include <sys/resource.h>

#include "common/ipc/ipc.h"

/* What no worker needs; in the template, once. */
void	 privdrop_worker(void);

/*
 * Groups, ids, environment, home; not dumpable, a subreaper.  environment: the
 * server's (common/process/envlist.h), for its own user; or -1.
 *
 * Under a root master only the effective uid is the user's; real and saved are
 * of no user: the session's commands, with all three, cannot signal, stop or
 * trace the worker.
 */
void	 privdrop_user(const Ipc__Assign *a, int environment);

/* The real uid to be used; setting it may fail. */
uid_t	 privdrop_real(void);

/* An unprivileged user, if possible. */
void	 privdrop_anybody(void);

/* For preauth.h: as root, nobody with a real uid of its own; or exit. */
void	 privdrop_preauth(void);
