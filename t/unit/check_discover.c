/*
 * worker/fs/discovery/fsdiscover_all.c: which directories are of plugins, by
 * their names.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/limit.h"
#include "t/unit/fstree_help.h"
#include "worker/fs/fsop.h"

#define LONG	255

static char	 name[LONG + 1];

static void
make(const char *market, const char *plugin)
{
	sh("mkdir -p 'plugins/cache/%s/%s'", market, plugin);
}

/* What it tells; NULL if it tells of no warning. */
static char	 said[20000];

static const char *
discover(void)
{
	struct fsop_how		 how = { .max_out = LIMIT_FILE_QUICK,
				    .cancel_fd = -1 };
	struct fsop		 op = { .kind = FSOP_DISCOVER, .fd = -1 };
	struct fsop_result	 r;

	snprintf(op.path, sizeof(op.path), "%s", base);
	snprintf(op.to, sizeof(op.to), "%s/none", base);
	fsop_result_init(&r);
	fsop_run(&op, &how, &r);
	ck_assert_int_eq(r.error, 0);
	snprintf(said, sizeof(said), "%.*s", (int)r.payload.len,
	    (char *)buf_data(&r.payload));
	fsop_result_fini(&r);
	return strstr(said, "not the name of");
}

/* The longest names that a directory can have are names as well. */
START_TEST(test_long)
{
	memset(name, 'n', LONG);
	make(name, name);
	ck_assert_ptr_null(discover());
}
END_TEST

static const struct {
	const char	*market, *plugin, *wrong;
} names[] = {
	{ "a-_9Z", "a.b-_9Z", NULL },
	{ "a.b", "p", "not the name of a marketplace: a.b\"" },
	{ "a b", "p", "not the name of a marketplace: a b\"" },
	{ "m", ".p", "not the name of a plugin: .p\"" },
	{ "m", "p..q", "not the name of a plugin: p..q\"" },
	{ "m", "p+q", "not the name of a plugin: p+q\"" },
	{ "m", "p@q", "not the name of a plugin: p@q\"" },
	{ "m", "p\303\244", "not the name of a plugin: p\303\244\"" },
};

START_TEST(test_names)
{
	const char	*got;

	make(names[_i].market, names[_i].plugin);
	got = discover();
	if (names[_i].wrong == NULL) {
		ck_assert_ptr_null(got);
	} else {
		ck_assert_ptr_nonnull(got);
		ck_assert_int_eq(strncmp(got, names[_i].wrong,
		    strlen(names[_i].wrong)), 0);
	}
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("discover");
	TCase	*t = tcase_create("discover");
	SRunner	*r;
	int	 failed;

	tcase_add_checked_fixture(t, tree_setup, tree_teardown);
	tcase_add_test(t, test_long);
	tcase_add_loop_test(t, test_names, 0, sizeof(names) / sizeof(names[0]));
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_ENV);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
