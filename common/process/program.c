#include "common/process/program.h"

#include <sys/auxv.h>
#include <sys/stat.h>

#include <dlfcn.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config.h"

#define DELETED	" (deleted)"	/* what proc(5) says of a replaced file */

/* Whether FOLDER/BELOW/NAME can be started; then path is that. */
static bool
program_is_at(const char *folder, const char *below, const char *name,
    char *path, size_t size)
{
	int	 n = snprintf(path, size, "%s%s/%s", folder, below, name);

	return n > 0 && (size_t)n < size && access(path, X_OK) == 0;
}

/* Cut the last component of a path off; return it, or NULL. */
static const char *
cut_last(char *path)
{
	char	*slash = strrchr(path, '/');

	if (slash == NULL || slash == path)
		return NULL;
	*slash = '\0';
	return slash + 1;
}

/*
 * From the folder of a program or library to the root of the tree it is in: the
 * one above bin, sbin, lib, or lib/TRIPLET.  A root that anybody may write to
 * (/tmp) is none.
 */
static bool
program_root(char *folder)
{
	struct stat	 st;
	const char	*last = cut_last(folder);

	if (last != NULL && strcmp(last, "bin") != 0 &&
	    strcmp(last, "sbin") != 0 && strncmp(last, "lib", 3) != 0)
		last = cut_last(folder);
	if (last == NULL || (strcmp(last, "bin") != 0 &&
	    strcmp(last, "sbin") != 0 && strncmp(last, "lib", 3) != 0))
		return false;
	return stat(folder, &st) == 0 && (st.st_mode & S_IWOTH) == 0;
}

void
program_self(char *path, size_t size)
{
	ssize_t	 n = readlink("/proc/self/exe", path, size - 1);
	size_t	 len = n > 0 ? (size_t)n : 0, tail = sizeof(DELETED) - 1;

	path[len] = '\0';
	if (len > tail && strcmp(path + len - tail, DELETED) == 0 &&
	    access(path, F_OK) == -1)
		path[len - tail] = '\0';
}

/* The folder of the calling program. */
static bool
own_folder(char folder[PATH_MAX])
{
	program_self(folder, PATH_MAX);
	return cut_last(folder) != NULL;
}

/*
 * That of the library that this code is in.  The linker's name of it is no help
 * unless it is absolute: of a program it is what its parent called it.
 */
static bool
library_folder(char folder[PATH_MAX])
{
	static const char	 here;
	Dl_info			 info;

	return dladdr(&here, &info) != 0 && info.dli_fname != NULL &&
	    info.dli_fname[0] == '/' &&
	    realpath(info.dli_fname, folder) != NULL &&
	    cut_last(folder) != NULL;
}

/* Look beside the program and below both roots. */
static bool
find_moved(const char *name, const char *const *below, char *path,
    size_t size)
{
	const char *const	*b;
	char			 folder[PATH_MAX];
	int			 turn;

	/* Never near a set-user-ID program: anyone may hard link that. */
	if (getauxval(AT_SECURE) != 0)
		return false;
	if (own_folder(folder) && program_is_at(folder, "", name, path, size))
		return true;
	for (turn = 0; turn < 2; turn++) {
		if (!(turn == 0 ? own_folder(folder) :
		    library_folder(folder)) || !program_root(folder))
			continue;
		for (b = below; *b != NULL; b++)
			if (program_is_at(folder, *b, name, path, size))
				return true;
	}
	return false;
}

void
program_find(const char *name, char *path, size_t size)
{
	static const char *const	 below[] = {
		"/libexec/execsrv", "/lib/execsrv", NULL
	};

	if (!find_moved(name, below, path, size))
		snprintf(path, size, "%s/%s", EXECSRV_LIBEXECDIR, name);
}

void
program_find_server(char *path, size_t size)
{
	static const char *const	 below[] = { "/sbin", "/bin", NULL };

	if (!find_moved("execsrvd", below, path, size))
		snprintf(path, size, "%s/execsrvd", EXECSRV_SBINDIR);
}
