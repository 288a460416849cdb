/* Where our own programs are installed. */
#pragma once

#include <stddef.h>

/*
 * The path of the calling program; "": not known.  Where it was when it was
 * started, if it has been replaced since.
 */
void	 program_self(char *path, size_t size);

/*
 * Find a program of ours (execsrv-...): beside the calling program if it is
 * there (a build folder), unless that is set-user-ID; else in libexecdir.
 */
void	 program_find(const char *name, char *path, size_t size);
