/* Where our own programs are. */
#ifndef COMMON_PROGRAM_H
#define COMMON_PROGRAM_H

#include <stddef.h>

/*
 * The path of execsrv-NAME or whatever is of ours: beside the program that
 * asks (a build folder) if it is there, and not a program that has more rights
 * than who started it; else where it is installed.  Cut to size.
 */
void	 program_find(const char *name, char *path, size_t size);

#endif
