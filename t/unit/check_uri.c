#include <check.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "common/json/uri.h"

static const struct good {
	const char	*uri;
	const char	*path;
} goods[] = {
	{ "file:///", "/" },
	{ "file:/", "/" },
	{ "file:///a", "/a" },
	{ "file:/a", "/a" },
	{ "file:/a/b", "/a/b" },
	{ "file://localhost/a/b", "/a/b" },
	{ "file://localhost/", "/" },
	{ "FILE:///a", "/a" },
	{ "File:/a", "/a" },
	{ "fIlE://LocalHost/a", "/a" },
	/* slashes that do not matter */
	{ "file:///a/", "/a" },
	{ "file:///a//", "/a" },
	{ "file:///a//b///c", "/a/b/c" },
	{ "file:////a", "/a" },
	{ "file://///", "/" },
	{ "file:////host/share", "/host/share" },
	{ "file://localhost//a", "/a" },
	/* escapes */
	{ "file:///sp%20ace%25%C3%A9", "/sp ace%\xc3\xa9" },
	{ "file:///%61%62", "/ab" },
	{ "file:///a%3Fb%23c", "/a?b#c" },
	{ "file:///%ff%FE", "/\xff\xfe" },
	{ "file:///%2541", "/%41" },
	{ "file:///%25%32%66", "/%2f" },
	{ "file:///%01%7f%0a", "/\x01\x7f\n" },
	{ "file:///a%5Cb", "/a\\b" },
	/* what is not escaped is taken as it is */
	{ "file:///a b", "/a b" },
	{ "file:///\xc3\xa9/\xff", "/\xc3\xa9/\xff" },
	{ "file:///a\\b", "/a\\b" },
	{ "file:///a;b=c&d@e:f", "/a;b=c&d@e:f" },
	{ "file:///~/[x]{y}", "/~/[x]{y}" },
	/* dots */
	{ "file:///.", "/" },
	{ "file:///..", "/" },
	{ "file:///../../a", "/a" },
	{ "file:///a/.", "/a" },
	{ "file:///a/..", "/" },
	{ "file:///a/../", "/" },
	{ "file:///a/./b", "/a/b" },
	{ "file:///a/../b", "/b" },
	{ "file:///a/b/../../c", "/c" },
	{ "file:///a/../../b/../c", "/c" },
	{ "file:///a/b/c/../../../../../d", "/d" },
	{ "file:///a//../b", "/b" },
	{ "file:///a/b//../c", "/a/c" },
	{ "file:///a/%2e%2e/b", "/b" },
	{ "file:///a/%2E%2e/b", "/b" },
	{ "file:///a/.%2e/b", "/b" },
	{ "file:///a/%2e./b", "/b" },
	{ "file:///a/%2e/b", "/a/b" },
	{ "file:///%2e%2e/%2E%2E/etc", "/etc" },
	{ "file:/..", "/" },
	{ "file://localhost/../a", "/a" },
	/* only looks like dots */
	{ "file:///...", "/..." },
	{ "file:///a/.../b", "/a/.../b" },
	{ "file:///.a", "/.a" },
	{ "file:///..a/..", "/" },
	{ "file:///a../b", "/a../b" },
	{ "file:///%252e%252e/b", "/%2e%2e/b" },
	{ "file:///a/..%20/b", "/a/.. /b" },
	{ "file:///%2e%2e%2e", "/..." },
	/* only looks like a drive */
	{ "file:///C", "/C" },
	{ "file:///C:x", "/C:x" },
	{ "file:///CC:", "/CC:" },
	{ "file:///1:", "/1:" },
	{ "file:///C%3A/x", "/C:/x" },
	{ "file:///C%7c/x", "/C|/x" },
	{ "file:///a/C:/x", "/a/C:/x" },
	{ "file:///a/b/../C:", "/a/C:" },
	/* a name that is taken away need not be possible */
	{ "file:///a%2Fb/../c", "/c" },
	{ "file:///x/a%2fb/%2E%2E/c", "/x/c" },
};

