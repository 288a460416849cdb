#include "worker/conn/note.h"

#define NOTE(name, wire, when)	const char note_##name[] = wire;
#include "proto/note.def"
#undef NOTE
