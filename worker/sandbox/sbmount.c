#include "worker/sandbox/sbmount.h"
#include "worker/sandbox/sbmount_priv.h"

#include <sys/mount.h>
#include <sys/syscall.h>

#include <linux/openat2.h>

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/fd.h"

int
sbmount_failed(struct sbmount *m, const char *what, const char *path)
{
	snprintf(m->out->why, sizeof(m->out->why), "%s %.100s: %s", what, path,
	    strerror(errno));
	return -1;
}

int
sbmount_open(const char *path)
{
	return fd_openat2(AT_FDCWD, path, O_PATH,
	    RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS);
}

int
sbmount_read_only(int fd, bool deep)
{
	struct mount_attr	 a;

	memset(&a, 0, sizeof(a));
	a.attr_set = MOUNT_ATTR_RDONLY;
	return mount_setattr(fd, "", AT_EMPTY_PATH |
	    (deep ? AT_RECURSIVE : 0U), &a, sizeof(a));
}

/* Record a file that is mounted on, for mounted_inodes.h. */
static void
remember_file(struct mounted *out, int fd)
{
	struct stat	 st;

	assert(out->nfiles <= MOUNTED_FILES);
	if (fstat(fd, &st) == -1 || out->nfiles == MOUNTED_FILES) {
		out->more_files = true;
		return;
	}
	if (S_ISDIR(st.st_mode))
		return;
	out->files[out->nfiles].dev = st.st_dev;
	out->files[out->nfiles++].ino = st.st_ino;
}

int
sbmount_put(struct sbmount *m, int tree, int fd, const char *path)
{
	int	 rv;

	assert(tree != -1 && fd != -1);
	remember_file(m->out, fd);
	rv = move_mount(tree, "", fd, "",
	    MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH);
	if (rv == -1)
		sbmount_failed(m, "mounting on", path);
	fd_close(&tree);
	return rv;
}

int
sbmount_void(struct sbmount *m, int fd, const char *path)
{
	struct mount_attr	 a;
	int			 tree;

	/* Devices on a nodev mount cannot be opened. */
	memset(&a, 0, sizeof(a));
	a.attr_set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NODEV;
	tree = open_tree(m->null_tree_of, "",
	    AT_EMPTY_PATH | OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
	if (tree == -1 || mount_setattr(tree, "", AT_EMPTY_PATH, &a,
	    sizeof(a)) == -1) {
		fd_close(&tree);
		return sbmount_failed(m, "hiding", path);
	}
	return sbmount_put(m, tree, fd, path);
}

/* --- masks --- */

static int
new_tmpfs(unsigned mode)
{
	char	 text[16];
	int	 fs, fd = -1;

	snprintf(text, sizeof(text), "%o", mode);
	if ((fs = fsopen("tmpfs", FSOPEN_CLOEXEC)) == -1)
		return -1;
	if (fsconfig(fs, FSCONFIG_SET_STRING, "mode", text, 0) == 0 &&
	    fsconfig(fs, FSCONFIG_SET_STRING, "size", "1m", 0) == 0 &&
	    fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) == 0)
		fd = fsmount(fs, FSMOUNT_CLOEXEC, MOUNT_ATTR_NOSUID |
		    MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC);
	fd_close(&fs);
	return fd;
}

static int
remember_mask(struct sbmount *m, int fd, const char *path)
{
	struct mask	*more;

	if ((more = reallocarray(m->masks, m->nmasks + 1,
	    sizeof(*more))) == NULL)
		return -1;
	m->masks = more;
	more[m->nmasks].fd = fd;
	if ((more[m->nmasks].path = strdup(path)) == NULL)
		return -1;
	m->nmasks++;
	return 0;
}

int
sbmount_mask(struct sbmount *m, int fd, const char *path, unsigned mode)
{
	int	 mnt;

	if ((mnt = new_tmpfs(mode)) == -1)
		return sbmount_failed(m, "hiding", path);
	if (move_mount(mnt, "", fd, "",
	    MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) == -1 ||
	    remember_mask(m, mnt, path) == -1) {
		fd_close(&mnt);
		return sbmount_failed(m, "hiding", path);
	}
	return 0;
}

