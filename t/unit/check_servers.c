/* Lines of the file of hosts (master/execsrvctl/servers.h). */
#include <check.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "master/execsrvctl/servers.h"

static struct host_line	 line;
static char		 text[1024], why[SERVERS_WHY];

static int
parse(const char *s)
{
	int	 r;

	ck_assert_uint_lt(strlen(s), sizeof(text));
	strcpy(text, s);
	why[0] = '\0';
	r = servers_parse(text, &line, why);
	ck_assert_int_eq(r == -1, why[0] != '\0');
	return r;
}

START_TEST(good)
{
	ck_assert_int_eq(parse("box ws://127.0.0.1:1\n"), 1);
	ck_assert_str_eq(line.name, "box");
	ck_assert_str_eq(line.url, "ws://127.0.0.1:1");
	ck_assert_ptr_null(line.token);
	ck_assert_ptr_null(line.token_file);
	ck_assert_int_eq(parse("\t a.b-c  unix:/x/y\ttoken=a=b# "), 1);
	ck_assert_str_eq(line.name, "a.b-c");
	ck_assert_str_eq(line.token, "a=b#");
	ck_assert_int_eq(parse("b u token-file=/p # token=x"), 1);
	ck_assert_str_eq(line.token_file, "/p");
	ck_assert_ptr_null(line.ca_file);
	ck_assert_ptr_null(line.token);
	ck_assert_int_eq(parse("b u ca-file=ca token=t"), 1);
	ck_assert_str_eq(line.ca_file, "ca");
	ck_assert_str_eq(line.token, "t");
	ck_assert_int_eq(parse("b u env=A=b cwd=/x env=C= sandbox=none"), 1);
	ck_assert_str_eq(line.env[0], "A=b");
	ck_assert_str_eq(line.env[1], "C=");
	ck_assert_ptr_null(line.env[2]);
	ck_assert_str_eq(line.cwd, "/x");
	ck_assert_str_eq(line.sandbox, "none");
}
END_TEST

/* What is wrong is told with what would be right. */
START_TEST(reasons)
{
	static const char *const	 rows[][2] = {
		{ "b", "expected a name and a URL" },
		{ "b u tokne=x", "no option \"tokne\": did you mean "
		    "\"token=\"?" },
		{ "b u verbose", "no option \"verbose\": expected ca-file=, "
		    "cwd=, env=, sandbox=, token=, token-file=" },
		{ "b u cwd=x", "cwd=x: not an absolute path" },
		{ "b u cwd", "cwd=: a value is missing" },
		{ "b u cwd=/ cwd=/", "cwd=: given more than once" },
		{ "b u env=A", "env=A: expected env=NAME=VALUE" },
		{ "b u env==A", "env==A: expected env=NAME=VALUE" },
		{ "b u sandbox=all", "sandbox=all: expected read-only, "
		    "workspace-write or none" },
		{ "b u token=a token-file=b", "token= or token-file=, not "
		    "both" },
	};
	size_t				 i;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		ck_assert_int_eq(parse(rows[i][0]), -1);
		ck_assert_str_eq(why, rows[i][1]);
	}
}
END_TEST

START_TEST(many)
{
	char	 s[512] = "b u";
	int	 i;

	for (i = 0; i < SERVERS_ENV_MAX; i++)
		strcat(s, " env=A=b");
	ck_assert_int_eq(parse(s), 1);
	strcat(s, " env=A=b");
	ck_assert_int_eq(parse(s), -1);
}
END_TEST

START_TEST(nothing)
{
	ck_assert_int_eq(parse(""), 0);
	ck_assert_int_eq(parse(" \t\r\n"), 0);
	ck_assert_int_eq(parse("# box ws://x"), 0);
	ck_assert_int_eq(parse("  #"), 0);
}
END_TEST

START_TEST(bad)
{
	static const char *const	 lines[] = {
		"box", "box # ws://x", "a:b ws://x", "a/b ws://x",
		"box u token", "box u token=", "box u tokens=x",
		"box u ca-file=", "box u ca-file=a ca-file=b",
		"box u token=a token=b", "box u token=a token-file=b",
		"box u other", "ws://x",
	};
	size_t				 i;

	for (i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		ck_assert_msg(parse(lines[i]) == -1, "%s", lines[i]);
}
END_TEST

/* A file with a token has one, on one line. */
START_TEST(token_file)
{
	static const struct {
		const char	*text, *token;
	} rows[] = {
		{ "abc\n", "abc" }, { "abc", "abc" }, { "abc \t\r\n\n", "abc" },
		{ "", NULL }, { "\n", NULL }, { " abc", NULL },
		{ "a b\n", NULL }, { "a\nb\n", NULL },
	};
	struct server	 out = { .token = NULL };
	const char	*tmp = getenv("TMPDIR");
	char		 path[200];
	int		 fd;

	snprintf(path, sizeof(path), "%s/servers.XXXXXX", tmp != NULL ? tmp :
	    "/tmp");
	ck_assert_int_ne(fd = mkstemp(path), -1);
	ck_assert_int_eq(write(fd, rows[_i].text, strlen(rows[_i].text)),
	    (ssize_t)strlen(rows[_i].text));
	close(fd);
	ck_assert_int_eq(servers_read_token(path, &out),
	    rows[_i].token != NULL ? 0 : -1);
	if (rows[_i].token != NULL)
		ck_assert_str_eq(out.token, rows[_i].token);
	else
		ck_assert_ptr_null(out.token);
	sodium_free(out.token);
	ck_assert_int_eq(unlink(path), 0);
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("servers");
	TCase	*t = tcase_create("lines");
	SRunner	*r;
	int	 failed;

	tcase_add_test(t, good);
	tcase_add_test(t, nothing);
	tcase_add_test(t, bad);
	tcase_add_test(t, reasons);
	tcase_add_test(t, many);
	tcase_add_loop_test(t, token_file, 0, 8);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
