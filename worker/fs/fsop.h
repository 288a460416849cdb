/*
 * File operations, without JSON or event loop.
 *
 * Nonblocking ones surely take little time, on local file systems only; else
 * EAGAIN, before anything was changed.  Worker and holders
 * (worker/sandbox/holder.h) run these; a child of a holder each that blocks.
 * Nothing blocks on a FIFO or device.
 */
#pragma once

#include <assert.h>
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

/* Where errno has none. */
enum fsop_why {
	FSWHY_NONE,
#define FSWHY(name, err, text)	FSWHY_##name,
#include "proto/fswhy.def"
#undef FSWHY
	FSWHYS
};

/* Paths are absolute, without "." and "..". */
struct fsop {
	enum fsop_kind	 kind;
	bool		 nofollow;	/* any symlink: ELOOP */
	bool		 recursive;	/* MKDIR, REMOVE, COPY */
	bool		 force;		/* REMOVE: missing is fine; CONFIG:
					   path exists, is made canonical */
	bool		 replace;	/* OPEN for writing: create, truncate */
	bool		 update;	/* OPEN for writing what exists */
	bool		 follow_dirs;	/* WALK: symlinks to folders */
	bool		 prune_hidden;	/* WALK: do not enter ".name" */
	bool		 attributes;	/* STAT, LIST: dangling symlinks, too;
					   STAT: and the target's path */
	bool		 is_confined;	/* SETATTR: in a sandbox */
	bool		 sets_mode, sets_atime, sets_mtime;	/* SETATTR */
	uint32_t	 mode;		/* SETATTR; with the umask: WRITE, OPEN,
					   MKDIR for new ones */
	uint64_t	 atime_ns, mtime_ns;	/* SETATTR, since 1970 */
	uint32_t	 max_depth, max_dirs, max_entries;	/* WALK */
	uint64_t	 offset, len;	/* PREAD, PWRITE: bytes */
	char		 path[PATH_MAX];
	char		 to[PATH_MAX];	/* COPY, RENAME; SYMLINK: target;
					   CONFIG, DISCOVER: the
					   home directory */
	const void	*data;		/* WRITE, PWRITE, CONFIG, ROOT (its
					   id): len bytes */
	int		 fd;		/* PREAD, PWRITE: the open file */
};

struct fsop_how {
	bool	 nonblock;
	size_t	 max_out;	/* nonblocking: bytes of payload */
	int	 cancel_fd;	/* socket: cancel at its EOF; or -1 */
	bool	 gives_file;	/* nonblocking READ: r->fd may be the result */
	/*
	 * Ask to use more than LIMIT_FILE_QUICK for the payload, bytes at most
	 * in place of earlier permissions.  0, or -1 with errno: fail.  NULL:
	 * no limit.
	 */
	int	 (*reserve)(int peer, uint64_t bytes);
};

/*
 * payload:
 *	READ, PREAD	the bytes
 *	CANON		the path, without NUL
 *	STAT		with attributes: a symlink's target, as CANON
 *	LIST, WALK	records, see below
 *	CONFIG		the result of environmentConfig/read, as JSON
 *	ROOT		a root of capabilityRoots/discoverV1, as JSON
 *	DISCOVER	the result of capabilities/discoverV2, as JSON
 * Of a failure: more about why.
 */
struct fsop_result {
	int		 error;		/* errno, 0; EAGAIN: must block */
	enum fsop_why	 why;
	bool		 is_dir, is_file, is_symlink;	/* STAT */
	bool		 truncated;	/* WALK: by a limit */
	bool		 is_local;	/* OPEN: local file system */
	uint64_t	 size;		/* STAT, of fd after READ: bytes */
	int64_t		 created_ms, modified_ms;	/* STAT, since 1970 */
	int64_t		 atime_ns, mtime_ns;		/* likewise */
	uint32_t	 mode;		/* STAT: of a symlink's target */
	/* All above is sent as it is. */
	int		 fd;		/* OPEN: the caller's; else -1 */
	int		 writeback;	/* for writeback_add(), or -1 */
	bool		 is_explained;	/* failed, payload says why */
	struct buf	 payload;
};

/* Of LIST or WALK; name_len and text_len bytes follow. */
struct fsop_record {
	uint8_t		 type;		/* enum fsop_record_type */
	uint16_t	 name_len;	/* LIST: name; WALK: absolute path */
	uint16_t	 text_len;	/* FSOP_REC_ERROR: the reason */
};
_Static_assert(sizeof(struct fsop_record) == 6, "as an agent sends it");

enum fsop_record_type {
	FSOP_REC_OTHER, FSOP_REC_FILE, FSOP_REC_DIR, FSOP_REC_ERROR
};

void	 fsop_result_init(struct fsop_result *r);

/* Starts writeback of r->writeback: call it when the answer is sent. */
void	 fsop_result_fini(struct fsop_result *r);

/* r is initialized. */
void	 fsop_run(const struct fsop *op, const struct fsop_how *how,
	    struct fsop_result *r);

/* A READ's r->fd: small, local.  As fsop_run(). */
void	 fsop_read_opened(struct fsop_result *r);

/* -1: errno EFBIG, ENOMEM. */
int	 fsop_put_record(struct buf *b, enum fsop_record_type type,
	    const char *name, size_t len, const char *text) MUST_CHECK;

/* Get the record at *offp and advance.  No NUL; NULL: none.  False: no more. */
bool	 fsop_next_record(const struct buf *b, size_t *offp,
	    struct fsop_record *rec, const char **name_out,
	    const char **text_out);
