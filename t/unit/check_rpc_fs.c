/*
 * worker/rpc/rpc_fs.c: which operation a request is, its limits, and what of
 * the result is told.  Operations, sandboxes and handles are ours.
 */
#include <errno.h>

#include "common/fd.h"
#include "t/unit/rpc_stand_in.h"
#include "worker/rpc/fsjobs.h"
#include "worker/rpc/rpc_fs.h"
#include "worker/rpc/rpc_priv.h"
#include "worker/rpc/rpc_sandbox.h"
#include "worker/sandbox/holder.h"

struct holder { int unused; };

static struct env		 env;
static struct holder		 holder;
static struct fsop_result	 res;		/* of all operations */
static bool			 is_bad;	/* the sandbox */
static bool			 has_client;	/* still, at the end */
static const char		*made;		/* a path; or NULL */
static struct handle		 handle;	/* "h", if it is open */
static bool			 is_open;
static int			 add_errno;

/* --- in the place of operations --- */

static void
tell_op(const struct fsop *op)
{
	static const char	*const names[] = {
#define FSOP(name, fn)	#name,
#include "proto/fsop.def"
#undef FSOP
	};
	char			 text[500];
	size_t			 n = 0;

#define ADD(...) n += (size_t)snprintf(text + n, sizeof(text) - n, __VA_ARGS__)
#define FLAG(name) if (op->name) ADD(" " #name)
	ADD("%s %s", names[op->kind], op->path);
	if (op->to[0] != '\0')
		ADD(" to %s", op->to);
	FLAG(nofollow);
	FLAG(recursive);
	FLAG(force);
	FLAG(replace);
	FLAG(update);
	FLAG(follow_dirs);
	FLAG(prune_hidden);
	FLAG(attributes);
	FLAG(is_confined);
	FLAG(sets_mode);
	FLAG(sets_atime);
	FLAG(sets_mtime);
	if (op->mode != 0666)
		ADD(" %o", op->mode);
	if (op->atime_ns != 0 || op->mtime_ns != 0)
		ADD(" times %llu %llu", (unsigned long long)op->atime_ns,
		    (unsigned long long)op->mtime_ns);
	if (op->kind == FSOP_WALK)
		ADD(" %u %u %u", op->max_depth, op->max_dirs, op->max_entries);
	if (op->offset != 0)
		ADD(" at %llu", (unsigned long long)op->offset);
	if (op->len != 0)
		ADD(" %llu bytes", (unsigned long long)op->len);
	if (op->data != NULL && op->len > 0 && op->len < 9)
		ADD(" %.*s", (int)op->len, (const char *)op->data);
	if (op->fd != -1)
		ADD(" fd %d", op->fd);
	tell("%s", text);
}

void
fsjobs_run(struct rpc *of, struct rpc_req *req, const struct fsop *op,
    struct holder *in, struct handle *h, fsjobs_done_fn *done, void *arg)
{
	ck_assert(of == &rpc && (in == NULL || in == &holder));
	ck_assert(h == NULL || h == &handle);
	ck_assert_int_eq(op->is_confined, in != NULL && h == NULL);
	tell_op(op);
	done(has_client ? req : NULL, op, &res, arg);
	fsop_result_fini(&res);
	fsop_result_init(&res);
}

bool
rpc_sandbox_applies(const struct rpc *of, uint32_t tok)
{
	ck_assert_ptr_eq(of, &rpc);
	return tok != 0;
}

int
rpc_sandbox_nsset(struct rpc *of, struct rpc_req *req, uint32_t tok,
    bool writes, struct holder **out)
{
	ck_assert(of == &rpc && tok != 0);
	tell("sandbox%s", writes ? " writes" : "");
	if (is_bad)
		rpc_error(req, ERR_PARAMS, "a bad sandbox");
	*out = &holder;
	return is_bad ? -1 : 0;
}

bool
holders_made(const struct holders *hs, const char *path, size_t len)
{
	ck_assert((const void *)hs == &holder);
	return made != NULL && strlen(made) == len &&
	    memcmp(made, path, len) == 0;
}

