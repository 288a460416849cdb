/*
 * common/conf/conf.c, conf_value.c, conf_file.c: every row of proto/conf.def
 * and uplink.def, files good and bad.
 */
#include <sys/stat.h>

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "t/unit/conf_help.h"
#include "t/unit/left_out.h"

static void
ck_row(const struct row *row)
{
	static const char *const bad[] = { "", "x", "-1", "1x", " 1", "1 2",
		"0x10", "1.5", "99999999999999999999", "9999999999999999G" };
	bool	 is_text, is_list;
	char	 line[128], *text, *again;
	size_t	 i;

	is_list = strcmp(row->type, "LIST") == 0 ||
	    strcmp(row->type, "NAMES") == 0;
	is_text = is_list || strcmp(row->type, "TEXT") == 0 ||
	    strcmp(row->type, "PATH") == 0;
	/* Of a list there is nothing to add. */
	ck_assert_int_eq(conf_set(&c, row->keyword, row->value, &e),
	    is_list ? -1 : 0);
	/* Nothing is a value of limits: none. */
	i = strcmp(row->type, "RLIMIT") == 0;
	for (; !is_text && i < sizeof(bad) / sizeof(bad[0]); i++) {
		ck_assert_msg(conf_set(&c, row->keyword, bad[i], &e) ==
		    -1, "%s takes \"%s\"", row->keyword, bad[i]);
		ck_assert_ptr_nonnull(strstr(e.text, row->keyword));
		ck_assert_ptr_nonnull(strstr(e.text, "\": expected "));
	}
	/* What would leave nobody time or room. */
	if (strcmp(row->type, "TIMEOUT") == 0 ||
	    strcmp(row->type, "AMOUNT") == 0 ||
	    strcmp(row->type, "ROOM") == 0)
		ck_assert_int_eq(conf_set(&c, row->keyword, "0", &e), -1);
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
		{ "1h", 3600000 }, { "10min", 600000 }, { "5sec", 5000 },
		{ "1d", 86400000 } };
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
	ck_assert_int_eq(conf_set(&c, "DetachedSpool", "3GB", &e), 0);
	ck_assert_uint_eq(c.spool, 3ULL << 30);
	ck_assert_int_eq(conf_set(&c, "DetachedSpool", "3MiB", &e), 0);
	ck_assert_uint_eq(c.spool, 3ULL << 20);
	ck_assert_int_eq(conf_set(&c, "DetachedSpool", "1t", &e), 0);
	ck_assert_uint_eq(c.spool, 1ULL << 40);
}
END_TEST

/* Words that can mean nothing else. */
START_TEST(test_other_words)
{
	static const char *const yes[] = { "yes", "Yes", "true", "ON" };
	static const char *const no[] = { "no", "False", "off" };
	size_t	 i;

	for (i = 0; i < sizeof(yes) / sizeof(yes[0]); i++) {
		c.busy_poll = c.permit_root = -1;
		ck_assert_int_eq(conf_set(&c, "BusyPoll", yes[i], &e), 0);
		ck_assert_int_eq(c.busy_poll, 1);
		ck_assert_int_eq(conf_set(&c, "PermitRootSession", yes[i],
		    &e), 0);
		ck_assert_int_eq(c.permit_root, CONF_ROOT_YES);
		/* It has no such words. */
		ck_assert_int_eq(conf_set(&c, "RequireToken", yes[i], &e),
		    -1);
	}
	for (i = 0; i < sizeof(no) / sizeof(no[0]); i++) {
		c.busy_poll = c.process_cgroup = -1;
		ck_assert_int_eq(conf_set(&c, "BusyPoll", no[i], &e), 0);
		ck_assert_int_eq(c.busy_poll, 0);
		ck_assert_int_eq(conf_set(&c, "ProcessCgroup", no[i], &e),
		    0);
		ck_assert_int_eq(c.process_cgroup, CONF_CGROUP_NO);
	}
	ck_assert_int_eq(conf_set(&c, "LogLevel", "warn", &e), 0);
	ck_assert_int_eq(c.log_level, 1);
}
END_TEST

