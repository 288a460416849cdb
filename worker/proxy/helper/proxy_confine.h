/*
 * Confinement of execsrv-proxy, which parses bytes of commands and of any
 * server.  It keeps sockets of IP and read access to the configuration of name
 * resolution.
 */
#pragma once

#include "common/attributes.h"

/*
 * For good: execute nothing, start no process, write no file, open no socket
 * but those of TCP and UDP, read only configuration, where the kernel can
 * enforce it.  0, or -1 with errno.
 */
int	 proxy_confine(void) MUST_CHECK;
