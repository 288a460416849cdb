/*
 * common/plan/pathglob.c: each wildcard, and the time that hostile ones take.
 */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/plan/pathglob.h"

/* As the reference: measured with 0.169.0 where it is not plain. */
static const struct match {
	const char	*pattern;
	const char	*path;
	bool		 matches;
} matches[] = {
	{ "/a/b", "/a/b", true },
	{ "/a/b", "/a", false },
	{ "/a", "/a/b", false },
	{ "/", "/", true },
	{ "/", "/a", false },
	{ "/*", "/", false },
	{ "/*", "/a", true },
	{ "/*", "/.a", true },
	{ "/*", "/a/b", false },
	{ "/w/*.env", "/w/.env", true },
	{ "/w/*.env", "/w/a.env", true },
	{ "/w/*.env", "/w/a.envx", false },
	{ "/w/*.env", "/w/g/a.env", false },
	{ "/w/**/*.env", "/w/a.env", true },
	{ "/w/**/*.env", "/w/g/h/.env", true },
	{ "/w/**/*.env", "/v/a.env", false },
	{ "/w/**", "/w", false },
	{ "/w/**", "/w/a", true },
	{ "/w/**", "/w/a/b/c", true },
	{ "/**", "/", false },
	{ "/**/**/a", "/a", true },
	{ "/**/**", "/a", true },
	{ "/**/**", "/", false },
	{ "/**/h", "/x/h", true },
	{ "/**/h", "/x/h/y", false },
	{ "/**/.hid/**", "/n/.hid/q", true },
	{ "/**/a/**/b", "/a/x/a/b/y/b", true },
	{ "/**/a/*/b", "/a/a/a/b", true },
	{ "/**/a/*/b", "/a/b/a/b", false },
	/* two stars that are not all of a name */
	{ "/w/**.env", "/w/a.env", true },
	{ "/w/**.env", "/w/g/a.env", false },
	{ "/w/***.env", "/w/.env", true },
	{ "/*a*b*c", "/xaybzbc", true },
	{ "/*a*b*c", "/xaybzcb", false },
	{ "/a?c", "/abc", true },
	{ "/a?c", "/ac", false },
	{ "/a?c", "/a/c", false },
	{ "/a?c", "/a\xc3\xa9" "c", true },
	{ "/a??c", "/a\xc3\xa9" "c", false },
	{ "/a?c", "/a\xff" "c", true },
	{ "/a??c", "/a\xc3\xff" "c", true },
	{ "/?", "/\xf0\x9f\x98\x80", true },
	{ "/*?", "/\xe2\x82\xac", true },
	{ "/[a-c]x", "/bx", true },
	{ "/[a-c]x", "/dx", false },
	{ "/[!a-c]x", "/dx", true },
	{ "/[^a-c]x", "/ax", false },
	{ "/[]a]", "/]", true },
	{ "/[!]a]", "/]", false },
	{ "/[!]a]", "/b", true },
	{ "/[^]a]", "/]", false },
	{ "/[^]a]", "/b", true },
	{ "/[a-]", "/-", true },
	{ "/[*]", "/*", true },
	{ "/[*]", "/a", false },
	{ "/[\\]", "/\\", true },
	{ "/[\xc3\xa0-\xc3\xbf]", "/\xc3\xa9", true },
	{ "/[\xc3\xa0-\xc3\xbf]", "/\xc4\x80", false },
	{ "/[!a]", "/\xff", true },
	{ "/[z-a]", "/b", false },
	{ "/[[:alpha:]]", "/a]", true },
	{ "/a\\*b", "/a*b", true },
	{ "/a\\*b", "/axb", false },
	{ "/\\a", "/a", true },
	{ "/\\\\", "/\\", true },
	{ "/\\[a]", "/[a]", true },
	{ "/A", "/a", false },
	/* malformed, or nothing that could be meant */
	{ "/[a", "/[a", false },
	{ "/[a/b]", "/[a/b]", false },
	{ "/a\\", "/a\\", false },
	{ "/a\\/b", "/a/b", false },
	{ "a", "/a", false },
	{ "/a", "a", false },
	{ "", "", false },
};

START_TEST(test_match)
{
	const struct match	*m = &matches[_i];

	ck_assert_msg(pathglob_match(m->pattern, m->path) == m->matches,
	    "%s: %s", m->pattern, m->path);
}
END_TEST

/* Above what matches something may match below, at any depth. */
START_TEST(test_match_below)
{
	const struct match	*m = &matches[_i];
	char			 folder[256], *slash;

	snprintf(folder, sizeof(folder), "%s", m->path);
	while (m->matches && strcmp(folder, "/") != 0) {
		slash = strrchr(folder, '/');
		slash[slash == folder] = '\0';
		ck_assert_msg(pathglob_may_match_below(m->pattern, folder),
		    "%s: %s", m->pattern, folder);
	}
}
END_TEST

