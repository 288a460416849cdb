/*
 * From an idle worker, which may be root, to the user of one session: the
 * one paragraph that every role reads the same.  It happens before the first
 * byte of the client is read; whatever fails ends the process.
 */
#ifndef WORKER_OS_PRIVDROP_H
#define WORKER_OS_PRIVDROP_H

#include <sys/resource.h>

#include "common/ipc/ipc.h"

/* Shed what any worker never needs.  In the template, once. */
void	 privdrop_worker(void);

/*
 * Become the user of an assignment: groups, ids, environment, folder; not
 * dumpable, a subreaper.  Exits when any of it fails.  environment: that of the
 * server (common/envlist.h), which only sessions of its own user get; or -1.
 *
 * Under a root master only the effective uid (and with it files and peer
 * credentials) becomes the user's; the real and the saved one are numbers
 * that nobody else has.  So the session's commands, which are the user in
 * every respect, cannot signal, stop or trace their worker.
 */
void	 privdrop_user(const Ipc__Assign *a, int environment);

/* That real uid, before; it need not be possible. */
uid_t	 privdrop_real(void);

/* Become an ordinary user, whoever that is; if there is none stay as we are. */
void	 privdrop_anybody(void);

/*
 * Who reads what strangers send, before anybody knows who they are or because
 * an answer is all that they get: as root nobody, with a real user id that no
 * other process has; no file, no other process, no descriptor but those it has,
 * and next to no system call, for good.  Exits when any of it fails, also where
 * the kernel has no filter for system calls (seccomp(2)).
 */
void	 privdrop_preauth(void);

#endif
