/*
 * common/conf*.c: every row of proto/conf.def and uplink.def, files good and
 * bad, and what is in force for a client.
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

enum when { WHEN_START, WHEN_LIVE, WHEN_MATCH };

struct row {
	const char	*keyword, *type, *value;
	enum when	 when;
};

static const struct row	 rows[] = {
#define CONF(keyword, type, member, value, when, help)			\
	{ #keyword, #type, value, WHEN_##when },
#include "proto/conf.def"
#undef CONF
};

static const struct row	 uplink_rows[] = {
#define UPLINK(keyword, type, member, value, help)			\
	{ #keyword, #type, value, WHEN_START },
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
	if (strcmp(type, "CHOICE_transport") == 0)
		return "Plain";
	if (strcmp(type, "CHOICE_stdin") == 0)
		return "frames";
	if (strcmp(type, "CHOICE_yesno") == 0)
		return "yes";
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
	ck_assert(c.uplink == NULL && c.block == CONF_OUTER);
	ck_assert_uint_eq(c.nmatch, 0);
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
	static char	 line[20000];

	ck_assert_int_eq(load("LogLevel info\nDetachedTtl never\n"), -1);
	ck_assert_ptr_nonnull(strstr(e.text, ":2: "));
	ck_assert_ptr_nonnull(strstr(e.text, path));
	ck_assert_ptr_nonnull(strstr(e.text, "never"));
	ck_assert_int_eq(load("Unheard of\n"), -1);
	ck_assert_ptr_nonnull(strstr(e.text, ":1: unknown keyword"));
	memset(line, 'x', sizeof(line));
	memcpy(line, "PidFile ", 8);
	line[sizeof(line) - 1] = '\0';
	ck_assert_int_eq(load(line), -1);
	ck_assert_ptr_nonnull(strstr(e.text, "too long"));
	ck_assert_int_eq(load("LogLevel info\n"), 0);
	ck_assert_int_eq(chmod(path, 0620), 0);
	ck_assert_int_eq(conf_load(&c, path, &e), -1);
	ck_assert_ptr_nonnull(strstr(e.text, "not be writable"));
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
	ck_assert_ptr_nonnull(strstr(e.text, ":1: "));
	ck_assert_ptr_nonnull(strstr(e.text,
	    "\"RegistryUrl\" belongs into an Uplink block"));
	ck_assert_uint_eq(c.nuplink, 0);
	ck_assert_int_eq(load("Uplink x\nListen unix:/x\n"), -1);
	ck_assert_ptr_nonnull(strstr(e.text, ":2: "));
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

/* --- lines -----------------------------------------------------------------*/

static void
ck_fails(const char *text, const char *words)
{
	conf_fini(&c);
	ck_assert_int_eq(conf_init(&c), 0);
	ck_assert_msg(load(text) == -1, "taken: %s", text);
	ck_assert_msg(strstr(e.text, words) != NULL, "%s: \"%s\", not \"%s\"",
	    text, e.text, words);
}

START_TEST(test_quotes)
{
	char	*text, *again;

	ck_assert_int_eq(load("PidFile \"  a \\\"b\\\\ \"  # why\n"
	    "Listen \"unix:/a\"\nListen unix:/b #c\nRemoteUser \"\"\n"
	    "ControlGroup a\\b\"c\n"), 0);
	ck_assert_str_eq(c.pid_file, "  a \"b\\ ");
	ck_assert_str_eq(c.listen.item[0], "unix:/a");
	/* Without quotes there is no comment: a path may have such a name. */
	ck_assert_str_eq(c.listen.item[1], "unix:/b #c");
	ck_assert_str_eq(c.remote_user, "");
	ck_assert_str_eq(c.control_group, "a\\b\"c");
	text = printed();
	conf_fini(&c);
	ck_assert_int_eq(conf_init(&c), 0);
	ck_assert_int_eq(load(text), 0);
	ck_assert_str_eq(c.pid_file, "  a \"b\\ ");
	again = printed();
	ck_assert_str_eq(text, again);
	free(text);
	free(again);
	ck_fails("PidFile \"a\n", "without an end");
	ck_fails("PidFile \"a\" b\n", "\"b\" behind the value");
	ck_fails("PidFile a\001b\n", "control character");
	ck_assert_int_eq(conf_set(&c, "PidFile", "a\nb", &e), -1);
	ck_assert_int_eq(conf_set(&c, "Match", "User \"a\nb\"", &e), -1);
}
END_TEST