struct handle *
handle_find(struct rpc *of, const char *id, size_t len)
{
	ck_assert_ptr_eq(of, &rpc);
	return is_open && len == 1 && id[0] == 'h' ? &handle : NULL;
}

struct handle *
handle_add(struct rpc *of, const char *id, size_t len)
{
	ck_assert(of == &rpc && len <= HANDLE_ID_MAX);
	errno = add_errno;
	if (add_errno != 0)
		return NULL;
	memset(&handle, 0, sizeof(handle));
	memcpy(handle.id, id, len);
	handle.node.len = len;
	handle.rpc = &rpc;
	handle.fd = -1;
	is_open = true;
	return &handle;
}

void
handle_close(struct rpc *of, struct handle *h)
{
	ck_assert(of == &rpc && h == &handle);
	tell("closed");
	is_open = false;
}

void
rpc_begin_value(struct rpc_req *req, struct json_out *o)
{
	unkeep(req);
	json_out_init(o, &rpc.scratch);
	json_out_open(o, '{');
	json_out_key(o, "value");
}

void
rpc_end_value(struct rpc_req *req, struct json_out *o)
{
	rpc_end(req, o);
}

/* --- the tests --- */

static void
setup(void)
{
	rpc_begin_all(&env);
	rpc.holders = (struct holders *)(void *)&holder;
	fsop_result_init(&res);
	is_bad = is_open = false;
	has_client = true;
	made = NULL;
	add_errno = 0;
}

static void
teardown(void)
{
	fsop_result_fini(&res);
	rpc_end_all();
}

static void
payload(const char *text)
{
	ck_assert_int_eq(buf_put(&res.payload, text, strlen(text)), 0);
}

static void
record(enum fsop_record_type type, const char *name, const char *text)
{
	ck_assert_int_eq(fsop_put_record(&res.payload, type, name,
	    strlen(name), text), 0);
}

#define FS(name, group, json)	ASK(fs_##group, rpc_fs_##name, 1, "{" json "}")
#define PATH			"\"path\":\"file:///f\""
#define BOX			",\"sandbox\":{}"
#define NOFOLLOW		",\"followSymlinks\":false"
#define MODE_REFUSED							\
	"1 MALFORMED: mode must be at most 4095 (octal 7777); "

/* Errors, as the reference has them; reasons with their rows. */
START_TEST(test_errors)
{
	static const struct {
		int	 error;
		const char *what;
	}	 rows[] = {
		{ ENOENT, "NOT_FOUND: No such file or directory (os error 2)" },
		{ EINVAL, "MALFORMED: Invalid argument (os error 22)" },
		{ EACCES, "MALFORMED: Permission denied (os error 13)" },
		{ EPERM, "MALFORMED: Operation not permitted (os error 1)" },
		{ EISDIR, "FAILED: Is a directory (os error 21)" },
	};
	char	 want[100];
	size_t	 i;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		res.error = rows[i].error;
		FS(read, path, PATH);
		snprintf(want, sizeof(want), "READ /f; 1 %s; ", rows[i].what);
		DID(want);
	}
	res.why = FSWHY_TOO_LARGE;
	FS(read, path, PATH);
	DID("READ /f; 1 MALFORMED: the file is larger than 512 MiB; ");
	res.why = FSWHY_CONFIG;
	payload("line 3");
	FS(read, path, PATH);
	DID("READ /f; 1 FAILED: the configuration of this machine cannot be "
	    "read: line 3; ");
	/* The client is gone. */
	has_client = false;
	res.error = EIO;
	FS(read, path, PATH);
	res.why = FSWHY_CONFIG;
	FS(write, write, PATH ",\"dataBase64\":\"\"");
	DID("READ /f; WRITE /f; ");
}
END_TEST

