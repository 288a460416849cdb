/*
 * The content of a file: transfer, across lost connections, and signals
 * meanwhile.
 */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/client/execsrv.h"
#include "master/execsrvctl/cp/cp.h"
#include "master/execsrvctl/cp/cp_priv.h"

/* A transfer.  Offsets count from where it begins, with f->offset. */
struct job {
	struct cp		*cp;
	const struct cp_copy	*f;
	off_t			 base;		/* of fd; -1: a pipe */
	uint64_t		 bytes;		/* of fd: read or written */
	uint64_t		 there;		/* all before it is copied */
	char			*kept;		/* the last WINDOW bytes */
	uint64_t		 kept_to;	/* that were read of a pipe */
	struct stat		 st;		/* of fd, at the beginning */
	int			 error;		/* errno of this side */
	bool			 is_done, is_whole, was_lost;
	struct execsrv_error	 why;
};

/* --- signals --- */

/* Unfinished files here and there, for the handler. */
static char			 unfinished[PATH_MAX];
static volatile sig_atomic_t	 is_unfinished_there, stopped_by;

static void
cp_file_on_signal(int sig)
{
	/* A name there is removed by a request before we end; once. */
	if (is_unfinished_there && stopped_by == 0) {
		stopped_by = sig;
		return;
	}
	if (unfinished[0] != '\0')
		unlink(unfinished);
	signal(sig, SIG_DFL);
	raise(sig);
}