START_TEST(test_first_counts)
{
	ck_assert_int_eq(conf_set(&c, "MaxProcesses", "1", &e), 0);
	ck_assert_int_eq(conf_set(&c, "MaxProcesses", "2", &e), 0);
	ck_assert_int_eq(load("MaxProcesses 3\nDetachedTtl 4\nDetachedTtl 5\n"
	    "Listen unix:/a\nListen unix:/b\nUplink u\nEnvironmentId a\n"
	    "EnvironmentId b\nUplink v\nEnvironmentId c\n"), 0);
	ck_assert_uint_eq(c.max_processes, 2);
	ck_assert_uint_eq(c.detached_ttl, 4000);
	ck_assert_uint_eq(c.listen.n, 2);
	ck_assert_str_eq(c.uplink[0].environment, "a");
	ck_assert_str_eq(c.uplink[1].environment, "c");
	/* What does not count must be right all the same. */
	ck_fails("DetachedTtl 4\nDetachedTtl x\n", ":2: DetachedTtl: bad");
}
END_TEST

START_TEST(test_did_you_mean)
{
	ck_fails("Lisen unix:/a\n", "did you mean \"Listen\"?");
	ck_fails("maxsessionperuser 1\n", "mean \"MaxSessionsPerUser\"?");
	ck_fails("Upink x\n", "mean \"Uplink\"?");
	ck_fails("Uplink x\nRegistryUri y\n", "mean \"RegistryUrl\"?");
	ck_fails("Nonsense x\n", "unknown keyword \"Nonsense\"");
	ck_assert_ptr_null(strstr(e.text, "mean"));
	ck_fails("x y\n", "unknown keyword \"x\"");
	ck_assert_ptr_null(strstr(e.text, "mean"));
}
END_TEST

START_TEST(test_nul)
{
	char	 text[] = "PidFile a\0b\n";

	ck_assert_int_eq(conf_parse(&c, "name", text, sizeof(text) - 1, NULL,
	    NULL, &e), -1);
	ck_assert_str_eq(e.text, "name:1: a NUL byte");
}
END_TEST

/* --- files -----------------------------------------------------------------*/

static char	 folder[] = "/tmp/check_conf.[*].XXXXXX";

static void
put_file(const char *name, const char *text, mode_t mode)
{
	char	 file[128];
	FILE	*f;

	snprintf(file, sizeof(file), "%s/%s", folder, name);
	ck_assert_ptr_nonnull(f = fopen(file, "w"));
	fputs(text, f);
	fclose(f);
	ck_assert_int_eq(chmod(file, mode), 0);
}

static int
load_folder(void)
{
	char	 file[128];

	snprintf(file, sizeof(file), "%s/main", folder);
	conf_fini(&c);
	ck_assert_int_eq(conf_init(&c), 0);
	memset(&e, 0, sizeof(e));
	return conf_load(&c, file, &e);
}

static void
make_folder(void)
{
	char	 sub[128];

	ck_assert_ptr_nonnull(mkdtemp(folder));
	snprintf(sub, sizeof(sub), "%s/d", folder);
	ck_assert_int_eq(mkdir(sub, 0755), 0);
}

static void
remove_folder(void)
{
	static const char *const names[] = { "main", "d/1.conf", "d/2.conf",
		"d/3.txt", "d/x y", "d" };
	char	 file[128];
	size_t	 i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(file, sizeof(file), "%s/%s", folder, names[i]);
		remove(file);
	}
	rmdir(folder);
	strcpy(folder + strlen(folder) - 6, "XXXXXX");
}

