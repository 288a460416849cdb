/*
 * fs/walk: breadth first, by name within a folder.
 *
 * A folder to be read is recorded as the position of its path in the answer and
 * opened again from the root.  Without follow_dirs openat2(2) keeps this below
 * the root; with it, dev and inode must be those that were listed.
 *
 * Names left out of the answer (symlinks, FIFOs) count as entries, too, as in
 * the reference; that does not count dangling symlinks, which are not detected
 * here.
 */
#include "worker/fs/fsop_priv.h"

#include <linux/openat2.h>

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/limit.h"
#include "common/map.h"
#include "worker/fs/dirstack.h"

#define NAMES		(64 * 1024 * 1024)	/* bytes of names in a folder */
#define NAMES_QUICK	(LIMIT_QUICK_ENTRIES * 64)
#define COST		64	/* bytes of an entry in JSON without its path */
#define URI_MORE	7	/* "file://" */

struct id {
	uint64_t	 dev, ino;
};

/* A folder to be read. */
struct folder {
	struct folder	*next;
	struct map_node	 node;		/* in walk.seen */
	struct id	 id;		/* with follow_dirs */
	size_t		 off, len;	/* of its path in the answer */
	uint32_t	 depth;		/* of its entries */
};

struct walk {
	const struct fsop	*op;
	const struct fsop_how	*how;
	struct fsop_result	*r;
	int			 root;		/* O_PATH */
	struct folder		*first, **last;
	struct map		 seen;
	uint32_t		 dirs, entries;	/* so far */
	size_t			 cost;
	bool			 is_full;	/* a limit was reached */
	char			*path;		/* of the folder being read */
	size_t			 len, cap;
	struct names		 names;
	const struct dirent64	**sorted;
	size_t			 nsorted, sorted_cap;
};

static int
not_bounded(void)
{
	errno = EAGAIN;
	return -1;
}

/* --- the answer --- */

/* Return the length as a URI: most characters take three. */
static size_t
uri_len(const char *s, size_t len)
{
	size_t	 i, n = len;

	for (i = 0; i < len; i++)
		if (!((s[i] >= 'a' && s[i] <= 'z') ||
		    (s[i] >= 'A' && s[i] <= 'Z') ||
		    (s[i] >= '0' && s[i] <= '9') || s[i] == '/' ||
		    s[i] == '-' || s[i] == '.' || s[i] == '_' ||
		    s[i] == '~'))
			n += 2;
	return n;
}

static int
fswalk_put(struct walk *w, enum fsop_record_type type, const char *path,
    size_t len, const char *text)
{
	size_t	 cost = URI_MORE + uri_len(path, len) + COST +
	    (text != NULL ? strlen(text) : 0);

	if (w->cost + cost > LIMIT_WALK_ANSWER) {
		w->r->truncated = w->is_full = true;
		return 0;
	}
	w->cost += cost;
	if (fsop_put_record(&w->r->payload, type, path, len, text) == -1)
		return -1;
	if (w->how->nonblock && w->r->payload.len > w->how->max_out)
		return not_bounded();
	return 0;
}

static int
put_error(struct walk *w, const char *path, size_t len, int error)
{
	char	 text[128];

	snprintf(text, sizeof(text), "%s (os error %d)", strerror(error),
	    error);
	return fswalk_put(w, FSOP_REC_ERROR, path, len, text);
}

/* --- the queue of folders --- */

static struct folder *
seen(struct walk *w, const struct id *id)
{
	return map_find(&w->seen, id, sizeof(*id));
}

static int
add_folder(struct walk *w, const struct id *id, size_t off, size_t len,
    uint32_t depth)
{
	struct folder	*f;

	if ((f = calloc(1, sizeof(*f))) == NULL)
		return -1;
	f->id = *id;
	f->off = off;
	f->len = len;
	f->depth = depth;
	if (w->op->follow_dirs && map_add(&w->seen, &f->node, &f->id,
	    sizeof(f->id), f) == -1) {
		free(f);
		return -1;
	}
	*w->last = f;
	w->last = &f->next;
	w->dirs++;
	return 0;
}

