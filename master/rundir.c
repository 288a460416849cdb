#include "master/rundir.h"

#include <sys/file.h>
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/log.h"
#include "common/rundirs.h"

#define LOCK_FILE	"lock"

/*
 * Make the directory if needed (its parent must exist), and check that it can
 * be trusted.  0; or -1 with errno, which is 0 if the reason is in why_out.
 */
static int
rundir_make(const char *dir, const char **why_out)
{
	struct stat	 st;

	if (mkdir(dir, geteuid() == 0 ? 0755 : 0700) == -1 &&
	    errno != EEXIST)
		return -1;
	/* We trust its files: no symlink, no other owner. */
	if (lstat(dir, &st) == -1)
		return -1;
	errno = 0;
	if (!S_ISDIR(st.st_mode))
		*why_out = "cannot be the run directory: not a directory";
	else if (st.st_uid != geteuid())
		*why_out = "cannot be the run directory: it belongs to another "
		    "user";
	else if ((st.st_mode & (S_IWGRP | S_IWOTH)) != 0)
		*why_out = "cannot be the run directory: other users may write "
		    "there";
	else
		return 0;
	return -1;
}

/* Lock: a descriptor, or -1 as rundir_make(); EWOULDBLOCK: locked. */
static int
lock_in(const char *dir, const char **why_out)
{
	struct stat	 mine, there;
	char		*path;
	int		 fd = -1;

	if (rundir_make(dir, why_out) == -1 ||
	    asprintf(&path, "%s/%s", dir, LOCK_FILE) == -1)
		return -1;
	do {
		fd_close(&fd);
		fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW,
		    0600);
		if (fd != -1 && flock(fd, LOCK_EX | LOCK_NB) == -1)
			fd_close(&fd);
		/* A daemon that exits may have unlinked the file meanwhile. */
	} while (fd != -1 && (fstat(fd, &mine) == -1 ||
	    stat(path, &there) == -1 || mine.st_ino != there.st_ino));
	free(path);
	return fd;
}

/* Whether a lock that the master before us had is on that directory. */
static bool
is_locked(const char *dir, int lock)
{
	struct stat	 mine, there;
	const char	*why;
	char		*path;
	bool		 is;

	if (rundir_make(dir, &why) == -1 ||
	    asprintf(&path, "%s/%s", dir, LOCK_FILE) == -1)
		return false;
	is = fstat(lock, &mine) == 0 && lstat(path, &there) == 0 &&
	    mine.st_dev == there.st_dev && mine.st_ino == there.st_ino;
	free(path);
	return is;
}

int
rundir_open(const char *wanted, struct handoff *handed, char **dir_out,
    int *lock_out)
{
	const char	*former = handed->text[HANDOFF_LOCK];
	const char	*env = getenv("EXECSRV_RUNTIME_DIR"), *why = NULL;
	char		*dir, *own;
	int		 fd;

	if (strcmp(wanted, "none") == 0)
		return 0;
	if (wanted[0] == '\0' && env != NULL && env[0] != '\0')
		wanted = env;
	fd = handoff_take(handed, HANDOFF_LOCK);
	if (fd != -1 && (wanted[0] == '\0' || strcmp(wanted, former) == 0) &&
	    is_locked(former, fd) && (*dir_out = strdup(former)) != NULL) {
		*lock_out = fd;
		return 0;
	}
	fd_close(&fd);
	if (wanted[0] != '\0')
		dir = strdup(wanted);
	else if (rundirs_default(&dir) == -1)
		dir = NULL;
	if (dir == NULL) {
		log_warn("cannot name the run directory");
		return -1;
	}
	if ((fd = lock_in(dir, &why)) == -1 && errno == EWOULDBLOCK &&
	    wanted[0] == '\0' &&
	    asprintf(&own, "%s-%ld", dir, (long)getpid()) != -1) {
		free(dir);
		dir = own;
		fd = lock_in(dir, &why);
	}
	if (fd == -1) {
		if (errno == EWOULDBLOCK)
			log_warnx("%s: another execsrvd uses this directory",
			    dir);
		else if (errno == 0)
			log_warnx("%s: %s", dir, why);
		else
			log_warn("%s", dir);
		free(dir);
		return -1;
	}
	*dir_out = dir;
	*lock_out = fd;
	return 0;
}

void
rundir_close(char **dir, int *lock)
{
	char	*path;

	if (*dir != NULL && *lock != -1) {
		if (asprintf(&path, "%s/%s", *dir, LOCK_FILE) != -1) {
			unlink(path);
			free(path);
		}
		rmdir(*dir);		/* fails if something is left */
	}
	fd_close(lock);
	free(*dir);
	*dir = NULL;
}
