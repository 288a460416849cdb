/*
 * fs/copy.
 *
 * Files get content and permission bits, without set-ID and sticky bits, which
 * writing would clear.  An existing file is replaced in one step, as by
 * fs/writeFile, so that a full disk leaves the old content; or it is written in
 * place where it has to keep its links, owner or attributes.  New folders get
 * the source's bits less the umask, and always rwx for the owner, so that a
 * second copy can be merged; the reference ignores the source's bits and
 * thereby opens private folders.
 *
 * The destination may be a symlink.  Inside of the trees none is followed: a
 * symlink in place of a file is ELOOP, so that nothing outside is written
 * whoever places symlinks meanwhile.  Files that vanish, devices and FIFOs are
 * skipped.
 */
#include "worker/fs/fsop_priv.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/limit.h"
#include "worker/fs/dirstack.h"
#include "worker/fs/lookup.h"

#define MODE	0777			/* bits copied */
#define QUICK	(LIMIT_FILE_QUICK / 2)	/* bytes: each is read and written */
#define NAMES	(512 * 1024 * 1024)	/* bytes of names in a folder */
#define TRIES	3	/* if the destination is made and removed meanwhile */

struct copying {
	const struct fsop	*op;
	const struct fsop_how	*how;
	struct fsop_result	*r;
	struct stat		 root;		/* of the destination */
	struct dirstack		 from, to;	/* of the same depth */
};

/* --- files --- */

/* Close a written file: servers report a full disk now. */
static int
close_written(int fd, int rv)
{
	int	 saved = errno;

	if (close(fd) == -1 && rv == 0 && errno != EINTR)
		return -1;
	errno = saved;
	return rv;
}

/* Remove a file we made, unless its name is another's by now. */
static void
unmake(int dir, const char *name, int fd)
{
	struct stat	 mine, now;
	int		 saved = errno;

	if (fstat(fd, &mine) == 0 &&
	    fstatat(dir, name, &now, AT_SYMLINK_NOFOLLOW) == 0 &&
	    is_same_file(&mine, &now))
		unlinkat(dir, name, 0);
	errno = saved;
}

/* Copy to a new file.  errno EEXIST: the name exists. */
static int
copy_to_new(const struct copying *c, int in, const struct stat *st, int dir,
    const char *name)
{
	mode_t	 mode = st->st_mode & MODE;
	int	 out, rv;

	if ((out = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC |
	    O_NOCTTY, mode)) == -1)
		return -1;
	rv = content_copy(in, out, st, c->how);
	/* Undo the umask; some file systems have no such bits. */
	if (rv == 0 && fchmod(out, mode) == -1 && errno != EPERM &&
	    errno != EOPNOTSUPP)
		rv = -1;
	if (rv == -1)
		unmake(dir, name, out);
	return close_written(out, rv);
}

/*
 * Copy to an open file of any type.  Its mode never admits more than before or
 * after; if the mode cannot be changed, nothing is written.
 */
static int
copy_to_open(const struct copying *c, int in, const struct stat *st, int out)
{
	struct stat	 now;
	mode_t		 mode = st->st_mode & MODE, old;

	if (fstat(out, &now) == -1)
		return -1;
	if (!S_ISREG(now.st_mode))
		return fsop_refuse(c->r, FSWHY_NOT_REGULAR);
	if (is_same_file(st, &now))
		return fsop_refuse(c->r, FSWHY_ONTO_ITSELF);
	old = now.st_mode & ~(mode_t)S_IFMT;
	if ((old != mode && fchmod(out, old & mode) == -1) ||
	    (now.st_size > 0 && ftruncate(out, 0) == -1) ||
	    content_copy(in, out, st, c->how) == -1)
		return -1;
	return old != mode && (old & mode) != mode ? fchmod(out, mode) : 0;
}

struct filling {
	const struct copying	*c;
	int			 in;
	const struct stat	*st;
};

static int
fill_with_copy(int fd, const void *arg)
{
	const struct filling	*f = arg;

	return content_copy(f->in, fd, f->st, f->c->how);
}

/* Copy to a new file that replaces the old one.  1: write in place instead. */
static int
copy_aside(const struct copying *c, int in, const struct stat *st, int *out,
    const struct stat *old)
{
	const struct filling	 f = { c, in, st };
	struct stat		 kept = *old;

	kept.st_mode = (old->st_mode & ~(mode_t)MODE) | (st->st_mode & MODE);
	return fsop_replace(out, &kept, fill_with_copy, &f, c->how, c->r);
}

