/*
 * common/client: typed requests.  What goes over the wire for each of
 * calls.def, what becomes of answers, good and bad, and who owns what.
 */
#include <sys/stat.h>

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <check.h>

#include "common/clock.h"
#include "common/client/calls.h"
#include "common/client/text.h"
#include "common/limit.h"
#include "t/unit/peer_help.h"

#define COUNT(a)	(sizeof(a) / sizeof((a)[0]))

/* --- hooks that write down what they got --- */

static const char *
safe(const char *text)
{
	return text != NULL ? text : "(null)";
}

static void
note_list(const char *const *v)
{
	for (; v != NULL && *v != NULL; v++)
		peer_note("%s,", *v);
	peer_note(";");
}

#define FAILED_WITH(e)							\
	do {								\
		ck_assert_int_eq((r == NULL), ((e) != NULL));		\
		ck_assert_ptr_eq(arg, trace);				\
		if (r == NULL) {					\
			peer_note("%lld %s;", (long long)(e)->code,	\
			    (e)->text);					\
			return;						\
		}							\
	} while (0)

static void
on_environment(void *arg, const struct execsrv_environment *r,
    const struct execsrv_error *e)
{
	FAILED_WITH(e);
	peer_note("%s|%s|%s|%s|%s|%s|%s|%s|", safe(r->shell_name),
	    safe(r->shell), safe(r->version), safe(r->provider), safe(r->cwd),
	    safe(r->home), safe(r->os), safe(r->temporary));
	note_list(r->path_folders);
	note_list(r->temporaries);
}

static void
on_condition(void *arg, const struct execsrv_condition *r,
    const struct execsrv_error *e)
{
	FAILED_WITH(e);
	peer_note("%s;", r->status);
}

static void
on_config(void *arg, const struct execsrv_config *r,
    const struct execsrv_error *e)
{
	FAILED_WITH(e);
	peer_note("%s|%s|%s|%s|%s;", safe(r->home), safe(r->codex_home),
	    safe(r->hostname), r->config, r->requirements);
}

static void
on_path(void *arg, const struct execsrv_path *r, const struct execsrv_error *e)
{
	FAILED_WITH(e);
	peer_note("%s;", r->path);
}

static void
on_directory(void *arg, const struct execsrv_directory *r,
    const struct execsrv_error *e)
{
	size_t	 i;

	FAILED_WITH(e);
	for (i = 0; i < r->nentries; i++)
		peer_note("%s %d%d,", r->entries[i].name,
		    r->entries[i].is_directory, r->entries[i].is_file);
	peer_note("%zu;", r->nentries);
}

static void
on_metadata(void *arg, const struct execsrv_metadata *r,
    const struct execsrv_error *e)
{
	FAILED_WITH(e);
	peer_note("%d%d%d %llu %lld %lld;", r->is_directory, r->is_file,
	    r->is_link, (unsigned long long)r->size, (long long)r->created_ms,
	    (long long)r->modified_ms);
}

static void
on_attributes(void *arg, const struct execsrv_attributes *r,
    const struct execsrv_error *e)
{
	FAILED_WITH(e);
	peer_note("%d%d%d %llu %llo %lld %lld %s;", r->is_directory,
	    r->is_file, r->is_link, (unsigned long long)r->size,
	    (unsigned long long)r->mode, (long long)r->accessed_ns,
	    (long long)r->modified_ns, safe(r->target));
}

static void
on_content(void *arg, const struct execsrv_content *r,
    const struct execsrv_error *e)
{
	FAILED_WITH(e);
	ck_assert_ptr_nonnull(r->bytes.data);
	ck_assert_uint_eq(strlen(r->bytes.data), r->bytes.len);
	peer_note("%zu %s;", r->bytes.len, (const char *)r->bytes.data);
}

static void
on_tree(void *arg, const struct execsrv_tree *r, const struct execsrv_error *e)
{
	size_t	 i;

	FAILED_WITH(e);
	for (i = 0; i < r->nentries; i++)
		peer_note("%s %s,", r->entries[i].path, r->entries[i].kind);
	for (i = 0; i < r->nerrors; i++)
		peer_note("%s: %s,", r->errors[i].path,
		    r->errors[i].message);
	peer_note("%d;", r->is_truncated);
}

static void
on_done(void *arg, const struct execsrv_error *e)
{
	ck_assert_ptr_eq(arg, trace);
	if (e == NULL)
		peer_note("done;");
	else
		peer_note("%lld %s;", (long long)e->code, e->text);
}

static void
on_block(void *arg, const struct execsrv_block *r,
    const struct execsrv_error *e)
{
	FAILED_WITH(e);
	peer_note("%zu %.*s %d;", r->bytes.len, (int)r->bytes.len,
	    (const char *)r->bytes.data, r->is_end);
}

