/*
 * Confines execsrv-uplink, execsrv-reach and their resolver to the network,
 * their own keys and streams.
 */
#pragma once

/* First of all: no ptrace, no core, no new privileges.  0, or -1 with errno. */
int	 netconfine_early(void) MUST_CHECK;

/* End with the parent's thread.  0, or -1 with errno. */
int	 netconfine_to_parent(void) MUST_CHECK;

/* Uplink and reach: no files, and no other processes.  0, or -1 with errno. */
int	 netconfine_process(void) MUST_CHECK;

/* The resolver: what name services read, nothing else.  0, or -1 with errno. */
int	 netconfine_resolver(void) MUST_CHECK;
