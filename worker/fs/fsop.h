/*
 * File operations: plain structs in and out, no JSON, no event loop.
 *
 * The same code runs in three places.  In the worker, *bounded*: only as far as
 * it surely takes little time, on local file systems, else it gives up with
 * EAGAIN before anything was changed.  In a holder (worker/sandbox/holder.h),
 * bounded too, under the view of a sandbox.  And unbounded in a child of a
 * holder, made for that one operation, where it may take its time or hang.
 *
 * Nothing here blocks on a FIFO or device, and no path is checked first and
 * used later: what was found is held by a descriptor.
 */
#ifndef WORKER_FS_FSOP_H
#define WORKER_FS_FSOP_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/buf.h"

enum fsop_kind {
#define FSOP(name, fn)	FSOP_##name,
#include "proto/fsop.def"
#undef FSOP
	FSOP_KINDS
};

/* Besides errno; FSWHY_NONE: errno says it. */
enum fsop_why {
	FSWHY_NONE,
#define FSWHY(name, err, text)	FSWHY_##name,
#include "proto/fswhy.def"
#undef FSWHY
	FSWHYS
};

/* What is asked for.  Paths are absolute, without "." and "..". */
struct fsop {
	enum fsop_kind	 kind;
	bool		 nofollow;	/* a link anywhere on the way: ELOOP */
	bool		 recursive;	/* MKDIR, REMOVE, COPY */
	bool		 force;		/* REMOVE: absent is fine */
	bool		 replace;	/* OPEN: create or empty, to write */
	bool		 follow_dirs;	/* WALK: enter links to folders */
	bool		 prune_hidden;	/* WALK: do not enter ".name" */
	bool		 attributes;	/* STAT, LIST: links that lead nowhere,
					   too; STAT: and where they do */
	bool		 is_confined;	/* SETATTR: by a view */
	bool		 sets_mode, sets_atime, sets_mtime;	/* SETATTR */
	uint32_t	 mode;		/* SETATTR; of what is new: WRITE,
					   OPEN, MKDIR, less the umask */
	uint64_t	 atime_ns, mtime_ns;	/* SETATTR, since 1970 */
	uint32_t	 max_depth, max_dirs, max_entries;	/* WALK */
	uint64_t	 offset, len;	/* PREAD, PWRITE: bytes */
	char		 path[PATH_MAX];
	char		 to[PATH_MAX];	/* COPY, RENAME; SYMLINK: its text */
	const void	*data;		/* WRITE, PWRITE: len bytes */
	int		 fd;		/* PREAD, PWRITE: the open file */
};

/* How it may be done. */
struct fsop_how {
	bool	 bounded;
	size_t	 max_out;	/* bytes of payload that bounded ones give */
	int	 hup;		/* -1, or: give up when its peer is gone */
	bool	 gives_file;	/* bounded READ: r->fd may be all of it */
	/*
	 * NULL, or: to be called before it holds more than LIMIT_FILE_QUICK of
	 * payload, with hup and the most that it will hold; returns when it
	 * may.  What it was allowed before, it may hold no more meanwhile.
	 * 0, or -1 with errno: it is to give up.
	 */
	int	 (*hold)(int peer, uint64_t bytes);
};

/*
 * What came of it.  payload:
 *	READ, PREAD	the bytes
 *	CANON		the path, without NUL
 *	STAT		with attributes: where a link leads to, as CANON
 *	LIST, WALK	records, see below
 */
struct fsop_result {
	int		 error;		/* 0, or errno; EAGAIN: not bounded */
	enum fsop_why	 why;
	bool		 is_dir, is_file, is_symlink;	/* STAT */
	bool		 truncated;	/* WALK: a limit was met */
	bool		 is_local;	/* OPEN: reads and writes do not hang */
	uint64_t	 size;		/* STAT, PWRITE: bytes */
	int64_t		 created_ms, modified_ms;	/* STAT, since 1970 */
	int64_t		 atime_ns, mtime_ns;		/* likewise */
	uint32_t	 mode;		/* STAT: of what a link leads to */
	/* What is above travels as it is (fsagent.c). */
	int		 fd;		/* OPEN: the caller's; else -1 */
	int		 writeback;	/* WRITE: for writeback_add(), or -1 */
	struct buf	 payload;
};

/* A record of LIST or WALK: this, then name_len bytes, then text_len. */
struct fsop_record {
	uint8_t		 type;		/* enum fsop_record_type */
	uint16_t	 name_len;	/* LIST: name; WALK: absolute path */
	uint16_t	 text_len;	/* FSOP_REC_ERROR: why */
};
_Static_assert(sizeof(struct fsop_record) == 6, "as an agent sends it");

enum fsop_record_type {
	FSOP_REC_OTHER, FSOP_REC_FILE, FSOP_REC_DIR, FSOP_REC_ERROR
};

void	 fsop_result_init(struct fsop_result *r);

/*
 * Free what it holds; what a WRITE left behind, and nobody took, is begun to be
 * written out: so the answer goes first.
 */
void	 fsop_result_fini(struct fsop_result *r);

/*
 * Do it; r is initialised and says what came of it.  The payload is empty
 * when it failed.
 */
void	 fsop_run(const struct fsop *op, const struct fsop_how *how,
	    struct fsop_result *r);

/*
 * What READ gave as an open file is read after all: of a size that does not
 * take long, and local.  As fsop_run().
 */
void	 fsop_read_opened(struct fsop_result *r);

/* Append a record.  0, or -1 with errno (EFBIG past the buffer's ceiling). */
int	 fsop_put_record(struct buf *b, enum fsop_record_type type,
	    const char *name, size_t len, const char *text)
	    __attribute__((warn_unused_result));

/*
 * The record at *offp of a payload, with its name and text (NULL when there
 * is none; not NUL-terminated); moves *offp behind it. False: there is none,
 * or what is there is cut off.
 */
bool	 fsop_next_record(const struct buf *b, size_t *offp,
	    struct fsop_record *rec, const char **name_out,
	    const char **text_out);

#endif
