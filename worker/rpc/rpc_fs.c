/* fs/... (PROTOCOL 6). */
#include "worker/rpc/rpc.h"
#include "worker/rpc/rpc_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/fd.h"
#include "common/json/b64.h"
#include "common/json/uri.h"
#include "common/json/utf8.h"
#include "common/limit.h"
#include "worker/rpc/fsjobs.h"
#include "worker/rpc/rpc_fs.h"
#include "worker/rpc/rpc_sandbox.h"
#include "worker/sandbox/holder.h"

#define URI_MAX		(3 * PATH_MAX + 8)
#define MODE_MAX	07777

/* --- answers --- */

/* Map errno to a row, as in the reference: clients rely on that. */
static enum rpc_err
err_of(int error)
{
	switch (error) {
	case ENOENT:
		return ERR_NOT_FOUND;
	case EINVAL:
	case EACCES:
	case EPERM:
		return ERR_MALFORMED;
	default:
		return ERR_FAILED;
	}
}

static const struct {
	enum rpc_err	 err;
	const char	*text;
} whys[FSWHYS] = {
#define FSWHY(name, row, words)	[FSWHY_##name] = { ERR_##row, words },
#include "proto/fswhy.def"
#undef FSWHY
};

bool
rpc_fs_failed(struct rpc_req *req, const struct fsop_result *r)
{
	if (r->why == FSWHY_NONE && r->error == 0)
		return false;
	if (req == NULL)
		return true;
	if (r->why == FSWHY_NONE)
		rpc_errorf(req, err_of(r->error), "%s (os error %d)",
		    strerror(r->error), r->error);
	else if (r->payload.len > 0)
		rpc_errorf(req, whys[r->why].err, "%s: %.*s",
		    whys[r->why].text, (int)r->payload.len,
		    (const char *)buf_data(&r->payload));
	else
		rpc_error(req, whys[r->why].err, whys[r->why].text);
	return true;
}

/* Answer {}. */
static void
done_ok(struct rpc_req *req, const struct fsop *op, struct fsop_result *r,
    void *arg)
{
	(void)op;
	(void)arg;
	if (!rpc_fs_failed(req, r))
		rpc_ok(req);
}

void
rpc_fs_done_value(struct rpc_req *req, const struct fsop *op,
    struct fsop_result *r, void *arg)
{
	struct json_out	 o;

	(void)op;
	(void)arg;
	if (rpc_fs_failed(req, r))
		return;
	rpc_begin_value(req, &o);
	json_out_raw(&o, (const char *)buf_data(&r->payload), r->payload.len);
	rpc_end_value(req, &o);
}

static void
done_read(struct rpc_req *req, const struct fsop *op, struct fsop_result *r,
    void *arg)
{
	struct json_out	 o;
	struct rpc_b64	 part;

	(void)op;
	(void)arg;
	if (rpc_fs_failed(req, r))
		return;
	rpc_begin(req, &o);
	json_out_key(&o, "dataBase64");
	rpc_put_b64(&o, buf_data(&r->payload), r->payload.len, &part);
	rpc_end_b64(req, &o, &part, 1, &r->payload);
}

static void
done_block(struct rpc_req *req, const struct fsop *op, struct fsop_result *r,
    void *arg)
{
	struct json_out	 o;
	struct rpc_b64	 part;

	(void)arg;
	if (rpc_fs_failed(req, r))
		return;
	rpc_begin(req, &o);
	json_out_key(&o, "chunk");
	rpc_put_b64(&o, buf_data(&r->payload), r->payload.len, &part);
	json_out_pair_bool(&o, "eof", r->payload.len < op->len);
	rpc_end_b64(req, &o, &part, 1, &r->payload);
}

/* A target that is not UTF-8 cannot be JSON: null. */
static void
put_attributes(struct json_out *o, const struct fsop_result *r)
{
	const char	*target = (const char *)buf_data(&r->payload);

	json_out_pair_u64(o, "mode", r->mode);
	json_out_key(o, "accessedAtNs");
	json_out_i64(o, r->atime_ns);
	json_out_key(o, "modifiedAtNs");
	json_out_i64(o, r->mtime_ns);
	json_out_key(o, "linkTarget");
	if (r->is_symlink && utf8_is_valid(target, r->payload.len))
		json_out_text(o, target, r->payload.len);
	else
		json_out_null(o);
}

