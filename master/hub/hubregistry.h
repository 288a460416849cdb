/* The registry (PROTOCOL 12), without memory: what it grants is in tickets. */
#pragma once

#include "master/hub/hubcall.h"

void	 call_register(struct call *c);
void	 call_connect(struct call *c);
void	 call_validate(struct call *c);