static void
on_processes(void *arg, const struct execsrv_process_list *r,
    const struct execsrv_error *e)
{
	const struct execsrv_process_info	*p;
	size_t					 i;

	FAILED_WITH(e);
	for (i = 0; i < r->nprocesses; i++) {
		p = &r->processes[i];
		peer_note("%s %lld %d%d%d %lld %llu;", p->id,
		    (long long)p->pid, p->tty, p->is_exited, p->is_closed,
		    (long long)p->exit_code, (unsigned long long)p->next_seq);
	}
}

static void
on_retained(void *arg, const struct execsrv_retained *r,
    const struct execsrv_error *e)
{
	size_t	 i;

	FAILED_WITH(e);
	for (i = 0; i < r->nchunks; i++)
		peer_note("%llu %s %.*s,",
		    (unsigned long long)r->chunks[i].seq,
		    r->chunks[i].stream, (int)r->chunks[i].bytes.len,
		    (const char *)r->chunks[i].bytes.data);
	peer_note("%llu %d%d%d %lld %s;", (unsigned long long)r->next_seq,
	    r->is_exited, r->is_closed, r->is_sandbox_denied,
	    (long long)r->exit_code, safe(r->failure));
}

/* --- each request: what is sent, and what is made of an answer --- */

static const char *const	 two[] = { "a.b", "c", NULL };

#define SEND(name, fn, ...)						\
	static int							\
	send_##name(void)						\
	{								\
		const struct execsrv_##name##_in in = __VA_ARGS__;	\
									\
		return execsrv_##name(x, &in, fn, trace);		\
	}

#define execsrv_environment_config_in	execsrv_config_read
#define execsrv_fs_attributes_in	execsrv_fs_look
#define execsrv_fs_list_in		execsrv_fs_look
#define execsrv_fs_set_attributes_in	execsrv_fs_set
#define execsrv_fs_create_link_in	execsrv_fs_link
#define execsrv_fs_rename_in		execsrv_fs_rename
#define execsrv_fs_canonicalize_in	execsrv_fs_path
#define execsrv_fs_directory_in		execsrv_fs_path
#define execsrv_fs_metadata_in		execsrv_fs_path
#define execsrv_fs_read_file_in		execsrv_fs_path
#define execsrv_fs_walk_in		execsrv_fs_walk
#define execsrv_fs_copy_in		execsrv_fs_copy
#define execsrv_fs_create_directory_in	execsrv_fs_create
#define execsrv_fs_remove_in		execsrv_fs_remove
#define execsrv_fs_write_file_in	execsrv_fs_write
#define execsrv_fs_open_in		execsrv_fs_open
#define execsrv_fs_close_in		execsrv_fs_handle
#define execsrv_fs_read_block_in	execsrv_fs_read_block
#define execsrv_fs_write_block_in	execsrv_fs_write_block
#define execsrv_process_read_in		execsrv_process_read

SEND(environment_config, on_config, { .cwd = "/w", .config = two,
    .requirements = two })
SEND(fs_canonicalize, on_path, { .path = "/a b" })
SEND(fs_directory, on_directory, { .path = "/", .sandbox = "{\"x\":[1]}" })
SEND(fs_list, on_directory, { .path = "/x", .no_follow = true })
SEND(fs_metadata, on_metadata, { .path = "/x", .no_follow = true })
SEND(fs_attributes, on_attributes, { .path = "/x" })
SEND(fs_set_attributes, on_done, { .path = "/x", .mode = 0755,
    .modified_ns = 7 })
SEND(fs_create_link, on_done, { .path = "/x", .target = "../y" })
SEND(fs_rename, on_done, { .from = "/x", .to = "/y" })
SEND(fs_read_file, on_content, { .path = "/\xff" })
SEND(fs_walk, on_tree, { .path = "/", .max_depth = 0, .max_directories = 2,
    .max_entries = 3, .prune_hidden = true })
SEND(fs_copy, on_done, { .from = "/a", .to = "/b" })
SEND(fs_create_directory, on_done, { .path = "/a", .only_last = true,
    .mode = S_IFDIR })
SEND(fs_remove, on_done, { .path = "/a", .must_exist = true })
SEND(fs_write_file, on_done, { .path = "/a", .bytes = { "x\0y", 3 },
    .mode = 0600 })
SEND(fs_open, on_done, { .handle = "h", .path = "/a", .mode = "replace" })
SEND(fs_close, on_done, { .handle = "h" })
SEND(fs_read_block, on_block, { .handle = "h", .offset = UINT64_MAX,
    .len = 1 })
SEND(fs_write_block, on_done, { .handle = "h", .offset = 0,
    .bytes = { "a", 1 } })
SEND(process_read, on_retained, { .id = "p", .wait_ms = 5 })

static int
send_environment_info(void)
{
	return execsrv_environment_info(x, on_environment, trace);
}

static int
send_environment_status(void)
{
	return execsrv_environment_status(x, on_condition, trace);
}

static int
send_process_list(void)
{
	return execsrv_process_list(x, on_processes, trace);
}

