/*
 * Watches for paths that do not exist (fs/watchMissing, PROTOCOL 8.1;
 * inotify(7)), from the root down: each folder, symlink and its target.
 * Reports changes of parents, not a mount over a folder; not possible without
 * events (servers, FUSE, procfs).  Never waits for a file system
 * (worker/fs/lookup.h).
 */
#pragma once

#include <event2/event.h>

#include <stdbool.h>
#include <stdint.h>

/* Of a session; one inotify, kept LIMIT_WATCH_LINGER after the last. */
struct watcher;
struct pathwatch;

/* on_change: a change ended a watch; from the loop, may clear.  NULL: errno. */
struct watcher	*pathwatcher_new(struct event_base *base,
		    void (*on_change)(void *arg, uint64_t id), void *arg);
void		 pathwatcher_free(struct watcher **rp);

/* End all silently and close the descriptor, which is slow. */
void		 pathwatcher_clear(struct watcher *r);

/*
 * Without paths.  The watcher's: free it only before control returns to the
 * loop.  At LIMIT_WATCHES the oldest ends as if changed.  NULL with errno:
 * EEXIST (id), EMFILE (few instances left for the user's programs), or of
 * inotify_init1(2).
 */
struct pathwatch	*pathwatch_new(struct watcher *r, uint64_t id);
void		 pathwatch_free(struct pathwatch **wp);

/*
 * An absolute path without "." and ".." that does not exist; or that does, and
 * whose change, move and removal count.  0, or -1 with errno, the watch
 * useless:
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
