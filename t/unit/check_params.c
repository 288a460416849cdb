/* common/json/params.c: every type and presence, by the rows that have them. */
#include <check.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/json/params.h"

static struct param_error	 e;
static struct json		 j;
static char			*text;

/* Decode the object at "p"; what is wrong, or "ok". */
#define DECODE(group, json, out, native)				\
	decode(json, fields_##group, out, sizeof(*(out)), native)

static const char *
decode(const char *json, const struct field *fields, void *out, size_t size,
    bool native)
{
	int	 len;

	free(text);
	ck_assert_int_ne(len = asprintf(&text, "{\"p\":%s}", json), -1);
	json_fini(&j);
	json_init(&j);
	ck_assert_msg(json_parse(&j, text, (size_t)len) == 0, "%s", text);
	return params_decode(&j, json_find(&j, 0, "p"), fields, out, size,
	    native, &e) == 0 ? "ok" : e.text;
}

static bool
is_text(const struct param_text *t, const char *want, size_t len)
{
	return t->s != NULL && t->len == len && memcmp(t->s, want, len) == 0;
}

START_TEST(test_texts)
{
	struct initialize_params	 p;

	ck_assert_str_eq(DECODE(initialize, "{\"clientName\":\"a\\u0000b\"}",
	    &p, false), "ok");
	ck_assert(is_text(&p.client_name, "a\0b", 3));
	ck_assert_ptr_null(p.resume.s);
	ck_assert_str_eq(DECODE(initialize,
	    "{\"clientName\":\"\",\"resumeSessionId\":null,\"x\":1}", &p,
	    false), "ok");
	ck_assert(p.client_name.s != NULL && p.client_name.len == 0);
	ck_assert_ptr_null(p.resume.s);
	ck_assert_str_eq(DECODE(initialize, "{}", &p, false),
	    "missing \"clientName\"");
	ck_assert_str_eq(DECODE(initialize, "{\"clientName\":null}", &p,
	    false), "missing \"clientName\"");
	ck_assert_str_eq(DECODE(initialize, "null", &p, false),
	    "missing \"clientName\"");
	ck_assert_str_eq(DECODE(initialize, "{\"clientName\":7}", &p, false),
	    "expected a string for \"clientName\"");
	ck_assert_str_ne(DECODE(initialize, "[\"a\"]", &p, false), "ok");
	ck_assert_str_ne(DECODE(initialize, "\"a\"", &p, false), "ok");
}
END_TEST

START_TEST(test_numbers)
{
	static const char *const bad[] = { "-1", "1.0", "1e3", "\"1\"", "true",
		"18446744073709551616", "[]", "{}" };
	struct process_read_params	 p;
	struct pty_size_params		 size;
	char				 line[128];
	size_t				 i;

	ck_assert_str_eq(DECODE(process_read, "{\"processId\":\"p\","
	    "\"afterSeq\":18446744073709551615,\"waitMs\":0}", &p, false),
	    "ok");
	ck_assert(p.after_seq.given && p.after_seq.n == UINT64_MAX);
	ck_assert(p.wait_ms.given && p.wait_ms.n == 0);
	ck_assert(!p.max_bytes.given && p.max_bytes.n == 0);
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		snprintf(line, sizeof(line), "{\"processId\":\"p\","
		    "\"waitMs\":%s}", bad[i]);
		ck_assert_msg(strcmp(DECODE(process_read, line, &p, false),
		    "ok") != 0, "%s", bad[i]);
	}
	ck_assert_str_eq(DECODE(pty_size, "{\"rows\":1,\"cols\":65535}",
	    &size, false), "ok");
	ck_assert_uint_eq(size.rows, 1);
	ck_assert_uint_eq(size.cols, 65535);
	ck_assert_str_ne(DECODE(pty_size, "{\"rows\":0,\"cols\":1}", &size,
	    false), "ok");
	ck_assert_str_ne(DECODE(pty_size, "{\"rows\":1,\"cols\":65536}",
	    &size, false), "ok");
}
END_TEST