static const struct {
	int		(*send)(void);
	const char	*method, *params, *result, *told;
} rows[] = {
	{ send_environment_info, "environment/info", "{}",
	    "{\"shell\":{\"name\":\"bash\",\"path\":\"/bin/bash\"},"
	    "\"executorVersion\":\"1\",\"providerId\":null,"
	    "\"cwd\":\"file:///a%20b\",\"platformOs\":\"linux\","
	    "\"temporaryDirectories\":[\"file:///tmp\",\"file:///t\"],"
	    "\"capabilities\":{},\"more\":[]}",
	    "bash|/bin/bash|1|(null)|/a b|(null)|linux|(null)|;/tmp,/t,;" },
	{ send_environment_info, "environment/info", "{}", "{}",
	    "(null)|(null)|(null)|(null)|(null)|(null)|(null)|(null)|;;" },
	{ send_environment_status, "environment/status", "{}",
	    "{\"status\":\"ready\"}", "ready;" },
	{ send_environment_config, "environmentConfig/read",
	    "{\"cwd\":\"file:///w\",\"configPaths\":[\"a.b\",\"c\"],"
	    "\"requirementsPaths\":[\"a.b\",\"c\"]}",
	    "{\"userHomeDir\":\"file:///h\",\"hostname\":\"n\",\"config\":"
	    "{\"layers\":[null,\"\\n\\\"\",1.50,true],\"x\":{}},"
	    "\"requirements\":{}}",
	    "/h|(null)|n|{\"layers\":[null,\"\\n\\\"\",1.50,true],\"x\":{}}|"
	    "{};" },
	{ send_fs_canonicalize, "fs/canonicalize",
	    "{\"path\":\"file:///a%20b\"}", "{\"path\":\"file:///%ff\"}",
	    "/\xff;" },
	{ send_fs_directory, "fs/readDirectory",
	    "{\"path\":\"file:///\",\"sandbox\":{\"x\":[1]}}",
	    "{\"entries\":[{\"fileName\":\"a\",\"isDirectory\":true,"
	    "\"isFile\":false},{\"fileName\":\"\xc3\xa9\",\"isDirectory\":"
	    "false,\"isFile\":true}]}", "a 10,\xc3\xa9 01,2;" },
	{ send_fs_directory, "fs/readDirectory",
	    "{\"path\":\"file:///\",\"sandbox\":{\"x\":[1]}}",
	    "{\"entries\":[]}", "0;" },
	{ send_fs_list, "fs/readDirectory",
	    "{\"path\":\"file:///x\",\"attributes\":true,"
	    "\"followSymlinks\":false}",
	    "{\"entries\":[{\"fileName\":\"a\",\"isDirectory\":false,"
	    "\"isFile\":false}]}", "a 00,1;" },
	{ send_fs_metadata, "fs/getMetadata",
	    "{\"path\":\"file:///x\",\"followSymlinks\":false}",
	    "{\"isDirectory\":false,\"isFile\":true,\"isSymlink\":true,"
	    "\"size\":18446744073709551615,\"createdAtMs\":0,"
	    "\"modifiedAtMs\":-1}",
	    "011 18446744073709551615 0 -1;" },
	{ send_fs_attributes, "fs/getMetadata",
	    "{\"path\":\"file:///x\",\"attributes\":true}",
	    "{\"isDirectory\":true,\"isFile\":false,\"isSymlink\":true,"
	    "\"size\":3,\"mode\":448,\"accessedAtNs\":-5,"
	    "\"modifiedAtNs\":1000000000000000001,\"linkTarget\":\"a b\"}",
	    "101 3 700 -5 1000000000000000001 a b;" },
	{ send_fs_attributes, "fs/getMetadata",
	    "{\"path\":\"file:///x\",\"attributes\":true}",
	    "{\"isDirectory\":false,\"isFile\":true,\"isSymlink\":false,"
	    "\"size\":0,\"mode\":0,\"accessedAtNs\":0,"
	    "\"modifiedAtNs\":0,\"linkTarget\":null}",
	    "010 0 0 0 0 (null);" },
	{ send_fs_set_attributes, "fs/setAttributes",
	    "{\"path\":\"file:///x\",\"mode\":493,\"modifiedAtNs\":7}",
	    "{}", "done;" },
	{ send_fs_create_link, "fs/createSymlink",
	    "{\"path\":\"file:///x\",\"target\":\"../y\"}", "{}",
	    "done;" },
	{ send_fs_rename, "fs/rename", "{\"sourcePath\":\"file:///x\","
	    "\"destinationPath\":\"file:///y\"}", "{}", "done;" },
	{ send_fs_read_file, "fs/readFile", "{\"path\":\"file:///%FF\"}",
	    "{\"dataBase64\":\"b25l\"}", "3 one;" },
	{ send_fs_read_file, "fs/readFile", "{\"path\":\"file:///%FF\"}",
	    "{\"dataBase64\":\"\"}", "0 ;" },
	{ send_fs_walk, "fs/walk", "{\"path\":\"file:///\",\"options\":"
	    "{\"maxDepth\":0,\"maxDirectories\":2,\"maxEntries\":3,"
	    "\"followDirectorySymlinks\":false,"
	    "\"pruneHiddenDirectories\":true}}",
	    "{\"entries\":[{\"path\":\"file:///a\",\"kind\":\"file\"}],"
	    "\"errors\":[{\"path\":\"file:///b\",\"message\":\"no\"}],"
	    "\"truncated\":true}", "/a file,/b: no,1;" },
	{ send_fs_copy, "fs/copy", "{\"sourcePath\":\"file:///a\","
	    "\"destinationPath\":\"file:///b\",\"recursive\":false}", "{}",
	    "done;" },
	{ send_fs_create_directory, "fs/createDirectory",
	    "{\"path\":\"file:///a\",\"recursive\":false,\"mode\":0}", "{}",
	    "done;" },
	{ send_fs_remove, "fs/remove", "{\"path\":\"file:///a\","
	    "\"recursive\":false,\"force\":false}", "{}", "done;" },
	{ send_fs_write_file, "fs/writeFile", "{\"path\":\"file:///a\","
	    "\"dataBase64\":\"eAB5\",\"mode\":384}", "{}", "done;" },
	{ send_fs_open, "fs/open", "{\"handleId\":\"h\",\"path\":"
	    "\"file:///a\",\"mode\":\"replace\"}", "{\"handleId\":\"h\"}",
	    "done;" },
	{ send_fs_close, "fs/close", "{\"handleId\":\"h\"}", "{}", "done;" },
	{ send_fs_read_block, "fs/readBlock", "{\"handleId\":\"h\","
	    "\"offset\":18446744073709551615,\"len\":1}",
	    "{\"chunk\":\"\",\"eof\":true}", "0  1;" },
	{ send_fs_write_block, "fs/writeBlock", "{\"handleId\":\"h\","
	    "\"offset\":0,\"chunk\":\"YQ==\"}", "{}", "done;" },
	{ send_process_list, "process/list", "{}", "{\"processes\":["
	    "{\"processId\":\"p1\",\"pid\":7,\"tty\":true,\"exited\":true,"
	    "\"exitCode\":3,\"closed\":false,\"nextSeq\":4},"
	    "{\"processId\":\"q\",\"exitCode\":null}]}",
	    "p1 7 110 3 4;q 0 000 -1 0;" },
	{ send_process_read, "process/read",
	    "{\"processId\":\"p\",\"waitMs\":5}",
	    "{\"chunks\":[{\"seq\":2,\"stream\":\"pty\",\"chunk\":\"b25l\"}],"
	    "\"nextSeq\":4,\"exited\":true,\"exitCode\":-1,\"closed\":false,"
	    "\"failure\":null,\"sandboxDenied\":true}",
	    "2 pty one,4 101 -1 (null);" },
};

