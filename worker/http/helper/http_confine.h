/*
 * For execsrv-http: keeps sockets, threads (libcurl's resolver), and reading of
 * the configuration of name resolution and TLS.
 */
#pragma once

#include <stdbool.h>

/*
 * For good, where the kernel can: execute nothing, no process, write no file,
 * read only configuration and env_files (certificates).  0, or -1 with errno.
 */
int	 http_confine(const char *const *env_files) MUST_CHECK;
