/*
 * From a server to here.  The server is not trusted: nothing is written through
 * a symbolic link found in a folder that is copied.
 */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/client/execsrv.h"
#include "common/fd.h"
#include "master/execsrvctl/cp/cp.h"
#include "master/execsrvctl/cp/cp_priv.h"

#define NS		1000000000LL
#define PRIVATE		0600	/* of a file whose mode is not known */
#define NOT_UTF8	"its name is not UTF-8, and cannot be asked for: " \
			"copy it by run and tar(1)"

static struct timespec
cp_down_time_of(int64_t ns)
{
	struct timespec	 t = { .tv_sec = ns / NS, .tv_nsec = ns % NS };

	if (t.tv_nsec < 0) {
		t.tv_sec--;
		t.tv_nsec += NS;
	}
	return t;
}

/* With -p or --continue: set times as they are there.  0, or -1 with errno. */
static int
set_times(struct cp *c, int fd, const struct cp_there *t)
{
	const struct timespec	 times[2] = {
		cp_down_time_of(t->atime_ns), cp_down_time_of(t->mtime_ns)
	};

	if (!t->has_mode || !(c->o->preserve || c->o->go_on))
		return 0;
	return futimens(fd, times);
}

/* 0, or -1, having said why. */
static int
write_small(struct cp *c, const char *here, int fd, const char *from,
    size_t left)
{
	ssize_t	 n;

	for (; left > 0; left -= (size_t)n, from += n)
		while ((n = write(fd, from, left)) == -1)
			if (errno != EINTR) {
				cp_complain(c, here, "%s", strerror(errno));
				return -1;
			}
	return 0;
}

/* Read a small file in one message, unless it came already.  0, or -1: why. */
static int
read_small(struct cp *c, const struct cp_copy *f, struct execsrv_error *why)
{
	struct execsrv_fs_path	 in = { .path = f->there };
	struct execsrv_content	*r;
	int			 n;

	why->text[0] = '\0';
	if (f->was->content != NULL)
		return write_small(c, f->here, f->fd, f->was->content,
		    (size_t)f->was->size);
	if ((r = execsrv_fs_read_file_wait(c->x, &in, ASK_MS, why)) == NULL)
		return -1;
	n = write_small(c, f->here, f->fd, r->bytes.data, r->bytes.len);
	free(r);
	return n;
}

/* Copy its content, from an offset, to fd.  0, or -1, having said why. */
static int
fetch(struct cp *c, const char *there, const char *here, int fd,
    uint64_t offset, const struct cp_there *t)
{
	struct cp_copy		 f = { .here = here, .there = there, .fd = fd,
				    .offset = offset, .total = t->size,
				    .was = t };
	struct execsrv_error	 e;
	int			 r;

	if (t->size > SMALL || offset > 0)
		r = cp_transfer(c, &f, NULL, &e);
	else if ((r = read_small(c, &f, &e)) == 0)
		cp_shown(c, there, t->size, t->size);
	if (r == -1 && e.text[0] != '\0')
		cp_complain(c, there, "%s", e.text);
	return r;
}

/* Write into what is not a regular file here, without replacing it. */
static void
download_into(struct cp *c, const char *there, const char *here,
    const struct cp_there *t)
{
	int	 fd = open(here, O_WRONLY | O_CLOEXEC);

	if (fd == -1) {
		cp_complain(c, here, "%s", strerror(errno));
		return;
	}
	(void)fetch(c, there, here, fd, 0, t);
	fd_close(&fd);
}

/*
 * Open a temporary file beside it; with --continue a part of it, which stays.
 * Return the descriptor, or -1, having said why.
 */
static int
open_aside(struct cp *c, const char *there, const char *here,
    const struct cp_there *t, char name[PATH_MAX], uint64_t *offset_out)
{
	int	 fd;

	*offset_out = 0;
	if (c->o->go_on && t->size > SMALL && (fd = cp_part_here(c, there,
	    here, t->size, name, offset_out)) != -1)
		return fd;
	if ((fd = cp_unfinished_here(here, name)) == -1)
		cp_complain(c, here, "%s", strerror(errno));
	return fd;
}

/*
 * Write to a temporary name and rename, so that half a file never appears; keep
 * the mode of the file that is replaced.
 */