START_TEST(test_read)
{
	payload("abc");
	FS(read, path, PATH);
	DID("READ /f; body 3 abc; 1 {\"dataBase64\":\"*\"}; ");
	FS(read, path, PATH NOFOLLOW BOX);
	DID("sandbox; READ /f nofollow is_confined; body 0 ; "
	    "1 {\"dataBase64\":\"*\"}; ");
	is_bad = true;
	FS(read, path, PATH BOX);
	DID("sandbox; 1 PARAMS: a bad sandbox; ");
	/* What a sandbox has made is not there. */
	made = "/f";
	FS(read, path, PATH);
	DID("1 NOT_FOUND: No such file or directory; ");
	FS(write, write, PATH ",\"dataBase64\":\"\"");
	DID("WRITE /f; 1 {}; ");
}
END_TEST

START_TEST(test_stat)
{
	res.is_dir = true;
	res.size = 5;
	res.created_ms = -1;
	res.modified_ms = 7;
	FS(stat, stat, PATH NOFOLLOW);
	DID("STAT /f nofollow; 1 {\"isDirectory\":true,\"isFile\":false,"
	    "\"isSymlink\":false,\"size\":5,\"createdAtMs\":-1,"
	    "\"modifiedAtMs\":7}; ");
	res.is_symlink = res.is_file = true;
	res.mode = 0644;
	res.atime_ns = -8;
	res.mtime_ns = 9;
	payload("/t");
	FS(stat, stat, PATH ",\"attributes\":true" BOX);
	DID("sandbox; STAT /f attributes is_confined; 1 {\"isDirectory\":false,"
	    "\"isFile\":true,\"isSymlink\":true,\"size\":0,\"createdAtMs\":0,"
	    "\"modifiedAtMs\":0,\"mode\":420,\"accessedAtNs\":-8,"
	    "\"modifiedAtNs\":9,\"linkTarget\":\"/t\"}; ");
	/* A target that is not UTF-8, or of no link. */
	res.is_symlink = true;
	payload("\xff");
	FS(stat, stat, PATH ",\"attributes\":true");
	ck_assert_ptr_nonnull(strstr(did, "\"linkTarget\":null}"));
	did[0] = '\0';
	payload("x");
	FS(stat, stat, PATH ",\"attributes\":true");
	ck_assert_ptr_nonnull(strstr(did, "\"linkTarget\":null}"));
}
END_TEST

START_TEST(test_paths)
{
	char	 longer[PATH_MAX + 2];

	payload("/a b");
	FS(canonicalize, path, PATH);
	DID("CANON /f; 1 {\"path\":\"file:///a%20b\"}; ");
	memset(longer, 'x', sizeof(longer) - 1);
	longer[0] = '/';
	longer[PATH_MAX + 1] = '\0';
	payload(longer);
	FS(canonicalize, path, PATH);
	DID("CANON /f; 1 long; ");
	ck_assert_uint_eq(strlen(answer), strlen("{\"path\":\"file://\"}") +
	    strlen(longer));
}
END_TEST

START_TEST(test_list)
{
	FS(list, stat, PATH);
	DID("LIST /f; 1 {\"entries\":[]}; ");
	record(FSOP_REC_FILE, "a", NULL);
	record(FSOP_REC_DIR, "b", NULL);
	record(FSOP_REC_OTHER, "c", NULL);
	made = "/f/b";
	FS(list, stat, PATH ",\"attributes\":true" NOFOLLOW);
	DID("LIST /f nofollow attributes; 1 {\"entries\":[{\"fileName\":\"a\","
	    "\"isDirectory\":false,\"isFile\":true},{\"fileName\":\"c\","
	    "\"isDirectory\":false,\"isFile\":false}]}; ");
	record(FSOP_REC_DIR, "b", NULL);
	made = NULL;
	FS(list, stat, PATH);
	DID("LIST /f; 1 {\"entries\":[{\"fileName\":\"b\",\"isDirectory\":true,"
	    "\"isFile\":false}]}; ");
	rpc.scratch.max = 20;
	record(FSOP_REC_DIR, "much more than there is room for", NULL);
	FS(list, stat, PATH);
	DID("LIST /f; 1 FAILED: the names are too long for one answer; ");
}
END_TEST

