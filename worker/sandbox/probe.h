/* What does the host support?  Tries a plan that needs all, as nobody. */
#pragma once

/* In a child of the caller, who ignores SIGCHLD; answer: ipc.def, ability. */
void	 probe_start(int sock);
