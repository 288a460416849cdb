#include "worker/fs/fsop_priv.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/limit.h"
#include "worker/fs/lookup.h"
#include "worker/fs/writeback.h"

/* Nothing is checked by path and used later: descriptors are used. */
static fsop_fn *const functions[FSOP_KINDS] = {
#define FSOP(name, fn)	[FSOP_##name] = fn,
#include "proto/fsop.def"
#undef FSOP
};

/* --- results --- */

void
fsop_result_init(struct fsop_result *r)
{
	memset(r, 0, sizeof(*r));
	r->fd = r->writeback = -1;
	buf_init(&r->payload, LIMIT_MESSAGE);
}

void
fsop_result_fini(struct fsop_result *r)
{
	struct writeback	 b = { .n = 0 };

	writeback_add(&b, &r->writeback);
	writeback_flush(&b);
	fd_close(&r->fd);
	buf_fini(&r->payload);
}

int
fsop_refuse(struct fsop_result *r, enum fsop_why why)
{
	assert(why > FSWHY_NONE && why < FSWHYS);
	r->why = why;
	errno = 0;
	return -1;
}

int
fsop_refusef(struct fsop_result *r, enum fsop_why why, const char *fmt, ...)
{
	va_list	 ap;
	char	*text;
	int	 n;

	va_start(ap, fmt);
	n = vasprintf(&text, fmt, ap);
	va_end(ap);
	buf_fini(&r->payload);
	if (n == -1) {
		errno = ENOMEM;
		return -1;
	}
	r->is_explained = buf_put(&r->payload, text, (size_t)n) == 0;
	free(text);
	return fsop_refuse(r, why);
}

void
fsop_run(const struct fsop *op, const struct fsop_how *how,
    struct fsop_result *r)
{
	int	 rv;

	assert(op->kind < FSOP_KINDS && r->fd == -1 && r->payload.len == 0);
	assert(r->error == 0 && r->why == FSWHY_NONE && r->writeback == -1);
	rv = functions[op->kind](op, how, r);
	r->error = rv == -1 && r->why == FSWHY_NONE ? errno : 0;
	if (rv == -1) {
		fd_close(&r->fd);
		if (!r->is_explained)
			buf_fini(&r->payload);
	}
}

int
fsop_put_record(struct buf *b, enum fsop_record_type type, const char *name,
    size_t len, const char *text)
{
	struct fsop_record	 rec;
	size_t			 text_len = text != NULL ? strlen(text) : 0;
	char			*p;

	assert((type == FSOP_REC_ERROR) == (text != NULL));
	memset(&rec, 0, sizeof(rec));
	rec.type = (uint8_t)type;
	rec.name_len = (uint16_t)len;
	rec.text_len = (uint16_t)text_len;
	if (len > UINT16_MAX || text_len > UINT16_MAX) {
		errno = ENAMETOOLONG;
		return -1;
	}
	if ((p = buf_reserve(b, sizeof(rec) + len + text_len)) == NULL)
		return -1;
	memcpy(p, &rec, sizeof(rec));
	memcpy(p + sizeof(rec), name, len);
	if (text_len > 0)
		memcpy(p + sizeof(rec) + len, text, text_len);
	buf_commit(b, sizeof(rec) + len + text_len);
	return 0;
}

bool
fsop_next_record(const struct buf *b, size_t *offp, struct fsop_record *rec,
    const char **name_out, const char **text_out)
{
	const char	*p = (const char *)buf_data(b);
	size_t		 off = *offp;

	assert(off <= b->len);
	if (b->len - off < sizeof(*rec))
		return false;
	memcpy(rec, p + off, sizeof(*rec));
	off += sizeof(*rec);
	if (b->len - off < (size_t)rec->name_len + rec->text_len)
		return false;
	*name_out = p + off;
	off += rec->name_len;
	*text_out = rec->text_len > 0 ? p + off : NULL;
	*offp = off + rec->text_len;
	return true;
}

/* --- what the operations share --- */

int
fsop_cancelled(const struct fsop_how *how)
{
	struct pollfd	 p = { how->cancel_fd, 0, 0 };

	if (how->cancel_fd == -1 || poll(&p, 1, 0) <= 0)
		return 0;
	errno = ECANCELED;
	return -1;
}

