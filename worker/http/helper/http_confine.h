/*
 * Confinement of execsrv-http, which parses bytes of any server and TLS.  It
 * keeps sockets, threads (libcurl's resolver) and read access to the
 * configuration of name resolution and TLS.
 */
#pragma once

#include <stdbool.h>

/*
 * For good: execute nothing, start no process, write no file, read only
 * configuration and env_files (of certificates, from the environment), where
 * the kernel can enforce it.  0, or -1 with errno.
 */
int	 http_confine(const char *const *env_files) MUST_CHECK;
