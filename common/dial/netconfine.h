/*
 * What execsrv-uplink, execsrv-reach and their resolver may not do.  They talk
 * to whoever answers: should one of them be taken over, there is nothing to be
 * had but the network, its own keys and the streams that it carries.
 */
#ifndef COMMON_DIAL_NETCONFINE_H
#define COMMON_DIAL_NETCONFINE_H

/* First of all: no trace of memory, no gain by exec, no core.  0, or -1. */
int	 netconfine_early(void) __attribute__((warn_unused_result));

/* End with the thread that started us.  0, or -1 with errno. */
int	 netconfine_to_parent(void) __attribute__((warn_unused_result));

/* Uplink and reach: no files, and no other processes.  0, or -1 with errno. */
int	 netconfine_process(void) __attribute__((warn_unused_result));

/* The resolver: what name services read, nothing else.  0, or -1 with errno. */
int	 netconfine_resolver(void) __attribute__((warn_unused_result));

#endif
