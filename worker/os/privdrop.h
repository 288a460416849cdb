/*
 * From an idle worker, which may be root, to the user of a session, before the
 * first byte of the client is read.  Any failure exits.
 */
#pragma once

#include <sys/resource.h>

#include "common/ipc/ipc.h"

/* Drop what no worker needs.  Called in the template, once. */
void	 privdrop_worker(void);

/*
 * Become the user: groups, ids, environment, home; not dumpable, a subreaper.
 * environment: the server's (common/process/envlist.h), for its own user only;
 * or -1.
 *
 * Under a root master only the effective uid becomes the user's; real and saved
 * uid are a number of no user.  The session's commands have all three and thus
 * cannot signal, stop or trace the worker.
 */
void	 privdrop_user(const Ipc__Assign *a, int environment);

/* Return the real uid to be used; setting it may fail. */
uid_t	 privdrop_real(void);

/* Become an unprivileged user, if that is possible. */
void	 privdrop_anybody(void);

/*
 * Confine a process that reads an unauthenticated peer (worker/os/preauth.h):
 * as root, become nobody with a real uid that no other process has.  Exits on
 * failure, also without seccomp(2).
 */
void	 privdrop_preauth(void);