/* --- types of names --- */

static int
fswalk_open_how(const struct walk *w, int dir, const char *path, int flags)
{
	uint64_t	 xdev = w->how->nonblock ? RESOLVE_NO_XDEV : 0;
	int		 fd;

	if (!w->op->follow_dirs)
		fd = tree_open(dir, path, flags, RESOLVE_BENEATH | xdev);
	else
		fd = fd_openat2(dir, path, flags | O_DIRECTORY,
		    RESOLVE_NO_MAGICLINKS | xdev);
	if (fd == -1 && errno == EXDEV)
		errno = w->how->nonblock ? EAGAIN : ENOENT;
	return tree_guard(fd);
}

/* Get the identity of a folder; ENOTDIR: not one. */
static int
fswalk_identify(const struct walk *w, int dir, const char *name, struct id *id)
{
	struct stat	 st;
	int		 fd, rv;

	if ((fd = fswalk_open_how(w, dir, name, O_PATH)) == -1)
		return -1;
	if ((rv = fstat(fd, &st)) == 0) {
		id->dev = st.st_dev;
		id->ino = st.st_ino;
	}
	fd_close(&fd);
	return rv;
}

/* Return the type of a name for which readdir did not. */
static int
unknown_type(const struct walk *w, int dir, const char *name,
    unsigned char *type)
{
	struct stat	 st;

	if (w->how->nonblock)
		return not_bounded();
	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == -1)
		return -1;
	*type = IFTODT(st.st_mode);
	return 0;
}

/*
 * Return how to list a name, FSOP_REC_OTHER: not at all, also if it is gone;
 * with follow_dirs get its identity.  -1 with errno.
 */
static int
examine(const struct walk *w, int dir, const struct dirent64 *de,
    enum fsop_record_type *out, struct id *id)
{
	unsigned char	 type = de->d_type;
	bool		 is_dir;

	*out = FSOP_REC_OTHER;
	if (type == DT_UNKNOWN &&
	    unknown_type(w, dir, de->d_name, &type) == -1)
		return errno == EAGAIN ? -1 : 0;
	is_dir = type == DT_DIR;
	if (w->op->follow_dirs && (is_dir || type == DT_LNK)) {
		is_dir = fswalk_identify(w, dir, de->d_name, id) == 0;
		if (!is_dir && (errno == EMFILE || errno == ENFILE ||
		    (errno == EAGAIN && w->how->nonblock)))
			return -1;
	}
	if (is_dir || type == DT_REG)
		*out = is_dir ? FSOP_REC_DIR : FSOP_REC_FILE;
	return 0;
}

/* --- one folder --- */

/* Append a name to the path of the folder being read. */
static size_t
path_of(struct walk *w, const char *name)
{
	size_t	 len = w->len, n = strlen(name);

	assert(len > 0 && len + 1 + n < w->cap);
	if (w->path[len - 1] != '/')
		w->path[len++] = '/';
	memcpy(w->path + len, name, n + 1);
	return len + n;
}

/* Queue a folder that was listed, if it is to be read. */
static int
consider(struct walk *w, const char *name, const struct id *id, size_t off,
    size_t len, uint32_t depth)
{
	assert(off + len <= w->r->payload.len);
	if ((w->op->prune_hidden && name[0] == '.') ||
	    depth >= w->op->max_depth ||
	    (w->op->follow_dirs && seen(w, id) != NULL))
		return 0;
	if (w->dirs >= w->op->max_dirs) {
		w->r->truncated = true;
		return 0;
	}
	return add_folder(w, id, off, len, depth + 1);
}