static void
done_stat(struct rpc_req *req, const struct fsop *op, struct fsop_result *r,
    void *arg)
{
	struct json_out	 o;

	(void)arg;
	if (rpc_fs_failed(req, r))
		return;
	rpc_begin(req, &o);
	json_out_pair_bool(&o, "isDirectory", r->is_dir);
	json_out_pair_bool(&o, "isFile", r->is_file);
	json_out_pair_bool(&o, "isSymlink", r->is_symlink);
	json_out_pair_u64(&o, "size", r->size);
	json_out_key(&o, "createdAtMs");
	json_out_i64(&o, r->created_ms);
	json_out_key(&o, "modifiedAtMs");
	json_out_i64(&o, r->modified_ms);
	if (op->attributes)
		put_attributes(&o, r);
	rpc_end(req, &o);
}

/* Write the URI of a path that is not NUL-terminated, as a member. */
static void
put_uri(struct json_out *o, const char *key, const char *path, size_t len)
{
	char	 copy[PATH_MAX], uri[URI_MAX];
	char	*long_copy = NULL, *long_uri = NULL, *p = copy, *u = uri;
	size_t	 size = sizeof(uri);
	ssize_t	 n;

	/* A walk can go deeper than PATH_MAX. */
	if (len >= sizeof(copy)) {
		size = 3 * len + 8;
		p = long_copy = malloc(len + 1);
		u = long_uri = malloc(size);
	}
	if (p != NULL && u != NULL) {
		memcpy(p, path, len);
		p[len] = '\0';
		if ((n = uri_from_path(p, u, size)) != -1) {
			json_out_key(o, key);
			json_out_text(o, u, (size_t)n);
		}
	}
	free(long_copy);
	free(long_uri);
}

static void
done_canon(struct rpc_req *req, const struct fsop *op, struct fsop_result *r,
    void *arg)
{
	struct json_out	 o;

	(void)op;
	(void)arg;
	if (rpc_fs_failed(req, r))
		return;
	rpc_begin(req, &o);
	put_uri(&o, "path", (const char *)buf_data(&r->payload),
	    r->payload.len);
	rpc_end(req, &o);
}

/* Whether a name in a directory is a stand-in of a holder. */
static bool
is_made(const struct rpc_req *req, const char *folder, const char *name,
    size_t len)
{
	char	 path[PATH_MAX + NAME_MAX + 2];
	int	 n;

	if (req->rpc->holders == NULL)
		return false;
	n = snprintf(path, sizeof(path), "%s/%.*s", folder, (int)len, name);
	return (size_t)n < sizeof(path) &&
	    holders_made(req->rpc->holders, path, (size_t)n);
}

static void
done_list(struct rpc_req *req, const struct fsop *op, struct fsop_result *r,
    void *arg)
{
	struct json_out		 o;
	struct fsop_record	 rec;
	const char		*name, *text;
	size_t			 off = 0;

	(void)arg;
	if (rpc_fs_failed(req, r))
		return;
	rpc_begin(req, &o);
	json_out_key(&o, "entries");
	json_out_open(&o, '[');
	while (fsop_next_record(&r->payload, &off, &rec, &name, &text)) {
		if (is_made(req, op->path, name, rec.name_len))
			continue;
		json_out_open(&o, '{');
		json_out_key(&o, "fileName");
		json_out_text(&o, name, rec.name_len);
		json_out_pair_bool(&o, "isDirectory", rec.type == FSOP_REC_DIR);
		json_out_pair_bool(&o, "isFile", rec.type == FSOP_REC_FILE);
		json_out_close(&o, '}');
	}
	json_out_close(&o, ']');
	if (o.error != 0) {
		buf_drain(&req->rpc->scratch, req->rpc->scratch.len);
		rpc_error(req, ERR_FAILED, "the names are too long for one "
		    "answer");
		return;
	}
	rpc_end(req, &o);
}

