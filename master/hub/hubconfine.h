/* Confines the process of a hub that is on the network. */
#pragma once

/* Become a user, if we are root.  0, or -1 after a line in the log. */
int	 hubconfine_user(const char *name) MUST_CHECK;

/* No files, no other processes, no connections but accepted ones. */
int	 hubconfine(void) MUST_CHECK;
