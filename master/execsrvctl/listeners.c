#include "master/execsrvctl/listeners.h"

#include <sys/stat.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/rundirs.h"

bool
listeners_fits(const char *url)
{
	return strncmp(url, "ws://", 5) == 0 || strncmp(url, "unix:", 5) == 0;
}

static bool
listeners_is_trusted(int fd)
{
	struct stat	 st;

	return fstat(fd, &st) == 0 &&
	    (st.st_uid == 0 || st.st_uid == geteuid()) &&
	    (st.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

/* O_NONBLOCK: opening a FIFO must not block, and it is refused. */
static int
listeners_open_file(const char *dir)
{
	struct stat	 st;
	int		 top, fd = -1;

	if ((top = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW |
	    O_CLOEXEC)) == -1)
		return -1;
	if (listeners_is_trusted(top))
		fd = openat(top, RUNDIRS_LISTEN, O_RDONLY | O_NOFOLLOW |
		    O_NONBLOCK | O_CLOEXEC);
	fd_close(&top);
	if (fd != -1 && (!listeners_is_trusted(fd) || fstat(fd, &st) == -1 ||
	    !S_ISREG(st.st_mode)))
		fd_close(&fd);
	return fd;
}

/* Input is sent to that address: so nobody else may choose it. */
char *
listeners_read(const char *dir)
{
	char	*line = NULL, *url = NULL;
	size_t	 size = 0;
	ssize_t	 n;
	FILE	*f;
	int	 fd;

	if ((fd = listeners_open_file(dir)) == -1)
		return NULL;
	if ((f = fdopen(fd, "r")) == NULL) {
		fd_close(&fd);
		return NULL;
	}
	while (url == NULL && (n = getline(&line, &size, f)) > 0) {
		line[n - (line[n - 1] == '\n')] = '\0';
		if (listeners_fits(line))
			url = strdup(line);
	}
	free(line);
	fclose(f);
	return url;
}
