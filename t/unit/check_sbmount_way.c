/*
 * worker/sandbox/sbmount_way.c: which folders on the way to what is protected
 * are pinned, and what is a stand-in.  Nothing is mounted: statx(2) is ours,
 * which says that a folder is pinned already.
 */
#include <sys/stat.h>

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/fd.h"
#include "worker/sandbox/sbmount.h"
#include "worker/sandbox/sbmount_priv.h"

static char	 top[] = "/tmp/check_sbmount_way.XXXXXX";
static char	 pinned[1024];		/* below top, blanks before */
static int	 failure;		/* errno of statx(2), or 0 */

int
statx(int fd, const char *restrict path, int flags, unsigned mask,
    struct statx *restrict out)
{
	char	 self[FD_SELF_MAX], name[PATH_MAX];
	ssize_t	 n;

	ck_assert_str_eq(path, "");
	ck_assert_int_eq(flags, AT_EMPTY_PATH);
	ck_assert_uint_eq(mask, STATX_TYPE);
	if (failure != 0) {
		errno = failure;
		return -1;
	}
	ck_assert_int_gt(n = readlink(fd_self(fd, self), name,
	    sizeof(name) - 1), (ssize_t)strlen(top));
	name[n] = '\0';
	strcat(pinned, " ");
	strcat(pinned, name + strlen(top) + 1);
	memset(out, 0, sizeof(*out));
	out->stx_attributes = STATX_ATTR_MOUNT_ROOT;
	return 0;
}

static const char *
path_of(const char *name)
{
	static char	 path[4][PATH_MAX];
	static unsigned	 n;

	n = (n + 1) % 4;
	snprintf(path[n], sizeof(path[n]), "%s/%s", top, name);
	return path[n];
}

static const char *const	 folders[] = { "w", "w/a", "w/a/b", "w/a/b/c" };

#define N	(sizeof(folders) / sizeof(folders[0]))

static void
setup(void)
{
	size_t	 i;

	strcpy(top + strlen(top) - 6, "XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(top));
	for (i = 0; i < N; i++)
		ck_assert_int_eq(mkdir(path_of(folders[i]), 0755), 0);
}

static void
teardown(void)
{
	size_t	 i;

	for (i = N; i-- > 0;)
		rmdir(path_of(folders[i]));
	ck_assert_int_eq(rmdir(top), 0);
}

/* Pin the way to a path in a workspace w, in which w/a/b is read-only. */
static int
pin_way(const char *name, bool has_read_only)
{
	static struct mounted	 out;
	struct plan_rule	 rules[] = {
		{ .kind = PLAN_WRITE }, { .kind = PLAN_READ }
	};
	struct place		 places[] = {
		{ .rule = &rules[0], .fd = -1, .tree = -1 },
		{ .rule = &rules[1], .fd = -1, .tree = -1 }
	};
	struct plan		 plan = { .rules = rules,
				    .n = has_read_only ? 2 : 1 };
	struct sbmount		 m = { .plan = &plan, .places = places,
				    .out = &out };
	char			 path[PATH_MAX];
	int			 r;

	memset(&out, 0, sizeof(out));
	snprintf(path, sizeof(path), "%s", path_of(name));
	ck_assert_ptr_nonnull(places[0].real = strdup(path_of("w")));
	ck_assert_ptr_nonnull(places[1].real = strdup(path_of("w/a/b")));
	r = sbmount_pin_way(&m, path);
	ck_assert_int_eq(r == -1, strstr(out.why, "protecting") != NULL);
	free(places[0].real);
	free(places[1].real);
	return r;
}

/* All that a command could rename, down to the last one. */
START_TEST(test_way)
{
	static const struct {
		const char	*path;
		bool		 has_read_only;
		const char	*pinned;
	} rows[] = {
		{ "w/a/b/c/x", false, " w/a w/a/b w/a/b/c" },
		{ "w/a/b/c", false, " w/a w/a/b" },
		{ "w/a/x", false, " w/a" },
		{ "w/x", false, "" },
		{ "x", false, "" },
		{ "w/a/b/c/x", true, " w/a w/a/b" },
		/* What is missing is covered by a stand-in. */
		{ "w/a/none/x", false, " w/a" },
	};

	ck_assert_int_eq(pin_way(rows[_i].path, rows[_i].has_read_only), 0);
	ck_assert_str_eq(pinned, rows[_i].pinned);
}
END_TEST

/* What cannot be pinned is not protected. */
START_TEST(test_way_fails)
{
	failure = EIO;
	ck_assert_int_eq(pin_way("w/a/b/c/x", false), -1);
	ck_assert_int_eq(pin_way("w/x", false), 0);
}
END_TEST

static bool
is_stand_in(const char *name)
{
	bool	 is;
	int	 fd;

	ck_assert_int_ne(fd = open(path_of(name), O_PATH | O_CLOEXEC), -1);
	is = sbmount_is_stand_in(fd);
	close(fd);
	return is;
}

static void
set_mode(const char *name, mode_t mode)
{
	ck_assert_int_eq(chmod(path_of(name), mode), 0);
}

/* What has anything in it, or another mode, was made by somebody else. */
START_TEST(test_stand_in)
{
	int	 fd;

	ck_assert(!is_stand_in("w/a/b/c"));
	set_mode("w/a/b/c", STAND_IN);
	ck_assert(is_stand_in("w/a/b/c"));
	set_mode("w/a/b/c", 0755);
	ck_assert_int_ne(fd = open(path_of("w/a/b/c/f"), O_WRONLY | O_CREAT |
	    O_CLOEXEC, STAND_IN), -1);
	close(fd);
	set_mode("w/a/b/c/f", STAND_IN);
	ck_assert(!is_stand_in("w/a/b/c/f"));
	set_mode("w/a/b/c", STAND_IN);
	ck_assert(!is_stand_in("w/a/b/c"));
	/* A folder in it is a link more, on most file systems. */
	set_mode("w/a/b", STAND_IN);
	ck_assert(!is_stand_in("w/a/b"));
	set_mode("w/a/b", 0755);
	set_mode("w/a/b/c", 0755);
	ck_assert_int_eq(unlink(path_of("w/a/b/c/f")), 0);
	if (geteuid() == 0) {
		set_mode("w/a/b/c", STAND_IN);
		ck_assert_int_eq(chown(path_of("w/a/b/c"), 65534, 65534), 0);
		ck_assert(!is_stand_in("w/a/b/c"));
	}
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("sbmount_way");
	TCase	*t = tcase_create("sbmount_way");
	SRunner	*r;
	int	 failed;

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_loop_test(t, test_way, 0, 7);
	tcase_add_test(t, test_way_fails);
	tcase_add_test(t, test_stand_in);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed != 0;
}