START_TEST(test_base64)
{
	struct process_write_params	 p;

	ck_assert_str_eq(DECODE(process_write,
	    "{\"processId\":\"p\",\"chunk\":\"aGVsbG8=\"}", &p, false), "ok");
	ck_assert(is_text(&p.chunk, "hello", 5));
	ck_assert_str_eq(DECODE(process_write,
	    "{\"processId\":\"p\",\"chunk\":\"\"}", &p, false), "ok");
	ck_assert(p.chunk.s != NULL && p.chunk.len == 0);
	ck_assert_str_ne(DECODE(process_write,
	    "{\"processId\":\"p\",\"chunk\":\"aGVsbG8\"}", &p, false), "ok");
	ck_assert_str_ne(DECODE(process_write,
	    "{\"processId\":\"p\",\"chunk\":\"a$==\"}", &p, false), "ok");
}
END_TEST

#define START(more)							\
	"{\"processId\":\"p\",\"argv\":[\"a\"],"			\
	"\"cwd\":\"file:///tmp\","					\
	"\"env\":{},\"tty\":false" more "}"

START_TEST(test_start)
{
	struct process_start_params	 p;

	ck_assert_str_eq(DECODE(process_start, START(""), &p, false), "ok");
	ck_assert_str_eq(p.cwd.path, "/tmp");
	ck_assert(p.cwd.given && !p.tty && !p.pipe_stdin);
	ck_assert_uint_eq(p.argv.n, 1);
	ck_assert(is_text(&p.argv.v[0], "a", 1));
	ck_assert_uint_eq(p.env.n, 0);
	ck_assert_uint_eq(p.sandbox, 0);
	ck_assert(!p.env_policy.given && !p.pty_size.given &&
	    !p.metadata.given);
	ck_assert_str_eq(DECODE(process_start, START(",\"pipeStdin\":true,"
	    "\"arg0\":null,\"sandbox\":null,\"managedNetwork\":null,"
	    "\"networkProxy\":null,\"enforceManagedNetwork\":true"),
	    &p, false), "ok");
	ck_assert(p.is_enforced && !p.proxy.given && !p.managed.given);
	ck_assert(p.pipe_stdin);
	/* NOTNULL: absent, but not null. */
	ck_assert_str_ne(DECODE(process_start, START(",\"pipeStdin\":null"),
	    &p, false), "ok");
	ck_assert_str_ne(DECODE(process_start, START(",\"arg0\":\"a\\u0000\""),
	    &p, false), "ok");
	/* NONE: what promises something is refused, never ignored. */
	ck_assert_ptr_nonnull(strstr(DECODE(process_start,
	    START(",\"credentialProviders\":{}"), &p, false),
	    "credentialProviders"));
	ck_assert_ptr_nonnull(strstr(DECODE(process_start,
	    START(",\"networkProxy\":{}"), &p, false), "proxy"));
	ck_assert_str_ne(DECODE(process_start,
	    START(",\"networkProxy\":{\"proxy\":{}}"), &p, false), "ok");
	ck_assert_str_ne(DECODE(process_start, START(",\"sandbox\":[]"), &p,
	    false), "ok");
}
END_TEST