/* What a value may be is said, word for word, for each type. */
START_TEST(test_expected)
{
	static const struct {
		const char	*keyword, *value, *text;
	} golden[] = {
		{ "LogLevel", "loud", "LogLevel: bad value \"loud\": expected "
		    "error, warning, info or debug" },
		{ "BusyPoll", "2", "BusyPoll: bad value \"2\": expected no or "
		    "yes" },
		{ "MaxSessions", "0", "MaxSessions: bad value \"0\": expected "
		    "a number from 1 to 1000000" },
		{ "MaxProcesses", "-1", "MaxProcesses: bad value \"-1\": "
		    "expected a number from 0 to 1000000" },
		{ "Umask", "9", "Umask: bad value \"9\": expected an octal "
		    "number up to 777" },
		{ "Nice", "30", "Nice: bad value \"30\": expected a number "
		    "from 0 to 19" },
		{ "CPUWeight", "10001", "CPUWeight: bad value \"10001\": "
		    "expected a number from 0 to 10000" },
		{ "MemoryMax", "2 G", "MemoryMax: bad value \"2 G\": expected "
		    "a size in bytes or with K, M, G or T, such as 64M" },
		{ "OutputWindow", "0", "OutputWindow: bad value \"0\": "
		    "expected a size, not 0, in bytes or with K, M, G or T, "
		    "such as 64M" },
		{ "DetachedTtl", "long", "DetachedTtl: bad value \"long\": "
		    "expected a time in seconds or with ms, s, m, h or d, "
		    "such as 10m" },
		{ "HandshakeTimeout", "0", "HandshakeTimeout: bad value "
		    "\"0\": expected a time, not 0, in seconds or with ms, "
		    "s, m, h or d, such as 10m" },
		{ "RLimitNoFile", "1024,4096", "RLimitNoFile: bad value "
		    "\"1024,4096\": expected SOFT[:HARD], each a number, "
		    "which may have K, M, G or T, or unlimited; SOFT not "
		    "above HARD" },
		{ "AllowUsers", "!a", "AllowUsers: bad value \"!a\": expected "
		    "names or patterns with * and ?, separated by commas or "
		    "blanks, not all of them negated (!)" },
		{ "Match", "User alice,", "Match User: bad pattern "
		    "\"alice,\": expected names or patterns with * and ?, "
		    "separated by commas without blanks" },
		{ "Match", "Address 10.0.0.1/8", "Match Address: bad pattern "
		    "\"10.0.0.1/8\": expected addresses, networks such as "
		    "10.0.0.0/8, unix, stdio or remote, separated by commas "
		    "without blanks" },
		{ "Match", "User a, bob", "Match User: bad pattern \"a,\": "
		    "expected names or patterns with * and ?, separated by "
		    "commas without blanks" },
		{ "Match", "User alice bob", "Match: bob without a pattern (a "
		    "list has commas, no blanks)" },
	};
	size_t	 i;

	for (i = 0; i < sizeof(golden) / sizeof(golden[0]); i++) {
		ck_assert_int_eq(conf_set(&c, golden[i].keyword,
		    golden[i].value, &e), -1);
		ck_assert_str_eq(e.text, golden[i].text);
	}
}
END_TEST

/* All mistakes at once; what follows a bad Uplink or Match is its. */
START_TEST(test_all_mistakes)
{
	const char	*at = e.text, *line;
	char		 want[5][200], many[30 * 16] = "";
	size_t		 i, len;

	snprintf(want[0], sizeof(want[0]), "%s:1: Nice: bad value \"x\": "
	    "expected a number from 0 to 19", conf_path);
	snprintf(want[1], sizeof(want[1]), "%s:3: unknown keyword "
	    "\"Nonsense\"", conf_path);
	snprintf(want[2], sizeof(want[2]), "%s:4: Match: expected all, or "
	    "User, Group, Address, Identity or Listener with patterns",
	    conf_path);
	snprintf(want[3], sizeof(want[3]), "%s:7: Nice: bad value \"y\": "
	    "expected a number from 0 to 19", conf_path);
	ck_assert_int_eq(load("Nice x\nDetachedTtl 5\nNonsense 1\nMatch\n"
	    "Listen unix:/a\nMatch all\nNice y\n"), -1);
	for (i = 0; i < 4; i++) {
		ck_assert_ptr_nonnull(line = conf_error_line(&at, &len));
		ck_assert_uint_eq(len, strlen(want[i]));
		ck_assert_int_eq(strncmp(line, want[i], len), 0);
	}
	ck_assert_ptr_null(conf_error_line(&at, &len));
	ck_assert_uint_eq(c.detached_ttl, 5000);
	ck_assert_uint_eq(c.listen.n, 0);
	for (i = 0; i < 30; i++)
		strcat(many, "Nonsense 1\n");
	ck_assert_int_eq(load(many), -1);
	for (at = e.text, i = 0; conf_error_line(&at, &len) != NULL; i++)
		continue;
	ck_assert_uint_eq(i, 21);
	ck_assert_ptr_nonnull(strstr(e.text, "further mistakes"));
}
END_TEST