/* Copy over the file held by an O_PATH descriptor. */
static int
copy_over(const struct copying *c, int in, const struct stat *st, int held,
    const struct stat *old)
{
	int	 flags = O_WRONLY | (c->how->nonblock ? O_NONBLOCK : 0);
	int	 out, rv;

	assert(in != -1 && held != -1);
	if (S_ISDIR(old->st_mode) || S_ISLNK(old->st_mode)) {
		errno = S_ISDIR(old->st_mode) ? EISDIR : ELOOP;
		return -1;
	}
	if (!S_ISREG(old->st_mode))
		return fsop_refuse(c->r, FSWHY_NOT_REGULAR);
	if (is_same_file(st, old))
		return fsop_refuse(c->r, FSWHY_ONTO_ITSELF);
	if (fsop_frees_much(old, c->how)) {
		errno = EAGAIN;
		return -1;
	}
	if ((out = fsop_reopen(held, flags)) == -1)
		return -1;
	if ((rv = copy_aside(c, in, st, &out, old)) != 1) {
		fd_close(&out);
		return rv;
	}
	if (out == -1 && (out = fsop_reopen(held, flags)) == -1)
		return -1;
	return close_written(out, copy_to_open(c, in, st, out));
}

/* Copy through a dangling symlink: make its target.  Blocking only. */
static int
copy_through_link(const struct copying *c, int in, const struct stat *st)
{
	int	 out, rv, saved;

	if (c->how->nonblock) {
		errno = EAGAIN;
		return -1;
	}
	if ((out = open(c->op->to, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOCTTY |
	    O_NONBLOCK, st->st_mode & MODE)) == -1)
		return -1;
	rv = copy_to_open(c, in, st, out);
	saved = errno;
	/* Its name is unknown, so empty it instead of removing it. */
	if (rv == -1 && c->r->why == FSWHY_NONE && ftruncate(out, 0) == -1)
		saved = errno;
	errno = saved;
	return close_written(out, rv);
}

/* Copy a file to the path of the operation. */
static int
copy_to_path(const struct copying *c, int in, const struct stat *st)
{
	const char	*name;
	struct stat	 old;
	int		 i, fd, rv;

	/* The destination may be made or removed meanwhile. */
	for (i = 0; i < TRIES; i++) {
		fd = fsop_look(c->op->to, c->op->nofollow, c->how, &old);
		if (fd != -1) {
			/* Must block if it frees many blocks. */
			rv = fstat(fd, &old) == -1 ? -1 :
			    copy_over(c, in, st, fd, &old);
			fd_close(&fd);
			return rv;
		}
		if (errno != ENOENT || (fd = fsop_look_parent(c->op->to,
		    c->op->nofollow, c->how, &name)) == -1)
			return -1;
		rv = copy_to_new(c, in, st, fd, name);
		fd_close(&fd);
		if (rv == 0 || errno != EEXIST)
			return rv;
	}
	return copy_through_link(c, in, st);
}

/* Copy a file to a name in a tree. */
static int
copy_to_name(const struct copying *c, int in, const struct stat *st, int dir,
    const char *name)
{
	struct stat	 old;
	int		 i, fd, rv;

	for (i = 0; i < TRIES; i++) {
		rv = copy_to_new(c, in, st, dir, name);
		if (rv == 0 || errno != EEXIST)
			return rv;
		if ((fd = openat(dir, name, O_PATH | O_NOFOLLOW |
		    O_CLOEXEC)) != -1) {
			rv = fstat(fd, &old) == -1 ? -1 :
			    copy_over(c, in, st, fd, &old);
			fd_close(&fd);
			return rv;
		}
		if (errno != ENOENT)
			return -1;
	}
	return -1;
}

/* Whether a file of size 0 is empty, if that is known without blocking. */
static int
check_empty(int fd)
{
	char	 byte;

	if (pread(fd, &byte, 1, 0) == 0)
		return 0;
	errno = EAGAIN;
	return -1;
}

static int
open_source(const struct copying *c, int held, const struct stat *st)
{
	int	 fd;

	if (!c->how->nonblock)
		return fsop_reopen(held, O_RDONLY);
	if (st->st_size > QUICK) {
		errno = EAGAIN;
		return -1;
	}
	fd = fsop_reopen(held, O_RDONLY | O_NONBLOCK);
	if (fd != -1 && st->st_size == 0 && check_empty(fd) == -1)
		fd_close(&fd);
	return fd;
}

/* Copy a regular file to a name in dir, or (dir -1) to the path. */
static int
copy_file(const struct copying *c, int held, const struct stat *st, int dir,
    const char *name)
{
	int	 in, rv;

	if ((in = open_source(c, held, st)) == -1)
		return -1;
	rv = dir == -1 ? copy_to_path(c, in, st) :
	    copy_to_name(c, in, st, dir, name);
	fd_close(&in);
	return rv;
}

