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
 * there (a build folder); in the tree that was moved or bundled with that, or
 * with our library (../libexec/execsrv of its bin, sbin or lib folder); else in
 * libexecdir.  A set-user-ID program looks in libexecdir only.
 */
void	 program_find(const char *name, char *path, size_t size);

/* The same for execsrvd: in the sbin or bin folder of that tree, or sbindir. */
void	 program_find_server(char *path, size_t size);