START_TEST(test_include)
{
	make_folder();
	put_file("main", "Include d/*.conf none*\nInclude \"d/x y\"\n"
	    "PidFile main\nListen unix:/m\n", 0600);
	put_file("d/2.conf", "PidFile two\nListen unix:/2\nUplink u\n", 0600);
	put_file("d/1.conf", "Listen unix:/1\nMatch User a\nMaxProcesses 1\n",
	    0600);
	put_file("d/3.txt", "Nonsense\n", 0600);
	put_file("d/x y", "Listen unix:/x\n", 0600);
	ck_assert_msg(load_folder() == 0, "%s", e.text);
	ck_assert_uint_eq(c.listen.n, 4);
	ck_assert_str_eq(c.listen.item[0], "unix:/1");
	ck_assert_str_eq(c.listen.item[1], "unix:/2");
	ck_assert_str_eq(c.listen.item[2], "unix:/x");
	ck_assert_str_eq(c.listen.item[3], "unix:/m");
	ck_assert_str_eq(c.pid_file, "two");
	ck_assert_uint_eq(c.nmatch, 1);
	ck_assert_ptr_nonnull(strstr(c.match[0].where, "d/1.conf:2"));
	ck_assert_uint_eq(c.nuplink, 1);
	/* An error has the place where it is. */
	put_file("d/2.conf", "\n\nPidFiel two\n", 0600);
	ck_assert_int_eq(load_folder(), -1);
	ck_assert_ptr_nonnull(strstr(e.text, "/d/2.conf:3: unknown keyword"));
	put_file("d/2.conf", "PidFile two\n", 0620);
	ck_assert_int_eq(load_folder(), -1);
	ck_assert_ptr_nonnull(strstr(e.text, "/d/2.conf: it must belong"));
	remove_folder();
}
END_TEST

START_TEST(test_include_bad)
{
	make_folder();
	put_file("main", "Include d/1.conf\n", 0600);
	ck_assert_int_eq(load_folder(), -1);
	ck_assert_ptr_nonnull(strstr(e.text, "no such file"));
	put_file("d/1.conf", "Include ../main\n", 0600);
	ck_assert_int_eq(load_folder(), -1);
	ck_assert_ptr_nonnull(strstr(e.text, "includes itself"));
	put_file("d/1.conf", "Include *.conf\n", 0600);
	ck_assert_int_eq(load_folder(), -1);
	ck_assert_ptr_nonnull(strstr(e.text, "includes itself"));
	put_file("main", "Include d\n", 0600);
	ck_assert_int_eq(load_folder(), -1);
	ck_assert_ptr_nonnull(strstr(e.text, "not a file"));
	put_file("main", "Match all\nInclude d/1.conf\n", 0600);
	ck_assert_int_eq(load_folder(), -1);
	ck_assert_ptr_nonnull(strstr(e.text, "/main:2: \"Include\" belongs "
	    "before"));
	put_file("main", "Include\n", 0600);
	ck_assert_int_eq(load_folder(), -1);
	ck_assert_ptr_nonnull(strstr(e.text, ":1: Include: what?"));
	put_file("main", "Include \"a\n", 0600);
	ck_assert_int_eq(load_folder(), -1);
	remove_folder();
}
END_TEST

static int
include_again(void *arg, struct conf *conf, const char *pattern,
    struct conf_error *err)
{
	unsigned	*depth = arg;
	char		 text[] = "Include x\n";

	if (++*depth == 100)
		return 0;
	return conf_parse(conf, pattern, text, sizeof(text) - 1,
	    include_again, arg, err);
}

/* How deep is the file's business, not the reader's. */
START_TEST(test_include_depth)
{
	char		 text[] = "Include x\n", name[8], next[64];
	unsigned	 depth = 0;
	int		 i;

	ck_assert_int_eq(conf_parse(&c, "m", text, sizeof(text) - 1,
	    include_again, &depth, &e), 0);
	ck_assert_uint_eq(depth, 100);
	make_folder();
	put_file("main", "Include d/0\n", 0600);
	for (i = 0; i < 20; i++) {
		snprintf(name, sizeof(name), "d/%d", i);
		snprintf(next, sizeof(next), "Include %d\n", i + 1);
		put_file(name, i == 15 ? "" : next, 0600);
	}
	ck_assert_int_eq(load_folder(), -1);
	ck_assert_ptr_nonnull(strstr(e.text, "more than 16 files"));
	put_file("d/14", "", 0600);
	ck_assert_int_eq(load_folder(), 0);
	for (i = 0; i < 20; i++) {
		snprintf(next, sizeof(next), "%s/d/%d", folder, i);
		unlink(next);
	}
	remove_folder();
}
END_TEST

