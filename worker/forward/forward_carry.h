/*
 * Bytes between a socket and our standard input and output; on standard error
 * lines:
 *	open	the connection is there
 *	eof N	the socket sends no more, after N bytes in all
 * SIGUSR1: do not read from the socket; SIGUSR2: go on, wins if both come at
 * once.
 */
#pragma once

#include "common/attributes.h"

/* Before signals are used.  -1 with errno. */
int	 forward_signals(void) MUST_CHECK;

/* Until both directions have ended.  -1, having said why. */
int	 forward_carry(int sock);