START_TEST(test_paths)
{
	struct process_start_params	 p;
	static const char		 native[] =
	    "{\"processId\":\"p\",\"argv\":[],\"cwd\":\"/a b\",\"env\":{},"
	    "\"tty\":true}";
	static const char		 cut[] =
	    "{\"processId\":\"p\",\"argv\":[],\"cwd\":\"/a\\u0000b\","
	    "\"env\":{},\"tty\":true}";
	static const char		 relative[] =
	    "{\"processId\":\"p\",\"argv\":[],\"cwd\":\"a\",\"env\":{},"
	    "\"tty\":true}";
	char				 line[PATH_MAX + 200];

	ck_assert_str_ne(DECODE(process_start, native, &p, false), "ok");
	ck_assert_str_eq(DECODE(process_start, native, &p, true), "ok");
	ck_assert_str_eq(p.cwd.path, "/a b");
	ck_assert_str_ne(DECODE(process_start, relative, &p, true), "ok");
	ck_assert_str_ne(DECODE(process_start, cut, &p, true), "ok");
	ck_assert(!e.is_errno);
	/* A path, but none that there can be: not the client's mistake. */
	ck_assert_int_lt(snprintf(line, sizeof(line), "{\"processId\":\"p\","
	    "\"argv\":[],\"cwd\":\"file:///%0*d\",\"env\":{},\"tty\":true}",
	    PATH_MAX, 1), (int)sizeof(line));
	ck_assert_str_ne(DECODE(process_start, line, &p, false), "ok");
	ck_assert(e.is_errno);
	ck_assert_int_eq(errno, ENAMETOOLONG);
}
END_TEST

/* The params of process/start with that argv and env. */
static const char *
lists(const char *argv, const char *env, struct process_start_params *p)
{
	static char	 line[4096];

	snprintf(line, sizeof(line), "{\"processId\":\"p\",\"argv\":%s,"
	    "\"cwd\":\"file:///\",\"env\":%s,\"tty\":false}", argv, env);
	return DECODE(process_start, line, p, false);
}

START_TEST(test_lists)
{
	static const char *const	 bad[] = {
		"[1]", "[null]", "[\"a\",1]", "[\"a\",null,\"b\"]",
		"[\"a\",[\"b\"],\"c\"]", "[[]]", "[{}]",
		"[\"a\",\"b\",{\"c\":\"d\"}]", "[\"a\",true]",
	};
	struct process_start_params	 p;
	size_t				 i;

	ck_assert_str_eq(lists("[]", "{}", &p), "ok");
	ck_assert_uint_eq(p.argv.n, 0);
	ck_assert_str_eq(lists("[\"\",\"b\\u0000c\",\"\\u00e9\"]", "{}",
	    &p), "ok");
	ck_assert_uint_eq(p.argv.n, 3);
	ck_assert(is_text(&p.argv.v[0], "", 0));
	ck_assert(is_text(&p.argv.v[1], "b\0c", 3));
	/* NUL behind each, so that it can be used as it is. */
	ck_assert_str_eq(p.argv.v[0].s, "");
	ck_assert_uint_eq(p.argv.v[1].s[3], 0);
	ck_assert_str_eq(p.argv.v[2].s, "\xc3\xa9");
	ck_assert_str_eq(p.process_id.s, "p");
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		ck_assert_str_eq(lists(bad[i], "{}", &p),
		    "argv must be a list of strings");
		ck_assert(e.is_worded && !e.is_errno);
	}
	ck_assert_str_eq(lists("\"a\"", "{}", &p),
	    "expected a list for \"argv\"");
	ck_assert(!e.is_worded);
	ck_assert_str_eq(lists("{}", "{}", &p),
	    "expected a list for \"argv\"");
	ck_assert_str_eq(lists("null", "{}", &p), "missing \"argv\"");
}
END_TEST

/* More than the first piece of memory holds, each where it belongs. */
START_TEST(test_long_list)
{
	struct process_start_params	 p;
	char				 argv[4000], want[8];
	size_t				 i, n = 0;

	for (i = 0; i < 500; i++)
		n += (size_t)sprintf(argv + n, "%s\"%zu\"",
		    i == 0 ? "[" : ",", i);
	strcpy(argv + n, "]");
	ck_assert_str_eq(lists(argv, "{\"A\":\"1\"}", &p), "ok");
	ck_assert_uint_eq(p.argv.n, 500);
	ck_assert_uint_eq(p.env.n, 1);
	for (i = 0; i < 500; i++) {
		snprintf(want, sizeof(want), "%zu", i);
		ck_assert_str_eq(p.argv.v[i].s, want);
	}
	ck_assert_str_eq(p.env.v[0].value.s, "1");
}
END_TEST