int
fsop_reserve(const struct fsop_how *how, uint64_t bytes)
{
	return how->reserve == NULL ? 0 : how->reserve(how->cancel_fd, bytes);
}

static int
fsop_lookup(const char *path, bool nofollow, bool nofollow_last,
    const struct fsop_how *how, struct statx *x)
{
	struct lookup	 l;

	l.nonblock = how->nonblock;
	l.nofollow = nofollow;
	l.nofollow_last = nofollow_last;
	return lookup(path, &l, x);
}

int
fsop_look(const char *path, bool nofollow, const struct fsop_how *how,
    struct stat *st)
{
	struct statx	 x;
	int		 fd;

	if ((fd = fsop_lookup(path, nofollow, false, how, &x)) == -1)
		return -1;
	memset(st, 0, sizeof(*st));
	st->st_dev = makedev(x.stx_dev_major, x.stx_dev_minor);
	st->st_ino = x.stx_ino;
	st->st_mode = x.stx_mode;
	st->st_nlink = x.stx_nlink;
	st->st_uid = x.stx_uid;
	st->st_gid = x.stx_gid;
	st->st_size = (off_t)x.stx_size;
	st->st_blocks = (blkcnt_t)x.stx_blocks;
	return fd;
}

int
fsop_look_parent(const char *path, bool nofollow, const struct fsop_how *how,
    const char **name_out)
{
	const char	*slash = strrchr(path, '/');
	char		 parent[PATH_MAX];
	struct stat	 st;
	int		 fd;

	if (slash == NULL || slash[1] == '\0' ||
	    (size_t)(slash - path) >= sizeof(parent)) {
			errno = EBUSY;			/* the root */
		return -1;
	}
	memcpy(parent, path, (size_t)(slash - path));
	parent[slash - path] = '\0';
	*name_out = slash + 1;
	fd = fsop_look(slash == path ? "/" : parent, nofollow, how, &st);
	if (fd != -1 && !S_ISDIR(st.st_mode)) {
		fd_close(&fd);
		errno = ENOTDIR;
	}
	return fd;
}

bool
fsop_frees_much(const struct stat *st, const struct fsop_how *how)
{
	return how->nonblock && st->st_blocks > LIMIT_FILE_FREED / 512;
}

int
fsop_reopen(int fd, int flags)
{
	char	 self[FD_SELF_MAX];

	return open(fd_self(fd, self), flags | O_CLOEXEC | O_NOCTTY);
}

int
fsop_write_all(int fd, const void *data, size_t len, uint64_t offset)
{
	const char	*p = data;
	ssize_t		 n;

	while (len > 0) {
		n = pwrite(fd, p, len, (off_t)offset);
		if (n == -1 && errno == EINTR)
			continue;
		if (n == -1)
			return -1;
		p += n;
		len -= (size_t)n;
		offset += (uint64_t)n;
	}
	return 0;
}

/* --- metadata and names --- */

static int64_t
to_ms(const struct statx_timestamp *t)
{
	return t->tv_sec * 1000 + t->tv_nsec / 1000000;
}

static int64_t
to_ns(const struct statx_timestamp *t)
{
	return t->tv_sec * 1000000000 + t->tv_nsec;
}

/* Read the target of a symlink held by an O_PATH descriptor. */
static int
put_target(int fd, struct fsop_result *r)
{
	char	 target[PATH_MAX];
	ssize_t	 len;

	if ((len = readlinkat(fd, "", target, sizeof(target))) == -1)
		return -1;
	return buf_put(&r->payload, target, (size_t)len);
}

/* Whether a symlink whose target fails with this may be reported. */
static bool
is_nowhere(int error)
{
	return error == ENOENT || error == ENOTDIR || error == ELOOP ||
	    error == EACCES;
}

int
fsop_stat(const struct fsop *op, const struct fsop_how *how,
    struct fsop_result *r)
{
	struct statx	 x;
	int		 fd, rv = 0;