static void
download_new(struct cp *c, const char *there, const char *here,
    const struct cp_there *t, const mode_t *old)
{
	mode_t		 mode = (t->has_mode ? t->mode : PRIVATE) & ~c->mask;
	char		 name[PATH_MAX];
	uint64_t	 offset;
	int		 fd;
	bool		 good;

	if (c->o->preserve && t->has_mode)
		mode = t->mode;
	else if (old != NULL)
		mode = *old & 07777;
	if ((fd = open_aside(c, there, here, t, name, &offset)) == -1)
		return;
	good = fetch(c, there, here, fd, offset, t) == 0;
	if (good && (fchmod(fd, mode) == -1 || set_times(c, fd, t) == -1 ||
	    rename(name, here) == -1)) {
		cp_complain(c, here, "%s", strerror(errno));
		good = false;
	}
	if (!good && cp_is_unfinished_here())
		unlink(name);
	cp_finished_here();
	fd_close(&fd);
}

static void
download_file(struct cp *c, const char *there, const char *here,
    const struct cp_there *t)
{
	struct stat	 st;
	char		 target[PATH_MAX];
	bool		 is_there;

	is_there = cp_stat(c, here, &st) == 0;
	/* Inside a folder, the server may just have made that link. */
	if (is_there && S_ISLNK(st.st_mode))
		is_there = false;
	if (is_there && !S_ISREG(st.st_mode)) {
		download_into(c, there, here, t);
		return;
	}
	if (is_there && cp_is_same(c, &st, t)) {
		cp_shown(c, there, t->size, t->size);
		return;
	}
	/* A link that was named stays; its target is replaced. */
	if (is_there && realpath(here, target) != NULL)
		here = target;
	download_new(c, there, here, t, is_there ? &st.st_mode : NULL);
}

/* Make the same link; it replaces all but folders. */
static void
download_link(struct cp *c, const char *there, const char *here,
    const struct cp_there *t)
{
	char		 name[PATH_MAX];
	struct stat	 st;
	int		 fd;

	if (t->target[0] == '\0') {
		cp_complain(c, there, "a link whose target the server does not "
		    "report");
		return;
	}
	if (symlink(t->target, here) == 0)
		return;
	if (errno != EEXIST || (lstat(here, &st) == 0 &&
	    S_ISDIR(st.st_mode))) {
		cp_complain(c, here, "%s", strerror(errno));
		return;
	}
	if ((fd = cp_unfinished_here(here, name)) == -1) {
		cp_complain(c, here, "%s", strerror(errno));
		return;
	}
	fd_close(&fd);
	if (unlink(name) == -1 || symlink(t->target, name) == -1 ||
	    rename(name, here) == -1) {
		cp_complain(c, here, "%s", strerror(errno));
		unlink(name);
	}
	cp_finished_here();
}

/* --- folders --- */

/* Enter or make a folder, but do not follow a link that may be new. */
static int
make_here(struct cp *c, const char *here, const struct cp_there *t,
    bool *is_new_out)
{
	mode_t		 mode = t->has_mode ? t->mode : 0700;
	struct stat	 st;

	*is_new_out = mkdir(here, mode | 0700) == 0;
	if (*is_new_out)
		return 0;
	if (errno == EEXIST && c->depth > 0 && lstat(here, &st) == 0 &&
	    S_ISLNK(st.st_mode))
		errno = ENOTDIR;
	if (errno == EEXIST)
		return 0;
	cp_complain(c, here, "%s", strerror(errno));
	return -1;
}

/* List a folder, with dangling links if the server can. */
static struct execsrv_directory *
list(struct cp *c, const char *there, struct execsrv_error *e)
{
	struct execsrv_fs_path	 in = { .path = there };
	struct execsrv_fs_look	 look = { .path = there };

	return c->has_attributes ?
	    execsrv_fs_list_wait(c->x, &look, ASK_MS, e) :
	    execsrv_fs_directory_wait(c->x, &in, ASK_MS, e);
}

/* After its content: a mode that may forbid writing, and times. */
static void
finish_folder(struct cp *c, const char *here, const struct cp_there *t,
    bool is_new)
{
	int	 fd;

	if (!t->has_mode || !(c->o->preserve || (is_new &&
	    (t->mode & 0700) != 0700)))
		return;
	fd = open(here, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd == -1 || fchmod(fd, c->o->preserve ? t->mode :
	    t->mode & ~c->mask) == -1 || set_times(c, fd, t) == -1)
		cp_complain(c, here, "%s", strerror(errno));
	fd_close(&fd);
}