START_TEST(test_pairs)
{
	static const char *const	 bad[] = {
		"{\"A\":1}", "{\"A\":\"\",\"B\":null,\"C\":\"\"}",
		"{\"A\":\"\",\"B\":[\"\",\"\"]}", "{\"A\":{\"B\":\"C\"}}",
		"{\"A\":false}",
	};
	struct process_start_params	 p;
	size_t				 i;

	ck_assert_str_eq(lists("[\"a\"]", "{\"B\":\"2\",\"\":\"\","
	    "\"A\\u0000\":\"=\\u0000\"}", &p), "ok");
	ck_assert_uint_eq(p.env.n, 3);
	ck_assert_str_eq(p.env.v[0].name.s, "B");
	ck_assert_str_eq(p.env.v[0].value.s, "2");
	ck_assert(is_text(&p.env.v[1].name, "", 0));
	ck_assert(is_text(&p.env.v[1].value, "", 0));
	ck_assert(is_text(&p.env.v[2].name, "A\0", 2));
	ck_assert(is_text(&p.env.v[2].value, "=\0", 2));
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		ck_assert_str_eq(lists("[]", bad[i], &p),
		    "a value in env or envPolicy.set is not a string");
		ck_assert(e.is_worded);
	}
	ck_assert_str_eq(lists("[]", "[]", &p),
	    "expected an object for \"env\"");
}
END_TEST

#define POLICY_WORDS	"envPolicy needs inherit, ignoreDefaultExcludes, " \
			"exclude, set and includeOnly"

START_TEST(test_nested)
{
	static const struct {
		const char	*member, *want;
		bool		 is_worded;
	} bad[] = {
		{ "\"ptySize\":{\"rows\":1}",
		    "ptySize needs rows and cols from 1 to 65535", true },
		{ "\"ptySize\":{}",
		    "ptySize needs rows and cols from 1 to 65535", true },
		{ "\"ptySize\":{\"rows\":1,\"cols\":0}",
		    "ptySize needs rows and cols from 1 to 65535", true },
		{ "\"ptySize\":[]", "expected an object for \"ptySize\"",
		    false },
		{ "\"metadata\":{\"toolCallId\":1}",
		    "metadata.threadId must be a UUID", true },
		{ "\"metadata\":{\"threadId\":\"x\"}",
		    "metadata.threadId must be a UUID", true },
		{ "\"metadata\":{\"threadId\":"
		    "\"0199a3f0-54a1-7cc0-b5a6-3d3f0c1a2b3g\"}",
		    "metadata.threadId must be a UUID", true },
		{ "\"metadata\":{\"threadId\":"
		    "\"0199a3f0054a1-7cc0-b5a6-3d3f0c1a2b3c\"}",
		    "metadata.threadId must be a UUID", true },
		{ "\"metadata\":7", "expected an object for \"metadata\"",
		    false },
		{ "\"envPolicy\":{\"inherit\":\"all\","
		    "\"ignoreDefaultExcludes\":true,\"exclude\":[],"
		    "\"set\":{}}", POLICY_WORDS, true },
		{ "\"envPolicy\":{\"inherit\":\"all\","
		    "\"ignoreDefaultExcludes\":true,\"exclude\":{},"
		    "\"set\":{},\"includeOnly\":[]}", POLICY_WORDS, true },
		/* What a row in there says is said. */
		{ "\"envPolicy\":{\"inherit\":\"all\","
		    "\"ignoreDefaultExcludes\":true,\"exclude\":[\"a\",1],"
		    "\"set\":{},\"includeOnly\":[]}",
		    "a pattern of envPolicy is not a string", true },
		{ "\"envPolicy\":{\"inherit\":\"all\","
		    "\"ignoreDefaultExcludes\":true,\"exclude\":[],"
		    "\"set\":{\"A\":1},\"includeOnly\":[]}",
		    "a value in env or envPolicy.set is not a string", true },
	};
	struct process_start_params	 p;
	char				 line[1024];
	size_t				 i;

	ck_assert_str_eq(DECODE(process_start, START(",\"ptySize\":{"
	    "\"rows\":2,\"cols\":3,\"other\":[{}]},\"metadata\":{"
	    "\"threadId\":\"0199a3f0-54a1-7CC0-b5a6-3d3f0c1a2b3c\"},"
	    "\"envPolicy\":{\"inherit\":\"core\","
	    "\"ignoreDefaultExcludes\":true,\"exclude\":[\"x\",\"y\"],"
	    "\"set\":{\"A\":\"B\"},\"includeOnly\":[],\"more\":1}"),
	    &p, false), "ok");
	ck_assert(p.given && p.pty_size.given && p.metadata.given &&
	    p.env_policy.given);
	ck_assert_uint_eq(p.pty_size.rows, 2);
	ck_assert_uint_eq(p.pty_size.cols, 3);
	ck_assert_uint_eq(p.metadata.thread_id.len, 36);
	ck_assert(param_is(&p.env_policy.inherit, "core"));
	ck_assert(p.env_policy.ignore_default);
	ck_assert_uint_eq(p.env_policy.exclude.n, 2);
	ck_assert_str_eq(p.env_policy.exclude.v[1].s, "y");
	ck_assert_uint_eq(p.env_policy.set.n, 1);
	ck_assert_str_eq(p.env_policy.set.v[0].name.s, "A");
	ck_assert_uint_eq(p.env_policy.include_only.n, 0);
	ck_assert_str_eq(DECODE(process_start, START(",\"ptySize\":null"),
	    &p, false), "ok");
	ck_assert(!p.pty_size.given);
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		snprintf(line, sizeof(line), START(",%s"), bad[i].member);
		ck_assert_str_eq(DECODE(process_start, line, &p, false),
		    bad[i].want);
		ck_assert_int_eq(e.is_worded, bad[i].is_worded);
	}
}
END_TEST