/* Write the entries of a walk, or its errors. */
static void
put_walked(const struct rpc *rpc, struct json_out *o,
    const struct fsop_result *r, bool errors)
{
	struct fsop_record	 rec;
	const char		*path, *text;
	size_t			 off = 0;

	json_out_key(o, errors ? "errors" : "entries");
	json_out_open(o, '[');
	while (fsop_next_record(&r->payload, &off, &rec, &path, &text)) {
		if ((rec.type == FSOP_REC_ERROR) != errors ||
		    holders_made(rpc->holders, path, rec.name_len))
			continue;
		json_out_open(o, '{');
		put_uri(o, "path", path, rec.name_len);
		json_out_key(o, errors ? "message" : "kind");
		if (errors)
			json_out_text(o, text != NULL ? text : "",
			    rec.text_len);
		else
			json_out_str(o, rec.type == FSOP_REC_DIR ?
			    "directory" : "file");
		json_out_close(o, '}');
	}
	json_out_close(o, ']');
}

static void
done_walk(struct rpc_req *req, const struct fsop *op, struct fsop_result *r,
    void *arg)
{
	struct json_out	 o;

	(void)op;
	(void)arg;
	if (rpc_fs_failed(req, r))
		return;
	rpc_begin(req, &o);
	put_walked(req->rpc, &o, r, false);
	put_walked(req->rpc, &o, r, true);
	json_out_pair_bool(&o, "truncated", r->truncated);
	rpc_end(req, &o);
}

/* --- requests --- */

void
rpc_fs_begin(struct fsop *op, enum fsop_kind kind,
    const struct param_path *path)
{
	op->kind = kind;
	op->nofollow = op->recursive = op->force = false;
	op->replace = op->update = false;
	op->follow_dirs = op->prune_hidden = op->attributes = false;
	op->is_confined = false;
	op->sets_mode = op->sets_atime = op->sets_mtime = false;
	op->mode = kind == FSOP_MKDIR ? 0777 : 0666;
	op->atime_ns = op->mtime_ns = 0;
	op->max_depth = op->max_dirs = op->max_entries = 0;
	op->offset = op->len = 0;
	op->data = NULL;
	op->fd = -1;
	op->path[0] = op->to[0] = '\0';
	if (path != NULL)
		strcpy(op->path, path->path);
}

/* Set the mode of new files, if given.  0, or -1: answered. */
static int
take_mode(struct rpc_req *req, struct fsop *op, const struct param_u64 *mode)
{
	if (mode->given && mode->n > MODE_MAX) {
		rpc_errorf(req, ERR_MALFORMED, "mode must be at most %d (octal "
		    "%o)", MODE_MAX, MODE_MAX);
		return -1;
	}
	if (mode->given)
		op->mode = (uint32_t)mode->n;
	return 0;
}

/* Find the holder that the sandbox needs, and run. */
static void
rpc_fs_run(struct rpc *rpc, struct rpc_req *req, struct fsop *op,
    uint32_t sandbox, bool writes, fsjobs_done_fn *done)
{
	struct holder	*holder = NULL;

	if (rpc_sandbox_applies(rpc, sandbox) && rpc_sandbox_nsset(rpc, req,
	    sandbox, writes, &holder) == -1)
		return;
	op->is_confined = holder != NULL;
	if (!writes && holders_made(rpc->holders, op->path, strlen(op->path)))
		rpc_error(req, ERR_NOT_FOUND, strerror(ENOENT));
	else
		fsjobs_run(rpc, req, op, holder, NULL, done, NULL);
}

/* Run an operation that needs only a path. */
static void
run_path(struct rpc *rpc, struct rpc_req *req, void *params,
    enum fsop_kind kind, fsjobs_done_fn *done)
{
	struct fs_path_params	*p = params;
	struct fsop		 op;

	rpc_fs_begin(&op, kind, &p->path);
	op.nofollow = p->nofollow;
	rpc_fs_run(rpc, req, &op, p->sandbox, false, done);
}

void
rpc_fs_read(struct rpc *rpc, struct rpc_req *req, void *params,
    const struct rpc_message *msg)
{
	(void)msg;
	run_path(rpc, req, params, FSOP_READ, done_read);
}

