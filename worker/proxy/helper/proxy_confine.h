/* For execsrv-proxy: keeps IP sockets, and configuration of name resolution. */
#pragma once

#include "common/attributes.h"

/*
 * For good, where the kernel can: execute nothing, no process, write no file,
 * no socket but TCP and UDP, read only configuration.  0, or -1 with errno.
 */
int	 proxy_confine(void) MUST_CHECK;
