/* Confines execsrv-uplink, execsrv-reach and their resolver. */
#pragma once

/* Keep memory from swap, if allowed: libcrypto has keys on the heap. */
void	 netconfine_lock_memory(void);

/* Uplink and reach: no files, no other processes.  0, or -1 with errno. */
int	 netconfine_process(void) MUST_CHECK;

/* Resolver: only what name services read.  0, or -1 with errno. */
int	 netconfine_resolver(void) MUST_CHECK;