void
rpc_fs_stat(struct rpc *rpc, struct rpc_req *req, void *params,
    const struct rpc_message *msg)
{
	struct fs_stat_params	*p = params;
	struct fsop		 op;

	(void)msg;
	rpc_fs_begin(&op, FSOP_STAT, &p->path);
	op.nofollow = p->nofollow;
	op.attributes = p->attributes;
	rpc_fs_run(rpc, req, &op, p->sandbox, false, done_stat);
}

void
rpc_fs_canonicalize(struct rpc *rpc, struct rpc_req *req, void *params,
    const struct rpc_message *msg)
{
	(void)msg;
	run_path(rpc, req, params, FSOP_CANON, done_canon);
}

void
rpc_fs_list(struct rpc *rpc, struct rpc_req *req, void *params,
    const struct rpc_message *msg)
{
	struct fs_stat_params	*p = params;
	struct fsop		 op;

	(void)msg;
	rpc_fs_begin(&op, FSOP_LIST, &p->path);
	op.nofollow = p->nofollow;
	op.attributes = p->attributes;
	rpc_fs_run(rpc, req, &op, p->sandbox, false, done_list);
}

void
rpc_fs_write(struct rpc *rpc, struct rpc_req *req, void *params,
    const struct rpc_message *msg)
{
	struct fs_write_params	*p = params;
	struct fsop		 op;
	ssize_t			 n;

	(void)msg;
	if ((n = b64_decode(p->data.s, p->data.s, p->data.len)) == -1) {
		rpc_error(req, ERR_MALFORMED, "dataBase64 is not base64");
		return;
	}
	rpc_fs_begin(&op, FSOP_WRITE, &p->path);
	op.nofollow = p->nofollow;
	op.data = p->data.s;
	op.len = (size_t)n;
	if (take_mode(req, &op, &p->mode) == -1)
		return;
	rpc_fs_run(rpc, req, &op, p->sandbox, true, done_ok);
}

void
rpc_fs_mkdir(struct rpc *rpc, struct rpc_req *req, void *params,
    const struct rpc_message *msg)
{
	struct fs_mkdir_params	*p = params;
	struct fsop		 op;

	(void)msg;
	rpc_fs_begin(&op, FSOP_MKDIR, &p->path);
	op.nofollow = p->nofollow;
	op.recursive = !p->not_recursive;
	if (take_mode(req, &op, &p->mode) == 0)
		rpc_fs_run(rpc, req, &op, p->sandbox, true, done_ok);
}

void
rpc_fs_setattr(struct rpc *rpc, struct rpc_req *req, void *params,
    const struct rpc_message *msg)
{
	struct fs_setattr_params	*p = params;
	struct fsop			 op;

	(void)msg;
	rpc_fs_begin(&op, FSOP_SETATTR, &p->path);
	op.nofollow = p->nofollow;
	op.sets_mode = p->mode.given;
	op.sets_atime = p->atime.given;
	op.sets_mtime = p->mtime.given;
	op.atime_ns = p->atime.n;
	op.mtime_ns = p->mtime.n;
	if (op.atime_ns > INT64_MAX || op.mtime_ns > INT64_MAX)
		rpc_error(req, ERR_MALFORMED, "the time is out of range");
	else if (take_mode(req, &op, &p->mode) == 0)
		rpc_fs_run(rpc, req, &op, p->sandbox, true, done_ok);
}

void
rpc_fs_symlink(struct rpc *rpc, struct rpc_req *req, void *params,
    const struct rpc_message *msg)
{
	struct fs_symlink_params	*p = params;
	struct fsop			 op;

	(void)msg;
	rpc_fs_begin(&op, FSOP_SYMLINK, &p->path);
	op.nofollow = p->nofollow;
	if (p->target.len == 0 || p->target.len >= sizeof(op.to)) {
		rpc_errorf(req, ERR_MALFORMED, "target must have 1 to %d bytes",
		    PATH_MAX - 1);
		return;
	}
	memcpy(op.to, p->target.s, p->target.len);
	op.to[p->target.len] = '\0';
	rpc_fs_run(rpc, req, &op, p->sandbox, true, done_ok);
}

