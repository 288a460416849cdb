/* Names of notifications, the rows of proto/note.def. */
#ifndef WORKER_CONN_NOTE_H
#define WORKER_CONN_NOTE_H

#define NOTE(name, wire, when)	extern const char note_##name[];
#include "proto/note.def"
#undef NOTE

#endif