#define WALK(options)	"{\"path\":\"file:///\",\"options\":" options "}"

/* Without words of its own a group says what is wrong in it. */
START_TEST(test_nested_plain)
{
	struct fs_walk_params	 p;

	ck_assert_str_eq(DECODE(fs_walk, WALK("{\"maxDepth\":1,"
	    "\"maxDirectories\":2,\"maxEntries\":3,"
	    "\"followDirectorySymlinks\":true}"), &p, false), "ok");
	ck_assert_uint_eq(p.options.entries.n, 3);
	ck_assert(p.options.follow_dirs && !p.options.prune_hidden);
	ck_assert_str_eq(DECODE(fs_walk, WALK("{\"maxDepth\":1,"
	    "\"maxDirectories\":2,\"followDirectorySymlinks\":true}"), &p,
	    false), "missing \"maxEntries\"");
	ck_assert_str_eq(DECODE(fs_walk, WALK("{\"maxDepth\":-1}"), &p,
	    false), "expected an unsigned integer for \"maxDepth\"");
	ck_assert_str_eq(DECODE(fs_walk, WALK("[]"), &p, false),
	    "expected an object for \"options\"");
	ck_assert_str_eq(DECODE(fs_walk, WALK("null"), &p, false),
	    "missing \"options\"");
	ck_assert(!e.is_worded);
}
END_TEST

#define HTTP(headers)	"{\"requestId\":\"r\",\"method\":\"GET\","	\
			"\"url\":\"http://a\",\"headers\":" headers "}"

static const char *
decode_headers(const char *headers, struct http_request_params *p)
{
	char		*line;
	const char	*why;

	ck_assert_int_ne(asprintf(&line, HTTP("%s"), headers), -1);
	why = DECODE(http_request, line, p, false);
	free(line);
	return why;
}