/* Beside the file, or where the program was started. */
START_TEST(test_paths)
{
	ck_assert_int_eq(load("TokenFile tok\nPidFile /a/b\nUplink u\n"
	    "CredentialFile ../c\n"), 0);
	ck_assert_str_eq(c.token_file, "/tmp/tok");
	ck_assert_str_eq(c.pid_file, "/a/b");
	ck_assert_str_eq(c.uplink[0].credential_file, "/tmp/../c");
	c.folder = "/start";
	ck_assert_int_eq(conf_set(&c, "TokenSecretFile", "s", &e), 0);
	ck_assert_str_eq(c.token_secret_file, "/start/s");
	ck_assert_int_eq(conf_set(&c, "TokenSecretFile", "", &e), 0);
	ck_assert_str_eq(c.token_secret_file, "");
}
END_TEST

/* A keyword twice in one file is told; over two files that is a default. */
START_TEST(test_set_twice)
{
	char	 want[200];

	ck_assert_int_eq(conf_set(&c, "Nice", "3", &e), 0);
	ck_assert_int_eq(load("Nice 1\nNice 2\nDetachedTtl 1\n\n"
	    "DetachedTtl 2\nListen unix:/a\nListen unix:/b\n"), 0);
	ck_assert_uint_eq(c.note.n, 1);
	snprintf(want, sizeof(want), "%s:5: DetachedTtl is set before, at "
	    "line 3, and only the first value counts", conf_path);
	ck_assert_str_eq(c.note.item[0], want);
}
END_TEST

START_TEST(test_file)
{
	ck_assert_int_eq(load("# comment\n\n \t \n  Listen  ws://127.0.0.1:1  "
	    "\nLISTEN=unix:/a b\n\tDetachedTtl = 5\r\nPidFile \"\""), 0);
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
	ck_assert_ptr_nonnull(strstr(e.text, conf_path));
	ck_assert_ptr_nonnull(strstr(e.text, "never"));
	ck_assert_int_eq(load("Unheard of\n"), -1);
	ck_assert_ptr_nonnull(strstr(e.text, ":1: unknown keyword"));
	memset(line, 'x', sizeof(line));
	memcpy(line, "PidFile ", 8);
	line[sizeof(line) - 1] = '\0';
	ck_assert_int_eq(load(line), -1);
	ck_assert_ptr_nonnull(strstr(e.text, "too long"));
	ck_assert_int_eq(load("LogLevel info\n"), 0);
	ck_assert_int_eq(chmod(conf_path, 0620), 0);
	ck_assert_int_eq(conf_load(&c, conf_path, &e), -1);
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

	ck_assert_int_eq(load("Uplink \"#1\"\nEnvironmentId =x=\nUplink a\n"
	    "RemoteTransport plain\nUplink a\nCredentialFile /c\n"), 0);
	text = printed();
	ck_assert_ptr_nonnull(strstr(text, "\nUplink \"#1\"\n"));
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
	    "\"RegistryUrl\" belongs in an Uplink block"));
	ck_assert_uint_eq(c.nuplink, 1);
	ck_assert_str_eq(c.uplink[0].url, "");
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