START_TEST(test_call)
{
	char	 want[1024];

	peer_start();
	ck_assert_int_eq(rows[_i].send(), 0);
	snprintf(want, sizeof(want), "{\"id\":1,\"method\":\"%s\","
	    "\"params\":%s}", rows[_i].method, rows[_i].params);
	peer_ck_heard(want);
	peer_ck_trace("");
	peer_say("{\"id\":1,\"result\":%s}", rows[_i].result);
	ck_assert_int_eq(peer_turn(), 0);
	peer_ck_trace(rows[_i].told);
	/* The server's error, and a connection that ends. */
	ck_assert_int_eq(rows[_i].send(), 0);
	peer_say("{\"id\":2,\"error\":{\"code\":-32004,\"message\":\"no\"}}");
	ck_assert_int_eq(peer_turn(), 0);
	peer_ck_trace("-32004 no;");
	ck_assert_int_eq(rows[_i].send(), 0);
	shutdown(peer, SHUT_WR);
	ck_assert_int_eq(peer_turn(), -1);
	peer_ck_trace("0 the server closed the connection;");
	ck_assert_int_eq(peer_turn(), -1);
	peer_ck_trace("");
	ck_assert_int_eq(rows[_i].send(), -1);
	ck_assert_int_eq(errno, EPIPE);
	peer_stop();
	/* One that is never answered is freed with its connection. */
	peer_start();
	ck_assert_int_eq(rows[_i].send(), 0);
	peer_stop();
	peer_ck_trace("");
}
END_TEST