static int
fswalk_walk_entry(struct walk *w, int dir, const struct dirent64 *de,
    uint32_t depth, int error)
{
	enum fsop_record_type	 type = FSOP_REC_OTHER;
	struct id		 id = { 0, 0 };
	size_t			 len;

	if (w->entries >= w->op->max_entries) {
		w->r->truncated = w->is_full = true;
		return 0;
	}
	if (++w->entries > LIMIT_QUICK_ENTRIES && w->how->nonblock)
		return not_bounded();
	if (w->entries % 1024 == 0 && fsop_cancelled(w->how) == -1)
		return -1;
	if (error == 0 && examine(w, dir, de, &type, &id) == -1)
		return -1;
	if (error == 0 && type == FSOP_REC_OTHER)
		return 0;
	len = path_of(w, de->d_name);
	if (error != 0)
		return put_error(w, w->path, len, error);
	if (fswalk_put(w, type, w->path, len, NULL) == -1)
		return -1;
	if (type != FSOP_REC_DIR || w->is_full)
		return 0;
	return consider(w, de->d_name, &id, w->r->payload.len - len, len,
	    depth);
}

static int
fswalk_compare(const void *a, const void *b)
{
	const struct dirent64 *const	*x = a, *const *y = b;

	return strcmp((*x)->d_name, (*y)->d_name);
}

/* Read an open folder and sort it. */
static int
read_sorted(struct walk *w, int fd)
{
	const struct dirent64	*de, **bigger;
	size_t			 cap;

	if (names_read(&w->names, fd, w->how->nonblock ? NAMES_QUICK : NAMES,
	    w->how) == -1)
		return -1;
	if (w->names.has_more) {
		errno = w->how->nonblock ? EAGAIN : EFBIG;
		return -1;
	}
	for (w->nsorted = 0; (de = names_next(&w->names)) != NULL;) {
		if (w->nsorted == w->sorted_cap) {
			cap = w->sorted_cap * 2 + 64;
			if ((bigger = reallocarray(w->sorted, cap,
			    sizeof(*bigger))) == NULL)
				return -1;
			w->sorted = bigger;
			w->sorted_cap = cap;
		}
		w->sorted[w->nsorted++] = de;
	}
	if (w->nsorted > 1)
		qsort(w->sorted, w->nsorted, sizeof(*w->sorted),
		    fswalk_compare);
	return 0;
}

/* List an open folder, whose path is in w->path. */
static int
walk_open(struct walk *w, int fd, uint32_t depth)
{
	struct stat	 st;
	size_t		 i, len = w->len;
	int		 error = 0;

	if (read_sorted(w, fd) == -1) {
		if (errno == EAGAIN || errno == ECANCELED || errno == ENOMEM)
			return -1;
		return put_error(w, w->path, len, errno);
	}
	/* Readable without search permission: nothing in it is accessible. */
	if (fstatat(fd, ".", &st, 0) == -1)
		error = errno;
	for (i = 0; i < w->nsorted && !w->is_full; i++)
		if (fswalk_walk_entry(w, fd, w->sorted[i], depth, error) == -1)
			return -1;
	return 0;
}

/* --- all --- */

/* Open the folder at w->path, however long that is. */
static int
open_below(const struct walk *w, const char *rest)
{
	char	 part[PATH_MAX];
	size_t	 len;
	int	 dir = w->root, fd;

	for (;;) {
		rest += strspn(rest, "/");
		if ((len = strlen(rest)) >= sizeof(part)) {
			len = sizeof(part) - 1;
			while (len > 0 && rest[len] != '/')
				len--;
		}
		memcpy(part, rest, len);
		part[len] = '\0';
		fd = fswalk_open_how(w, dir, part,
		    rest[len] == '\0' ? O_RDONLY : O_PATH);
		if (dir != w->root)
			fd_close(&dir);
		if (fd == -1 || rest[len] == '\0')
			return fd;
		dir = fd;
		rest += len;
	}
}

