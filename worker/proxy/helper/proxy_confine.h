/*
 * Confinement of execsrv-proxy, which parses bytes of commands and of any
 * server.  It keeps sockets of IP and read access to the configuration of name
 * resolution.
 */
#ifndef WORKER_PROXY_HELPER_PROXY_CONFINE_H
#define WORKER_PROXY_HELPER_PROXY_CONFINE_H

/*
 * Before anything else: die with the parent, not dumpable, no core,
 * no_new_privs.  0, or -1 with errno.
 */
int	 proxy_confine_early(void) __attribute__((warn_unused_result));

/*
 * For good: execute nothing, start no process, write no file, open no socket
 * but those of TCP and UDP, read only configuration, where the kernel can
 * enforce it.  0, or -1 with errno.
 */
int	 proxy_confine(void) __attribute__((warn_unused_result));

#endif