static const struct {
	int		(*send)(void);
	const char	*result;
} malformed[] = {
	{ send_fs_canonicalize, "null" },
	{ send_fs_canonicalize, "[]" },
	{ send_fs_canonicalize, "{}" },
	{ send_fs_canonicalize, "{\"path\":null}" },
	{ send_fs_canonicalize, "{\"path\":\"/a\"}" },
	{ send_fs_canonicalize, "{\"path\":\"file:///a%00\"}" },
	{ send_environment_status, "{\"status\":\"a\\u0000b\"}" },
	{ send_environment_info, "{\"temporaryDirectories\":{}}" },
	{ send_environment_info, "{\"temporaryDirectories\":[1]}" },
	{ send_environment_info, "{\"shell\":\"bash\"}" },
	{ send_fs_metadata, "{\"isDirectory\":1,\"isFile\":true}" },
	{ send_fs_metadata, "{\"isDirectory\":true}" },
	{ send_fs_metadata, "{\"isDirectory\":true,\"isFile\":true,"
	    "\"size\":-1}" },
	{ send_fs_metadata, "{\"isDirectory\":true,\"isFile\":true,"
	    "\"modifiedAtMs\":1e3}" },
	{ send_fs_read_file, "{\"dataBase64\":\"b25\"}" },
	{ send_fs_read_file, "{\"dataBase64\":\"b25?\"}" },
	{ send_fs_read_file, "{\"dataBase64\":7}" },
	{ send_fs_directory, "{\"entries\":{}}" },
	{ send_fs_directory, "{\"entries\":[[]]}" },
	{ send_fs_directory, "{\"entries\":[{\"fileName\":\"a\","
	    "\"isDirectory\":true,\"isFile\":false},{}]}" },
	{ send_fs_copy, "[]" },
};

START_TEST(test_malformed)
{
	peer_start();
	ck_assert_int_eq(malformed[_i].send(), 0);
	peer_say("{\"id\":1,\"result\":%s}", malformed[_i].result);
	ck_assert_int_eq(peer_turn(), 0);	/* only that request fails */
	ck_assert_ptr_nonnull(strstr(trace, "is malformed;"));
	ck_assert_int_eq(strncmp(trace, "0 ", 2), 0);
	peer_stop();
}
END_TEST

/* What cannot be said is refused before anything is sent. */
START_TEST(test_refused)
{
	static char			 deep[2 * PATH_MAX];
	static const struct execsrv_fs_path	 paths[] = {
		{ .path = NULL }, { .path = "" }, { .path = "a" },
		{ .path = "/", .sandbox = "" }, { .path = "/", .sandbox = "{" },
		{ .path = "/", .sandbox = "1" },
		{ .path = "/", .sandbox = "{},\"x\":{}" },
		{ .path = "/", .sandbox = "{\"a\":1,\"a\":2}" },
		{ .path = "/", .sandbox = "{\"\xff\":1}" },
	};
	struct execsrv_fs_handle	 h = { .handle = "\xff" };
	struct execsrv_fs_path		 p = { .path = deep };
	struct execsrv_error		 e;
	size_t				 i;

	peer_start();
	for (i = 0; i < COUNT(paths); i++) {
		ck_assert_int_eq(execsrv_fs_metadata(x, &paths[i], on_metadata,
		    trace), -1);
		ck_assert_int_eq(errno, EINVAL);
	}
	ck_assert_int_eq(execsrv_fs_close(x, &h, on_done, trace), -1);
	ck_assert_int_eq(errno, EILSEQ);
	memset(deep, ' ', sizeof(deep) - 1);
	deep[0] = '/';
	ck_assert_int_eq(execsrv_fs_metadata(x, &p, on_metadata, trace), -1);
	ck_assert_int_eq(errno, ENAMETOOLONG);
	ck_assert_ptr_null(execsrv_fs_metadata_wait(x, &p, 1000, &e));
	ck_assert_str_eq(e.text, strerror(ENAMETOOLONG));
	ck_assert(calls_is_empty(&x->calls));
	ck_assert_int_eq(peer_heard().type, WS_EV_NONE);
	peer_stop();
}
END_TEST

static void
on_cancelled(void *arg, const struct execsrv_metadata *r,
    const struct execsrv_error *e)
{
	(void)arg, (void)r, (void)e;
	ck_abort_msg("a cancelled request was answered");
}

static void
on_message(void *arg, bool is_sent, const char *text, size_t len)
{
	peer_note("%s %c%.*s;", (char *)arg, is_sent ? '>' : '<', (int)len,
	    text);
}

