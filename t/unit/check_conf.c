/*
 * common/conf.c: every row of proto/conf.def and uplink.def, and files good
 * and bad.
 */
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

struct row {
	const char	*keyword, *type, *value;
};

static const struct row	 rows[] = {
#define CONF(keyword, type, member, value, help)			\
	{ #keyword, #type, value },
#include "proto/conf.def"
#undef CONF
};

static const struct row	 uplink_rows[] = {
#define UPLINK(keyword, type, member, value, help)			\
	{ #keyword, #type, value },
#include "proto/uplink.def"
#undef UPLINK
};

#define NROWS		(sizeof(rows) / sizeof(rows[0]))
#define NUPLINK_ROWS	(sizeof(uplink_rows) / sizeof(uplink_rows[0]))

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
	if (strcmp(type, "CHOICE_token") == 0)
		return "Always";
	if (strcmp(type, "CHOICE_transport") == 0)
		return "Plain";
	return "/some text";
}

static void
ck_row(const struct row *row)
{
	static const char *const bad[] = { "", "x", "-1", "1x", " 1", "1 2",
		"0x10", "1.5", "99999999999999999999", "9999999999999999G" };
	bool	 is_text;
	char	 line[128], *text, *again;
	size_t	 i;

	is_text = strcmp(row->type, "TEXT") == 0 ||
	    strcmp(row->type, "LIST") == 0;
	ck_assert_int_eq(conf_set(&c, row->keyword, row->value, &e), 0);
	for (i = 0; !is_text && i < sizeof(bad) / sizeof(bad[0]); i++) {
		ck_assert_msg(conf_set(&c, row->keyword, bad[i], &e) ==
		    -1, "%s takes \"%s\"", row->keyword, bad[i]);
		ck_assert_ptr_nonnull(strstr(e.text, row->keyword));
	}
	ck_assert_int_eq(conf_set(&c, row->keyword, good(row->type), &e), 0);
	text = printed();
	snprintf(line, sizeof(line), "\n%s ", row->keyword);
	ck_assert(strstr(text, line) != NULL ||
	    strncmp(text, line + 1, strlen(line + 1)) == 0);
	/* What is printed sets the same. */
	conf_fini(&c);
	ck_assert_int_eq(conf_init(&c), 0);
	ck_assert_int_eq(load(text), 0);
	again = printed();
	ck_assert_str_eq(again, text);
	free(again);
	free(text);
}

START_TEST(test_row)
{
	ck_row(&rows[_i]);
}
END_TEST

START_TEST(test_uplink_row)
{
	ck_assert_int_eq(conf_set(&c, "Uplink", "first", &e), 0);
	ck_assert_int_eq(conf_set(&c, "uplink", "x", &e), 0);
	ck_row(&uplink_rows[_i]);
	/* The one that was not meant has its defaults. */
	ck_assert_uint_eq(c.nuplink, 2);
	ck_assert_str_eq(c.uplink[0].label, "first");
	ck_assert_str_eq(c.uplink[1].label, "x");
	ck_assert_str_eq(c.uplink[0].name, "codex-exec-server");
	ck_assert_str_eq(c.uplink[0].url, "");
	ck_assert_int_eq(c.uplink[0].transport, CONF_TRANSPORT_NOISE);
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
	ck_assert_uint_eq(c.nuplink, 0);
	ck_assert(c.uplink == NULL && !c.in_uplink);
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

/* --- Uplink blocks ---------------------------------------------------------*/

START_TEST(test_uplinks)
{
	ck_assert_int_eq(load("RemoteUser all\nUplinkCaFile /all\n"
	    "Uplink one\n\tRegistryUrl https://a/\n\tEnvironmentId  e 1 \n"
	    "# still in it\n\n\tRemoteTransport RELAY\n"
	    "UPLINK =\ttwo words\nregistryurl=https://b/\n"
	    "RemoteUser own\nUplinkCaFile /own\nForward ws://h\n"), 0);
	ck_assert_uint_eq(c.nuplink, 2);
	ck_assert_str_eq(c.uplink[0].label, "one");
	ck_assert_str_eq(c.uplink[0].url, "https://a/");
	ck_assert_str_eq(c.uplink[0].environment, "e 1");
	ck_assert_int_eq(c.uplink[0].transport, CONF_TRANSPORT_RELAY);
	ck_assert_str_eq(c.uplink[0].user, "");
	ck_assert_str_eq(c.uplink[1].label, "two words");
	ck_assert_str_eq(c.uplink[1].url, "https://b/");
	ck_assert_str_eq(c.uplink[1].environment, "");
	ck_assert_int_eq(c.uplink[1].transport, CONF_TRANSPORT_NOISE);
	ck_assert_str_eq(c.uplink[1].user, "own");
	ck_assert_str_eq(c.uplink[1].ca_file, "/own");
	ck_assert_str_eq(c.uplink[1].forward, "ws://h");
	/* The same words outside are another thing. */
	ck_assert_str_eq(c.remote_user, "all");
	ck_assert_str_eq(c.uplink_ca_file, "/all");
}
END_TEST

/* What is printed makes the same blocks, in the same order. */
START_TEST(test_uplinks_printed)
{
	char	*text, *again;

	ck_assert_int_eq(load("Uplink #1\nEnvironmentId =x=\nUplink a\n"
	    "RemoteTransport plain\nUplink a\nCredentialFile /c\n"), 0);
	text = printed();
	ck_assert_ptr_nonnull(strstr(text, "\nUplink #1\n"));
	ck_assert_ptr_nonnull(strstr(text, "\nEnvironmentId x=\n"));
	ck_assert_ptr_nonnull(strstr(text, "\nRemoteTransport plain\n"));
	conf_fini(&c);
	ck_assert_int_eq(conf_init(&c), 0);
	ck_assert_int_eq(load(text), 0);
	ck_assert_uint_eq(c.nuplink, 3);
	ck_assert_str_eq(c.uplink[0].label, "#1");
	ck_assert_str_eq(c.uplink[2].credential_file, "/c");
	again = printed();
	ck_assert_str_eq(again, text);
	free(again);
	free(text);
}
END_TEST

/* Who belongs where. */
START_TEST(test_places)
{
	ck_assert_int_eq(load("RegistryUrl https://a\nUplink x\n"), -1);
	ck_assert_ptr_nonnull(strstr(e.text, "line 1"));
	ck_assert_ptr_nonnull(strstr(e.text,
	    "\"RegistryUrl\" belongs into an Uplink block"));
	ck_assert_uint_eq(c.nuplink, 0);
	ck_assert_int_eq(load("Uplink x\nListen unix:/x\n"), -1);
	ck_assert_ptr_nonnull(strstr(e.text, "line 2"));
	ck_assert_ptr_nonnull(strstr(e.text,
	    "\"Listen\" belongs before the first Uplink"));
	ck_assert_uint_eq(c.listen.n, 0);
	ck_assert_int_eq(load("Uplink y\nNonsense 1\n"), -1);
	ck_assert_ptr_nonnull(strstr(e.text, "unknown keyword \"Nonsense\""));
	ck_assert_int_eq(load("Uplink\n"), -1);
	ck_assert_ptr_nonnull(strstr(e.text, "needs a name"));
	ck_assert_int_eq(load("Uplink  = \t\n"), -1);
	ck_assert_ptr_nonnull(strstr(e.text, "needs a name"));
	ck_assert_int_eq(load("Uplink z\nRemoteTransport tcp\n"), -1);
	ck_assert_ptr_nonnull(strstr(e.text, "bad value \"tcp\""));
	ck_assert_int_eq(c.uplink[2].transport, CONF_TRANSPORT_NOISE);
}
END_TEST

/* A file ends its last block, also one that is not read to its end. */
START_TEST(test_block_ends)
{
	ck_assert_int_eq(load("Uplink x\n"), 0);
	ck_assert_int_eq(conf_set(&c, "Listen", "unix:/x", &e), 0);
	ck_assert_int_eq(conf_set(&c, "RegistryUrl", "https://a", &e), -1);
	ck_assert_int_eq(load("Uplink y\nRemoteTransport x\n"), -1);
	ck_assert_int_eq(conf_set(&c, "RegistryUrl", "https://a", &e), -1);
	ck_assert_str_eq(c.uplink[0].url, "");
	ck_assert_str_eq(c.uplink[1].url, "");
	ck_assert_int_eq(conf_set(&c, "Uplink", "z", &e), 0);
	ck_assert_int_eq(conf_set(&c, "RegistryUrl", "https://a", &e), 0);
	conf_end_block(&c);
	conf_end_block(&c);
	ck_assert_int_eq(conf_set(&c, "RegistryUrl", "https://b", &e), -1);
	ck_assert_str_eq(c.uplink[2].url, "https://a");
	ck_assert_int_eq(conf_set(&c, "RemoteUser", "all", &e), 0);
	ck_assert_str_eq(c.uplink[2].user, "");
	/* Something bad to begin with ends nothing. */
	ck_assert_int_eq(conf_set(&c, "Uplink", "w", &e), 0);
	ck_assert_int_eq(conf_set(&c, "Uplink", "", &e), -1);
	ck_assert_int_eq(conf_set(&c, "RegistryUrl", "https://c", &e), 0);
	ck_assert_str_eq(c.uplink[3].url, "https://c");
}
END_TEST

/* Blocks move when there are more of them; what is in them stays. */
START_TEST(test_many_uplinks)
{
	char	 name[16];
	size_t	 i;

	for (i = 0; i < 1000; i++) {
		snprintf(name, sizeof(name), "u%zu", i);
		ck_assert_int_eq(conf_set(&c, "Uplink", name, &e), 0);
		ck_assert_int_eq(conf_set(&c, "EnvironmentId", name, &e), 0);
		ck_assert_int_eq(conf_set(&c, "EnvironmentId", name + 1, &e),
		    0);
	}
	ck_assert_uint_eq(c.nuplink, 1000);
	for (i = 0; i < 1000; i++) {
		snprintf(name, sizeof(name), "u%zu", i);
		ck_assert_str_eq(c.uplink[i].label, name);
		ck_assert_str_eq(c.uplink[i].environment, name + 1);
	}
	conf_fini(&c);
	ck_assert(c.uplink == NULL && c.nuplink == 0);
	ck_assert_int_eq(conf_init(&c), 0);
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
	tcase_add_loop_test(t, test_uplink_row, 0, (int)NUPLINK_ROWS);
	tcase_add_test(t, test_uplinks);
	tcase_add_test(t, test_uplinks_printed);
	tcase_add_test(t, test_places);
	tcase_add_test(t, test_block_ends);
	tcase_add_test(t, test_many_uplinks);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed != 0;
}
