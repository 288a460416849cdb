/* Looking for skills and plugins. */
#pragma once

#include "common/json/json_out.h"
#include "worker/fs/discovery/skill.h"
#include "worker/fs/fsop_priv.h"

/* Allocated. */
struct paths {
	char	**v;
	size_t	 n, cap;
};

int	 paths_add(struct paths *p, const char *path, size_t len) MUST_CHECK;
void	 paths_sort(struct paths *p);
void	 paths_fini(struct paths *p);

/* An answer in the making. */
struct discovery {
	const struct fsop_how	*how;
	struct buf		 out, warned;
	struct json_out		 o, warnings;
	size_t			 texts;		/* bytes in the answer */
	/* The last result of discovery_find_namespace() that may come again. */
	char			*parent, *parent_name;
};

void	 discovery_init(struct discovery *d, const struct fsop_how *how);

/* The answer becomes the payload if rv is 0.  -1: errno of rv, of writing. */
int	 discovery_fini(struct discovery *d, int rv, struct fsop_result *r)
	    MUST_CHECK;

/* The member warnings. */
void	 discovery_put_warnings(struct discovery *d);

void	 discovery_warn(struct discovery *d, const char *fmt, ...) PRINTF(2, 3);

/* One of names, ended by NULL. */
bool	 discovery_ends_in(const char *path, size_t len,
	    const char *const *names);

/*
 * Add ordinary files below a directory, sorted, that end in one of names; none
 * if it is missing.  follow: links to directories.  0, or -1 with errno:
 * cancelled, no memory.
 */
int	 discovery_walk(struct discovery *d, const char *root, bool follow,
	    const char *const *names, struct paths *out) MUST_CHECK;

/* UTF-8, to an empty buffer.  1; 0: missing, or a warning; -1: errno. */
int	 discovery_read(struct discovery *d, const char *path, struct buf *b)
	    MUST_CHECK;

struct span	 discovery_text(const struct buf *b);

/* {path, contents} */
void	 discovery_put_file(struct discovery *d, const char *path,
	    struct span text);

/* False: too long. */
bool	 discovery_join(char path[PATH_MAX], const char *folder,
	    const char *name) MUST_CHECK;

/* Make a folder's path that of the one above it.  False: there is none. */
bool	 discovery_go_up(char folder[PATH_MAX]);

/*
 * Read the manifest in a folder, the first that is there.  As discovery_read();
 * path: of the last that was tried.
 */
int	 discovery_read_manifest(struct discovery *d, const char *folder,
	    bool warns, char path[PATH_MAX], struct buf *b) MUST_CHECK;

/*
 * Find the plugin that a skill in a folder belongs to: the nearest folder that
 * has it below and a sound manifest.  *name_out: allocated, or NULL: there is
 * none.  0, or -1 with errno.
 */
int	 discovery_find_namespace(struct discovery *d, const char *folder,
	    char **name_out) MUST_CHECK;

/*
 * Read a plugin's manifest, and write the object of the files it names;
 * inline_too: and has itself.  As discovery_read(); without a manifest nothing.
 * manifest_fini() after 1.
 */
int	 discovery_put_plugin(struct discovery *d, const char *root,
	    bool inline_too, struct manifest *m, bool *is_sound) MUST_CHECK;
