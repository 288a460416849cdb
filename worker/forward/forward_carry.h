/*
 * Bytes between a socket and our standard input and output.  What the other end
 * of those must know is said on standard error, a line each:
 *	open	the connection is there
 *	eof N	the socket sends no more, after N bytes in all
 * SIGUSR1 says not to read from the socket, SIGUSR2 to go on.  The latter wins
 * if both come at once, in whatever order: who still gets too much says SIGUSR1
 * again.
 */
#pragma once

#include "common/attributes.h"

/* Before what SIGUSR1 and SIGUSR2 are for.  0, or -1 with errno. */
int	 forward_signals(void) MUST_CHECK;

/* Carry until both directions have ended.  0, or -1, having said why. */
int	 forward_carry(int sock);
