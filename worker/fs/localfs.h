/* Local file systems: they wait for no server or process. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* By stx_mnt_id of statx(2); false: unknown.  Keeps a table of the mounts. */
bool	 mount_is_local(uint64_t id);