/* --- for some clients ------------------------------------------------------*/

START_TEST(test_patterns)
{
	static const struct {
		const char	*list, *text;
		int		 result;
	} cases[] = {
		{ "a", "a", 1 }, { "a", "A", 0 }, { "a", "ab", 0 },
		{ "*", "", 1 }, { "?", "", 0 }, { "a*b*c", "aXbYc", 1 },
		{ "a*b*c", "aXbY", 0 }, { "*a", "bab", 0 },
		{ "**a**", "bab", 1 }, { "?b", "ab", 1 }, { "a,b", "b", 1 },
		{ "!a", "b", 0 }, { "!a,*", "b", 1 }, { "!a,*", "a", -1 },
		{ "*,!a", "a", -1 }, { "", "", -2 }, { "a,", "a", -2 },
		{ ",a", "a", -2 }, { "!", "a", -2 },
		{ "*a*a*a*a*a*a*a*b", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", 0 },
	};
	size_t	 i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		ck_assert_msg(conf_pattern_list(cases[i].list, cases[i].text)
		    == cases[i].result, "%s: %s", cases[i].list,
		    cases[i].text);
}
END_TEST

START_TEST(test_addresses)
{
	static const struct {
		const char	*list, *text;
		int		 result;
	} cases[] = {
		{ "10.0.0.0/8", "10.1.2.3", 1 },
		{ "10.0.0.0/8", "11.0.0.1", 0 },
		{ "10.0.0.0/8", "::1", 0 }, { "0.0.0.0/0", "1.2.3.4", 1 },
		{ "0.0.0.0/0", "::1", 0 }, { "10.0.0.128/25", "10.0.0.127", 0 },
		{ "10.0.0.128/25", "10.0.0.129", 1 },
		{ "10.0.0.1/32", "10.0.0.1", 1 }, { "10.0.0.1", "10.0.0.1", 1 },
		{ "10.0.0.*", "10.0.0.7", 1 }, { "::/0", "1.2.3.4", 0 },
		{ "fe80::/10", "febf::1", 1 }, { "fe80::/10", "fec0::1", 0 },
		{ "::1", "0:0:0:0:0:0:0:1", 1 },
		{ "10.0.0.0/8", "::ffff:10.1.1.1", 1 },
		{ "!10.0.0.1,10.0.0.0/8", "10.0.0.1", -1 },
		{ "!10.0.0.1,10.0.0.0/8", "10.0.0.2", 1 },
		{ "10.0.0.0/8", "unix", 0 }, { "unix,127.0.0.0/8", "unix", 1 },
		{ "10.0.0.1/8", "10.0.0.1", -2 }, { "10.0.0.0/33", "x", -2 },
		{ "10.0.0.0/", "x", -2 }, { "10.0.0.0/-1", "x", -2 },
		{ "10.0.0.0/8x", "x", -2 }, { "x/8", "x", -2 },
		{ "::/129", "x", -2 }, { "10.0.0/8", "x", -2 },
	};
	size_t	 i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		ck_assert_msg(conf_address_list(cases[i].list, cases[i].text)
		    == cases[i].result, "%s: %s", cases[i].list,
		    cases[i].text);
}
END_TEST

/* What MaxProcesses is for a client. */
static uint64_t
limit_for(const char *spec)
{
	struct conf_spec	 s;
	struct conf		 one;
	uint64_t		 n;

	ck_assert_msg(conf_spec_parse(&s, spec, &e) == 0, "%s", e.text);
	ck_assert_int_eq(conf_resolve(&c, &s.client, &one), 0);
	ck_assert_uint_eq(one.nmatch, 0);
	ck_assert_str_eq(one.pid_file, "/pid");
	ck_assert_uint_eq(one.listen.n, 1);
	n = one.max_processes;
	conf_fini(&one);
	conf_spec_fini(&s);
	return n;
}

START_TEST(test_match)
{
	ck_assert_msg(load("MaxProcesses 1\nPidFile /pid\nListen unix:/x\n"
	    "Match User a,b* Group !no,g Address 10.0.0.0/8\n"
	    "\tMaxProcesses 2\n\tMaxProcesses 3\n"
	    "match identity remote:*\nmaxprocesses 4\n"
	    "Match Listener \"unix:/a b\"\nMaxProcesses 5\n"
	    "Match User a\nMaxProcesses 6\nDetachedTtl 1\n"
	    "Match all\nMaxProcesses 7\n") == 0, "%s", e.text);
	ck_assert_uint_eq(c.nmatch, 5);
	ck_assert_uint_eq(limit_for("user=a,group=g,addr=10.0.0.1"), 2);
	ck_assert_uint_eq(limit_for("user=bx,group=x,group=g,addr=10.9.9.9"),
	    2);
	ck_assert_uint_eq(limit_for("user=bx,group=g,group=no,addr=10.0.0.1"),
	    7);
	ck_assert_uint_eq(limit_for("user=a,group=g,address=11.0.0.1"), 6);
	ck_assert_uint_eq(limit_for("user=a,addr=10.0.0.1"), 6);
	ck_assert_uint_eq(limit_for("identity=remote:x,user=a"), 4);
	ck_assert_uint_eq(limit_for("listener=unix:/a b"), 5);
	ck_assert_uint_eq(limit_for(""), 7);
	ck_assert(conf_asks(&c, CONF_MATCH_user));
	conf_fini(&c);
	ck_assert_int_eq(conf_init(&c), 0);
	ck_assert(!conf_asks(&c, CONF_MATCH_user));
}
END_TEST

START_TEST(test_match_printed)
{
	char	*text, *again;

	ck_assert_int_eq(load("Match User a Listener \"b c\\\"\"\n"
	    "SessionUser \" x\"\nMatch all\nUplink u\nRemoteUser v\n"), 0);
	text = printed();
	ck_assert_ptr_nonnull(strstr(text, "\nMatch all\n"));
	conf_fini(&c);
	ck_assert_int_eq(conf_init(&c), 0);
	ck_assert_msg(load(text) == 0, "%s", e.text);
	ck_assert_uint_eq(c.nmatch, 2);
	ck_assert_str_eq(c.match[0].pattern[CONF_MATCH_listener], "b c\"");
	ck_assert_str_eq(c.match[0].value[0].text, " x");
	again = printed();
	ck_assert_str_eq(again, text);
	free(again);
	free(text);
}
END_TEST

START_TEST(test_match_bad)
{
	ck_fails("Match\n", "for whom");
	ck_fails("Match Usr a\n", "\"Usr\" is none of");
	ck_fails("Match User\n", "User without a pattern");
	ck_fails("Match User a,\n", "bad pattern");
	ck_fails("Match User a User b\n", "User twice");
	ck_fails("Match Address 10.0.0.1/8\n", "bad pattern \"10.0.0.1/8\"");
	ck_fails("Match all User a\n", "stands alone");
	ck_fails("Match User a all\n", "stands alone");
	ck_fails("Match User \"a\n", "quote");
	ck_fails("Match User a\nMaxProcesses x\n", ":2: MaxProcesses: bad");
	ck_fails("Match User a\nMaxProceses 1\n", "mean \"MaxProcesses\"?");
	ck_fails("Match User a\nRegistryUrl x\n", "Uplink block");
}
END_TEST

/* Whether a keyword can be in a block is in its row. */
START_TEST(test_match_row)
{
	char	 text[128];

	snprintf(text, sizeof(text), "Match all\n%s %s\n", rows[_i].keyword,
	    good(rows[_i].type));
	if (rows[_i].when == WHEN_MATCH)
		ck_assert_msg(load(text) == 0, "%s", e.text);
	else
		ck_fails(text, "cannot be in a Match block");
}
END_TEST

START_TEST(test_spec_bad)
{
	struct conf_spec	 s;

	ck_assert_int_eq(conf_spec_parse(&s, "user", &e), -1);
	ck_assert_int_eq(conf_spec_parse(&s, "host=x", &e), -1);
	ck_assert_ptr_nonnull(strstr(e.text, "host"));
	ck_assert_int_eq(conf_spec_parse(&s, ",,user=,", &e), 0);
	conf_spec_fini(&s);
}
END_TEST

/* --- another one -----------------------------------------------------------*/

static unsigned	 nkept;
static char	 kept[64];

static void
on_kept(void *arg, const char *keyword)
{
	ck_assert_ptr_eq(arg, &nkept);
	nkept++;
	snprintf(kept, sizeof(kept), "%s", keyword);
}

/* By its row a change is taken over, or what was before stays. */
START_TEST(test_keep_row)
{
	struct conf	 old;
	char		*before, *after;
	bool		 is_kept = rows[_i].when == WHEN_START;

	ck_assert_int_eq(conf_init(&old), 0);
	before = printed();
	ck_assert_int_eq(conf_set(&c, rows[_i].keyword, good(rows[_i].type),
	    &e), 0);
	nkept = 0;
	ck_assert_int_eq(conf_keep(&c, &old, on_kept, &nkept), 0);
	ck_assert_uint_eq(nkept, is_kept);
	if (is_kept)
		ck_assert_str_eq(kept, rows[_i].keyword);
	after = printed();
	ck_assert_int_eq(strcmp(before, after) == 0, is_kept);
	free(before);
	free(after);
	conf_fini(&old);
}
END_TEST

START_TEST(test_keep_uplinks)
{
	struct conf_uplink	*at;
	struct conf		 old;

	ck_assert_int_eq(conf_init(&old), 0);
	ck_assert_int_eq(conf_set(&old, "Uplink", "a", &e), 0);
	ck_assert_int_eq(load("Uplink a\n"), 0);
	at = old.uplink;
	nkept = 0;
	ck_assert_int_eq(conf_keep(&c, &old, on_kept, &nkept), 0);
	ck_assert_uint_eq(nkept, 0);
	ck_assert_ptr_eq(c.uplink, at);
	conf_fini(&old);
	old = c;
	ck_assert_int_eq(conf_init(&c), 0);
	ck_assert_int_eq(conf_keep(&c, &old, on_kept, &nkept), 0);
	ck_assert_uint_eq(nkept, 1);
	ck_assert_str_eq(kept, "Uplink");
	ck_assert_ptr_eq(c.uplink, at);
	ck_assert_uint_eq(old.nuplink, 0);
	conf_fini(&old);
}
END_TEST

static void
add_tests(TCase *t)
{
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
	tcase_add_test(t, test_quotes);
	tcase_add_test(t, test_first_counts);
	tcase_add_test(t, test_did_you_mean);
	tcase_add_test(t, test_nul);
	tcase_add_test(t, test_include);
	tcase_add_test(t, test_include_bad);
	tcase_add_test(t, test_include_depth);
	tcase_add_test(t, test_patterns);
	tcase_add_test(t, test_addresses);
	tcase_add_test(t, test_match);
	tcase_add_test(t, test_match_printed);
	tcase_add_test(t, test_match_bad);
	tcase_add_loop_test(t, test_match_row, 0, (int)NROWS);
	tcase_add_test(t, test_spec_bad);
	tcase_add_loop_test(t, test_keep_row, 0, (int)NROWS);
	tcase_add_test(t, test_keep_uplinks);
}

int
main(void)
{
	Suite	*s = suite_create("conf");
	TCase	*t = tcase_create("conf");
	SRunner	*r;
	int	 failed;

	tcase_set_timeout(t, 20);
	tcase_add_checked_fixture(t, setup, teardown);
	add_tests(t);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed != 0;
}