/* Return the mask that contains a path, the last one made; or NULL. */
static const struct mask *
mask_of(const struct sbmount *m, const char *path)
{
	const struct mask	*k;
	size_t			 i, n;

	for (i = m->nmasks; i-- > 0;) {
		k = &m->masks[i];
		n = strcmp(k->path, "/") == 0 ? 0 : strlen(k->path);
		if (strncmp(path, k->path, n) == 0 && path[n] == '/')
			return k;
	}
	return NULL;
}

/* Make the folders in a mask on the way to a name. */
static int
make_way(const struct mask *k, const char *path, const char **name_out)
{
	const char	*p = path + (strcmp(k->path, "/") == 0 ? 0 :
			    strlen(k->path)), *end;
	char		 name[NAME_MAX + 1];
	int		 dir, next;

	if ((dir = openat(k->fd, ".", O_PATH | O_CLOEXEC)) == -1)
		return -1;
	for (p += strspn(p, "/"); (end = strchr(p, '/')) != NULL;
	    p = end + 1) {
		if ((size_t)(end - p) > NAME_MAX)
			break;
		memcpy(name, p, (size_t)(end - p));
		name[end - p] = '\0';
		if (mkdirat(dir, name, 0755) == -1 && errno != EEXIST)
			break;
		next = openat(dir, name,
		    O_PATH | O_CLOEXEC | O_NOFOLLOW | O_DIRECTORY);
		fd_close(&dir);
		if ((dir = next) == -1)
			return -1;
	}
	if (end != NULL)
		fd_close(&dir);
	*name_out = p;
	return dir;
}

int
sbmount_point(struct sbmount *m, const char *path, bool is_dir)
{
	const struct mask	*k = mask_of(m, path);
	const char		*name;
	int			 dir, fd, rv;

	if (k == NULL)
		return 0;
	if ((dir = make_way(k, path, &name)) == -1)
		return sbmount_failed(m, "making", path);
	if (is_dir) {
		rv = mkdirat(dir, name, 0755);
	} else if ((rv = fd = openat(dir, name, O_CREAT | O_EXCL | O_WRONLY |
	    O_CLOEXEC | O_NOFOLLOW, 0444)) != -1) {
		fd_close(&fd);
		rv = 0;
	}
	if (rv == -1 && errno == EEXIST)
		rv = 0;
	fd_close(&dir);
	return rv == 0 ? 0 : sbmount_failed(m, "making", path);
}

/* Make the same symlink in a mask. */
static int
put_link(struct sbmount *m, const struct place *p)
{
	const struct mask	*k = mask_of(m, p->rule->path);
	const char		*name;
	int			 dir, rv;

	if (k == NULL)
		return 0;
	if ((dir = make_way(k, p->rule->path, &name)) == -1)
		return sbmount_failed(m, "making", p->rule->path);
	rv = symlinkat(p->link, dir, name);
	fd_close(&dir);
	if (rv == -1 && errno != EEXIST)
		return sbmount_failed(m, "making", p->rule->path);
	return 0;
}

/* --- places of rules --- */

static int
read_link(int fd, const char *path, char **out)
{
	char	 text[PATH_MAX];
	ssize_t	 n;

	if ((n = readlinkat(fd, path, text, sizeof(text) - 1)) == -1)
		return -1;
	text[n] = '\0';
	return (*out = strdup(text)) == NULL ? -1 : 0;
}

bool
sbmount_is_system(const char *path)
{
	return (strncmp(path, "/dev", 4) == 0 && (path[4] == '\0' ||
	    path[4] == '/')) || (strncmp(path, "/proc", 5) == 0 &&
	    (path[5] == '\0' || path[5] == '/'));
}

/* It is missing: find where it would be. */
static int
look_for(struct sbmount *m, struct place *p)
{
	char	 missing[PATH_MAX];

	if (sbmount_first_missing(p->rule->path, missing) == -1 ||
	    (p->missing = strdup(missing)) == NULL)
		return sbmount_failed(m, "looking for", p->rule->path);
	return 0;
}

