/* A private server, as near to being inside the program as can be. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/client/client_priv.h"
#include "common/fd.h"

#define FIXED	12		/* words before and behind the settings */

static size_t
count(const char *const *list)
{
	size_t	 n = 0;

	while (list != NULL && list[n] != NULL)
		n++;
	return n;
}

/* The words it is started with: one piece of memory, or NULL. */
static const char **
make_words(const char *path, const char *const *settings)
{
	const char	**v;
	size_t		  i, n = 0;

	if ((v = calloc(2 * count(settings) + FIXED, sizeof(*v))) == NULL)
		return NULL;
	v[n++] = path;
	v[n++] = "-D";
	v[n++] = "-f";
	v[n++] = "none";		/* what the machine's server does */
	v[n++] = "-o";
	v[n++] = "RuntimeDirectory=none";
	v[n++] = "-o";
	v[n++] = "LogLevel=warning";
	for (i = 0; i < count(settings); i++) {
		v[n++] = "-o";
		v[n++] = settings[i];
	}
	v[n++] = "--listen";
	v[n++] = "stdio";
	return v;
}

/*
 * Its log is read when it does not start, and then no more: it is not waited
 * for when it is full.
 */
struct execsrv *
execsrv_connect_local(const struct execsrv_local *l,
    const struct execsrv_options *o, struct execsrv_error *e)
{
	static const struct execsrv_local	 none;
	struct execsrv				*x = NULL;
	const char				**words;
	char					 path[PATH_MAX], said[256];
	int					 log[2];

	if (l == NULL)
		l = &none;
	if (execsrv_find_server(l->program, path, e) == -1)
		return NULL;
	if (pipe2(log, O_CLOEXEC) == -1) {
		execsrv_error_set(e, 0, "%s", strerror(errno));
		return NULL;
	}
	if (fd_nonblock(log[0], 1) == -1 ||
	    (words = make_words(path, l->settings)) == NULL) {
		execsrv_error_set(e, 0, "%s", strerror(errno));
	} else {
		x = execsrv_spawn(words, log[1], o, e);
		free(words);
		if (x == NULL && execsrv_last_words(log[0], said,
		    sizeof(said)))
			execsrv_error_add(e, said);
	}
	if (x != NULL) {
		x->log = log[0];
		log[0] = -1;
	}
	fd_close(&log[0]);
	fd_close(&log[1]);
	return x;
}
