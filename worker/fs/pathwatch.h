/*
 * Watches: which of some paths that do not exist may have come into being
 * (fs/watchMissing, PROTOCOL 8.1; inotify(7)).
 *
 * A path is watched from the root down: the folder of each of its names, of
 * each link on the way and of that link's target, as far as it exists.  So
 * it is told too when a parent appears, vanishes or is replaced.  Not told is
 * a mount over a folder, and what a file system keeps to itself: paths on
 * servers, in other processes or made by the kernel are not watched.
 *
 * Nothing here waits for a file system (worker/fs/lookup.h), and nothing gets
 * lost between looking and watching: a folder is watched first.
 */
#ifndef WORKER_FS_PATHWATCH_H
#define WORKER_FS_PATHWATCH_H

#include <event2/event.h>

#include <stdbool.h>
#include <stdint.h>

/*
 * All watches of a session.  They share an inotify descriptor, which is there
 * while it is needed and LIMIT_WATCH_LINGER longer.
 */
struct watcher;
struct pathwatch;

/*
 * None yet, or NULL.  The loop calls on_change for a watch that is over
 * because something changed; it may call pathwatcher_clear().
 */
struct watcher	*pathwatcher_new(struct event_base *base,
		    void (*on_change)(void *arg, uint64_t id), void *arg);
void		 pathwatcher_free(struct watcher **rp);

/* All are over, silently; the descriptor is closed (some 20 ms). */
void		 pathwatcher_clear(struct watcher *r);

/*
 * A watch of nothing so far.  It stays its watcher's: free it only before the
 * loop runs again.  When there are LIMIT_WATCHES the oldest is over, as if
 * something had changed: clients forget old ones silently, for with the
 * reference each new one ends the last.  NULL with errno: EEXIST the id is in
 * use, EMFILE too few inotify descriptors would be left for the user's
 * programs, or of inotify_init1(2).
 */
struct pathwatch	*pathwatch_new(struct watcher *r, uint64_t id);
void		 pathwatch_free(struct pathwatch **wp);

/*
 * Add an absolute path without "." and "..", that does not exist, or that
 * does and whose change, move and removal are of interest.  0, or -1 with
 * errno; the watch is of no use then:
 *	EEXIST, ENOENT	it is not so
 *	EAGAIN		it cannot be told without waiting
 *	EOPNOTSUPP	the file system would not tell
 *	E2BIG, ENOSPC	too much to watch, ours or the kernel's limit
 * or of lookup() or inotify_add_watch(2): EACCES, ENOTDIR, ...
 */
int		 pathwatch_missing(struct pathwatch *w, const char *path)
		    __attribute__((warn_unused_result));
int		 pathwatch_present(struct pathwatch *w, const char *path)
		    __attribute__((warn_unused_result));

#endif