START_TEST(test_each)
{
	static const struct {
		const char	*headers, *want;
	} bad[] = {
		{ "[{\"name\":\"a\",\"value\":\"b\"},7]",
		    "a header must be an object" },
		{ "[[]]", "a header must be an object" },
		{ "[{\"name\":\"a\",\"value\":\"b\"},{\"name\":\"c\"},"
		    "{\"name\":\"a\",\"value\":\"b\"}]",
		    "missing \"value\" in a header" },
		{ "[{\"name\":1,\"value\":\"b\"}]",
		    "expected a string for \"name\" in a header" },
		{ "{}", "expected a list for \"headers\"" },
		{ "null", "expected a list for \"headers\"" },
	};
	struct http_request_params	 p;
	struct http_header_params	*h;
	char				*many;
	size_t				 i, n = 0;

	ck_assert_str_eq(DECODE(http_request, HTTP("[]"), &p, false), "ok");
	ck_assert_uint_eq(p.headers.n, 0);
	ck_assert_str_eq(DECODE(http_request, HTTP("[{\"name\":\"a\","
	    "\"value\":\"b\",\"x\":{\"y\":[1,2]}},{\"name\":\"c\","
	    "\"value\":\"d\",\"valueEnvVar\":\"E\"}]"), &p, false), "ok");
	ck_assert_uint_eq(p.headers.n, 2);
	h = p.headers.v;
	ck_assert(param_is(&h[0].name, "a") && h[0].variable.s == NULL);
	ck_assert(param_is(&h[1].name, "c") && param_is(&h[1].value, "d") &&
	    param_is(&h[1].variable, "E"));
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		ck_assert_str_eq(decode_headers(bad[i].headers, &p),
		    bad[i].want);
		ck_assert(!e.is_worded);
	}
	/* So many, and one more: that is said before it is looked at. */
	ck_assert_ptr_nonnull(many = malloc(40 * LIMIT_HTTP_HEADERS));
	for (i = 0; i < LIMIT_HTTP_HEADERS; i++)
		n += (size_t)sprintf(many + n, "%c{\"name\":\"\","
		    "\"value\":\"\"}", i == 0 ? '[' : ',');
	strcpy(many + n, "]");
	ck_assert_str_eq(decode_headers(many, &p), "ok");
	ck_assert_uint_eq(p.headers.n, LIMIT_HTTP_HEADERS);
	strcpy(many + n, ",7]");
	ck_assert_str_eq(decode_headers(many, &p), "too many headers");
	free(many);
}
END_TEST

START_TEST(test_uris)
{
	static const char *const	 bad[] = {
		"[\"/a\"]", "[\"file:///a\",1]", "[\"file:///a\",\"x:/b\"]",
		"[\"file:///a\",[\"file:///b\"]]", "[null]", "[\"\"]",
	};
	struct watch_missing_params	 p;
	char				 line[512];
	size_t				 i;

	ck_assert_str_eq(DECODE(watch_missing, "{\"watchId\":1,"
	    "\"missing\":[\"file:///a%20b/../c\",\"file:///a%2Fb\","
	    "\"file:/d\"]}", &p, false), "ok");
	ck_assert_uint_eq(p.missing.n, 3);
	ck_assert_str_eq(p.missing.v[0], "/c");
	ck_assert_ptr_null(p.missing.v[1]);
	ck_assert_str_eq(p.missing.v[2], "/d");
	ck_assert_str_eq(DECODE(watch_missing, "{\"watchId\":1,"
	    "\"missing\":[\"/e f\"]}", &p, true), "ok");
	ck_assert_str_eq(p.missing.v[0], "/e f");
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		snprintf(line, sizeof(line), "{\"watchId\":1,\"missing\":%s}",
		    bad[i]);
		ck_assert_str_eq(DECODE(watch_missing, line, &p, false),
		    "invalid params: expected file: URIs in \"missing\"");
		ck_assert(e.is_worded && !e.is_errno);
	}
	ck_assert_str_eq(DECODE(watch_missing, "{\"watchId\":1,"
	    "\"missing\":\"file:///a\"}", &p, false),
	    "expected a list for \"missing\"");
}
END_TEST

