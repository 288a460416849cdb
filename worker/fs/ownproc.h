/*
 * What /proc tells of our own processes is for no client: their memory, where
 * things lie in it, and what they have open.
 */
#ifndef WORKER_FS_OWNPROC_H
#define WORKER_FS_OWNPROC_H

#include <sys/stat.h>

#include <stdbool.h>

/*
 * Whether an open file (O_PATH will do) is below the folder in procfs of a
 * process that runs our program, ourselves included.  Not so the folder itself,
 * and what says where a process is: mounts, network, control groups, status.
 *
 * x: its status.  Only what that could be of procfs has its file system asked
 * which one it is; such a server may not answer.
 */
bool	 is_ownproc(int fd, const struct statx *x);

#endif
