#include "master/logs/logfile.h"

#include <sys/stat.h>

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/ev.h"
#include "common/fd.h"
#include "common/log.h"

#define PIECE	(64 * 1024)	/* what a pipe holds */

struct logfile {
	char		*path;
	int		 fd;
	int		 ends[2];	/* of the pipe */
	int		 null;		/* for lines that cannot be written */
	bool		 in_use;	/* by the master's own lines */
	bool		 is_full;	/* lines are lost */
	struct io	 ev;
};

/* Do not follow a link, which could redirect the log to another file. */
static int
logfile_open_file(const char *path)
{
	struct stat	 st;
	int		 fd;

	if ((fd = open(path, O_WRONLY | O_CREAT | O_NOFOLLOW | O_NOCTTY |
	    O_NONBLOCK | O_CLOEXEC, 0640)) == -1)
		return -1;
	if (fstat(fd, &st) == -1 || !S_ISREG(st.st_mode)) {
		errno = EINVAL;
		fd_close(&fd);
	}
	return fd;
}

struct logfile *
logfile_new(const char *path)
{
	struct logfile	*l;

	if ((l = calloc(1, sizeof(*l))) == NULL)
		goto fail;
	l->fd = l->null = l->ends[0] = l->ends[1] = -1;
	if ((l->path = strdup(path)) == NULL ||
	    (l->fd = logfile_open_file(path)) == -1 ||
	    (l->null = open("/dev/null", O_WRONLY | O_CLOEXEC)) == -1 ||
	    pipe2(l->ends, O_CLOEXEC | O_NONBLOCK) == -1)
		goto fail;
	return l;
 fail:
	log_warn("LogTo %s", path);
	logfile_free(&l);
	return NULL;
}

/*
 * Splice what is in the pipe. splice(2) refuses O_APPEND: so seek.  A process
 * that can write to a file can truncate it, and workers run as users: so they
 * have a pipe as standard error, and the master reads no line of theirs.
 */
static void
drain(struct logfile *l)
{
	ssize_t	 n;

	assert(l->fd != -1 && l->ends[0] != -1 && l->null != -1);
	do {
		if (lseek(l->fd, 0, SEEK_END) == -1)
			log_debug("%s: %s", l->path, strerror(errno));
		n = splice(l->ends[0], NULL, l->fd, NULL, PIECE,
		    SPLICE_F_NONBLOCK);
		if (n > 0 && l->is_full) {
			l->is_full = false;
			log_warnx("LogTo %s: lines were lost", l->path);
		} else if (n == -1 && errno != EAGAIN && errno != EINTR) {
			/* Discard: writers must not block on the log. */
			l->is_full = true;
			n = splice(l->ends[0], NULL, l->null, NULL, PIECE,
			    SPLICE_F_NONBLOCK);
		}
	} while (n > 0);
}

static void
on_lines(void *arg)
{
	drain(arg);
}

void
logfile_free(struct logfile **lp)
{
	struct logfile	*l = *lp;

	*lp = NULL;
	if (l == NULL)
		return;
	if (l->ends[0] != -1)
		drain(l);
	log_set_reopen(NULL, NULL);
	if (l->in_use)
		log_set_fd(STDERR_FILENO);
	io_stop(&l->ev);
	fd_close(&l->ends[0]);
	fd_close(&l->ends[1]);
	fd_close(&l->null);
	fd_close(&l->fd);
	free(l->path);
	free(l);
}

int
logfile_start(struct logfile *l, struct event_base *base)
{
	assert(l->ends[0] != -1);
	io_init(&l->ev, base, l->ends[0], EV_READ | EV_PERSIST, on_lines, l);
	return io_start(&l->ev);
}

void
logfile_use(struct logfile *l)
{
	assert(!l->in_use);
	l->in_use = true;
	log_set_fd(l->fd);
}

int
logfile_pipe(const struct logfile *l)
{
	return l->ends[1];
}

int
logfile_reopen(struct logfile *l)
{
	int	 fd;

	drain(l);
	if ((fd = logfile_open_file(l->path)) == -1) {
		log_warn("LogTo %s", l->path);
		return -1;
	}
	if (l->in_use)
		log_set_fd(fd);
	fd_close(&l->fd);
	l->fd = fd;
	return 0;
}
