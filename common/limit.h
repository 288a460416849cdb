/* The hard limits of proto/limit.def, as LIMIT_<name>. */
#ifndef COMMON_LIMIT_H
#define COMMON_LIMIT_H

enum {
#define LIMIT(name, value, reason)	LIMIT_##name = (value),
#include "proto/limit.def"
#undef LIMIT
};

#endif
