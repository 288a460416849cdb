/*
 * Operators elsewhere: the requests of the control socket (hubctl.h) over a
 * websocket, as far as rules allow them to the token (PROTOCOL 12.10).
 */
#pragma once

#include "master/hub/hubcall.h"

#define HUBFAR_PATH	"/fleet/v1/control"

/* Take the upgrade, or refuse. */
void	 hubfar_open(struct call *c);