START_TEST(test_quotes)
{
	char	*text, *again;

	ck_assert_int_eq(load("PidFile \"/  a \\\"b\\\\ \"  # why\n"
	    "Listen \"unix:/a\"\nListen unix:/b#c\nRemoteUser \"\" #\n"
	    "ControlGroup a\\b\"c\nListen unix:/a b \t# \"c\n"
	    "Listen \"unix:/a #\\\"b\" # \"\nListen unix:\"a # \"b\"\n"
	    "TokenUser x \"y # z\nUplinkUser \"#\"\n"), 0);
	ck_assert_str_eq(c.pid_file, "/  a \"b\\ ");
	ck_assert_str_eq(c.listen.item[0], "unix:/a");
	/* Part of a word it is part of a name. */
	ck_assert_str_eq(c.listen.item[1], "unix:/b#c");
	ck_assert_str_eq(c.listen.item[2], "unix:/a b");
	ck_assert_str_eq(c.listen.item[3], "unix:/a #\"b");
	ck_assert_str_eq(c.listen.item[4], "unix:\"a");
	ck_assert_str_eq(c.token_user, "x \"y # z");
	ck_assert_str_eq(c.uplink_user, "#");
	ck_assert_str_eq(c.remote_user, "");
	ck_assert_str_eq(c.control_group, "a\\b\"c");
	text = printed();
	conf_fini(&c);
	ck_assert_int_eq(conf_init(&c), 0);
	ck_assert_int_eq(load(text), 0);
	ck_assert_str_eq(c.pid_file, "/  a \"b\\ ");
	again = printed();
	ck_assert_str_eq(text, again);
	free(text);
	free(again);
	ck_fails("LogTo # why\n", ":1: LogTo: it needs a value");
	ck_fails("PidFile \"a\n", "without an end");
	ck_fails("PidFile \"a\" b\n", "\"b\" behind the value");
	ck_fails("Match User \"a\"b\n", ":1: Match: unbalanced quote");
	ck_fails("Match User a\"b\"\n", ":1: Match: unbalanced quote");
	ck_fails("PidFile a\001b\n", "control character");
	ck_assert_int_eq(conf_set(&c, "PidFile", "a\nb", &e), -1);
	ck_assert_int_eq(conf_set(&c, "Match", "User \"a\nb\"", &e), -1);
}
END_TEST