#define WALK(depth, dirs, entries, more)				\
	FS(walk, walk, PATH ",\"options\":{\"maxDepth\":" #depth	\
	    ",\"maxDirectories\":" #dirs ",\"maxEntries\":" #entries	\
	    ",\"followDirectorySymlinks\":" more "}" BOX)
#define WALK_REFUSED							\
	"1 MALFORMED: maxDepth is at most 64, maxDirectories from 1 to " \
	"10000, maxEntries from 1 to 50000; "

START_TEST(test_walk)
{
	record(FSOP_REC_FILE, "/a", NULL);
	record(FSOP_REC_ERROR, "/b", "gone");
	record(FSOP_REC_DIR, "/c", NULL);
	record(FSOP_REC_DIR, "/d", NULL);
	record(FSOP_REC_ERROR, "/e", "");
	made = "/d";
	res.truncated = true;
	WALK(64, 10000, 50000, "true,\"pruneHiddenDirectories\":true");
	DID("sandbox; WALK /f follow_dirs prune_hidden is_confined 64 10000 "
	    "50000; 1 {\"entries\":["
	    "{\"path\":\"file:///a\",\"kind\":\"file\"},"
	    "{\"path\":\"file:///c\",\"kind\":\"directory\"}],\"errors\":["
	    "{\"path\":\"file:///b\",\"message\":\"gone\"},{\"path\":"
	    "\"file:///e\",\"message\":\"\"}],\"truncated\":true}; ");
	WALK(0, 1, 1, "false");
	DID("sandbox; WALK /f is_confined 0 1 1; 1 {\"entries\":[],"
	    "\"errors\":[],\"truncated\":false}; ");
	WALK(65, 1, 1, "false");
	WALK(1, 0, 1, "false");
	WALK(1, 10001, 1, "false");
	WALK(1, 1, 0, "false");
	WALK(1, 1, 50001, "false");
	DID(WALK_REFUSED WALK_REFUSED WALK_REFUSED WALK_REFUSED WALK_REFUSED);
}
END_TEST

START_TEST(test_write)
{
	FS(write, write, PATH ",\"dataBase64\":\"aGk=\",\"mode\":4095" BOX
	    NOFOLLOW);
	DID("sandbox writes; WRITE /f nofollow is_confined 7777 2 bytes hi; "
	    "1 {}; ");
	FS(write, write, PATH ",\"dataBase64\":\"aGk\"");
	DID("1 MALFORMED: dataBase64 is not base64; ");
	FS(write, write, PATH ",\"dataBase64\":\"\",\"mode\":4096");
	DID(MODE_REFUSED);
}
END_TEST

START_TEST(test_changes)
{
	FS(mkdir, mkdir, PATH);
	FS(mkdir, mkdir, PATH ",\"recursive\":false,\"mode\":448" NOFOLLOW);
	DID("MKDIR /f recursive 777; 1 {}; MKDIR /f nofollow 700; 1 {}; ");
	FS(mkdir, mkdir, PATH ",\"mode\":4096");
	DID(MODE_REFUSED);
	FS(rename, rename, "\"sourcePath\":\"file:///a\",\"destinationPath\":"
	    "\"file:///b\"" NOFOLLOW);
	DID("RENAME /a to /b nofollow; 1 {}; ");
	FS(copy, copy, "\"sourcePath\":\"file:///a\",\"destinationPath\":"
	    "\"file:///b\",\"recursive\":true" BOX);
	DID("sandbox writes; COPY /a to /b recursive is_confined; 1 {}; ");
	FS(remove, remove, PATH);
	FS(remove, remove, PATH ",\"recursive\":false,\"force\":false"
	    NOFOLLOW);
	DID("REMOVE /f recursive force; 1 {}; REMOVE /f nofollow; 1 {}; ");
	FS(remove, remove, PATH NOFOLLOW);
	DID("1 MALFORMED: with followSymlinks false, recursive must be "
	    "false; ");
}
END_TEST

