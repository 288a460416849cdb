#include "common/process/envlist.h"

#include <sys/mman.h>
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/fd.h"

static const char *const	 network[] = {
	"https_proxy", "HTTPS_PROXY", "http_proxy", "all_proxy", "ALL_PROXY",
	"no_proxy", "NO_PROXY", "SSL_CERT_FILE", "TZ", "ASAN_OPTIONS",
	"UBSAN_OPTIONS", "LSAN_OPTIONS"
};

static const char *const	 locale[] = {
	"LANG", "LANGUAGE", "LC_ALL", "LC_CTYPE", "LC_MESSAGES", "TZ"
};

/* For the dynamic loader, and for builds with coverage or sanitizers. */
static const char *const	 loading[] = {
	"LD_BIND_NOW", "LD_LIBRARY_PATH", "LD_PRELOAD", "ASAN_OPTIONS",
	"UBSAN_OPTIONS", "LSAN_OPTIONS", "GCOV_PREFIX", "GCOV_PREFIX_STRIP"
};

/* Of the protocol and of service managers. */
static const char *const	 secrets[] = {
	"CODEX_API_KEY", "CODEX_EXEC_SERVER_EXIT_ON_STDIN_CLOSE",
	"CODEX_EXEC_SERVER_NOISE_AUTH_TOKEN",
	"CODEX_EXEC_SERVER_REMOTE_BEARER_TOKEN", "LISTEN_FDNAMES",
	"LISTEN_FDS", "LISTEN_PID", "NOTIFY_SOCKET"
};

#define COUNT(list)	(sizeof(list) / sizeof((list)[0]))

static bool
is_among(const char *variable, const char *const *names, size_t n)
{
	size_t	 i, len = strcspn(variable, "=");

	for (i = 0; i < n; i++)
		if (strlen(names[i]) == len &&
		    memcmp(names[i], variable, len) == 0)
			return true;
	return false;
}

char **
envlist_filter(char *const *env, const char *const *names, size_t n,
    bool is_kept)
{
	char	**out;
	size_t	 i, len = 0;

	while (env != NULL && env[len] != NULL)
		len++;
	if ((out = calloc(len + 1, sizeof(*out))) == NULL)
		return NULL;
	for (i = 0, len = 0; env != NULL && env[i] != NULL; i++)
		if (is_among(env[i], names, n) == is_kept)
			out[len++] = env[i];
	return out;
}

char **
envlist_network(void)
{
	return envlist_filter(environ, network, COUNT(network), true);
}

char **
envlist_locale(void)
{
	return envlist_filter(environ, locale, COUNT(locale), true);
}

char **
envlist_worker(void)
{
	const char	*names[COUNT(locale) + COUNT(loading)];

	memcpy(names, locale, sizeof(locale));
	memcpy(names + COUNT(locale), loading, sizeof(loading));
	return envlist_filter(environ, names, COUNT(names), true);
}

bool
envlist_is_secret(const char *variable)
{
	return is_among(variable, secrets, COUNT(secrets));
}

/* --- as a file --- */

static int
envlist_put(int fd, const char *variable)
{
	size_t	 left = strlen(variable) + 1;
	ssize_t	 n;

	while (left > 0) {
		n = write(fd, variable, left);
		if (n == -1 && errno == EINTR)
			continue;
		if (n == -1)
			return -1;
		variable += n;
		left -= (size_t)n;
	}
	return 0;
}

int
envlist_to_file(void)
{
	char	**p;
	int	 fd;

	if ((fd = memfd_create("environment", MFD_CLOEXEC |
	    MFD_ALLOW_SEALING)) == -1)
		return -1;
	for (p = environ; *p != NULL; p++)
		if (!envlist_is_secret(*p) && envlist_put(fd, *p) == -1)
			goto fail;
	if (fcntl(fd, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW |
	    F_SEAL_WRITE) == -1)
		goto fail;
	return fd;
 fail:
	fd_close(&fd);
	return -1;
}

static int
envlist_get(int fd, char *to, size_t len)
{
	size_t	 got = 0;
	ssize_t	 n;

	while (got < len) {
		n = pread(fd, to + got, len - got, (off_t)got);
		if (n == -1 && errno == EINTR)
			continue;
		if (n <= 0) {
			errno = n == 0 ? EINVAL : errno;
			return -1;
		}
		got += (size_t)n;
	}
	return 0;
}

int
envlist_from_file(int fd)
{
	struct stat	 st;
	size_t		 len, at, size, i, n = 0;
	char		**list, *text;
	void		*room;

	if (fstat(fd, &st) == -1)
		return -1;
	len = (size_t)st.st_size;
	at = (len + 1 + sizeof(*list) - 1) / sizeof(*list) * sizeof(*list);
	/* Each variable has at least one byte, its NUL: len is enough. */
	size = at + (len + 1) * sizeof(*list);
	if ((room = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE |
	    MAP_ANONYMOUS, -1, 0)) == MAP_FAILED)
		return -1;
	/* The list behind the text: both are in one page, usually. */
	text = room;
	list = (char **)(void *)(text + at);
	if (madvise(room, size, MADV_WIPEONFORK) == -1 ||
	    envlist_get(fd, text, len) == -1) {
		munmap(room, size);
		return -1;
	}
	for (i = 0; i < len; i += strlen(text + i) + 1)
		list[n++] = text + i;
	environ = list;
	return 0;
}