/* Nothing has to be said. */
START_TEST(test_bare)
{
	ck_fails("Token\n", ":1: Token: it needs a value");
	ck_fails("Listen \"\"\n", ":1: Listen: it needs a value");
	ck_fails("\nLogTo = \n", ":2: LogTo: it needs a value");
	ck_fails("Match all\nRLimitAS\n", ":2: RLimitAS: it needs a value");
	ck_fails("Uplink x\nForward\n", ":2: Forward: it needs a value");
	ck_assert_int_eq(load("UplinkUser \"\"\n"), 0);
	ck_assert_str_eq(c.uplink_user, "");
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

/* Where a value was read, for those who look at it later. */
START_TEST(test_where)
{
	char	 place[64];

	ck_assert_int_eq(conf_set(&c, "Listen", "unix:/o", &e), 0);
	ck_assert_int_eq(conf_set(&c, "PidFile", "o", &e), 0);
	ck_assert_int_eq(load("PidFile x\nListen unix:/a\nLogTo a\nLogTo b\n"
	    "Listen unix:/b\nUplink u\nRegistryUrl a\nRegistryUrl b\n"), 0);
	ck_assert_str_eq(conf_where(&c, CONF_ROW_pid_file, 0), "");
	ck_assert_str_eq(conf_where(&c, CONF_ROW_listen, 0), "");
	snprintf(place, sizeof(place), "%s:5", conf_path);
	ck_assert_str_eq(conf_where(&c, CONF_ROW_listen, 2), place);
	ck_assert_str_eq(conf_where(&c, CONF_ROW_listen, 3), "");
	snprintf(place, sizeof(place), "%s:3", conf_path);
	ck_assert_str_eq(conf_where(&c, CONF_ROW_log_to, 0), place);
	ck_assert_str_eq(conf_where(&c, CONF_ROW_log_to, 1), "");
	ck_assert_str_eq(conf_where(&c, CONF_ROW_nice, 0), "");
	snprintf(place, sizeof(place), "%s:7", conf_path);
	ck_assert_str_eq(conf_uplink_where(&c.uplink[0], CONF_UPLINK_url),
	    place);
	snprintf(place, sizeof(place), "%s:6", conf_path);
	ck_assert_str_eq(conf_uplink_where(&c.uplink[0],
	    CONF_UPLINK_forward), place);
	conf_empty(&c, CONF_ROW_listen);
	ck_assert_uint_eq(c.listen.n, 0);
	ck_assert_str_eq(conf_where(&c, CONF_ROW_listen, 1), "");
	ck_assert_int_eq(conf_set(&c, "LogTo", "c", &e), 0);
	ck_assert_str_eq(conf_where(&c, CONF_ROW_log_to, 0), "");
	conf_fail(&e, "why");
	ck_assert_int_eq(conf_at(&e, ""), -1);
	ck_assert_str_eq(e.text, "why");
	ck_assert_int_eq(conf_at(&e, "f:1"), -1);
	ck_assert_str_eq(e.text, "f:1: why");
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
	ck_assert_int_eq(conf_set(&c, "Include", "x", &e), -1);
	ck_assert_str_eq(e.text, "Include: in files only");
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

START_TEST(test_limits)
{
	static const char *const bad[] = { "2:1", "unlimited:1", "1:", ":1",
		"1:2:3", "1 : 2", "unlimite", "1X", "1,2" };
	static const char *const modes[] = { "8", "1000", "00777", "0o22",
		"-1", "07 7" };
	size_t	 i;

	ck_assert(!c.rlimit_as.is_set);
	ck_assert_int_eq(load("RLimitAS 1G:unlimited\nRLimitCPU 60\n"
	    "RLimitCore 0\nRLimitNoFile UNLIMITED\nUmask 7\nNice 0\n"
	    "RLimitNProc \"\"\n"), 0);
	ck_assert_uint_eq(c.rlimit_as.soft, 1 << 30);
	ck_assert_uint_eq(c.rlimit_as.hard, UINT64_MAX);
	ck_assert_uint_eq(c.rlimit_cpu.soft, 60);
	ck_assert_uint_eq(c.rlimit_cpu.hard, 60);
	ck_assert(c.rlimit_core.is_set && c.rlimit_core.hard == 0);
	ck_assert_uint_eq(c.rlimit_nofile.soft, UINT64_MAX);
	ck_assert(!c.rlimit_nproc.is_set);
	ck_assert_uint_eq(c.umask, 7);
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		ck_assert_msg(conf_set(&c, "RLimitAS", bad[i], &e) == -1,
		    "%s", bad[i]);
	ck_assert_uint_eq(c.rlimit_as.soft, 1 << 30);
	for (i = 0; i < sizeof(modes) / sizeof(modes[0]); i++)
		ck_assert_msg(conf_set(&c, "Umask", modes[i], &e) == -1,
		    "%s", modes[i]);
	ck_assert_int_eq(conf_set(&c, "Nice", "20", &e), -1);
	ck_assert_int_eq(conf_set(&c, "CPUWeight", "10000", &e), 0);
	ck_assert_int_eq(conf_set(&c, "CPUWeight", "10001", &e), -1);
	ck_fails("OutputWindow 0K\n", ":1: OutputWindow: bad value \"0K\"");
	ck_fails("Match all\nHandshakeTimeout 0ms\n",
	    ":2: HandshakeTimeout: bad value \"0ms\"");
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
chown_file(const char *name, uid_t uid)
{
	char	 file[128];

	snprintf(file, sizeof(file), "%s/%s", folder, name);
	return chown(file, uid, (gid_t)-1);
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
	char	 file[128];

	make_folder();
	put_file("main", "Include d/*.conf none*\nInclude \"d/x y\" # \"why\n"
	    "Include nowhere/*.conf d/3.txt/* nowhere/*/x\n"
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
	snprintf(file, sizeof(file), "%s/d/two", folder);
	ck_assert_str_eq(c.pid_file, file);
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

/* Root's, or ours: no other user may say how the daemon works. */
START_TEST(test_whose_file)
{
	if (geteuid() != 0) {
		left_out("files of others take root");
		return;
	}
	make_folder();
	put_file("main", "Include d/1.conf\n", 0644);
	put_file("d/1.conf", "PidFile one\n", 0644);
	ck_assert_int_eq(chown_file("d/1.conf", 65534), 0);
	ck_assert_int_eq(load_folder(), -1);
	ck_assert_ptr_nonnull(strstr(e.text, "/d/1.conf: it must belong"));
	ck_assert_int_eq(chown_file("d/1.conf", 0), 0);
	ck_assert_int_eq(load_folder(), 0);
	ck_assert_int_eq(chown_file("main", 65534), 0);
	ck_assert_int_eq(load_folder(), -1);
	ck_assert_ptr_nonnull(strstr(e.text, "/main: it must belong"));
	remove_folder();
}
END_TEST

START_TEST(test_include_bad)
{
	make_folder();
	put_file("main", "\nInclude d/1.conf\n", 0600);
	ck_assert_int_eq(load_folder(), -1);
	ck_assert_ptr_nonnull(strstr(e.text, "/main:2: Include d/1.conf: no "
	    "such file"));
	put_file("d/1.conf", "Include ../main\n", 0600);
	ck_assert_int_eq(load_folder(), -1);
	ck_assert_ptr_nonnull(strstr(e.text, "includes itself"));
	put_file("d/1.conf", "Include *.conf\n", 0600);
	ck_assert_int_eq(load_folder(), -1);
	ck_assert_ptr_nonnull(strstr(e.text, "includes itself"));
	put_file("main", "Include d\n", 0600);
	ck_assert_int_eq(load_folder(), -1);
	ck_assert_ptr_nonnull(strstr(e.text, "not a file"));
	put_file("main", "Include nowhere/1.conf\n", 0600);
	ck_assert_int_eq(load_folder(), -1);
	ck_assert_ptr_nonnull(strstr(e.text, "no such file"));
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

/* What may be there and cannot be looked at is not passed over. */
START_TEST(test_include_no_look)
{
	char	 loop[128];

	make_folder();
	snprintf(loop, sizeof(loop), "%s/d/3.txt", folder);
	put_file("main", "Include d/3.txt/*.conf\n", 0600);
	ck_assert_int_eq(symlink("3.txt", loop), 0);
	ck_assert_int_eq(load_folder(), -1);
	ck_assert_ptr_nonnull(strstr(e.text, "cannot be looked up"));
	remove_folder();
}
END_TEST

static int
include_again(void *arg, void *conf, const char *pattern,
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

static void
add_tests(TCase *t)
{
	tcase_add_loop_test(t, test_row, 0, CONF_ROWS);
	tcase_add_test(t, test_defaults);
	tcase_add_test(t, test_units);
	tcase_add_test(t, test_other_words);
	tcase_add_test(t, test_expected);
	tcase_add_test(t, test_all_mistakes);
	tcase_add_test(t, test_paths);
	tcase_add_test(t, test_set_twice);
	tcase_add_test(t, test_file);
	tcase_add_test(t, test_bad_files);
	tcase_add_loop_test(t, test_uplink_row, 0, CONF_UPLINK_ROWS);
	tcase_add_test(t, test_uplinks);
	tcase_add_test(t, test_uplinks_printed);
	tcase_add_test(t, test_places);
	tcase_add_test(t, test_block_ends);
	tcase_add_test(t, test_many_uplinks);
	tcase_add_test(t, test_quotes);
	tcase_add_test(t, test_bare);
	tcase_add_test(t, test_first_counts);
	tcase_add_test(t, test_where);
	tcase_add_test(t, test_did_you_mean);
	tcase_add_test(t, test_nul);
	tcase_add_test(t, test_limits);
	tcase_add_test(t, test_include);
	tcase_add_test(t, test_whose_file);
	tcase_add_test(t, test_include_bad);
	tcase_add_test(t, test_include_no_look);
	tcase_add_test(t, test_include_depth);
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