static const struct wrong {
	int		 error;
	const char	*uri;
} wrongs[] = {
	/* a drive, at the root all the same */
	{ EINVAL, "file:///../C:" },
	{ EINVAL, "file:///a/../../../C:/x" },
	/* no URI at all, or another */
	{ EINVAL, "" },
	{ EINVAL, "/" },
	{ EINVAL, "/etc/passwd" },
	{ EINVAL, "a/b" },
	{ EINVAL, "." },
	{ EINVAL, "~" },
	{ EINVAL, "file" },
	{ EINVAL, "file:" },
	{ EINVAL, "file:a" },
	{ EINVAL, "file:./a" },
	{ EINVAL, "file:../a" },
	{ EINVAL, "file:%2Fa" },
	{ EINVAL, "file:\\a" },
	{ EINVAL, " file:///a" },
	{ EINVAL, "\tfile:///a" },
	{ EINVAL, "files:///a" },
	{ EINVAL, "fil:///a" },
	{ EINVAL, "f%69le:///a" },
	{ EINVAL, "http://localhost/a" },
	{ EINVAL, "https:///a" },
	{ EINVAL, "urn:a" },
	{ EINVAL, "C:\\a" },
	{ EINVAL, "://a" },
	/* hosts */
	{ EINVAL, "file://" },
	{ EINVAL, "file://localhost" },
	{ EINVAL, "file://elsewhere/etc/hostname" },
	{ EINVAL, "file://127.0.0.1/a" },
	{ EINVAL, "file://[::1]/a" },
	{ EINVAL, "file://localhost:80/a" },
	{ EINVAL, "file://me@localhost/a" },
	{ EINVAL, "file://localhost./a" },
	{ EINVAL, "file://localhos/a" },
	{ EINVAL, "file://localhostx/a" },
	{ EINVAL, "file://%6cocalhost/a" },
	{ EINVAL, "file://./a" },
	{ EINVAL, "file://../a" },
	{ EINVAL, "file://a" },
	{ EINVAL, "file://~/a" },
	{ EINVAL, "file:// /a" },
	{ EINVAL, "file://\\/a" },
	{ EINVAL, "file://?/a" },
	/* query and fragment, also empty, also with an escape */
	{ EINVAL, "file:///etc/hostname?x" },
	{ EINVAL, "file:///etc/hostname?" },
	{ EINVAL, "file:///etc/hostname#x" },
	{ EINVAL, "file:///etc/hostname#" },
	{ EINVAL, "file:///?" },
	{ EINVAL, "file:///a?/../b" },
	{ EINVAL, "file:///a#/../b" },
	/* bad escapes */
	{ EINVAL, "file:///a%" },
	{ EINVAL, "file:///a%4" },
	{ EINVAL, "file:///a%/b" },
	{ EINVAL, "file:///a%4/b" },
	{ EINVAL, "file:///a%g0" },
	{ EINVAL, "file:///a%0g" },
	{ EINVAL, "file:///a%%41" },
	{ EINVAL, "file:///a%+1" },
	{ EINVAL, "file:///a% 1" },
	{ EINVAL, "file:///a%u0041" },
	{ EINVAL, "file:///a%zz/../b" },
	/* NUL */
	{ EINVAL, "file:///etc/a%00b" },
	{ EINVAL, "file:///%00" },
	{ EINVAL, "file:///a%00/../b" },
	/* drives */
	{ EINVAL, "file:///C:/Windows" },
	{ EINVAL, "file:///C:" },
	{ EINVAL, "file:///c:/" },
	{ EINVAL, "file:///z|/x" },
	{ EINVAL, "file:/C:/x" },
	{ EINVAL, "file://C:/x" },
	{ EINVAL, "file:C:/x" },
	{ EINVAL, "file:////C:/x" },
	{ EINVAL, "file:///./C:/x" },
	{ EINVAL, "file:///a/../C:/x" },
	{ EINVAL, "file:///C:/../x" },
	{ EINVAL, "file://localhost/C:/x" },
	/* names that cannot be */
	{ ENOENT, "file:///a%2Fb" },
	{ ENOENT, "file:///a%2fb" },
	{ ENOENT, "file:///%2F" },
	{ ENOENT, "file:///%2Fetc/passwd" },
	{ ENOENT, "file:///a/%2F/b" },
	{ ENOENT, "file:///a/..%2Fb" },
	{ ENOENT, "file:///a/%2e%2e%2fb" },
	{ ENOENT, "file:///a%2Fb/c/../d" },
	/* malformed wins over a name that cannot be */
	{ EINVAL, "file:///a%2Fb?x" },
	{ EINVAL, "file:///a%2Fb/%" },
};

