#include "common/secret.h"

#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/fd.h"

static int
secret_refuse(char *why, size_t size, const char *text)
{
	snprintf(why, size, "%s", text);
	return -1;
}

static int
secret_check_file(int fd, char *why, size_t size)
{
	struct stat	 st;

	if (fstat(fd, &st) == -1 || !S_ISREG(st.st_mode))
		return secret_refuse(why, size, "not a file");
	if (st.st_uid != 0 && st.st_uid != geteuid())
		return secret_refuse(why, size, "of another user");
	if ((st.st_mode & (S_IRWXG | S_IRWXO)) != 0)
		return secret_refuse(why, size, "open to others: chmod 600");
	return 0;
}

/* Read up to max + 1 bytes.  The number, or -1 with errno. */
static ssize_t
secret_read_all(int fd, char *room, size_t max)
{
	size_t	 len = 0;
	ssize_t	 n;

	while (len <= max) {
		n = read(fd, room + len, max + 1 - len);
		if (n == -1 && errno == EINTR)
			continue;
		if (n == -1)
			return -1;
		if (n == 0)
			break;
		len += (size_t)n;
	}
	return (ssize_t)len;
}

char *
secret_read_file(const char *path, size_t max, size_t *len_out, char *why,
    size_t size)
{
	char	*room = NULL;
	bool	 is_good = false;
	ssize_t	 n;
	int	 fd;

	/* O_NONBLOCK: opening a FIFO would block. */
	if ((fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)) == -1) {
		secret_refuse(why, size, strerror(errno));
		return NULL;
	}
	if (secret_check_file(fd, why, size) == -1)
		goto out;
	if ((room = sodium_malloc(max + 1)) == NULL ||
	    (n = secret_read_all(fd, room, max)) == -1) {
		secret_refuse(why, size, strerror(errno));
	} else if (n > (ssize_t)max) {
		snprintf(why, size, "longer than %zu bytes", max);
	} else {
		room[n] = '\0';
		*len_out = (size_t)n;
		is_good = true;
	}
	if (!is_good && room != NULL) {
		sodium_free(room);
		room = NULL;
	}
 out:
	fd_close(&fd);
	return room;
}

/* /proc/PID/environ shows this memory; a variable may be in it twice. */
static void
wipe_variable(const char *name)
{
	size_t	 n = strlen(name);
	char	**v;

	for (v = environ; *v != NULL; v++)
		if (strncmp(*v, name, n) == 0 && (*v)[n] == '=')
			sodium_memzero(*v + n + 1, strlen(*v + n + 1));
	unsetenv(name);
}

char *
secret_take_env(const char *name)
{
	const char	*value = getenv(name);
	char		*copy;
	size_t		 len;

	errno = 0;
	if (value == NULL)
		return NULL;
	len = strlen(value);
	if ((copy = sodium_malloc(len + 1)) != NULL)
		memcpy(copy, value, len + 1);
	wipe_variable(name);
	errno = copy == NULL ? ENOMEM : 0;
	return copy;
}
