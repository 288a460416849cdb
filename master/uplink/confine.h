/*
 * What execsrv-uplink, execsrv-reach and their resolver may not do.  They talk
 * to whoever answers: should one of them be taken over, there is nothing to be
 * had but the network, its own keys and the streams that it carries.
 */
#ifndef MASTER_UPLINK_CONFINE_H
#define MASTER_UPLINK_CONFINE_H

/* First of all: no trace of memory, no gain by exec, no core.  0, or -1. */
int	 confine_early(void) __attribute__((warn_unused_result));

/* End with the thread that started us.  0, or -1 with errno. */
int	 confine_to_parent(void) __attribute__((warn_unused_result));

/* Uplink and reach: no files.  0, or -1 with errno. */
int	 confine_uplink(void) __attribute__((warn_unused_result));

/* The resolver: what name services read; ends the process if it fails. */
void	 confine_resolver(void);

#endif
