/* Probe what the host supports: with a plan that needs all, as nobody. */
#pragma once

/*
 * Probe in a child of the caller, who ignores SIGCHLD; the answer goes to sock
 * (ipc.def, ability).
 */
void	 probe_start(int sock);
