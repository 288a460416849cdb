#include "master/accept/activation.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/log.h"

/* Return the decimal number in a variable, or -1: not set or not a number. */
static long
activation_number_of(const char *name)
{
	const char	*text = getenv(name);
	char		*end;
	long		 value;

	if (text == NULL || text[0] < '0' || text[0] > '9')
		return -1;
	errno = 0;
	value = strtol(text, &end, 10);
	return errno == 0 && *end == '\0' ? value : -1;
}

/* Split LISTEN_FDNAMES: one name per descriptor, separated by colons. */
static int
take_names(struct activation *p, const char *text)
{
	size_t	 i, len;

	for (i = 0; i < p->n; i++) {
		len = strcspn(text, ":");
		if ((p->name[i] = strndup(text, len)) == NULL) {
			log_warn("LISTEN_FDNAMES");
			return -1;
		}
		text += len;
		if ((*text == ':') != (i + 1 < p->n)) {
			log_warnx("LISTEN_FDNAMES: expected a name for each of "
			    "%zu sockets", p->n);
			return -1;
		}
		text += *text == ':';
	}
	return 0;
}

static int
activation_take(struct activation *p)
{
	const char	*names = getenv("LISTEN_FDNAMES");
	long		 n = activation_number_of("LISTEN_FDS");
	size_t		 i;

	/* Variables inherited from a parent that did not remove them. */
	if (activation_number_of("LISTEN_PID") != (long)getpid() || n == 0)
		return 0;
	if (n < 0 || n > ACTIVATION_MAX) {
		log_warnx("LISTEN_FDS: expected a number of sockets up to %d",
		    ACTIVATION_MAX);
		return -1;
	}
	for (i = 0; i < (size_t)n; i++) {
		p->fd[i] = ACTIVATION_FIRST + (int)i;
		if (fd_cloexec(p->fd[i], 1) == -1) {
			log_warn("LISTEN_FDS: descriptor %d", p->fd[i]);
			return -1;
		}
		p->n++;
	}
	return names == NULL ? 0 : take_names(p, names);
}

int
activation_take_env(struct activation *p)
{
	int	 r;

	memset(p, 0, sizeof(*p));
	if ((r = activation_take(p)) == -1)
		activation_fini(p);
	unsetenv("LISTEN_FDS");
	unsetenv("LISTEN_PID");
	unsetenv("LISTEN_FDNAMES");
	return r;
}

int
activation_add(struct activation *p, int fd, const char *name)
{
	if (p->n == ACTIVATION_MAX) {
		errno = E2BIG;
		return -1;
	}
	if ((p->name[p->n] = strdup(name)) == NULL)
		return -1;
	p->fd[p->n++] = fd;
	return 0;
}

void
activation_fini(struct activation *p)
{
	size_t	 i;

	assert(p->n <= ACTIVATION_MAX);
	for (i = 0; i < p->n; i++) {
		fd_close(&p->fd[i]);
		free(p->name[i]);
		p->name[i] = NULL;
	}
	p->n = 0;
}
