/* Where our own programs are installed. */
#pragma once

#include <stddef.h>

/* "": not known.  If it has been replaced: where it was at the start. */
void	 program_self(char *path, size_t size);

/*
 * Find execsrv-...: beside the calling program (a build folder); in the moved
 * or bundled tree of that or of our library (../libexec/execsrv of bin, sbin or
 * lib); else, and always for a set-user-ID program, in libexecdir.
 */
void	 program_find(const char *name, char *path, size_t size);

/* The same for execsrvd: sbin or bin of that tree, or sbindir. */
void	 program_find_server(char *path, size_t size);
