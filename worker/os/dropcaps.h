#pragma once

/*
 * Drop all capabilities (capabilities(7)), also those that root would regain by
 * exec.  0, or -1 with errno.  System calls only.
 */
int	 dropcaps(void);
