/* master/auth/idmap.c: who is a user in which user namespace. */
#include <sys/stat.h>

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "master/auth/idmap.h"

#define ALL	"         0          0 4294967295\n"

static char	 top[] = "/tmp/check_idmap.XXXXXX";

static const struct {
	const char	*map, *overflow;	/* NULL: no such file */
	unsigned	 id;
	bool		 is;
} rows[] = {
	{ ALL, "65534\n", 0, true },
	{ ALL, "65534\n", 65534, true },
	{ "0 1000 1\n", "65534\n", 0, true },
	{ "0 1000 1\n", "65534\n", 65534, false },
	{ "0 100000 65536\n", "65534\n", 65534, false },
	{ "0 100000 65536\n", "65534\n", 1000, true },
	{ "0 1000 1\n", "99\n", 99, false },
	{ "0 1000 1\n", "99\n", 65534, true },
	{ "1 1 4294967294\n0 4294967294 1\n", "65534\n", 65534, true },
	{ "1 1 4294967294\n", "65534\n", 65534, false },
	{ "", "65534\n", 65534, false },
	{ "what?\n", "65534\n", 65534, false },
	{ ALL, NULL, 65534, true },
	{ NULL, "65534\n", 65534, false },
	{ NULL, NULL, 65534, false },
	{ NULL, NULL, 65533, true },
	{ "0 0 10\n", "what?\n", 65534, false },
};

static void
put(const char *name, const char *text)
{
	char	 path[128];
	FILE	*f;

	snprintf(path, sizeof(path), "%s/%s", top, name);
	unlink(path);
	if (text == NULL)
		return;
	ck_assert_ptr_nonnull(f = fopen(path, "w"));
	ck_assert_int_ne(fputs(text, f), EOF);
	ck_assert_int_eq(fclose(f), 0);
}

START_TEST(test_users)
{
	struct idmap	 im;

	put("self/uid_map", rows[_i].map);
	put("self/gid_map", ALL);
	put("sys/kernel/overflowuid", rows[_i].overflow);
	put("sys/kernel/overflowgid", "65534\n");
	idmap_read_from(&im, top);
	ck_assert_int_eq(idmap_is_user(&im, rows[_i].id), rows[_i].is);
	ck_assert(idmap_is_group(&im, 65534));
}
END_TEST

START_TEST(test_groups)
{
	struct idmap	 im;

	put("self/gid_map", rows[_i].map);
	put("self/uid_map", ALL);
	put("sys/kernel/overflowgid", rows[_i].overflow);
	put("sys/kernel/overflowuid", "65534\n");
	idmap_read_from(&im, top);
	ck_assert_int_eq(idmap_is_group(&im, rows[_i].id), rows[_i].is);
	ck_assert(idmap_is_user(&im, 65534));
}
END_TEST

/* What the kernel says of us is understood. */
START_TEST(test_own)
{
	struct idmap	 im;

	idmap_read(&im);
	ck_assert(idmap_is_user(&im, 0));
	ck_assert_uint_gt(im.overflow_uid, 0);
}
END_TEST

int
main(void)
{
	static const char *const	 folders[] = {
		"self", "sys", "sys/kernel"
	};
	int		 failed, n = (int)(sizeof(rows) / sizeof(rows[0]));
	size_t		 i;
	Suite		*s = suite_create("idmap");
	TCase		*t = tcase_create("idmap");
	SRunner		*sr = srunner_create(s);
	char		 path[128];

	if (mkdtemp(top) == NULL)
		return 1;
	for (i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", top, folders[i]);
		if (mkdir(path, 0700) == -1)
			return 1;
	}
	tcase_add_loop_test(t, test_users, 0, n);
	tcase_add_loop_test(t, test_groups, 0, n);
	tcase_add_test(t, test_own);
	suite_add_tcase(s, t);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	snprintf(path, sizeof(path), "rm -r %s", top);
	return system(path) != 0 || failed != 0;
}
