/* Numbers of the switches for getopt_long(3): the rows of proto/switch.def. */
#pragma once

enum {
	OPT_BEFORE = 255,		/* above all letters */
#define LETTER(letter, argument, help)
#define SWITCH(name, number, argument, help)	OPT_##number,
#include "proto/switch.def"
#undef SWITCH
#undef LETTER
};
