/* Chains of folders and the names in one, by themselves. */
#include "worker/fs/dirstack.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <check.h>

#include "t/unit/fstree_help.h"

#define DEPTH	(3 * CHAIN_OPEN)

static const struct fsop_how	 plain = { .cancel_fd = -1 };

static int
open_base(void)
{
	int	 fd = open(base, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	ck_assert_int_ne(fd, -1);
	return fd;
}

static size_t
count_open(const struct dirstack *c)
{
	size_t	 i, n = 0;

	for (i = 0; i < c->n; i++)
		n += c->links[i].fd != -1;
	return n;
}

/* base, d, d/d, ...: DEPTH + 1 in all. */
static void
make_chain(struct dirstack *c)
{
	int	 i, fd;

	ck_assert_int_eq(dirstack_push(c, open_base()), 0);
	for (i = 0; i < DEPTH; i++) {
		fd = dirstack_last(c)->fd;
		ck_assert_int_eq(mkdirat(fd, "d", 0777), 0);
		fd = tree_open(fd, "d", c->flags, 0);
		ck_assert_int_ne(fd, -1);
		ck_assert_int_eq(dirstack_push(c, fd), 0);
		ck_assert_uint_le(count_open(c), CHAIN_OPEN);
	}
}

START_TEST(test_down_and_up)
{
	struct stat	 st, now;
	struct dirstack	 c;
	int		 fd, i;

	dirstack_init(&c, _i == 0 ? O_RDONLY : O_PATH);
	make_chain(&c);
	for (i = DEPTH; i > 0; i--) {
		fd = dirstack_above(&c);
		ck_assert_int_ne(fd, -1);
		ck_assert_int_eq(fstat(fd, &st), 0);
		ck_assert_int_eq(dirstack_pop(&c), 0);
		ck_assert_int_eq(fstat(dirstack_last(&c)->fd, &now), 0);
		ck_assert(is_same_file(&st, &now));
		ck_assert_uint_le(count_open(&c), CHAIN_OPEN);
	}
	ck_assert_int_eq(stat(base, &st), 0);
	ck_assert(is_same_file(&st, &now));
	ck_assert_int_eq(dirstack_pop(&c), 0);
	ck_assert_uint_eq(c.n, 0);
	dirstack_fini(&c);
}
END_TEST

/* A folder that went elsewhere does not lead there. */
START_TEST(test_moved)
{
	struct dirstack	 c;
	int		 i, n = 0;

	dirstack_init(&c, O_PATH);
	make_chain(&c);
	/* The last that is open; the one above it is closed. */
	for (i = 0; c.links[i].fd == -1; i++)
		;
	ck_assert_int_gt(i, 0);
	ck_assert_int_eq(mkdirat(c.links[i].fd, "other", 0777), 0);
	sh("mkdir elsewhere; mv $(printf 'd/%%.0s' $(seq %d)) elsewhere", i);
	while (dirstack_pop(&c) == 0)
		n++;
	ck_assert_int_eq(errno, ESTALE);
	ck_assert_int_eq(n, DEPTH - i);
	dirstack_fini(&c);
	ck_assert_int_eq(do_remove("elsewhere"), 0);
}
END_TEST

START_TEST(test_open)
{
	int	 dir = open_base(), fd;

	sh("mkdir -p a/b out; ln -s ../out a/out; ln -s b a/tob; mkfifo a/p;"
	    "echo > a/f");
	ck_assert_int_ne(fd = tree_open(dir, "a/b", O_RDONLY, 0), -1);
	close(fd);
	ck_assert_int_eq(tree_open(dir, "a/out", O_RDONLY, 0), -1);
	ck_assert_int_eq(errno, ENOTDIR);
	ck_assert_int_eq(tree_open(dir, "a/tob", O_PATH, 0), -1);
	ck_assert_int_eq(errno, ENOTDIR);
	sh("mkdir a/b/c");
	ck_assert_int_eq(tree_open(dir, "a/tob/c", O_PATH, 0), -1);
	ck_assert_int_eq(errno, ELOOP);
	ck_assert_int_eq(tree_open(dir, "a/p", O_RDONLY, 0), -1);
	ck_assert_int_eq(errno, ENOTDIR);
	ck_assert_int_eq(tree_open(dir, "a/f", O_PATH, 0), -1);
	ck_assert_int_eq(errno, ENOTDIR);
	ck_assert_int_eq(tree_open(dir, "a/no", O_PATH, 0), -1);
	ck_assert_int_eq(errno, ENOENT);
	close(dir);
}
END_TEST

static size_t
count_names(struct names *ns)
{
	const struct dirent64	*de;
	size_t			 n = 0;

	while ((de = names_next(ns)) != NULL) {
		if (de->d_name[0] == '.' ||
		    strcmp(de->d_name, names_last(ns)) != 0)
			ck_abort_msg("%s", de->d_name);
		n++;
	}
	return n;
}

START_TEST(test_names)
{
	struct names	 ns;
	int		 fd = open_base();

	memset(&ns, 0, sizeof(ns));
	ck_assert_int_eq(names_read(&ns, fd, 1 << 20, &plain), 0);
	ck_assert_uint_eq(count_names(&ns), 0);
	sh("seq 3000 | xargs touch");
	ck_assert_int_eq(names_read(&ns, fd, 1 << 20, &plain), 0);
	ck_assert(!ns.has_more);
	ck_assert_uint_eq(count_names(&ns), 3000);
	ck_assert_ptr_null(names_next(&ns));
	/* A part; then all of it, from the beginning. */
	ck_assert_int_eq(names_read(&ns, fd, 4096, &plain), 0);
	ck_assert(ns.has_more);
	ck_assert_uint_lt(count_names(&ns), 3000);
	ck_assert_int_eq(names_read(&ns, fd, 1 << 20, &plain), 0);
	ck_assert_uint_eq(count_names(&ns), 3000);
	names_fini(&ns);
	close(fd);
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("dirstack");
	TCase	*t = tcase_create("dirstack");
	SRunner	*sr = srunner_create(s);
	int	 failed;

	tcase_set_timeout(t, 120);
	tcase_add_checked_fixture(t, tree_setup, tree_teardown);
	tcase_add_loop_test(t, test_down_and_up, 0, 2);
	tcase_add_test(t, test_moved);
	tcase_add_test(t, test_open);
	tcase_add_test(t, test_names);
	suite_add_tcase(s, t);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed != 0;
}