START_TEST(test_good)
{
	const struct good	*g = &goods[_i];
	char			 path[PATH_MAX], exact[PATH_MAX];
	size_t			 n = strlen(g->path), size;
	ssize_t			 got;

	got = uri_to_path(g->uri, strlen(g->uri), path, sizeof(path));
	ck_assert_msg(got == (ssize_t)n, "%s: %zd", g->uri, got);
	ck_assert_str_eq(path, g->path);
	/* exactly enough room, and each amount too little */
	ck_assert_int_eq(uri_to_path(g->uri, strlen(g->uri), exact, n + 1),
	    (ssize_t)n);
	ck_assert_str_eq(exact, g->path);
	for (size = 0; size <= n; size++) {
		memset(exact, 'x', sizeof(exact));
		errno = 0;
		ck_assert_int_eq(uri_to_path(g->uri, strlen(g->uri), exact,
		    size), -1);
		ck_assert_int_eq(errno, ENAMETOOLONG);
		ck_assert_int_eq(exact[size], 'x');
	}
	/* what came out, turned into a URI, comes out again */
	ck_assert_int_ge(uri_from_path(path, exact, sizeof(exact)), 8);
	ck_assert_int_eq(uri_to_path(exact, strlen(exact), path,
	    sizeof(path)), (ssize_t)n);
	ck_assert_str_eq(path, g->path);
}
END_TEST

START_TEST(test_wrong)
{
	const struct wrong	*w = &wrongs[_i];
	char			 path[PATH_MAX];

	errno = 0;
	ck_assert_msg(uri_to_path(w->uri, strlen(w->uri), path, sizeof(path))
	    == -1, "%s taken", w->uri);
	ck_assert_msg(errno == w->error, "%s: %s", w->uri, strerror(errno));
	/* room plays no part */
	errno = 0;
	ck_assert_int_eq(uri_to_path(w->uri, strlen(w->uri), path, 1), -1);
	ck_assert_int_eq(errno, w->error);
}
END_TEST

START_TEST(test_raw_nul)
{
	static const char	 uri[] = "file:///a\0b";
	char			 path[64];
	size_t			 at;

	ck_assert_int_eq(uri_to_path(uri, sizeof(uri) - 1, path,
	    sizeof(path)), -1);
	ck_assert_int_eq(errno, EINVAL);
	/* the length alone says where the URI ends */
	ck_assert_int_eq(uri_to_path(uri, 9, path, sizeof(path)), 2);
	ck_assert_str_eq(path, "/a");
	for (at = 0; at < 12; at++) {
		char	 text[] = "file:///a/b/";

		text[at] = '\0';
		ck_assert_int_eq(uri_to_path(text, sizeof(text) - 1, path,
		    sizeof(path)), -1);
		ck_assert_int_eq(errno, EINVAL);
	}
	ck_assert_int_eq(uri_to_path(NULL, 0, path, sizeof(path)), -1);
	ck_assert_int_eq(errno, EINVAL);
}
END_TEST

