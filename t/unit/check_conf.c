/* common/conf.c: every row of proto/conf.def, and files good and bad. */
#include <sys/stat.h>

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/conf.h"

static struct conf		 c;
static struct conf_error	 e;
static char			 path[] = "/tmp/check_conf.XXXXXX";

static const struct {
	const char	*keyword, *type, *value;
} rows[] = {
#define CONF(keyword, type, member, value, help)			\
	{ #keyword, #type, value },
#include "proto/conf.def"
#undef CONF
};

#define NROWS	(sizeof(rows) / sizeof(rows[0]))

static void
setup(void)
{
	int	 fd = mkstemp(path);

	ck_assert_int_ne(fd, -1);
	close(fd);
	ck_assert_int_eq(conf_init(&c), 0);
}

static void
teardown(void)
{
	unlink(path);
	conf_fini(&c);
}

static char *
printed(void)
{
	char	*text;
	size_t	 len;
	FILE	*f = open_memstream(&text, &len);

	conf_print(&c, f);
	fclose(f);
	return text;
}

static int
load(const char *text)
{
	FILE	*f = fopen(path, "w");

	fputs(text, f);
	fclose(f);
	memset(&e, 0, sizeof(e));
	return conf_load(&c, path, &e);
}

/* A good value that is not the default, by type. */
static const char *
good(const char *type)
{
	if (strcmp(type, "SECONDS") == 0)
		return "7ms";
	if (strcmp(type, "SIZE") == 0)
		return "3k";
	if (strcmp(type, "COUNT") == 0)
		return "5";
	if (strcmp(type, "CHOICE_level") == 0)
		return "DEBUG";
	if (strcmp(type, "CHOICE_paths") == 0)
		return "accept";
	if (strcmp(type, "CHOICE_root") == 0 ||
	    strcmp(type, "CHOICE_cgroup") == 0)
		return "no";
	return "/some text";
}

START_TEST(test_row)
{
	static const char *const bad[] = { "", "x", "-1", "1x", " 1", "1 2",
		"0x10", "1.5", "99999999999999999999", "9999999999999999G" };
	bool	 is_text;
	char	 line[128], *text, *again;
	size_t	 i;

	is_text = strcmp(rows[_i].type, "TEXT") == 0 ||
	    strcmp(rows[_i].type, "LIST") == 0;
	ck_assert_int_eq(conf_set(&c, rows[_i].keyword, rows[_i].value, &e),
	    0);
	for (i = 0; !is_text && i < sizeof(bad) / sizeof(bad[0]); i++) {
		ck_assert_msg(conf_set(&c, rows[_i].keyword, bad[i], &e) ==
		    -1, "%s takes \"%s\"", rows[_i].keyword, bad[i]);
		ck_assert_ptr_nonnull(strstr(e.text, rows[_i].keyword));
	}
	ck_assert_int_eq(conf_set(&c, rows[_i].keyword, good(rows[_i].type),
	    &e), 0);
	text = printed();
	snprintf(line, sizeof(line), "%s ", rows[_i].keyword);
	ck_assert_ptr_nonnull(strstr(text, line));
	/* What is printed sets the same. */
	conf_fini(&c);
	ck_assert_int_eq(conf_init(&c), 0);
	ck_assert_int_eq(load(text), 0);
	again = printed();
	ck_assert_str_eq(again, text);
	free(again);
	free(text);
}
END_TEST

START_TEST(test_defaults)
{
	ck_assert_uint_eq(c.detached_ttl, 90000);
	ck_assert_uint_eq(c.spool, 64 << 20);
	ck_assert_uint_eq(c.window, 4 << 20);
	ck_assert_int_eq(c.permit_root, CONF_ROOT_LOCAL);
	ck_assert_uint_eq(c.listen.n, 0);
	ck_assert_str_eq(c.pid_file, "");
	ck_assert_int_eq(c.log_level, 2);
}
END_TEST

START_TEST(test_units)
{
	static const struct {
		const char	*text;
		uint64_t	 ms;
	} times[] = { { "0", 0 }, { "1", 1000 }, { "1s", 1000 },
		{ "250ms", 250 }, { "2m", 120000 }, { "2M", 120000 },
		{ "1h", 3600000 } };
	size_t	 i;

	for (i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
		ck_assert_int_eq(conf_set(&c, "DetachedTtl", times[i].text,
		    &e), 0);
		ck_assert_uint_eq(c.detached_ttl, times[i].ms);
	}
	ck_assert_int_eq(conf_set(&c, "detachedspool", "2G", &e), 0);
	ck_assert_uint_eq(c.spool, 2ULL << 30);
	ck_assert_int_eq(conf_set(&c, "DetachedSpool", "5", &e), 0);
	ck_assert_uint_eq(c.spool, 5);
}
END_TEST

START_TEST(test_file)
{
	ck_assert_int_eq(load("# comment\n\n \t \n  Listen  ws://127.0.0.1:1  "
	    "\nLISTEN=unix:/a b\n\tDetachedTtl = 5\r\nPidFile"), 0);
	ck_assert_uint_eq(c.listen.n, 2);
	ck_assert_str_eq(c.listen.item[0], "ws://127.0.0.1:1");
	ck_assert_str_eq(c.listen.item[1], "unix:/a b");
	ck_assert_uint_eq(c.detached_ttl, 5000);
	ck_assert_str_eq(c.pid_file, "");
}
END_TEST

START_TEST(test_bad_files)
{
	char	 line[6000];

	ck_assert_int_eq(load("LogLevel info\nDetachedTtl never\n"), -1);
	ck_assert_ptr_nonnull(strstr(e.text, "line 2"));
	ck_assert_ptr_nonnull(strstr(e.text, path));
	ck_assert_ptr_nonnull(strstr(e.text, "never"));
	ck_assert_int_eq(load("Unheard of\n"), -1);
	ck_assert_ptr_nonnull(strstr(e.text, "line 1: unknown keyword"));
	memset(line, 'x', sizeof(line));
	memcpy(line, "PidFile ", 8);
	line[sizeof(line) - 1] = '\0';
	ck_assert_int_eq(load(line), -1);
	ck_assert_ptr_nonnull(strstr(e.text, "too long"));
	ck_assert_int_eq(load("LogLevel info\n"), 0);
	ck_assert_int_eq(chmod(path, 0620), 0);
	ck_assert_int_eq(conf_load(&c, path, &e), -1);
	ck_assert_ptr_nonnull(strstr(e.text, "writable"));
	ck_assert_int_eq(conf_load(&c, "/nonexistent/x", &e), -1);
	ck_assert_ptr_nonnull(strstr(e.text, "No such file"));
	ck_assert_int_eq(conf_load(&c, "/tmp", &e), -1);
	ck_assert_int_eq(conf_load(&c, "/dev/null", &e), -1);
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("conf");
	TCase	*t = tcase_create("conf");
	SRunner	*r;
	int	 failed;

	tcase_set_timeout(t, 20);
	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_loop_test(t, test_row, 0, (int)NROWS);
	tcase_add_test(t, test_defaults);
	tcase_add_test(t, test_units);
	tcase_add_test(t, test_file);
	tcase_add_test(t, test_bad_files);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed != 0;
}
