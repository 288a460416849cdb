/* Keep clients away from /proc files of our own processes. */
#pragma once

#include <sys/stat.h>

#include <stdbool.h>

/*
 * Whether an open file (or O_PATH) is in the procfs folder of a process that
 * runs a program of the server.  Not the folder itself, and not mounts, net,
 * cgroup, status and the like.  x: its status; fstatfs(2), which may block, is
 * called only if x could be of procfs.
 */
bool	 is_ownproc(int fd, const struct statx *x);