/* One that was sent, one that waits, one that was answered, none at all. */
START_TEST(test_cancel)
{
	struct execsrv_fs_path	 in = { .path = "/a" };
	uint64_t		 id;

	peer_start();
	execsrv_on_trace(x, on_message, (void *)(uintptr_t)"t");
	ck_assert_int_eq(execsrv_fs_metadata(x, &in, on_cancelled, NULL), 0);
	ck_assert_uint_eq(id = execsrv_last_request(x), 1);
	peer_ck_trace("t >{\"id\":1,\"method\":\"fs/getMetadata\",\"params\":"
	    "{\"path\":\"file:///a\"}};");
	ck_assert_int_eq(execsrv_cancel(x, id), 0);
	ck_assert_int_eq(execsrv_cancel(x, id), -1);
	ck_assert_int_eq(errno, ENOENT);
	/* Its answer is no stray one. */
	peer_say("{\"id\":1,\"result\":{}}");
	ck_assert_int_eq(peer_turn(), 0);
	peer_ck_trace("t <{\"id\":1,\"result\":{}};");
	ck_assert_int_eq(execsrv_cancel(x, id), -1);
	ck_assert_int_eq(execsrv_cancel(x, id + 1), -1);
	execsrv_on_trace(x, NULL, NULL);
	ck_assert_int_eq(execsrv_call_json(x, "m", "{}", 2, NULL, NULL), 0);
	ck_assert_int_eq(execsrv_cancel(x, execsrv_last_request(x)), 0);
	/* Those of a process are not the caller's to cancel. */
	ck_assert_int_eq(execsrv_call(x, "m", "{}", 2, NULL, NULL), 0);
	ck_assert_int_eq(execsrv_cancel(x, execsrv_last_request(x)), -1);
	peer_ck_trace("");
	peer_stop();

	peer_upgrading();
	ck_assert_int_eq(execsrv_fs_metadata(x, &in, on_cancelled, NULL), 0);
	ck_assert_int_eq(execsrv_cancel(x, execsrv_last_request(x)), 0);
	ck_assert(calls_is_empty(&x->calls));
	ck_assert_uint_eq(x->calls.kept, 0);
	peer_stop();
}
END_TEST

START_TEST(test_wait)
{
	struct execsrv_fs_path		 in = { .path = "/a" };
	struct execsrv_fs_handle	 h = { .handle = "h" };
	struct execsrv_error		 e = { .text = "" };
	struct execsrv_metadata		*m;
	struct execsrv_process_list	*l;
	uint64_t			 began;

	peer_start();
	peer_say("{\"id\":1,\"result\":{\"isDirectory\":true,"
	    "\"isFile\":false,\"size\":5}}");
	m = execsrv_fs_metadata_wait(x, &in, 1000, &e);
	ck_assert_ptr_nonnull(m);
	ck_assert_uint_eq(m->size, 5);
	free(m);
	peer_say("{\"id\":2,\"result\":{\"processes\":[]}}");
	l = execsrv_process_list_wait(x, EXECSRV_FOREVER, &e);
	ck_assert_ptr_nonnull(l);
	free(l);
	peer_say("{\"id\":3,\"result\":{}}");
	ck_assert_int_eq(execsrv_fs_close_wait(x, &h, 1000, &e), 0);
	peer_say("{\"id\":4,\"error\":{\"code\":-32004,\"message\":\"no\"}}");
	ck_assert_int_eq(execsrv_fs_close_wait(x, &h, 1000, &e), -1);
	ck_assert_int_eq(e.code, -32004);
	peer_say("{\"id\":5,\"result\":{\"isFile\":1}}");
	ck_assert_ptr_null(execsrv_fs_metadata_wait(x, &in, 1000, &e));
	ck_assert_ptr_nonnull(strstr(e.text, "malformed"));
	/* Silence; the answer that comes too late is nobody's. */
	began = clock_ms();
	ck_assert_ptr_null(execsrv_fs_metadata_wait(x, &in, 50, &e));
	ck_assert_uint_ge(clock_ms() - began, 50);
	ck_assert_str_eq(e.text, "the server does not answer fs/getMetadata");
	peer_say("{\"id\":6,\"result\":{\"isDirectory\":true,"
	    "\"isFile\":false}}");
	ck_assert_int_eq(peer_turn(), 0);
	shutdown(peer, SHUT_WR);
	ck_assert_ptr_null(execsrv_fs_metadata_wait(x, &in, EXECSRV_FOREVER,
	    &e));
	ck_assert_str_eq(e.text, "the server closed the connection");
	ck_assert_ptr_null(execsrv_fs_metadata_wait(x, &in, EXECSRV_FOREVER,
	    &e));
	ck_assert_str_eq(e.text, "the server closed the connection");
	peer_stop();
}
END_TEST

/* Without a hook, and any method in JSON. */
static void
on_json(void *arg, const char *result, size_t len,
    const struct execsrv_error *e)
{
	ck_assert_ptr_eq(arg, trace);
	if (e != NULL)
		peer_note("%s;", e->text);
	else
		peer_note("%.*s;", (int)len, result);
}

START_TEST(test_json)
{
	struct execsrv_fs_handle	 h = { .handle = "h" };
	const char			*bad[] = { "", "{", "7", "{}x", "\xff"
					};
	size_t				 i;

	peer_start();
	ck_assert_int_eq(execsrv_fs_close(x, &h, NULL, NULL), 0);
	peer_say("{\"id\":1,\"result\":{}}");
	ck_assert_int_eq(execsrv_call_json(x, "m", "{\"a\":1}", 7, on_json,
	    trace), 0);
	ck_assert_int_eq(execsrv_call_json(x, "m", NULL, 0, on_json, trace),
	    0);
	ck_assert_int_eq(execsrv_call_json(x, "m", "[]", 2, NULL, NULL), 0);
	peer_say("{\"id\":2,\"result\":{\"b\":[1e5,\"\\u0001\","
	    "{\"c\":null}]}}");
	peer_say("{\"id\":3,\"error\":{\"code\":-1,\"message\":\"no\"}}");
	peer_say("{\"id\":4,\"result\":7}");
	ck_assert_int_eq(peer_turn(), 0);
	peer_ck_trace("{\"b\":[1e5,\"\\u0001\",{\"c\":null}]};no;");
	for (i = 0; i < COUNT(bad); i++) {
		ck_assert_int_eq(execsrv_call_json(x, "m", bad[i],
		    strlen(bad[i]), on_json, trace), -1);
		ck_assert_int_eq(errno, EINVAL);
	}
	ck_assert_int_eq(execsrv_call_json(x, "m", NULL, 0, on_json, trace),
	    0);
	peer_stop();			/* frees what waits */
}
END_TEST

