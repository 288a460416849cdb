/* Handlers of messages from workers (proto/ipc.def). */
#ifndef MASTER_CHILD_MSG_H
#define MASTER_CHILD_MSG_H

#include "master/workers/child.h"

extern const struct child_events	 child_msg_events;

#endif
