#ifndef WORKER_OS_DROPCAPS_H
#define WORKER_OS_DROPCAPS_H

/*
 * Have no capabilities (capabilities(7)), and get none by executing something
 * as root.  0, or -1 with errno.  System calls only.
 */
int	 dropcaps(void);

#endif