START_TEST(test_setattr)
{
	FS(setattr, setattr, PATH ",\"mode\":420");
	FS(setattr, setattr, PATH ",\"accessedAtNs\":3");
	FS(setattr, setattr, PATH
	    ",\"modifiedAtNs\":9223372036854775807" NOFOLLOW);
	DID("SETATTR /f sets_mode 644; 1 {}; "
	    "SETATTR /f sets_atime times 3 0; 1 {}; SETATTR /f nofollow "
	    "sets_mtime times 0 9223372036854775807; 1 {}; ");
	FS(setattr, setattr, PATH ",\"modifiedAtNs\":9223372036854775808");
	FS(setattr, setattr, PATH ",\"accessedAtNs\":9223372036854775808");
	FS(setattr, setattr, PATH ",\"mode\":4096");
	DID("1 MALFORMED: the time is out of range; 1 MALFORMED: the time is "
	    "out of range; " MODE_REFUSED);
}
END_TEST

START_TEST(test_symlink)
{
	char	 text[PATH_MAX + 100], target[PATH_MAX + 1];

	memset(target, 't', sizeof(target));
	FS(symlink, symlink, PATH ",\"target\":\"../x\"" NOFOLLOW);
	DID("SYMLINK /f to ../x nofollow; 1 {}; ");
	FS(symlink, symlink, PATH ",\"target\":\"\"");
	DID("1 MALFORMED: target must have 1 to 4095 bytes; ");
	snprintf(text, sizeof(text), "{" PATH ",\"target\":\"%.*s\"}",
	    PATH_MAX, target);
	ASK(fs_symlink, rpc_fs_symlink, 1, text);
	DID("1 MALFORMED: target must have 1 to 4095 bytes; ");
}
END_TEST

/* --- handles --- */

#define OPEN(more)	FS(open, open, PATH ",\"handleId\":\"h\"" more)
#define OPENED		"1 {\"handleId\":\"h\"}; "

START_TEST(test_open)
{
	res.fd = 44;
	res.is_local = true;
	OPEN("");
	DID("OPEN /f; " OPENED);
	ck_assert(handle.fd == 44 && handle.is_local && !handle.writes);
	res.fd = 45;
	OPEN(",\"mode\":\"replace\",\"permissions\":384" BOX);
	DID("sandbox writes; OPEN /f replace 600; " OPENED);
	ck_assert(handle.fd == 45 && !handle.is_local && handle.writes);
	OPEN(",\"mode\":\"update\"");
	ck_assert(handle.writes);
	OPEN(",\"mode\":\"read\"" BOX);
	ck_assert(!handle.writes);
	DID("OPEN /f update; " OPENED "sandbox; OPEN /f; " OPENED);
	res.error = ENOENT;
	OPEN("");
	DID("OPEN /f; closed; 1 NOT_FOUND: No such file or directory "
	    "(os error 2); ");
}
END_TEST

START_TEST(test_not_opened)
{
	char	 id[HANDLE_ID_MAX + 2], text[200];

	OPEN(",\"mode\":\"append\"");
	OPEN(",\"mode\":\"replace\",\"permissions\":4096");
	DID("1 PARAMS: unknown mode; " MODE_REFUSED);
	is_bad = true;
	OPEN(BOX);
	DID("sandbox; 1 PARAMS: a bad sandbox; ");
	add_errno = EEXIST;
	OPEN("");
	add_errno = EMFILE;
	OPEN("");
	DID("1 MALFORMED: file handle h already exists; "
	    "1 TOO_MANY: too many open file handles; ");
	add_errno = 0;
	memset(id, 'i', sizeof(id));
	id[HANDLE_ID_MAX + 1] = '\0';
	snprintf(text, sizeof(text), "{" PATH ",\"handleId\":\"%s\"}", id);
	ASK(fs_open, rpc_fs_open, 1, text);
	DID("1 MALFORMED: handleId must have at most 32 bytes; ");
	id[HANDLE_ID_MAX] = '\0';
	snprintf(text, sizeof(text), "{" PATH ",\"handleId\":\"%s\"}", id);
	ASK(fs_open, rpc_fs_open, 1, text);
	ck_assert_ptr_nonnull(strstr(did, "OPEN /f; 1 {\"handleId\":\"iiii"));
}
END_TEST

