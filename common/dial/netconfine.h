/*
 * Confines execsrv-uplink, execsrv-reach and their resolver to the network,
 * their own keys and streams.
 */
#pragma once

/*
 * libcrypto keeps the keys of streams on the heap: where we may, nothing of
 * this process is ever written to a swap.
 */
void	 netconfine_lock_memory(void);

/* Uplink and reach: no files, and no other processes.  0, or -1 with errno. */
int	 netconfine_process(void) MUST_CHECK;

/* The resolver: what name services read, nothing else.  0, or -1 with errno. */
int	 netconfine_resolver(void) MUST_CHECK;