/* --- process/start with all that it takes --- */

START_TEST(test_start_options)
{
	static const char *const	 argv[] = { "a", NULL };
	static const char *const	 set[] = { "A=1", NULL };
	static const char *const	 patterns[] = { "X*", "Y", NULL };
	struct execsrv_env_policy	 policy = {
		.inherit = "core", .exclude = patterns, .set = set,
		.include_only = patterns
	};
	struct execsrv_hooks		 hooks = { .on_answer = NULL };
	struct execsrv_start		 s = {
		.argv = argv, .cwd = "/", .arg0 = "-a", .env_policy = &policy,
		.sandbox = "{\"s\":1}"
	};

	peer_start();
	ck_assert_ptr_nonnull(execsrv_process_start(x, &s, &hooks, NULL));
	peer_ck_heard("{\"id\":1,\"method\":\"process/start\",\"params\":"
	    "{\"processId\":\"p1\",\"argv\":[\"a\"],\"cwd\":\"file:///\","
	    "\"env\":{},\"arg0\":\"-a\",\"tty\":false,\"pipeStdin\":false,"
	    "\"envPolicy\":{\"inherit\":\"core\",\"ignoreDefaultExcludes\":"
	    "false,\"exclude\":[\"X*\",\"Y\"],\"set\":{\"A\":\"1\"},"
	    "\"includeOnly\":[\"X*\",\"Y\"]},\"sandbox\":{\"s\":1}}}");
	s.sandbox = "no JSON";
	ck_assert_ptr_null(execsrv_process_start(x, &s, &hooks, NULL));
	ck_assert_int_eq(errno, EINVAL);
	policy.inherit = NULL;
	s.sandbox = NULL;
	ck_assert_ptr_null(execsrv_process_start(x, &s, &hooks, NULL));
	ck_assert_int_eq(errno, EINVAL);
	s.env_policy = NULL;
	s.preset = 7;
	ck_assert_ptr_null(execsrv_process_start(x, &s, &hooks, NULL));
	ck_assert_int_eq(errno, EINVAL);
	ck_assert_int_eq(peer_heard().type, WS_EV_NONE);
	peer_stop();
}
END_TEST

/* Nobody has to listen to anything. */
START_TEST(test_no_hooks)
{
	static const char *const	 argv[] = { "a", NULL };
	static const char *const	 paths[] = { "/a", NULL };
	struct execsrv_start		 s = { .argv = argv, .cwd = "/" };
	struct execsrv_file		 f = { .path = "/f" };
	struct execsrv_http_request	 r = { .method = "GET", .url = "u" };
	struct execsrv_transfer_hooks	 none = { .on_room = NULL };
	struct execsrv_process		*p;

	peer_start();
	p = execsrv_process_start(x, &s, NULL, NULL);
	ck_assert_ptr_nonnull(p);
	ck_assert_int_ne(peer_heard().type, WS_EV_NONE);
	peer_say("{\"method\":\"process/output\",\"params\":{\"processId\":"
	    "\"p1\",\"seq\":1,\"stream\":\"stdout\",\"chunk\":\"eA==\"}}");
	peer_say("{\"id\":1,\"error\":{\"code\":-1,\"message\":\"no\"}}");
	ck_assert_int_eq(peer_turn(), 0);
	ck_assert_ptr_nonnull(execsrv_process_attach(x, "q", NULL, NULL));
	ck_assert_ptr_nonnull(execsrv_file_read(x, &f, NULL, NULL));
	ck_assert_ptr_nonnull(execsrv_http_request(x, &r, NULL, NULL));
	ck_assert_ptr_nonnull(execsrv_watch_missing(x, paths, NULL, NULL,
	    NULL));
	ck_assert_ptr_null(execsrv_file_write(x, &f, NULL, NULL));
	ck_assert_int_eq(errno, EINVAL);
	ck_assert_ptr_null(execsrv_file_write(x, &f, &none, NULL));
	ck_assert_int_eq(errno, EINVAL);
	ck_assert_ptr_null(execsrv_process_attach(x, NULL, NULL, NULL));
	ck_assert_int_eq(errno, EINVAL);
	peer_stop();
}
END_TEST