/* --- links --- */

static int
copy_link(int held, int dir, const char *name)
{
	char	 target[PATH_MAX];
	ssize_t	 len;

	if ((len = readlinkat(held, "", target, sizeof(target))) == -1)
		return -1;
	if ((size_t)len >= sizeof(target)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	target[len] = '\0';
	return symlinkat(target, dir, name);
}

static int
copy_link_to_path(const struct copying *c, int held)
{
	const char	*name;
	int		 dir, rv;

	if ((dir = fsop_look_parent(c->op->to, c->op->nofollow, c->how,
	    &name)) == -1) {
		if (errno == EBUSY)
			errno = EEXIST;
		return -1;
	}
	rv = copy_link(held, dir, name);
	fd_close(&dir);
	return rv;
}

/* --- folders --- */

/* Merge a folder into another.  Takes over both descriptors. */
static int
begin_folder(struct copying *c, int from, int to)
{
	struct stat	 st;

	assert(c->from.n == c->to.n);
	if (dirstack_push(&c->from, from) == -1) {
		fd_close(&to);
		return -1;
	}
	if (dirstack_push(&c->to, to) == -1 || fstat(from, &st) == -1)
		return -1;
	/* The destination was moved into the source: do not recurse. */
	if (is_same_file(&st, &c->root))
		return fsop_refuse(c->r, FSWHY_INTO_ITSELF);
	if (names_read(&dirstack_last(&c->from)->names, from, NAMES,
	    c->how) == -1)
		return -1;
	if (dirstack_last(&c->from)->names.has_more) {
		errno = EFBIG;
		return -1;
	}
	return 0;
}

/* Copy a folder into the lowest one. */
static int
copy_folder(struct copying *c, int held, const struct stat *st,
    const char *name)
{
	int	 dir = dirstack_last(&c->to)->fd, from, to;

	if ((from = openat(held, ".", O_RDONLY | O_DIRECTORY |
	    O_CLOEXEC)) == -1)
		return -1;
	if (mkdirat(dir, name, (st->st_mode & MODE) | S_IRWXU) == -1 &&
	    errno != EEXIST)
		goto fail;
	if ((to = tree_open(dir, name, O_PATH, 0)) == -1) {
		if (errno == ENOTDIR || errno == ELOOP)
			errno = EEXIST;
		goto fail;
	}
	return begin_folder(c, from, to);
 fail:
	fd_close(&from);
	return -1;
}

static int
copy_held(struct copying *c, int held, const struct stat *st,
    const char *name)
{
	int	 dir = dirstack_last(&c->to)->fd, rv;

	if (S_ISDIR(st->st_mode))
		return copy_folder(c, held, st, name);
	if (S_ISLNK(st->st_mode))
		return copy_link(held, dir, name);
	if (!S_ISREG(st->st_mode))
		return 0;
	rv = copy_file(c, held, st, dir, name);
	if (rv == -1 && c->r->why == FSWHY_ONTO_ITSELF) {
		/* Hard links of the same file: nothing to copy. */
		c->r->why = FSWHY_NONE;
		rv = 0;
	}
	return rv;
}

static int
copy_entry(struct copying *c, const char *name)
{
	struct stat	 st;
	int		 held, rv;

	if (fsop_cancelled(c->how) == -1)
		return -1;
	if ((held = tree_guard(openat(dirstack_last(&c->from)->fd, name,
	    O_PATH | O_NOFOLLOW | O_CLOEXEC))) == -1)
		return errno == ENOENT ? 0 : -1;
	rv = fstat(held, &st) == -1 ? -1 : copy_held(c, held, &st, name);
	fd_close(&held);
	return rv;
}

static int
copy_all(struct copying *c)
{
	const struct dirent64	*de;

	while (c->from.n > 0) {
		assert(c->from.n == c->to.n);
		de = names_next(&dirstack_last(&c->from)->names);
		if (de != NULL) {
			if (copy_entry(c, de->d_name) == -1)
				return -1;
		} else if (dirstack_pop(&c->from) == -1 ||
		    dirstack_pop(&c->to) == -1)
			return -1;
	}
	return 0;
}

/* Refuse a destination inside of the source; takes over fd. */
static int
check_outside(const struct copying *c, int fd, const struct stat *folder)
{
	struct stat	 st, last;
	int		 up, rv = -1;

	assert(fd != -1);
	memset(&last, 0, sizeof(last));
	while (fstat(fd, &st) == 0) {
		if (is_same_file(&st, folder)) {
			rv = fsop_refuse(c->r, FSWHY_INTO_ITSELF);
			break;
		}
		if (is_same_file(&st, &last)) {
				rv = 0;		/* ".." of the root is itself */
			break;
		}
		last = st;
		up = openat(fd, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
		fd_close(&fd);
		if ((fd = up) == -1)
			break;
	}
	fd_close(&fd);
	return rv;
}

/* The same for a path that may not exist yet. */
static int
check_path_outside(const struct copying *c, const struct stat *folder)
{
	char		 part[PATH_MAX], *slash;
	struct stat	 st;
	int		 fd;

	memcpy(part, c->op->to, sizeof(part));
	for (;;) {
		fd = fsop_look(part[0] != '\0' ? part : "/", c->op->nofollow,
		    c->how, &st);
		if (fd != -1 && S_ISDIR(st.st_mode))
			return check_outside(c, fd, folder);
		if (fd == -1 && errno != ENOENT && errno != ENOTDIR)
			return -1;
		fd_close(&fd);
		if ((slash = strrchr(part, '/')) == NULL)
			return -1;
		*slash = '\0';
	}
}

/* Make missing parents of the destination, as fs/createDirectory. */
static int
fscopy_make_parents(const struct copying *c)
{
	struct fsop	 op;
	char		*slash;

	memset(&op, 0, sizeof(op));
	op.kind = FSOP_MKDIR;
	op.nofollow = c->op->nofollow;
	op.recursive = true;
	op.fd = -1;
	memcpy(op.path, c->op->to, sizeof(op.path));
	slash = strrchr(op.path, '/');
	if (slash == NULL || slash == op.path)
		return 0;
	*slash = '\0';
	if (fsop_mkdir(&op, c->how, c->r) == 0)
		return 0;
	if (errno == EEXIST)
		errno = ENOTDIR;
	return -1;
}

/* Open the destination (O_PATH), made if needed. */
static int
make_destination(struct copying *c, const struct stat *folder)
{
	const char	*name;
	int		 dir, fd, own;

	if (check_path_outside(c, folder) == -1 || fscopy_make_parents(c) == -1)
		return -1;
	dir = fsop_look_parent(c->op->to, c->op->nofollow, c->how, &name);
	if (dir == -1 ? errno != EBUSY : mkdirat(dir, name,
	    (folder->st_mode & MODE) | S_IRWXU) == -1 && errno != EEXIST) {
		fd_close(&dir);
		return -1;
	}
	fd_close(&dir);
	if ((fd = fsop_look(c->op->to, c->op->nofollow, c->how,
	    &c->root)) == -1) {
		if (errno == ENOENT)
			errno = EEXIST;		/* a dangling symlink */
		return -1;
	}
	if (!S_ISDIR(c->root.st_mode)) {
		errno = EEXIST;
		fd_close(&fd);
		return -1;
	}
	/* Check again what was opened: it may have been replaced. */
	if ((own = fcntl(fd, F_DUPFD_CLOEXEC, 3)) == -1 ||
	    check_outside(c, own, folder) == -1)
		fd_close(&fd);
	return fd;
}

static int
copy_tree(struct copying *c, int held, const struct stat *st)
{
	int	 from, to, rv = -1;

	dirstack_init(&c->from, O_RDONLY);
	dirstack_init(&c->to, O_PATH);
	if ((from = openat(held, ".", O_RDONLY | O_DIRECTORY |
	    O_CLOEXEC)) == -1)
		return -1;
	if ((to = make_destination(c, st)) == -1)
		fd_close(&from);
	else if (begin_folder(c, from, to) == 0)
		rv = copy_all(c);
	dirstack_fini(&c->from);
	dirstack_fini(&c->to);
	return rv;
}

static int
copy_source(struct copying *c, int held, const struct stat *st)
{
	if (S_ISREG(st->st_mode))
		return copy_file(c, held, st, -1, NULL);
	if (S_ISLNK(st->st_mode))
		return copy_link_to_path(c, held);
	if (!S_ISDIR(st->st_mode))
		return fsop_refuse(c->r, FSWHY_NOT_COPIED);
	if (!c->op->recursive)
		return fsop_refuse(c->r, FSWHY_NEEDS_RECURSIVE);
	if (c->how->nonblock) {
		errno = EAGAIN;
		return -1;
	}
	return copy_tree(c, held, st);
}

int
fsop_copy(const struct fsop *op, const struct fsop_how *how,
    struct fsop_result *r)
{
	struct copying	 c;
	struct stat	 st;
	int		 held, rv;

	memset(&c, 0, sizeof(c));
	c.op = op;
	c.how = how;
	c.r = r;
	if ((held = tree_look(op->path, op->nofollow, how, &st)) == -1)
		return -1;
	rv = copy_source(&c, held, &st);
	fd_close(&held);
	return rv;
}
