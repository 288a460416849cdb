/* Handlers of messages from workers (proto/ipc.def). */
#pragma once

#include "master/workers/child.h"

extern const struct child_events	 child_msg_events;
