/* Of notifications: proto/note.def. */
#pragma once

#define NOTE(name, wire, when)	extern const char note_##name[];
#include "proto/note.def"
#undef NOTE
