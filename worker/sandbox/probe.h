/*
 * What this host lets a sandbox be made of: tried, with a plan that asks for
 * everything, by a process that does nothing else and is nobody.
 */
#ifndef WORKER_SANDBOX_PROBE_H
#define WORKER_SANDBOX_PROBE_H

/*
 * Try it beside the caller, who ignores SIGCHLD; the answer goes to sock
 * (ipc.def, ability).
 */
void	 probe_start(int sock);

#endif
