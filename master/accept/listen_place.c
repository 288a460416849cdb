#include "master/accept/listen_place.h"

#include <sys/stat.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/rundirs.h"

/* The folder of a path, malloc'd. */
static char *
place_folder(const char *path)
{
	const char	*slash = strrchr(path, '/');

	if (slash == NULL)
		return strdup(".");
	return slash == path ? strdup("/") :
	    strndup(path, (size_t)(slash - path));
}

/* Whether that is the run directory, which a start makes. */
static bool
place_is_rundir(const struct conf *c, const char *folder)
{
	const char	*env = getenv("EXECSRV_RUNTIME_DIR");
	char		*dir = NULL;
	bool		 is;

	if (c->runtime_dir[0] != '\0')
		return strcmp(c->runtime_dir, folder) == 0;
	if (env != NULL && env[0] != '\0')
		return strcmp(env, folder) == 0;
	is = rundirs_default(&dir) == 0 && strcmp(dir, folder) == 0;
	free(dir);
	return is;
}

static int
place_check_folder(const struct conf *c, const char *url, const char *path,
    struct conf_error *e)
{
	char		*folder = place_folder(path);
	struct stat	 st;
	int		 r = 0, error = 0;

	if (folder == NULL)
		return conf_fail(e, "%.300s: out of memory", url);
	if (stat(folder, &st) == -1)
		error = errno;
	else if (!S_ISDIR(st.st_mode))
		error = ENOTDIR;
	else if (access(folder, W_OK | X_OK) == -1)
		error = errno;
	if (error != 0 && !(error == ENOENT && place_is_rundir(c, folder)))
		r = conf_fail(e, "%.300s: the socket cannot be made in "
		    "%.200s: %s", url, folder, strerror(error));
	free(folder);
	return r;
}

int
listen_place_check(const struct conf *c, const char *url, const char *path,
    struct conf_error *e)
{
	struct stat	 st;

	/* One that another daemon left, or that is ours, or is passed in. */
	if (lstat(path, &st) == 0) {
		if (!S_ISSOCK(st.st_mode))
			return conf_fail(e, "%.300s: something that is no "
			    "socket has that name", url);
		return st.st_uid == geteuid() ? 0 : conf_fail(e, "%.300s: the "
		    "socket there belongs to another user, uid %u", url,
		    (unsigned)st.st_uid);
	}
	return place_check_folder(c, url, path, e);
}

static void
place_warn(const char *url, FILE *out)
{
	struct stat	 st;
	char		*folder;

	if (strncmp(url, "unix:", 5) != 0 ||
	    (folder = place_folder(url + 5)) == NULL)
		return;
	if (stat(folder, &st) == 0 && (st.st_mode & S_IWOTH) != 0 &&
	    (st.st_mode & S_ISVTX) == 0)
		fprintf(out, "execsrvd: warning: %s: everybody may put another "
		    "socket in its place: chmod +t or o-w %s\n", url, folder);
	free(folder);
}

void
listen_place_warn(const struct conf *c, FILE *out)
{
	size_t	 i;

	for (i = 0; i < c->listen.n; i++)
		place_warn(c->listen.item[i], out);
	for (i = 0; i < c->metrics_listen.n; i++)
		place_warn(c->metrics_listen.item[i], out);
}
