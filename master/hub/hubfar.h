/*
 * Operators elsewhere: the requests of the control socket (hubctl.h) over a
 * websocket of a listener, a text message each, as far as rules allow them to
 * the token that was shown (PROTOCOL 12.10).
 */
#pragma once

#include "master/hub/hubcall.h"

#define HUBFAR_PATH	"/fleet/v1/control"

/* Somebody with a valid token wants that websocket: take it, or refuse. */
void	 hubfar_open(struct call *c);
