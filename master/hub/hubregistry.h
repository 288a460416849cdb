/*
 * The registry (PROTOCOL 12): register, connect, validate.  It remembers
 * nothing: what it grants is in tickets.
 */
#pragma once

#include "master/hub/hubcall.h"

void	 call_register(struct call *c);
void	 call_connect(struct call *c);
void	 call_validate(struct call *c);
