/*
 * What execsrv-http may not do: it reads bytes of any server and of TLS, so
 * it is the process that will be broken into.  It keeps what HTTP needs:
 * sockets, threads (libcurl resolves names in them), and reading what name
 * resolution and TLS are configured by.
 */
#ifndef WORKER_HTTP_HELPER_HTTP_CONFINE_H
#define WORKER_HTTP_HELPER_HTTP_CONFINE_H

#include <stdbool.h>

/*
 * Before anything else: ends with its parent, not dumpable, no core, no new
 * privileges.  0, or -1 with errno.
 */
int	 http_confine_early(void) __attribute__((warn_unused_result));

/*
 * For good: no other program, no other process, no file changed, and of files
 * only configuration read, where the kernel can do that.  env_files are paths
 * from the environment, of certificates.  0, or -1 with errno.
 */
int	 http_confine(const char *const *env_files)
	    __attribute__((warn_unused_result));

#endif