#define READ(id, offset, len)						\
	FS(readblock, read_block, "\"handleId\":\"" id "\",\"offset\":"	\
	    #offset ",\"len\":" #len)
#define LEN_REFUSED	"1 MALFORMED: len must be from 1 to 1048576; "
#define FAR		"1 MALFORMED: the offset is too large; "
#define UNKNOWN		"1 NOT_FOUND: unknown file handle; "

START_TEST(test_read_block)
{
	READ("h", 0, 1);
	DID(UNKNOWN);
	OPEN("");
	handle.fd = 44;
	did[0] = '\0';
	payload("abc");
	READ("h", 5, 3);
	DID("PREAD  at 5 3 bytes fd 44; body 3 abc; "
	    "1 {\"chunk\":\"*\",\"eof\":false}; ");
	payload("ab");
	READ("h", 9223372036854775807, 3);
	DID("PREAD  at 9223372036854775807 3 bytes fd 44; body 2 ab; "
	    "1 {\"chunk\":\"*\",\"eof\":true}; ");
	READ("h", 0, 1048576);
	DID("PREAD  1048576 bytes fd 44; body 0 ; "
	    "1 {\"chunk\":\"*\",\"eof\":true}; ");
	READ("h", 0, 0);
	READ("h", 0, 1048577);
	READ("h", 9223372036854775808, 1);
	DID(LEN_REFUSED LEN_REFUSED FAR);
}
END_TEST

#define WRITE(id, offset, chunk)					\
	FS(writeblock, write_block, "\"handleId\":\"" id "\",\"offset\":" \
	    #offset ",\"chunk\":\"" chunk "\"")

START_TEST(test_write_block)
{
	WRITE("h", 0, "aGk=");
	DID(UNKNOWN);
	OPEN("");
	did[0] = '\0';
	WRITE("h", 0, "aGk=");
	DID("1 FAILED: Bad file descriptor (os error 9); ");
	handle.writes = true;
	handle.fd = 44;
	WRITE("h", 7, "aGk=");
	WRITE("h", 9223372036854775805, "aGk=");
	WRITE("h", 9223372036854775806, "aGk=");
	WRITE("h", 0, "");
	DID("PWRITE  at 7 2 bytes hi fd 44; 1 {}; PWRITE  at "
	    "9223372036854775805 2 bytes hi fd 44; 1 {}; " FAR
	    "1 MALFORMED: a block must have 1 to 1048576 bytes; ");
	FS(close, close, "\"handleId\":\"h\"");
	FS(close, close, "\"handleId\":\"h\"");
	DID("closed; 1 {}; 1 {}; ");
}
END_TEST

/* --- for others --- */

START_TEST(test_value)
{
	struct rpc_req	 req = { .rpc = &rpc, .id = { .number = 1 } };

	payload("[1]");
	rpc_fs_done_value(&req, NULL, &res, NULL);
	DID("1 {\"value\":[1]}; ");
	res.why = FSWHY_BUSY;
	buf_drain(&res.payload, res.payload.len);
	rpc_fs_done_value(&req, NULL, &res, NULL);
	DID("1 FAILED: too many file operations are in progress; ");
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("rpc_fs");
	TCase	*t = tcase_create("rpc_fs");
	SRunner	*sr;
	int	 failed;

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, test_errors);
	tcase_add_test(t, test_read);
	tcase_add_test(t, test_stat);
	tcase_add_test(t, test_paths);
	tcase_add_test(t, test_list);
	tcase_add_test(t, test_walk);
	tcase_add_test(t, test_write);
	tcase_add_test(t, test_changes);
	tcase_add_test(t, test_setattr);
	tcase_add_test(t, test_symlink);
	tcase_add_test(t, test_open);
	tcase_add_test(t, test_not_opened);
	tcase_add_test(t, test_read_block);
	tcase_add_test(t, test_write_block);
	tcase_add_test(t, test_value);
	suite_add_tcase(s, t);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
