/* common/json/params.c: every type and presence, by the rows that have them. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "common/json/params.h"

static struct param_error	 e;
static struct json		 j;
static char			 text[8192];

/* Decode the object at "p"; what is wrong, or "ok". */
#define DECODE(group, json, out, native)				\
	decode(json, fields_##group, out, sizeof(*(out)), native)

static const char *
decode(const char *json, const struct field *fields, void *out, size_t size,
    bool native)
{
	snprintf(text, sizeof(text), "{\"p\":%s}", json);
	json_fini(&j);
	json_init(&j);
	ck_assert_msg(json_parse(&j, text, strlen(text)) == 0, "%s", text);
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
	ck_assert_int_eq(json_tok(&j, p.argv)->type, JSON_ARRAY);
	ck_assert_int_eq(json_tok(&j, p.env)->type, JSON_OBJECT);
	ck_assert_uint_eq(p.sandbox, 0);
	ck_assert_str_eq(DECODE(process_start, START(",\"pipeStdin\":true,"
	    "\"arg0\":null,\"sandbox\":null,\"managedNetwork\":null,"
	    "\"networkProxy\":false"), &p, false), "ok");
	ck_assert(p.pipe_stdin);
	/* NOTNULL: absent, but not null. */
	ck_assert_str_ne(DECODE(process_start, START(",\"pipeStdin\":null"),
	    &p, false), "ok");
	ck_assert_str_ne(DECODE(process_start, START(",\"arg0\":\"a\\u0000\""),
	    &p, false), "ok");
	/* NONE: what promises something is refused, never ignored. */
	ck_assert_ptr_nonnull(strstr(DECODE(process_start,
	    START(",\"networkProxy\":{}"), &p, false), "networkProxy"));
	ck_assert_str_ne(DECODE(process_start,
	    START(",\"enforceManagedNetwork\":true"), &p, false), "ok");
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

	ck_assert_str_ne(DECODE(process_start, native, &p, false), "ok");
	ck_assert_str_eq(DECODE(process_start, native, &p, true), "ok");
	ck_assert_str_eq(p.cwd.path, "/a b");
	ck_assert_str_ne(DECODE(process_start, relative, &p, true), "ok");
	ck_assert_str_ne(DECODE(process_start, cut, &p, true), "ok");
}
END_TEST

/* No params at all, where none are needed. */
START_TEST(test_none)
{
	struct none_params		 n;
	struct process_params		 p;
	struct param_error		 why;

	json_fini(&j);
	json_init(&j);
	strcpy(text, "{}");
	ck_assert_int_eq(json_parse(&j, text, 2), 0);
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
	tcase_add_test(t, test_none);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed != 0;
}