void
rpc_fs_rename(struct rpc *rpc, struct rpc_req *req, void *params,
    const struct rpc_message *msg)
{
	struct fs_rename_params	*p = params;
	struct fsop		 op;

	(void)msg;
	rpc_fs_begin(&op, FSOP_RENAME, &p->from);
	op.nofollow = p->nofollow;
	strcpy(op.to, p->to.path);
	rpc_fs_run(rpc, req, &op, p->sandbox, true, done_ok);
}

void
rpc_fs_remove(struct rpc *rpc, struct rpc_req *req, void *params,
    const struct rpc_message *msg)
{
	struct fs_remove_params	*p = params;
	struct fsop		 op;

	(void)msg;
	if (p->nofollow && !p->not_recursive) {
		rpc_error(req, ERR_MALFORMED,
		    "with followSymlinks false, recursive must be false");
		return;
	}
	rpc_fs_begin(&op, FSOP_REMOVE, &p->path);
	op.nofollow = p->nofollow;
	op.recursive = !p->not_recursive;
	op.force = !p->not_force;
	rpc_fs_run(rpc, req, &op, p->sandbox, true, done_ok);
}

void
rpc_fs_copy(struct rpc *rpc, struct rpc_req *req, void *params,
    const struct rpc_message *msg)
{
	struct fs_copy_params	*p = params;
	struct fsop		 op;

	(void)msg;
	rpc_fs_begin(&op, FSOP_COPY, &p->from);
	strcpy(op.to, p->to.path);
	op.recursive = p->recursive;
	rpc_fs_run(rpc, req, &op, p->sandbox, true, done_ok);
}

void
rpc_fs_walk(struct rpc *rpc, struct rpc_req *req, void *params,
    const struct rpc_message *msg)
{
	struct fs_walk_params			*p = params;
	const struct walk_options_params	*w = &p->options;
	struct fsop				 op;

	(void)msg;
	if (w->depth.n > LIMIT_WALK_DEPTH || w->dirs.n < 1 ||
	    w->dirs.n > LIMIT_WALK_FOLDERS || w->entries.n < 1 ||
	    w->entries.n > LIMIT_FOLDER_ENTRIES) {
		rpc_errorf(req, ERR_MALFORMED, "maxDepth is at most %d, "
		    "maxDirectories from 1 to %d, maxEntries from 1 to %d",
		    LIMIT_WALK_DEPTH, LIMIT_WALK_FOLDERS,
		    LIMIT_FOLDER_ENTRIES);
		return;
	}
	rpc_fs_begin(&op, FSOP_WALK, &p->path);
	op.max_depth = (uint32_t)w->depth.n;
	op.max_dirs = (uint32_t)w->dirs.n;
	op.max_entries = (uint32_t)w->entries.n;
	op.follow_dirs = w->follow_dirs;
	op.prune_hidden = w->prune_hidden;
	rpc_fs_run(rpc, req, &op, p->sandbox, false, done_walk);
}

/* --- handles --- */

static void
done_open(struct rpc_req *req, const struct fsop *op, struct fsop_result *r,
    void *arg)
{
	struct handle	*h = arg;
	struct json_out	 o;
	size_t		 len = h->node.len;
	char		 id[HANDLE_ID_MAX];

	(void)op;
	if (r->why != FSWHY_NONE || r->error != 0) {
		if (!h->closed)
			handle_close(h->rpc, h);
		rpc_fs_failed(req, r);
		return;
	}
	h->fd = r->fd;
	r->fd = -1;
	h->is_local = r->is_local;
	memcpy(id, h->id, len);
	rpc_begin(req, &o);
	json_out_key(&o, "handleId");
	json_out_text(&o, id, len);
	rpc_end(req, &o);
}

