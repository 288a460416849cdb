/*
 * Which file systems surely answer: those on this machine, not on a server
 * or in another process (proc_pid_mountinfo(5)).
 */
#ifndef WORKER_FS_LOCALFS_H
#define WORKER_FS_LOCALFS_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Whether the mount with that id (statx(2), stx_mnt_id) is of a kind that
 * answers from this machine's memory and disks.  False when it is not known.
 * Keeps the table of mounts and reads it again when the kernel says that it
 * changed; the descriptor for that is this process's and is made again in
 * another.  A root that is in no table, as in a chroot, is judged by what
 * statfs(2) says.
 */
bool	 mount_is_local(uint64_t id);

#endif