static int
fswalk_open_folder(const struct walk *w, const struct folder *f)
{
	struct stat	 st;
	int		 fd;

	if (f->len == 0)
		return fsop_reopen(w->root, O_RDONLY | O_DIRECTORY);
	assert(w->len > strlen(w->op->path));
	fd = open_below(w, w->path + strlen(w->op->path));
	if (fd == -1 || !w->op->follow_dirs)
		return fd;
	if (fstat(fd, &st) == -1) {
		fd_close(&fd);
	} else if (st.st_dev != f->id.dev || st.st_ino != f->id.ino) {
		fd_close(&fd);
		errno = ESTALE;
	}
	return fd;
}

/* Copy the path of a folder to w->path, with room for a name. */
static int
fswalk_take_path(struct walk *w, const struct folder *f)
{
	size_t	 len = f->len > 0 ? f->len : strlen(w->op->path);
	char	*bigger;

	assert(f->off + f->len <= w->r->payload.len);
	if (w->cap < len + PATH_MAX + 2) {
		if ((bigger = realloc(w->path, len + 2 * PATH_MAX)) == NULL)
			return -1;
		w->path = bigger;
		w->cap = len + 2 * PATH_MAX;
	}
	memcpy(w->path, f->len > 0 ?
	    (const char *)buf_data(&w->r->payload) + f->off : w->op->path,
	    len);
	w->path[len] = '\0';
	w->len = len;
	return 0;
}

static int
walk_folder(struct walk *w, const struct folder *f)
{
	int	 fd, rv;

	if (fswalk_take_path(w, f) == -1 || fsop_cancelled(w->how) == -1)
		return -1;
	if ((fd = fswalk_open_folder(w, f)) == -1) {
		if (errno == EAGAIN && w->how->nonblock)
			return -1;
		return put_error(w, w->path, w->len, errno);
	}
	rv = walk_open(w, fd, f->depth);
	fd_close(&fd);
	return rv;
}

/* Walk from the root, a folder. */
static int
walk_all(struct walk *w, const struct stat *st)
{
	const struct folder	*f;
	const struct id		 id = { st->st_dev, st->st_ino };
	uint32_t		 n = 0;

	assert(w->root != -1 && w->first == NULL);
	if (add_folder(w, &id, 0, 0, 0) == -1)
		return -1;
	for (f = w->first; f != NULL && !w->is_full; f = f->next) {
		if (w->how->nonblock && ++n > LIMIT_QUICK_FOLDERS)
			return not_bounded();
		if (walk_folder(w, f) == -1)
			return -1;
	}
	return 0;
}

static void
walk_fini(struct walk *w)
{
	struct folder	*f;
	int		 saved = errno;

	while ((f = w->first) != NULL) {
		w->first = f->next;
		free(f);
	}
	map_fini(&w->seen);
	names_fini(&w->names);
	free(w->sorted);
	free(w->path);
	fd_close(&w->root);
	errno = saved;
}

/* Look up the root.  1: a folder; 0: list nothing. */
static int
find_root(struct walk *w, struct stat *st)
{
	struct stat	 self;
	int		 fd;

	if ((fd = tree_look(w->op->path, w->op->nofollow, w->how,
	    &self)) == -1)
		return -1;
	if (S_ISLNK(self.st_mode)) {
		fd_close(&fd);
		if ((fd = fsop_look(w->op->path, w->op->nofollow, w->how,
		    st)) == -1)
			return -1;
	} else
		*st = self;
	w->root = fd;
	return S_ISDIR(st->st_mode) &&
	    (w->op->follow_dirs || !S_ISLNK(self.st_mode));
}

int
fsop_walk(const struct fsop *op, const struct fsop_how *how,
    struct fsop_result *r)
{
	struct walk	 w;
	struct stat	 st;
	int		 rv;

	memset(&w, 0, sizeof(w));
	w.op = op;
	w.how = how;
	w.r = r;
	w.root = -1;
	w.last = &w.first;
	map_init(&w.seen);
	rv = find_root(&w, &st);
	if (rv == 1)
		rv = walk_all(&w, &st);
	walk_fini(&w);
	return rv;
}
