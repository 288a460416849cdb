/* The hard limits of proto/limit.def, as LIMIT_<name>. */
#pragma once

enum {
#define LIMIT(name, value, reason)	LIMIT_##name = (value),
#include "proto/limit.def"
#undef LIMIT
};
