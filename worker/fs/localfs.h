/* Local file systems: those that wait for no server or other process. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/*
 * Whether the mount with an id (stx_mnt_id of statx(2)) is local; false if
 * unknown.  Keeps a table of mountinfo (proc_pid_mountinfo(5)), read again when
 * the kernel reports a change; each process opens its own.  A root that is not
 * listed (in a chroot) is looked up by statfs(2).
 */
bool	 mount_is_local(uint64_t id);