START_TEST(test_keys)
{
	static const char *const	 bad[] = {
		"[[]]", "[\"a\"]", "[[\"a\"],[]]", "[[\"a\",1]]",
		"[[\"a\",[\"b\"]]]", "[[\"a\"],null]", "[{\"a\":\"b\"}]",
		"[[\"a\"],{}]",
	};
	struct config_read_params	 p;
	char				 line[512];
	size_t				 i;

	ck_assert_str_eq(DECODE(config_read, "{\"cwd\":\"file:///\","
	    "\"configPaths\":[[\"a\",\"b\"],[\"\"]],"
	    "\"requirementsPaths\":[]}", &p, false), "ok");
	ck_assert_uint_eq(p.config.n, 2);
	ck_assert_uint_eq(p.requirements.n, 0);
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		snprintf(line, sizeof(line), "{\"cwd\":\"file:///\","
		    "\"configPaths\":[],\"requirementsPaths\":%s}", bad[i]);
		ck_assert_str_eq(DECODE(config_read, line, &p, false),
		    "invalid params: expected lists of texts, none empty");
		ck_assert(e.is_worded);
	}
	ck_assert_str_eq(DECODE(config_read, "{\"cwd\":\"file:///\","
	    "\"configPaths\":{},\"requirementsPaths\":[]}", &p, false),
	    "expected a list for \"configPaths\"");
}
END_TEST

/* Once more from the same JSON: as it was, but for base64. */
START_TEST(test_again)
{
	struct process_start_params	 p, again;

	ck_assert_str_eq(lists("[\"a\",\"\"]", "{\"A\":\"1\"}", &p), "ok");
	ck_assert_int_eq(params_decode(&j, json_find(&j, 0, "p"),
	    fields_process_start, &again, sizeof(again), false, &e), 0);
	ck_assert_uint_eq(again.argv.n, 2);
	ck_assert_ptr_eq(again.argv.v[0].s, p.argv.v[0].s);
	ck_assert(is_text(&again.argv.v[0], "a", 1));
	ck_assert(is_text(&again.env.v[0].name, "A", 1));
	ck_assert_str_eq(again.cwd.path, "/");
}
END_TEST

/* No params at all, where none are needed. */
START_TEST(test_none)
{
	struct none_params		 n;
	struct process_params		 p;
	struct param_error		 why;
	char				 none[] = "{}";

	json_fini(&j);
	json_init(&j);
	ck_assert_int_eq(json_parse(&j, none, 2), 0);
	ck_assert_int_eq(params_decode(&j, 0, fields_none, &n, sizeof(n),
	    false, &why), 0);
	ck_assert_int_eq(params_decode(&j, 0, fields_process, &p, sizeof(p),
	    false, &why), -1);
	ck_assert_str_eq(why.text, "missing \"processId\"");
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("params");
	TCase	*t = tcase_create("params");
	SRunner	*r;
	int	 failed;

	tcase_set_timeout(t, 20);
	tcase_add_test(t, test_texts);
	tcase_add_test(t, test_numbers);
	tcase_add_test(t, test_base64);
	tcase_add_test(t, test_start);
	tcase_add_test(t, test_paths);
	tcase_add_test(t, test_lists);
	tcase_add_test(t, test_long_list);
	tcase_add_test(t, test_pairs);
	tcase_add_test(t, test_nested);
	tcase_add_test(t, test_nested_plain);
	tcase_add_test(t, test_each);
	tcase_add_test(t, test_uris);
	tcase_add_test(t, test_keys);
	tcase_add_test(t, test_again);
	tcase_add_test(t, test_none);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed != 0;
}