/*
 * Whether a name is perhaps not the one that the file has: bytes that are not
 * UTF-8 come as U+FFFD.
 */
static bool
is_replaced(const char *name)
{
	return strstr(name, "\xef\xbf\xbd") != NULL;
}

/* Whether another entry has the same name, of which one is replaced. */
static bool
cp_is_ambiguous(const struct execsrv_directory *d, size_t at)
{
	const char	*name = d->entries[at].name;
	size_t		 i;

	if (is_replaced(name))
		for (i = 0; i < d->nentries; i++)
			if (i != at && strcmp(d->entries[i].name, name) == 0)
				return true;
	return false;
}

static void	 download_this(struct cp *c, const char *there,
		    const char *here, const struct cp_there *t);

static void
download_entries(struct cp *c, const char *there, const char *here,
    const struct execsrv_directory *d)
{
	struct cp_ahead		*ahead = c->has_attributes ?
				    cp_ahead_new(c, there, here, d) : NULL;
	struct cp_there		 t;
	struct execsrv_error	 e;
	char			 from[PATH_MAX], to[PATH_MAX];
	const char		*name;
	size_t			 i;

	for (i = 0; i < d->nentries; i++) {
		name = d->entries[i].name;
		/* A name must not lead out of the folder. */
		if (strchr(name, '/') != NULL || strcmp(name, ".") == 0 ||
		    strcmp(name, "..") == 0 || name[0] == '\0')
			cp_complain(c, name, "not a name");
		else if (cp_join(c, from, there, name) == -1 ||
		    cp_join(c, to, here, name) == -1)
			continue;
		else if (cp_is_ambiguous(d, i))
			cp_complain(c, from, NOT_UTF8);
		else if ((ahead != NULL ? cp_ahead_look(ahead, i, from, &t,
		    &e) : cp_look(c, from, &t, &e)) == 0)
			download_this(c, from, to, &t);
		else if (is_replaced(name) && e.os_error == ENOENT)
			cp_complain(c, from, NOT_UTF8);
		else
			cp_complain(c, from, "%s", e.text);
	}
	cp_ahead_free(&ahead);
}

static void
download_folder(struct cp *c, const char *there, const char *here,
    const struct cp_there *t)
{
	struct execsrv_directory	*d;
	struct execsrv_error		 e;
	bool				 is_new;

	assert(c->depth < DEPTH_MAX);
	if (cp_is_made(c, there) || make_here(c, here, t, &is_new) == -1)
		return;
	cp_made(c, here);
	if ((d = list(c, there, &e)) == NULL) {
		cp_complain(c, there, "%s", e.text);
		return;
	}
	c->depth++;
	download_entries(c, there, here, d);
	c->depth--;
	free(d);
	finish_folder(c, here, t, is_new);
}

void
cp_download_out(struct cp *c, const char *there)
{
	struct cp_there		 t;
	struct execsrv_error	 e;

	if (cp_look(c, there, &t, &e) == -1)
		cp_complain(c, there, "%s", e.text);
	else if (t.is_folder)
		cp_complain(c, there, "is a directory, and \"-\" is one file");
	else if (!t.is_file)
		cp_complain(c, there, t.is_link ? "a dangling link" :
		    "neither a file nor a directory");
	else
		(void)fetch(c, there, "-", STDOUT_FILENO, 0, &t);
}

static void
download_this(struct cp *c, const char *there, const char *here,
    const struct cp_there *t)
{
	if (t->is_link && c->depth > 0)
		download_link(c, there, here, t);
	else if (t->is_file)
		download_file(c, there, here, t);
	else if (t->is_link && !t->is_folder)
		cp_complain(c, there, "a dangling link");
	else if (!t->is_folder)
		cp_complain(c, there, "neither a file nor a directory");
	else if (!c->o->recursive)
		cp_complain(c, there, "is a directory (use -r)");
	else if (c->depth >= DEPTH_MAX)
		cp_complain(c, there, "too deep");
	else
		download_folder(c, there, here, t);
}

void
cp_download(struct cp *c, const char *there, const char *here)
{
	struct cp_there		 t;
	struct execsrv_error	 e;

	if (cp_look(c, there, &t, &e) == -1)
		cp_complain(c, there, "%s", e.text);
	else
		download_this(c, there, here, &t);
}