/* A long way round to a short path needs room for the short one only. */
START_TEST(test_long)
{
	char	 uri[8 + 5000 + 16], path[8];

	memset(uri, 'x', sizeof(uri));
	memcpy(uri, "file:///", 8);
	strcpy(uri + 8 + 5000, "/../b");
	ck_assert_int_eq(uri_to_path(uri, strlen(uri), path, 3), 2);
	ck_assert_str_eq(path, "/b");
	strcpy(uri + 8 + 5000, "/b");
	ck_assert_int_eq(uri_to_path(uri, strlen(uri), path, sizeof(path)),
	    -1);
	ck_assert_int_eq(errno, ENAMETOOLONG);
}
END_TEST

static const struct good	 froms[] = {
	{ "file:///", "/" },
	{ "file:///a/b", "/a/b" },
	{ "file:///a-b.c_d~e", "/a-b.c_d~e" },
	{ "file:///09AZaz", "/09AZaz" },
	{ "file:///sp%20ace%25%C3%A9", "/sp ace%\xc3\xa9" },
	{ "file:///C%3A/x", "/C:/x" },
	{ "file:///%3F%23%5B%5D%40%21%24%26%27%28%29%2A%2B%2C%3B%3D",
	    "/?#[]@!$&'()*+,;=" },
	{ "file:///%01%7F%FF%0A%5C%22%7C", "/\x01\x7f\xff\n\\\"|" },
	/* it escapes, it does not tidy */
	{ "file:////a//b/", "//a//b/" },
	{ "file:///a/../b", "/a/../b" },
};

START_TEST(test_from)
{
	const struct good	*g = &froms[_i];
	char			 uri[256];
	size_t			 n = strlen(g->uri), size;

	ck_assert_int_eq(uri_from_path(g->path, uri, sizeof(uri)),
	    (ssize_t)n);
	ck_assert_str_eq(uri, g->uri);
	ck_assert_uint_le(n + 1, 3 * strlen(g->path) + 8);
	ck_assert_int_eq(uri_from_path(g->path, uri, n + 1), (ssize_t)n);
	for (size = 0; size <= n; size++) {
		memset(uri, 'x', sizeof(uri));
		errno = 0;
		ck_assert_int_eq(uri_from_path(g->path, uri, size), -1);
		ck_assert_int_eq(errno, ENAMETOOLONG);
		ck_assert_int_eq(uri[size], 'x');
	}
}
END_TEST

START_TEST(test_from_wrong)
{
	static const char	*const paths[] = { "", "a", "./a", "file:///a",
				    " /a", "~" };
	char			 uri[64];
	size_t			 i;

	for (i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		errno = 0;
		ck_assert_int_eq(uri_from_path(paths[i], uri, sizeof(uri)),
		    -1);
		ck_assert_int_eq(errno, EINVAL);
	}
}
END_TEST

/* Every byte that a name can have goes there and back. */
START_TEST(test_every_byte)
{
	char	 path[8], uri[32], back[8];
	int	 c;

	for (c = 1; c < 256; c++) {
		if (c == '/')
			continue;
		memcpy(path, "/d/x_z", 7);
		path[4] = (char)c;
		ck_assert_int_gt(uri_from_path(path, uri, sizeof(uri)), 0);
		ck_assert_int_eq(uri_to_path(uri, strlen(uri), back,
		    sizeof(back)), 6);
		ck_assert_str_eq(back, path);
	}
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("uri");
	TCase	*t = tcase_create("uri");
	SRunner	*sr = srunner_create(s);
	int	 failed;

	tcase_add_loop_test(t, test_good, 0,
	    (int)(sizeof(goods) / sizeof(goods[0])));
	tcase_add_loop_test(t, test_wrong, 0,
	    (int)(sizeof(wrongs) / sizeof(wrongs[0])));
	tcase_add_test(t, test_raw_nul);
	tcase_add_test(t, test_long);
	tcase_add_loop_test(t, test_from, 0,
	    (int)(sizeof(froms) / sizeof(froms[0])));
	tcase_add_test(t, test_from_wrong);
	tcase_add_test(t, test_every_byte);
	suite_add_tcase(s, t);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed != 0;
}
