/* Lines of the file of hosts (master/execsrvctl/servers.h). */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "master/execsrvctl/servers.h"

static struct host_line	 line;
static char		 text[256];

static int
parse(const char *s)
{
	const char	*why = NULL;
	int		 r;

	ck_assert_uint_lt(strlen(s), sizeof(text));
	strcpy(text, s);
	r = servers_parse(text, &line, &why);
	if (r == -1)
		ck_assert_ptr_nonnull(why);
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
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