void
rpc_fs_open(struct rpc *rpc, struct rpc_req *req, void *params,
    const struct rpc_message *msg)
{
	struct fs_open_params	*p = params;
	struct holder		*holder = NULL;
	struct handle		*h;
	struct fsop		 op;
	bool			 writes;

	(void)msg;
	rpc_fs_begin(&op, FSOP_OPEN, &p->path);
	op.replace = param_is(&p->mode, "replace");
	op.update = param_is(&p->mode, "update");
	writes = op.replace || op.update;
	if (p->mode.s != NULL && !writes && !param_is(&p->mode, "read")) {
		rpc_error(req, ERR_PARAMS, "unknown mode");
		return;
	}
	if (take_mode(req, &op, &p->permissions) == -1)
		return;
	if (p->handle_id.len > HANDLE_ID_MAX) {
		rpc_errorf(req, ERR_MALFORMED,
		    "handleId must have at most %d bytes", HANDLE_ID_MAX);
		return;
	}
	if (rpc_sandbox_applies(rpc, p->sandbox) && rpc_sandbox_nsset(rpc, req,
	    p->sandbox, writes, &holder) == -1)
		return;
	if ((h = handle_add(rpc, p->handle_id.s, p->handle_id.len)) == NULL) {
		if (errno == EEXIST)
			rpc_errorf(req, ERR_MALFORMED,
			    "file handle %.*s already exists",
			    (int)p->handle_id.len, p->handle_id.s);
		else
			rpc_error(req, ERR_TOO_MANY,
			    "too many open file handles");
		return;
	}
	h->writes = writes;
	fsjobs_run(rpc, req, &op, holder, h, done_open, h);
}

/* Return the handle, or NULL: answered. */
static struct handle *
need_handle(struct rpc *rpc, struct rpc_req *req,
    const struct param_text *id)
{
	struct handle	*h = handle_find(rpc, id->s, id->len);

	if (h == NULL)
		rpc_error(req, ERR_NOT_FOUND, "unknown file handle");
	return h;
}

void
rpc_fs_readblock(struct rpc *rpc, struct rpc_req *req, void *params,
    const struct rpc_message *msg)
{
	struct fs_read_block_params	*p = params;
	struct handle			*h;
	struct fsop			 op;

	(void)msg;
	if (p->len.n < 1 || p->len.n > LIMIT_FILE_BLOCK) {
		rpc_errorf(req, ERR_MALFORMED, "len must be from 1 to %d",
		    LIMIT_FILE_BLOCK);
		return;
	}
	if ((h = need_handle(rpc, req, &p->handle_id)) == NULL)
		return;
	if (p->offset.n > INT64_MAX) {
		rpc_error(req, ERR_MALFORMED, "the offset is too large");
		return;
	}
	rpc_fs_begin(&op, FSOP_PREAD, NULL);
	op.fd = h->fd;
	op.offset = p->offset.n;
	op.len = p->len.n;
	fsjobs_run(rpc, req, &op, NULL, h, done_block, NULL);
}

void
rpc_fs_writeblock(struct rpc *rpc, struct rpc_req *req, void *params,
    const struct rpc_message *msg)
{
	struct fs_write_block_params	*p = params;
	struct handle			*h;
	struct fsop			 op;

	(void)msg;
	if (p->chunk.len < 1 || p->chunk.len > LIMIT_FILE_BLOCK) {
		rpc_errorf(req, ERR_MALFORMED, "a block must have 1 to %d "
		    "bytes",
		    LIMIT_FILE_BLOCK);
		return;
	}
	if (p->offset.n > INT64_MAX - p->chunk.len) {
		rpc_error(req, ERR_MALFORMED, "the offset is too large");
		return;
	}
	if ((h = need_handle(rpc, req, &p->handle_id)) == NULL)
		return;
	if (!h->writes) {
		rpc_error(req, ERR_FAILED, "Bad file descriptor (os error 9)");
		return;
	}
	rpc_fs_begin(&op, FSOP_PWRITE, NULL);
	op.fd = h->fd;
	op.offset = p->offset.n;
	op.data = p->chunk.s;
	op.len = p->chunk.len;
	fsjobs_run(rpc, req, &op, NULL, h, done_ok, NULL);
}

void
rpc_fs_close(struct rpc *rpc, struct rpc_req *req, void *params,
    const struct rpc_message *msg)
{
	struct fs_close_params	*p = params;
	struct handle		*h;

	(void)msg;
	if ((h = handle_find(rpc, p->handle_id.s, p->handle_id.len)) != NULL)
		handle_close(rpc, h);
	rpc_ok(req);
}
