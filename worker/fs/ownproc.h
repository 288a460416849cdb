/* Keeps clients from /proc files of our own processes. */
#pragma once

#include <sys/stat.h>

#include <stdbool.h>

/*
 * An open file (or O_PATH) in the /proc folder of a process that runs our
 * program, not the folder itself, nor mounts, net, cgroup, status and the like.
 * fstatfs(2), which may block, only if x, its status, could be of procfs.
 */
bool	 is_ownproc(int fd, const struct statx *x);