	/* The target first: most paths are no symlinks, or do not exist. */
	if ((fd = fsop_lookup(op->path, op->nofollow, !op->nofollow, how,
	    &x)) == -1)
		return -1;
	r->is_symlink = S_ISLNK(x.stx_mode);
	if (r->is_symlink && op->attributes)
		rv = put_target(fd, r);
	fd_close(&fd);
	if (rv == -1)
		return -1;
	if (r->is_symlink) {
		fd = fsop_lookup(op->path, false, false, how, &x);
		if (fd == -1 && !(op->attributes && is_nowhere(errno)))
			return -1;
		fd_close(&fd);
	}
	r->is_dir = S_ISDIR(x.stx_mode);
	r->is_file = S_ISREG(x.stx_mode);
	r->size = x.stx_size;
	r->created_ms = (x.stx_mask & STATX_BTIME) != 0 ?
	    to_ms(&x.stx_btime) : 0;
	r->modified_ms = to_ms(&x.stx_mtime);
	r->mode = x.stx_mode & 07777;
	r->atime_ns = to_ns(&x.stx_atime);
	r->mtime_ns = to_ns(&x.stx_mtime);
	return 0;
}

int
fsop_canon(const struct fsop *op, const struct fsop_how *how,
    struct fsop_result *r)
{
	struct statx	 x;
	char		 self[FD_SELF_MAX], path[PATH_MAX];
	ssize_t		 len;
	int		 fd;

	if ((fd = fsop_lookup(op->path, op->nofollow, false, how, &x)) == -1)
		return -1;
	len = readlink(fd_self(fd, self), path, sizeof(path));
	fd_close(&fd);
	if (len == -1)
		return -1;
	/* Removed meanwhile: the text then ends in " (deleted)". */
	if (x.stx_nlink == 0 || (size_t)len >= sizeof(path) ||
	    path[0] != '/') {
		errno = ENOENT;
		return -1;
	}
	return buf_put(&r->payload, path, (size_t)len);
}

/* --- folders --- */

#define LONGEST_RECORD	(sizeof(struct fsop_record) + NAME_MAX)

/*
 * Make a folder in dir or open the existing one; takes over dir.  If the
 * operation must be retried blocking, the folder stays and is opened then.
 */
static int
make_or_enter(int dir, const char *name, const struct fsop *op,
    const struct fsop_how *how)
{
	struct lookup	 l = { how->nonblock, op->nofollow, false };
	struct statx	 x;
	int		 fd = -1;

	assert(dir != -1 && name[0] != '\0');
	if (mkdirat(dir, name, op->mode) == 0)
		l.nofollow = true;
	else if (errno != EEXIST)
		goto out;
	if ((fd = lookup_at(dir, name, &l, &x)) != -1 &&
	    !S_ISDIR(x.stx_mode)) {
		fd_close(&fd);
		errno = EEXIST;
	}
 out:
	fd_close(&dir);
	return fd;
}

/* Open the deepest existing folder of the path; *rest_out: the rest. */
static int
existing_part(const char *path, const struct fsop *op,
    const struct fsop_how *how, const char **rest_out)
{
	char		 part[PATH_MAX];
	size_t		 len = strlen(path);
	struct statx	 x;
	int		 fd;

	memcpy(part, path, len + 1);
	for (;;) {
		fd = fsop_lookup(len > 0 ? part : "/", op->nofollow, false, how,
		    &x);
		if (fd != -1 || errno != ENOENT || len == 0)
			break;
		while (len > 0 && part[len - 1] != '/')
			len--;
		part[len > 0 ? --len : 0] = '\0';
	}
	if (fd != -1 && !S_ISDIR(x.stx_mode)) {
		fd_close(&fd);
		errno = path[len] == '\0' ? EEXIST : ENOTDIR;
	}
	*rest_out = path + len;
	return fd;
}

