/*
 * What a hub is asked over HTTP: the registry, upgrades of the rendezvous
 * (PROTOCOL 12), what operators want (hubfar.h), whether it is well.
 */
#pragma once

#include "master/hub/hub.h"

void	 hubapi_request(struct hub *h, struct door *d);
