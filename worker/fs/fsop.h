/*
 * File operations: plain structs, without JSON or event loop.
 *
 * A nonblocking operation takes little time for sure, on local file systems
 * only; otherwise it fails with EAGAIN before anything was changed.  The worker
 * and holders (worker/sandbox/holder.h) run them nonblocking; children of a
 * holder, one for each operation, run those that block.
 *
 * Nothing blocks on a FIFO or device.  Nothing is checked by path and used
 * later: descriptors are used.
 */
#pragma once

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

/* A reason that errno does not have. */
enum fsop_why {
	FSWHY_NONE,
#define FSWHY(name, err, text)	FSWHY_##name,
#include "proto/fswhy.def"
#undef FSWHY
	FSWHYS
};

/* A request.  Paths are absolute, without "." and "..". */
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

/* How to do it. */
struct fsop_how {
	bool	 nonblock;
	size_t	 max_out;	/* nonblocking: bytes of payload */
	int	 cancel_fd;	/* socket: cancel at its EOF; or -1 */
	bool	 gives_file;	/* nonblocking READ: r->fd may be the result */
	/*
	 * Wait for permission to use more than LIMIT_FILE_QUICK of memory for
	 * the payload, bytes at most, in place of earlier permissions.  0, or
	 * -1 with errno: fail.  NULL: not limited.
	 */
	int	 (*reserve)(int peer, uint64_t bytes);
};

/*
 * A result.  payload:
 *	READ, PREAD	the bytes
 *	CANON		the path, without NUL
 *	STAT		with attributes: a symlink's target, as CANON
 *	LIST, WALK	records, see below
 *	CONFIG		the result of environmentConfig/read, as JSON
 *	ROOT		a root of capabilityRoots/discoverV1, as JSON
 *	DISCOVER	the result of capabilities/discoverV2, as JSON
 * The payload of a failure says more about why: FSWHY_CONFIG, for example.
 */
struct fsop_result {
	int		 error;		/* errno, 0; EAGAIN: must block */
	enum fsop_why	 why;
	bool		 is_dir, is_file, is_symlink;	/* STAT */
	bool		 truncated;	/* WALK: by a limit */
	bool		 is_local;	/* OPEN: local file system */
	uint64_t	 size;		/* STAT, PWRITE: bytes */
	int64_t		 created_ms, modified_ms;	/* STAT, since 1970 */
	int64_t		 atime_ns, mtime_ns;		/* likewise */
	uint32_t	 mode;		/* STAT: of a symlink's target */
	/* All above is sent as it is by fsagent.c. */
	int		 fd;		/* OPEN: the caller's; else -1 */
	int		 writeback;	/* for writeback_add(), or -1 */
	bool		 is_explained;	/* failed, payload says why */
	struct buf	 payload;
};

/* A record of LIST or WALK, followed by name_len and text_len bytes. */
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

/* Starts writeback of r->writeback, so call it after the answer is sent. */
void	 fsop_result_fini(struct fsop_result *r);

/* Run an operation; r is initialized.  Of a failure the payload is text. */
void	 fsop_run(const struct fsop *op, const struct fsop_how *how,
	    struct fsop_result *r);

/* Read the file that a READ returned as r->fd: small, local.  As fsop_run(). */
void	 fsop_read_opened(struct fsop_result *r);

/* Append a record.  0, or -1 with errno EFBIG, ENOMEM. */
int	 fsop_put_record(struct buf *b, enum fsop_record_type type,
	    const char *name, size_t len, const char *text) MUST_CHECK;

/*
 * Get the record at *offp, with name and text (not NUL-terminated; NULL: none),
 * and advance.  False: no more, or malformed.
 */
bool	 fsop_next_record(const struct buf *b, size_t *offp,
	    struct fsop_record *rec, const char **name_out,
	    const char **text_out);
