#include "common/rundirs.h"

#include <sys/socket.h>
#include <sys/stat.h>

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/log.h"
#include "config.h"

/* World-writable folders; a read-only container may have the last one only. */
static const char *const	 shared[] = { "/tmp", "/dev/shm" };

#define NSHARED	(sizeof(shared) / sizeof(shared[0]))

const char *
rundirs_system(void)
{
	return EXECSRV_RUNSTATEDIR;
}

/* Whether the system's folder is writable, or can be made. */
static bool
has_system(void)
{
	char	*parent, *slash;
	bool	 has;

	if (access(rundirs_system(), W_OK) == 0)
		return true;
	if ((parent = strdup(rundirs_system())) == NULL)
		return true;
	if ((slash = strrchr(parent, '/')) != NULL)
		*slash = '\0';
	has = access(parent, W_OK) == 0;
	free(parent);
	return has;
}

int
rundirs_default(char **dir_out)
{
	const char	*xdg = getenv("XDG_RUNTIME_DIR");
	size_t		 i;
	int		 r;

	if (geteuid() == 0 && has_system()) {
		r = asprintf(dir_out, "%s", rundirs_system());
	} else if (geteuid() != 0 && xdg != NULL && xdg[0] == '/' &&
	    access(xdg, W_OK) == 0) {
		r = asprintf(dir_out, "%s/execsrv", xdg);
	} else {
		for (i = 0; i < NSHARED - 1; i++)
			if (access(shared[i], W_OK) == 0)
				break;
		r = asprintf(dir_out, "%s/execsrv-%lu", shared[i],
		    (unsigned long)geteuid());
	}
	return r == -1 ? -1 : 0;
}

int
rundirs_hub(const char *told, char *out, size_t size)
{
	const char	*env = getenv("EXECSRV_HUB_RUNTIME_DIR");
	const char	*xdg = getenv("XDG_RUNTIME_DIR");
	int		 n;

	if (told != NULL && told[0] != '\0')
		n = snprintf(out, size, "%s", told);
	else if (env != NULL && env[0] == '/')
		n = snprintf(out, size, "%s", env);
	else if (geteuid() == 0)
		n = snprintf(out, size, "%s", EXECSRV_RUNSTATEDIR "-hub");
	else if (xdg != NULL && xdg[0] == '/')
		n = snprintf(out, size, "%s/execsrv-hub", xdg);
	else
		n = snprintf(out, size, "/tmp/execsrv-hub-%lu",
		    (unsigned long)geteuid());
	return n > 0 && (size_t)n < size ? 0 : -1;
}

int
rundirs_address(const char *dir, const char *name, struct sockaddr_un *un_out)
{
	size_t	 n;

	memset(un_out, 0, sizeof(*un_out));
	un_out->sun_family = AF_UNIX;
	n = (size_t)snprintf(un_out->sun_path, sizeof(un_out->sun_path),
	    "%s/%s", dir, name);
	if (n < sizeof(un_out->sun_path))
		return 0;
	errno = ENAMETOOLONG;
	return -1;
}

int
rundirs_listen(const char *dir, const char *name, mode_t mask, int backlog)
{
	struct sockaddr_un	 un;

	if (rundirs_address(dir, name, &un) == -1) {
		log_warnx("%s/%s: path too long for a socket", dir, name);
		return -1;
	}
	return rundirs_listen_at(&un, SOCK_SEQPACKET, mask, backlog);
}

int
rundirs_listen_at(const struct sockaddr_un *un, int type, mode_t mask,
    int backlog)
{
	mode_t	 old;
	int	 fd, r;

	if ((unlink(un->sun_path) == -1 && errno != ENOENT) ||
	    (fd = socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) ==
	    -1) {
		log_warn("%s", un->sun_path);
		return -1;
	}
	old = umask(mask);
	r = bind(fd, (const struct sockaddr *)un, sizeof(*un));
	umask(old);
	if (r == -1 || listen(fd, backlog) == -1) {
		log_warn("%s", un->sun_path);
		fd_close(&fd);
	}
	return fd;
}