static int
sbmount_look_at(struct sbmount *m, struct place *p)
{
	const char	*path = p->rule->path;
	char		 self[FD_SELF_MAX];

	assert(p->fd == -1 && p->real == NULL && p->missing == NULL);
	if ((p->fd = open(path, O_PATH | O_CLOEXEC)) == -1)
		return errno == ENOENT || errno == ENOTDIR || errno == ELOOP ?
		    look_for(m, p) : sbmount_failed(m, "looking at", path);
	if (fstat(p->fd, &p->st) == -1)
		return sbmount_failed(m, "looking at", path);
	if (p->rule->kind != PLAN_WRITE && sbmount_is_stand_in(p->fd)) {
		fd_close(&p->fd);
		return look_for(m, p);
	}
	if (read_link(AT_FDCWD, fd_self(p->fd, self), &p->real) == -1)
		return sbmount_failed(m, "looking at", path);
	if (read_link(AT_FDCWD, path, &p->link) == -1 && errno != EINVAL)
		return sbmount_failed(m, "looking at", path);
	if (p->rule->kind == PLAN_DENY || strcmp(path, "/") == 0)
		return 0;
	p->tree = open_tree(p->fd, "", AT_EMPTY_PATH | AT_RECURSIVE |
	    OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
	return p->tree == -1 ? sbmount_failed(m, "copying", path) : 0;
}

/* Open a place again; it must be the same.  -1 with the reason. */
static int
find_again(struct sbmount *m, const struct place *p)
{
	struct stat	 st;
	int		 fd;

	assert(p->fd != -1);
	if ((fd = sbmount_open(p->real)) == -1)
		return sbmount_failed(m, "finding again", p->real);
	if (mask_of(m, p->real) == NULL && (fstat(fd, &st) == -1 ||
	    st.st_dev != p->st.st_dev || st.st_ino != p->st.st_ino)) {
		fd_close(&fd);
		errno = ESTALE;
		return sbmount_failed(m, "finding again", p->real);
	}
	return fd;
}

/*
 * A protected name that is or goes through a symlink in a writable folder: the
 * symlink could be replaced, so make it inaccessible and immovable.  1: one
 * was.
 */
static int
shut_links(struct sbmount *m, const char *name)
{
	struct sbmount_links	 l;
	int			 fd, rv;

	sbmount_links_start(&l, name);
	while ((rv = sbmount_links_next(&l)) == 1) {
		if (!sbmount_is_in_writable(m, l.real))
			continue;
		if (sbmount_pin_way(m, l.real) == -1)
			return -1;
		if ((fd = open(l.part, O_PATH | O_NOFOLLOW | O_CLOEXEC)) ==
		    -1)
			return sbmount_failed(m, "protecting", l.part);
		rv = sbmount_void(m, fd, l.part);
		fd_close(&fd);
		return rv == 0 ? 1 : -1;
	}
	return rv == 0 ? 0 : sbmount_failed(m, "protecting", l.part);
}

/*
 * Whether it would be made in a world-writable folder such as /tmp: covering it
 * there protects nothing, and other users would see the stand-in and could lock
 * it.
 */
static bool
is_in_shared(const char *path)
{
	const char	*slash = strrchr(path, '/');
	char		 parent[PATH_MAX];
	struct stat	 st;

	snprintf(parent, sizeof(parent), "%.*s",
	    slash == path ? 1 : (int)(slash - path), path);
	return lstat(parent, &st) == 0 && (st.st_mode & S_ISVTX) != 0 &&
	    (st.st_mode & S_IWOTH) != 0;
}

/* Whether a path is a mask. */
static bool
is_mask(const struct sbmount *m, const char *path)
{
	size_t	 i;

	for (i = 0; i < m->nmasks; i++)
		if (strcmp(m->masks[i].path, path) == 0)
			return true;
	return false;
}

/*
 * A protected name that is missing where a command could make it: make and
 * cover its first missing part.
 */
static int
cover_missing(struct sbmount *m, const struct place *p)
{
	const char	*path = p->missing;
	struct stat	 st;
	int		 fd, rv;

	assert(p->fd == -1 && p->real == NULL);
	/* The rule only grants, or does not apply to new files. */
	if (p->rule->kind == PLAN_WRITE ||
	    (p->rule->if_exists && p->rule->kind == PLAN_DENY))
		return 0;
	if ((rv = shut_links(m, p->rule->path)) == -1)
		return -1;
	if (!sbmount_is_in_writable(m, path) || is_mask(m, path) ||
	    (p->rule->if_exists && is_in_shared(path)) ||
	    /* a dangling symlink, inaccessible now */
	    (rv == 1 && lstat(path, &st) == 0 && S_ISCHR(st.st_mode)))
		return 0;
	if (sbmount_stand_in(m, path) == -1)
		return -1;
	if ((fd = sbmount_open(path)) == -1)
		return sbmount_failed(m, "covering", path);
	rv = sbmount_mask(m, fd, path, p->rule->kind == PLAN_READ ?
	    MASK_MODE_WAY : MASK_MODE_SHUT);
	fd_close(&fd);
	return rv;
}

bool
sbmount_allows_in(const struct plan *plan, const char *path)
{
	size_t	 i, n = strcmp(path, "/") == 0 ? 0 : strlen(path);

	for (i = 0; i < plan->n; i++)
		if (plan->rules[i].kind != PLAN_HIDE &&
		    plan->rules[i].kind != PLAN_DENY &&
		    strncmp(plan->rules[i].path, path, n) == 0 &&
		    plan->rules[i].path[n] == '/')
			return true;
	return false;
}

int
sbmount_find_again(struct sbmount *m, const struct place *p)
{
	int	 fd;

	if (mask_of(m, p->real) != NULL) {
		if ((fd = sbmount_open(p->real)) == -1)
			return SBMOUNT_UNSEEN;
		fd_close(&fd);
	}
	return find_again(m, p);
}

static int
sbmount_deny(struct sbmount *m, struct place *p)
{
	int	 fd, rv;

	if ((fd = sbmount_find_again(m, p)) < 0)
		return fd == SBMOUNT_UNSEEN ? 0 : -1;
	if (S_ISDIR(p->st.st_mode))
		rv = sbmount_mask(m, fd, p->real,
		    sbmount_allows_in(m->plan, p->rule->path) ? MASK_MODE_WAY :
		    MASK_MODE_SHUT);
	else
		rv = sbmount_void(m, fd, p->real);
	fd_close(&fd);
	return rv;
}

/*
 * nodev: devices are in our own /dev only.  A root without capabilities can
 * open them, also on read-only mounts.
 */
static int
restrict_tree(const struct place *p)
{
	struct mount_attr	 a;

	memset(&a, 0, sizeof(a));
	if (p->rule->kind == PLAN_READ)
		a.attr_set |= MOUNT_ATTR_RDONLY;
	if (!sbmount_is_system(p->rule->path))
		a.attr_set |= MOUNT_ATTR_NODEV;
	if (a.attr_set == 0)
		return 0;
	return mount_setattr(p->tree, "", AT_EMPTY_PATH | AT_RECURSIVE, &a,
	    sizeof(a));
}

static int
sbmount_allow(struct sbmount *m, struct place *p)
{
	int	 fd, rv, tree;

	assert(p->tree != -1 && p->rule->kind != PLAN_DENY);
	if (restrict_tree(p) == -1)
		return sbmount_failed(m, "restricting", p->real);
	if (p->link != NULL && put_link(m, p) == -1)
		return -1;
	if (sbmount_point(m, p->real, S_ISDIR(p->st.st_mode)) == -1 ||
	    (fd = find_again(m, p)) == -1)
		return -1;
	tree = p->tree;
	p->tree = -1;
	rv = sbmount_put(m, tree, fd, p->real);
	fd_close(&fd);
	return rv;
}

/* Whether a rule has no effect where its name leads. */
static bool
has_no_effect(const struct sbmount *m, const struct place *p)
{
	return p->rule->kind == PLAN_READ && !p->gives && p->real != NULL &&
	    (!sbmount_is_writable(m, p->real) ||
	    sbmount_is_system(p->real) != sbmount_is_system(p->rule->path));
}

static int
apply(struct sbmount *m, struct place *p)
{
	bool	 is_ours = sbmount_is_system(p->rule->path);
	int	 rv;

	if (strcmp(p->rule->path, "/") == 0)
		return 0;
	if (is_ours && sbmount_look_at(m, p) == -1)
		return -1;
	if (has_no_effect(m, p))
		return shut_links(m, p->rule->path) == -1 ? -1 : 0;
	if (p->real != NULL && strcmp(p->real, "/") == 0) {
		errno = EBUSY;
		return sbmount_failed(m, "the root by another name,",
		    p->rule->path);
	}
	/* Our own /dev and /proc are right, unless a rule names them. */
	if (is_ours && p->real != NULL && sbmount_is_system(p->real) &&
	    p->rule->kind == plan_decide_around(m->plan, p->rule->path))
		return 0;
	if (p->rule->kind != PLAN_WRITE && sbmount_pin_way(m,
	    p->real != NULL ? p->real : p->missing) == -1)
		return -1;
	if (p->fd == -1)
		return is_ours ? 0 : cover_missing(m, p);
	rv = p->rule->kind == PLAN_DENY ? sbmount_deny(m, p) :
	    sbmount_allow(m, p);
	if (rv == 0 && p->rule->kind != PLAN_WRITE)
		rv = shut_links(m, p->rule->path);
	return rv == -1 ? -1 : 0;
}

/* Of rules for one place the strictest comes last, on top. */
static int
strictness(const struct place *p)
{
	return p->rule->kind == PLAN_WRITE ? 0 :
	    p->rule->kind == PLAN_READ ? 1 : 2;
}

static int
sbmount_compare_places(const void *va, const void *vb)
{
	const struct place	*a = *(struct place *const *)va;
	const struct place	*b = *(struct place *const *)vb;
	int			 c;

	if (a->real == NULL || b->real == NULL)
		c = (a->real == NULL) - (b->real == NULL);
	else if ((c = strcmp(a->real, b->real)) == 0)
		c = strictness(a) - strictness(b);
	return c != 0 ? c : a < b ? -1 : a > b;
}

/*
 * Apply rules in the order of their real paths: a folder named by a symlink
 * must not be mounted over what is protected in it.
 */
static int
apply_all(struct sbmount *m)
{
	struct place	**order;
	size_t		  i, n = 0;
	int		  rv = 0;

	if ((order = calloc(m->plan->n + 1, sizeof(struct place *))) == NULL)
		return sbmount_failed(m, "listing", "the rules");
	for (i = 0; i < m->plan->n; i++)
		if (m->plan->rules[i].kind != PLAN_HIDE)
			order[n++] = &m->places[i];
	qsort(order, n, sizeof(struct place *), sbmount_compare_places);
	for (i = 0; i < n && rv == 0; i++) {
		assert(order[i]->rule->kind != PLAN_HIDE);
		rv = apply(m, order[i]);
	}
	free(order);
	return rv;
}

/* --- the root --- */

/* An empty root, to which all that is allowed is mounted. */
static int
new_root(struct sbmount *m)
{
	int	 fd, root;

	assert(m->old_root == -1 && m->nmasks == 0);
	if ((m->old_root = open("/", O_PATH | O_CLOEXEC)) == -1 ||
	    (root = open("/", O_PATH | O_CLOEXEC)) == -1)
		return sbmount_failed(m, "opening", "/");
	if (sbmount_mask(m, root, "/", MASK_MODE_WAY) == -1) {
		fd_close(&root);
		return -1;
	}
	fd_close(&root);
	fd = m->masks[m->nmasks - 1].fd;
	if (fchdir(fd) == -1 || syscall(SYS_pivot_root, ".", ".") == -1 ||
	    chdir("/") == -1)
		return sbmount_failed(m, "changing", "/");
	return 0;
}

static int
prepare_root(struct sbmount *m)
{
	enum plan_kind		 kind = plan_decide(m->plan, "/");
	struct mount_attr	 a;

	memset(&a, 0, sizeof(a));
	a.propagation = MS_PRIVATE;
	a.attr_set = MOUNT_ATTR_NODEV;
	if (kind == PLAN_READ)
		a.attr_set |= MOUNT_ATTR_RDONLY;
	if (mount_setattr(AT_FDCWD, "/", AT_RECURSIVE, &a, sizeof(a)) == -1)
		return sbmount_failed(m, "making read-only", "/");
	return kind == PLAN_DENY ? new_root(m) : 0;
}

/* Hide our own folder: a server of ours would listen to commands there. */
static int
hide_ours(struct sbmount *m)
{
	struct stat	 st;
	int		 fd, rv;

	if (m->hide == NULL || (fd = sbmount_open(m->hide)) == -1)
		return 0;
	rv = fstat(fd, &st) == 0 && S_ISDIR(st.st_mode) ?
	    sbmount_mask(m, fd, m->hide, MASK_MODE_SHUT) : 0;
	fd_close(&fd);
	return rv;
}

static int
sbmount_seal(struct sbmount *m)
{
	size_t	 i;

	for (i = 0; i < m->nmasks; i++)
		if (sbmount_read_only(m->masks[i].fd, false) == -1)
			return sbmount_failed(m, "sealing",
			    m->masks[i].path);
	if (m->old_root == -1)
		return 0;
	if (fchdir(m->old_root) == -1 || umount2(".", MNT_DETACH) == -1 ||
	    chdir("/") == -1)
		return sbmount_failed(m, "leaving", "/");
	return 0;
}

static int
make_all(struct sbmount *m)
{
	size_t	 i, n = m->plan->n;

	for (i = 0; i < n; i++)
		if (!sbmount_is_system(m->plan->rules[i].path) &&
		    (m->plan->rules[i].kind == PLAN_HIDE ?
		    sbmount_look_at_pattern(m, &m->places[i]) :
		    sbmount_look_at(m, &m->places[i])) == -1)
			return -1;
	if (sbmount_copy_nodes(m) == -1 || prepare_root(m) == -1)
		return -1;
	/* Before the rules, which may be about /dev and /proc. */
	if (sbmount_system(m) == -1)
		return -1;
	if (apply_all(m) == -1 || sbmount_patterns(m) == -1 ||
	    hide_ours(m) == -1)
		return -1;
	return sbmount_seal(m);
}

int
sbmount_make(const struct plan *plan, const char *hide, struct mounted *out)
{
	struct sbmount	 m;
	size_t		 i;
	int		 rv;

	/* The caller exits on failure, which closes all descriptors. */
	memset(&m, 0, sizeof(m));
	m.plan = plan;
	m.hide = hide;
	m.out = out;
	m.old_root = -1;
	if ((m.null_tree_of = open("/dev/null", O_PATH | O_CLOEXEC)) == -1)
		return sbmount_failed(&m, "opening", "/dev/null");
	if ((m.places = calloc(plan->n + 1, sizeof(*m.places))) == NULL)
		return sbmount_failed(&m, "listing", "the rules");
	for (i = 0; i < plan->n; i++) {
		m.places[i].rule = &plan->rules[i];
		m.places[i].gives = plan_rule_gives(plan, i);
		m.places[i].fd = m.places[i].tree = -1;
	}
	rv = make_all(&m);
	for (i = 0; i < plan->n; i++) {
		fd_close(&m.places[i].fd);
		fd_close(&m.places[i].tree);
		free(m.places[i].real);
		free(m.places[i].link);
		free(m.places[i].missing);
	}
	for (i = 0; i < m.nmasks; i++) {
		fd_close(&m.masks[i].fd);
		free(m.masks[i].path);
	}
	free(m.places);
	free(m.masks);
	fd_close(&m.null_tree_of);
	fd_close(&m.old_root);
	return rv;
}