void
cp_catch(void)
{
	static const int	 signals[] = { SIGHUP, SIGINT, SIGTERM };
	/* Without SA_RESTART: reading a pipe may block for ever. */
	const struct sigaction	 sa = { .sa_handler = cp_file_on_signal };
	struct sigaction	 old;
	size_t			 i;

	for (i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		if (sigaction(signals[i], NULL, &old) == 0 &&
		    old.sa_handler != SIG_IGN)
			sigaction(signals[i], &sa, NULL);
}

/* Whether a signal came; then undo what is unfinished. */
static bool
cp_is_stopped(void)
{
	return stopped_by != 0;
}

void
cp_heed(void)
{
	if (stopped_by == 0)
		return;
	signal(stopped_by, SIG_DFL);
	raise(stopped_by);
}

int
cp_unfinished_here(const char *path, char name[PATH_MAX])
{
	sigset_t	 all, old;
	int		 fd, error;

	assert(unfinished[0] == '\0');
	if (snprintf(name, PATH_MAX, "%s.XXXXXX", path) >= PATH_MAX) {
		errno = ENAMETOOLONG;
		return -1;
	}
	/* No signal between the file and its name in the handler's hands. */
	sigfillset(&all);
	if (sigprocmask(SIG_BLOCK, &all, &old) == -1)
		return -1;
	if ((fd = mkostemp(name, O_CLOEXEC)) != -1)
		snprintf(unfinished, sizeof(unfinished), "%s", name);
	error = errno;
	sigprocmask(SIG_SETMASK, &old, NULL);
	errno = error;
	return fd;
}

void
cp_finished_here(void)
{
	unfinished[0] = '\0';
}

bool
cp_is_unfinished_here(void)
{
	return unfinished[0] != '\0';
}

void
cp_unfinished_there(bool is_one)
{
	assert(!is_one || !is_unfinished_there);
	is_unfinished_there = is_one;
}

/* --- one file --- */

static void
cp_file_on_data(void *arg, const void *data, size_t len)
{
	struct job	*j = arg;
	const char	*from = data;
	ssize_t		 n;

	while (len > 0 && j->error == 0) {
		if ((n = write(j->f->fd, from, len)) == -1) {
			if (errno != EINTR)
				j->error = errno;
			continue;
		}
		from += n;
		len -= (size_t)n;
		j->bytes += (uint64_t)n;
	}
}

/* Copy to or from the ring of what was read last of a pipe. */
static size_t
ring_piece(const struct job *j, size_t len)
{
	size_t	 left = WINDOW - (size_t)(j->bytes % WINDOW);

	return len < left ? len : left;
}

static ssize_t
give_again(struct job *j, void *room, size_t size)
{
	uint64_t	 left = j->kept_to - j->bytes;
	size_t		 n = ring_piece(j, left < size ? (size_t)left : size);

	assert(j->kept != NULL && left <= WINDOW);
	memcpy(room, j->kept + j->bytes % WINDOW, n);
	j->bytes += n;
	return (ssize_t)n;
}

static void
keep(struct job *j, const char *data, size_t len)
{
	size_t	 n;

	for (; len > 0; data += n, len -= n) {
		n = ring_piece(j, len);
		if (j->kept != NULL)
			memcpy(j->kept + j->bytes % WINDOW, data, n);
		j->bytes += n;
	}
	j->kept_to = j->bytes;
}

static ssize_t
cp_file_on_room(void *arg, void *room, size_t size)
{
	struct job	*j = arg;
	ssize_t		 n;

	if (j->bytes < j->kept_to)
		return give_again(j, room, size);
	do
		n = read(j->f->fd, room, size);
	while (n == -1 && errno == EINTR && !cp_is_stopped());
	/* The writer of a pipe may have been stopped by the same signal. */
	if (n != -1 && cp_is_stopped()) {
		errno = EINTR;
		n = -1;
	}
	if (n == -1)
		j->error = errno;
	else
		keep(j, room, (size_t)n);
	return n;
}

static void
cp_file_on_done(void *arg, uint64_t bytes, const struct execsrv_error *e)
{
	struct job	*j = arg;

	if (j->cp->o->is_upload)
		j->there += bytes;
	j->is_done = true;
	j->is_whole = e == NULL;
	if (e != NULL) {
		j->why = *e;
		j->was_lost = e->code == 0;
	}
}

static const struct execsrv_transfer_hooks	 hooks = {
	.on_data = cp_file_on_data, .on_room = cp_file_on_room,
	.on_done = cp_file_on_done
};

/* Try once, from the beginning or from where the last try ended. */
static void
try(struct job *j)
{
	struct cp		*c = j->cp;
	const char		*name = c->o->is_upload ? j->f->here :
				    j->f->there;
	struct execsrv_file	 f = { .path = j->f->there,
				    .mode = j->f->mode };
	struct execsrv_transfer	*t;

	j->is_done = j->is_whole = j->was_lost = false;
	f.offset = j->f->offset + (c->o->is_upload ? j->there : j->bytes);
	t = c->o->is_upload ? execsrv_file_write(c->x, &f, &hooks, j) :
	    execsrv_file_read(c->x, &f, &hooks, j);
	if (t == NULL) {
		snprintf(j->why.text, sizeof(j->why.text), "%s",
		    strerror(errno));
		return;
	}
	while (!j->is_done && j->error == 0 && !cp_is_stopped() &&
	    execsrv_wait(c->x, SHOW_MS) == 0)
		cp_show(c, name, j->f->offset + j->bytes, j->f->total);
	if (!j->is_done)
		j->why = *execsrv_why(c->x);
	execsrv_transfer_free(&t);
}

/* --- after a lost connection --- */

/* Whether the source is what it was, as far as that can be seen. */
static bool
is_unchanged(const struct job *j)
{
	struct cp_there		 t;
	struct execsrv_error	 e;
	struct stat		 st;

	if (j->cp->o->is_upload)
		return fstat(j->f->fd, &st) == 0 &&
		    st.st_size == j->st.st_size &&
		    st.st_ctim.tv_sec == j->st.st_ctim.tv_sec &&
		    st.st_ctim.tv_nsec == j->st.st_ctim.tv_nsec;
	return cp_look(j->cp, j->f->there, &t, &e) == 0 && t.has_mode &&
	    t.size == j->f->was->size && t.mtime_ns == j->f->was->mtime_ns;
}

/* Of a pipe, what was read and not written is still known. */
static bool
go_on_upload(struct job *j)
{
	if (!j->cp->can_update && j->f->offset + j->there > 0) {
		if (j->base == -1 || j->f->offset > 0)
			return false;
		j->there = 0;
	}
	if (j->base == -1) {
		if (j->kept == NULL && j->there < j->kept_to)
			return false;
	} else {
		if (!is_unchanged(j)) {
			if (j->f->offset > 0)
				return false;
			j->there = 0;
		}
		if (lseek(j->f->fd, j->base + (off_t)j->there, SEEK_SET) == -1)
			return false;
		j->kept_to = j->there;
	}
	j->bytes = j->there;
	return true;
}

/* What is here must not go on with something else. */
static bool
go_on_download(struct job *j)
{
	if (j->bytes + j->f->offset == 0 || is_unchanged(j))
		return true;
	if (j->base != -1 && j->f->offset == 0 &&
	    ftruncate(j->f->fd, j->base) == 0 &&
	    lseek(j->f->fd, j->base, SEEK_SET) != -1) {
		j->bytes = 0;
		return true;
	}
	snprintf(j->why.text, sizeof(j->why.text), "it has changed since the "
	    "connection was lost");
	return false;
}

static bool
may_go_on(struct job *j)
{
	return j->was_lost && j->error == 0 && !cp_is_stopped() &&
	    execsrv_status(j->cp->x) != EXECSRV_FAILED &&
	    (j->cp->o->is_upload ? go_on_upload(j) : go_on_download(j));
}

static void
cp_file_begin(struct job *j)
{
	j->base = lseek(j->f->fd, 0, SEEK_CUR);
	if (fstat(j->f->fd, &j->st) == -1)
		memset(&j->st, 0, sizeof(j->st));
	/* Without it a lost connection is the end. */
	if (j->base == -1 && j->cp->o->is_upload && j->cp->can_update)
		j->kept = malloc(WINDOW);
}

int
cp_transfer(struct cp *c, const struct cp_copy *f, uint64_t *bytes_out,
    struct execsrv_error *why)
{
	struct job	 j = { .cp = c, .f = f };
	const uint64_t	*done = c->o->is_upload ? &j.there : &j.bytes;
	uint64_t	 before;
	unsigned	 tries = 0;

	cp_file_begin(&j);
	do {
		before = *done;
		try(&j);
		tries = *done > before ? 1 : tries + 1;
	} while (tries < TRIES && may_go_on(&j));
	free(j.kept);
	if (bytes_out != NULL)
		*bytes_out = f->offset + j.bytes;
	if (j.is_whole && j.error == 0) {
		cp_shown(c, c->o->is_upload ? f->here : f->there,
		    f->offset + j.bytes, f->total);
		return 0;
	}
	*why = j.why;
	if (j.error == EPIPE) {
		c->is_unread = true;
		why->text[0] = '\0';
	} else if (j.error != 0) {
		cp_complain(c, f->here, "%s", strerror(j.error));
		why->text[0] = '\0';
	}
	return -1;
}
