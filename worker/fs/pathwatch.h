/*
 * Watches for paths that do not exist (fs/watchMissing, PROTOCOL 8.1;
 * inotify(7)).
 *
 * A path is watched from the root down: each folder, each symlink on the way
 * and its target, as far as they exist.  So changes of parents are reported,
 * too.  A mount over a folder is not; paths on file systems without events
 * (servers, FUSE, procfs) cannot be watched.
 *
 * Never waits for a file system (worker/fs/lookup.h).  Misses no change between
 * looking and watching: it watches first.
 */
#pragma once

#include <event2/event.h>

#include <stdbool.h>
#include <stdint.h>

/*
 * The watches of a session.  They share an inotify descriptor, closed
 * LIMIT_WATCH_LINGER after the last one.
 */
struct watcher;
struct pathwatch;

/*
 * on_change is called from the loop for a watch that ended by a change; it may
 * call pathwatcher_clear().  NULL with errno.
 */
struct watcher	*pathwatcher_new(struct event_base *base,
		    void (*on_change)(void *arg, uint64_t id), void *arg);
void		 pathwatcher_free(struct watcher **rp);

/* End all watches silently and close the descriptor, which is slow. */
void		 pathwatcher_clear(struct watcher *r);

/*
 * Make a watch without paths.  It belongs to the watcher: free it only before
 * control returns to the loop.  At LIMIT_WATCHES the oldest ends as if changed,
 * since clients of the reference forget watches silently.  NULL with errno:
 * EEXIST (the id is in use), EMFILE (too few instances left for the user's
 * programs), or of inotify_init1(2).
 */
struct pathwatch	*pathwatch_new(struct watcher *r, uint64_t id);
void		 pathwatch_free(struct pathwatch **wp);

/*
 * Add an absolute path without "." and ".." that does not exist; or that exists
 * and whose change, move and removal count.  0, or -1 with errno and the watch
 * is useless:
 *	EEXIST, ENOENT	it does, or does not, exist
 *	EAGAIN		unknown without waiting
 *	EOPNOTSUPP	no events of this file system
 *	E2BIG, ENOSPC	our limit, the kernel's limit
 * or of lookup(), inotify_add_watch(2): EACCES, ENOTDIR, ...
 */
int		 pathwatch_missing(struct pathwatch *w, const char *path)
		    MUST_CHECK;
int		 pathwatch_present(struct pathwatch *w, const char *path)
		    MUST_CHECK;
