/*
 * What a hub is asked over HTTP: the registry, the upgrades of the rendezvous
 * (PROTOCOL 12), what operators want (hubfar.h), whether it is well.
 */
#pragma once

#include "master/hub/hub.h"

/* A request came in. */
void	 hubapi_request(struct hub *h, struct door *d);
