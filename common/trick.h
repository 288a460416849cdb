/*
 * Tricks: the rows of proto/trick.def.  A build leaves out one, if any, so that
 * the bench can show whether it still pays.
 */
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

/* Whether this build has it; a constant. */
#define HAS_TRICK(name)	(WITHOUT != TRICK_##name)