static int
fsop_make_parents(const struct fsop *op, const struct fsop_how *how)
{
	const char	*rest;
	char		 name[NAME_MAX + 1];
	size_t		 len;
	int		 dir;

	dir = existing_part(op->path, op, how, &rest);
	while (dir != -1) {
		rest += strspn(rest, "/");
		if (*rest == '\0') {
			fd_close(&dir);
			return 0;
		}
		if ((len = strcspn(rest, "/")) > NAME_MAX) {
			fd_close(&dir);
			errno = ENAMETOOLONG;
			return -1;
		}
		memcpy(name, rest, len);
		name[len] = '\0';
		rest += len;
		dir = make_or_enter(dir, name, op, how);
	}
	return -1;
}

int
fsop_mkdir(const struct fsop *op, const struct fsop_how *how,
    struct fsop_result *r)
{
	const char	*name;
	int		 dir, rv;

	(void)r;
	if (op->recursive)
		return fsop_make_parents(op, how);
	if ((dir = fsop_look_parent(op->path, op->nofollow, how,
	    &name)) == -1) {
		if (errno == EBUSY)
			errno = EEXIST;
		return -1;
	}
	rv = mkdirat(dir, name, op->mode);
	fd_close(&dir);
	return rv;
}

/* Return the type of what a name leads to, 0, or -1 with EAGAIN. */
static int
record_type(int dir, const struct dirent *de, const struct fsop_how *how,
    enum fsop_record_type *out, bool *gone_out)
{
	struct lookup	 l = { .nonblock = how->nonblock };
	struct statx	 x;
	int		 fd;

	*gone_out = false;
	*out = de->d_type == DT_DIR ? FSOP_REC_DIR :
	    de->d_type == DT_REG ? FSOP_REC_FILE : FSOP_REC_OTHER;
	if (de->d_type != DT_LNK && de->d_type != DT_UNKNOWN)
		return 0;
	if ((fd = lookup_at(dir, de->d_name, &l, &x)) == -1) {
		*gone_out = true;
		return errno == EAGAIN ? -1 : 0;
	}
	fd_close(&fd);
	*out = S_ISDIR(x.stx_mode) ? FSOP_REC_DIR :
	    S_ISREG(x.stx_mode) ? FSOP_REC_FILE : FSOP_REC_OTHER;
	return 0;
}

static int
list_entries(DIR *d, const struct fsop *op, const struct fsop_how *how,
    struct fsop_result *r)
{
	enum fsop_record_type	 type;
	struct dirent		*de;
	size_t			 n = 0, reserved = LIMIT_FILE_QUICK;
	bool			 gone;

	while (errno = 0, (de = readdir(d)) != NULL) {
		if (strcmp(de->d_name, ".") == 0 ||
		    strcmp(de->d_name, "..") == 0)
			continue;
		if (++n > LIMIT_FOLDER_ENTRIES)
			return fsop_refuse(r, FSWHY_TOO_MANY);
		if (record_type(dirfd(d), de, how, &type, &gone) == -1 ||
		    ((!gone || (op->attributes && de->d_type == DT_LNK)) &&
		    fsop_put_record(&r->payload, type, de->d_name,
		    strlen(de->d_name), NULL) == -1))
			return -1;
		if (how->nonblock && (n > LIMIT_QUICK_ENTRIES ||
		    r->payload.len > how->max_out)) {
			errno = EAGAIN;
			return -1;
		}
		if (n % 1024 == 0 && fsop_cancelled(how) == -1)
			return -1;
		if (r->payload.len > reserved - LONGEST_RECORD) {
			reserved = (LIMIT_FOLDER_ENTRIES + 1) * LONGEST_RECORD;
			if (fsop_reserve(how, reserved) == -1)
				return -1;
		}
	}
	return errno == 0 ? 0 : -1;
}

int
fsop_list(const struct fsop *op, const struct fsop_how *how,
    struct fsop_result *r)
{
	struct statx	 x;
	DIR		*d;
	int		 path_fd, fd, rv;

	if ((path_fd = fsop_lookup(op->path, op->nofollow, false, how, &x)) ==
	    -1)
		return -1;
	fd = openat(path_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	fd_close(&path_fd);
	if (fd == -1)
		return -1;
	if ((d = fdopendir(fd)) == NULL) {
		fd_close(&fd);
		return -1;
	}
	rv = list_entries(d, op, how, r);
	fd = errno;
	closedir(d);
	errno = fd;
	return rv;
}