static const struct match	 below[] = {
	{ "/a/b", "/", true },
	{ "/a/b", "/a", true },
	{ "/a/b", "/a/b", false },
	{ "/a/b", "/b", false },
	{ "/*/b/c", "/x", true },
	{ "/*/b/c", "/x/b", true },
	{ "/*/b/c", "/x/c", false },
	{ "/*/*.pem", "/x/y", false },
	{ "/x*/**/b", "/y", false },
	{ "/x*/**/b", "/xy", true },
	{ "/x*/**/b", "/xy/b/c/d", true },
	{ "/**", "/a/b", true },
	{ "/**/a", "/", true },
	{ "/a**/b", "/ab/b", false },
	{ "/[a", "/", false },
	{ "a/b", "/a", false },
	{ "/a/b", "a", false },
};

START_TEST(test_below)
{
	const struct match	*m = &below[_i];

	ck_assert_msg(pathglob_may_match_below(m->pattern, m->path) ==
	    m->matches, "%s: %s", m->pattern, m->path);
}
END_TEST

START_TEST(test_valid)
{
	static const char	*const good[] = { "/", "/a", "/[a]", "/[]]",
				    "/[!]]", "/\\[", "/**/[^]x]*\\?", "" };
	static const char	*const bad[] = { "/[", "/[]", "/[!", "/[!]",
				    "/[a/]", "/\\", "/a\\/b", "/[a]/[b" };
	size_t			 i;

	for (i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		ck_assert_msg(pathglob_is_valid(good[i]), "%s", good[i]);
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		ck_assert_msg(!pathglob_is_valid(bad[i]), "%s", bad[i]);
}
END_TEST

START_TEST(test_base)
{
	static const struct {
		const char	*pattern;
		const char	*base;
	} bases[] = {
		{ "/", "/" }, { "/*", "/" }, { "/**/a", "/" },
		{ "/a/b", "/a/b" }, { "/a/b*", "/a" }, { "/a/?/c", "/a" },
		{ "/a/[b]/c", "/a" }, { "/a/b/**", "/a/b" },
		{ "/a\\*/b/*", "/a*/b" }, { "/\\[x]/\\\\/*", "/[x]/\\" },
	};
	char	 path[64];
	size_t	 i, n, size;

	for (i = 0; i < sizeof(bases) / sizeof(bases[0]); i++) {
		n = strlen(bases[i].base);
		ck_assert_int_eq(pathglob_base(bases[i].pattern, path,
		    sizeof(path)), 0);
		ck_assert_str_eq(path, bases[i].base);
		ck_assert_int_eq(pathglob_base(bases[i].pattern, path,
		    n + 1), 0);
		for (size = 0; size <= n; size++) {
			errno = 0;
			ck_assert_int_eq(pathglob_base(bases[i].pattern, path,
			    size), -1);
			ck_assert_int_eq(errno, ENAMETOOLONG);
		}
	}
}
END_TEST

START_TEST(test_wild)
{
	ck_assert(pathglob_is_wild("a*", 2) && pathglob_is_wild("?", 1));
	ck_assert(pathglob_is_wild("\\\\*", 3) && pathglob_is_wild("[", 1));
	ck_assert(!pathglob_is_wild("a*", 1) && !pathglob_is_wild("", 0));
	ck_assert(!pathglob_is_wild("\\*\\?\\[", 6));
	ck_assert(!pathglob_is_wild("{a,b}", 5) && !pathglob_is_wild("\\", 1));
}
END_TEST

/* What takes exponential time where every star is tried again. */
START_TEST(test_hostile)
{
	static char	 pattern[4096], path[4096];
	size_t		 i;

	strcpy(pattern, "/");
	for (i = 0; i < 1000; i++)
		strcat(pattern, "*a");
	strcat(pattern, "b");
	memset(path, 'a', sizeof(path) - 1);
	path[0] = '/';
	ck_assert(!pathglob_match(pattern, path));
	pattern[0] = '\0';
	for (i = 0; i < 500; i++)
		strcat(pattern, "/**/a");
	strcat(pattern, "/b");
	for (i = 0; i + 2 < sizeof(path); i += 2)
		memcpy(path + i, "/a", 2);
	path[i] = '\0';
	ck_assert(!pathglob_match(pattern, path));
	strcpy(pattern + strlen(pattern) - 1, "a");
	ck_assert(pathglob_match(pattern, path));
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("pathglob");
	TCase	*t = tcase_create("pathglob");
	SRunner	*sr = srunner_create(s);
	int	 failed;

	tcase_set_timeout(t, 20);
	tcase_add_loop_test(t, test_match, 0,
	    (int)(sizeof(matches) / sizeof(matches[0])));
	tcase_add_loop_test(t, test_match_below, 0,
	    (int)(sizeof(matches) / sizeof(matches[0])));
	tcase_add_loop_test(t, test_below, 0,
	    (int)(sizeof(below) / sizeof(below[0])));
	tcase_add_test(t, test_valid);
	tcase_add_test(t, test_base);
	tcase_add_test(t, test_wild);
	tcase_add_test(t, test_hostile);
	suite_add_tcase(s, t);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed != 0;
}
