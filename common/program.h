/* Where our own programs are installed. */
#pragma once

#include <stddef.h>

/*
 * Find a program of ours (execsrv-...): beside the calling program if it is
 * there (a build folder), unless that is set-user-ID; else in libexecdir.
 */
void	 program_find(const char *name, char *path, size_t size);