START_TEST(test_terminate)
{
	static const char *const	 argv[] = { "a", NULL };
	struct execsrv_hooks		 hooks = { .on_answer = NULL };
	struct execsrv_start		 s = { .argv = argv, .cwd = "/" };
	struct execsrv_process		*p;

	peer_start();
	p = execsrv_process_start(x, &s, &hooks, NULL);
	ck_assert_ptr_nonnull(p);
	ck_assert_str_eq(execsrv_process_id(p), "p1");
	(void)peer_heard();
	ck_assert_int_eq(execsrv_process_terminate(p, 0), 0);
	peer_ck_heard("{\"id\":2,\"method\":\"process/terminate\",\"params\":"
	    "{\"processId\":\"p1\"}}");
	ck_assert_int_eq(execsrv_process_terminate(p, 1500), 0);
	peer_ck_heard("{\"id\":3,\"method\":\"process/terminate\",\"params\":"
	    "{\"processId\":\"p1\",\"graceMs\":1500}}");
	peer_stop();
}
END_TEST

START_TEST(test_presets)
{
	char	*text;

	text = execsrv_sandbox_json(EXECSRV_READ_ONLY, "/a b");
	ck_assert_str_eq(text, "{\"permissions\":{\"type\":\"managed\","
	    "\"network\":\"restricted\",\"file_system\":{\"type\":"
	    "\"restricted\",\"entries\":[{\"path\":{\"type\":\"special\","
	    "\"value\":{\"kind\":\"root\"}},\"access\":\"read\"}]}},"
	    "\"cwd\":\"file:///a%20b\",\"workspaceRoots\":"
	    "[\"file:///a%20b\"],\"policyContext\":{\"cwd\":"
	    "\"file:///a%20b\",\"workspaceRoots\":[\"file:///a%20b\"]},"
	    "\"windowsSandboxLevel\":\"disabled\"}");
	free(text);
	text = execsrv_sandbox_json(EXECSRV_WORKSPACE_WRITE, "/w");
	ck_assert_ptr_nonnull(text);
	ck_assert_int_eq(execsrv_check_json(text, strlen(text)), 0);
	ck_assert_ptr_nonnull(strstr(text, "project_roots"));
	free(text);
	ck_assert_ptr_null(execsrv_sandbox_json(EXECSRV_READ_ONLY, "a"));
	ck_assert_ptr_null(execsrv_sandbox_json(0, "/"));
}
END_TEST

/* --- receipts --- */

static char	 receipt[96];
static unsigned	 nreceipts;

static int
on_receipt(void *arg, const char *text, size_t len)
{
	ck_assert_ptr_eq(arg, trace);
	ck_assert_uint_eq(len, strlen(text));
	ck_assert_str_eq(text, receipt);
	nreceipts++;
	return 0;
}

static void
on_out_of_memory(void *arg, const struct execsrv_error *why)
{
	ck_assert_ptr_eq(arg, trace);
	ck_abort_msg("%s", why->text);
}

/* The first at once: the server has to know that there will be any. */
START_TEST(test_receipts)
{
	static const struct calls_events	 events = {
		.send = on_receipt, .on_failed = on_out_of_memory
	};
	static const struct {
		uint64_t	 received;
		unsigned	 n;
	} steps[] = {
		{ 9, 1 }, { 10, 1 }, { 9 + LIMIT_RECEIPT - 1, 1 },
		{ 9 + LIMIT_RECEIPT, 2 }, { 9 + 2 * LIMIT_RECEIPT - 1, 2 },
		{ 9 + 2 * LIMIT_RECEIPT + 5, 3 }
	};
	struct calls	 cs;
	size_t		 i;

	calls_init(&cs, &events, trace);
	for (i = 0; i < COUNT(steps); i++) {
		cs.received = steps[i].received;
		snprintf(receipt, sizeof(receipt), "{\"method\":"
		    "\"session/received\",\"params\":{\"bytes\":%llu}}",
		    (unsigned long long)steps[i].received);
		calls_acknowledge(&cs);
		ck_assert_uint_eq(nreceipts, steps[i].n);
	}
	calls_fini(&cs);
}
END_TEST

static Suite *
calls_suite(void)
{
	Suite	*s = suite_create("calls");
	TCase	*t = tcase_create("all");

	tcase_set_timeout(t, 120);
	tcase_add_loop_test(t, test_call, 0, (int)COUNT(rows));
	tcase_add_loop_test(t, test_malformed, 0, (int)COUNT(malformed));
	tcase_add_test(t, test_refused);
	tcase_add_test(t, test_cancel);
	tcase_add_test(t, test_wait);
	tcase_add_test(t, test_json);
	tcase_add_test(t, test_start_options);
	tcase_add_test(t, test_no_hooks);
	tcase_add_test(t, test_terminate);
	tcase_add_test(t, test_presets);
	tcase_add_test(t, test_receipts);
	suite_add_tcase(s, t);
	return s;
}

int
main(void)
{
	SRunner	*sr = srunner_create(calls_suite());
	int	 failed;

	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed == 0 ? 0 : 1;
}
