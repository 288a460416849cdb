/* The rows of proto/trick.def.  Of them a build may leave out one. */
#pragma once

enum trick {
	TRICK_none,
#define TRICK(name, metrics, file)	TRICK_##name,
#include "proto/trick.def"
#undef TRICK
	TRICKS
};

#ifndef WITHOUT
#define WITHOUT		TRICK_none
#endif

/* A constant. */
#define HAS_TRICK(name)	(WITHOUT != TRICK_##name)
