#include "common/envlist.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <check.h>

static char	 a[] = "A=1", ab[] = "AB=2", empty[] = "B=", bare[] = "C",
		 twice[] = "A=3";
static char	*env[] = { a, ab, empty, bare, twice, NULL };

static void
ck_list(char **got, ...)
{
	va_list	 ap;
	size_t	 i = 0;
	char	*want;

	ck_assert_ptr_nonnull(got);
	va_start(ap, got);
	while ((want = va_arg(ap, char *)) != NULL)
		ck_assert_ptr_eq(got[i++], want);
	va_end(ap);
	ck_assert_ptr_null(got[i]);
	free(got);
}

/* Whole names, in their order; the strings are the same. */
START_TEST(test_filter)
{
	static const char *const	 names[] = { "C", "A", "D" };

	ck_list(envlist_filter(env, names, 3, true), a, bare, twice, NULL);
	ck_list(envlist_filter(env, names, 3, false), ab, empty, NULL);
	ck_list(envlist_filter(env, names, 0, true), NULL);
	ck_list(envlist_filter(env, names, 0, false), a, ab, empty, bare,
	    twice, NULL);
	ck_list(envlist_filter(NULL, names, 3, false), NULL);
}
END_TEST

/* Nothing that is not for it. */
START_TEST(test_network)
{
	static char	 proxy[] = "https_proxy=p", secret[] = "SECRET=s",
			 upper[] = "HTTP_PROXY=p", path[] = "PATH=/";
	static char	*ours[] = { secret, proxy, upper, path, NULL };
	char		**saved = environ;

	environ = ours;
	ck_list(envlist_network(), proxy, NULL);
	environ = saved;
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("envlist");
	TCase	*t = tcase_create("all");
	SRunner	*sr = srunner_create(s);
	int	 failed;

	tcase_add_test(t, test_filter);
	tcase_add_test(t, test_network);
	suite_add_tcase(s, t);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed != 0;
}
