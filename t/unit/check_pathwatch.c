/*
 * worker/fs/pathwatch.c: what needs no session (t/wire/380, t/sys/380 have
 * that).
 */
#include <check.h>
#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <limits.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/limit.h"
#include "worker/fs/pathwatch.h"

static struct event_base	*base;
static struct watcher		*watcher;
static char			 top[128];
static uint64_t			 told[LIMIT_WATCHES + 8];
static unsigned			 ntold;
static bool			 clears;	/* on_change does that */

static const char *
at(const char *name)
{
	static char	 path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", top, name);
	return path;
}

static void
make(const char *name)
{
	int	 fd = open(at(name), O_CREAT | O_WRONLY, 0600);

	ck_assert_int_ne(fd, -1);
	close(fd);
}

static void
on_change(void *arg, uint64_t id)
{
	ck_assert_ptr_eq(arg, &clears);
	told[ntold++] = id;
	if (clears)
		pathwatcher_clear(watcher);
}

static void
setup(void)
{
	const char	*tmp = getenv("TMPDIR");

	snprintf(top, sizeof(top), "%s/watchXXXXXX",
	    tmp != NULL ? tmp : "/tmp");
	ck_assert_ptr_ne(mkdtemp(top), NULL);
	ck_assert_int_ne(sodium_init(), -1);
	base = event_base_new();
	watcher = pathwatcher_new(base, on_change, &clears);
	ck_assert(base != NULL && watcher != NULL);
	ntold = 0;
	clears = false;
}

static void
teardown(void)
{
	char	 command[sizeof(top) + 16];

	pathwatcher_free(&watcher);
	ck_assert_ptr_null(watcher);
	event_base_free(base);
	snprintf(command, sizeof(command), "rm -rf %s", top);
	ck_assert_int_eq(system(command), 0);
}

/* Everything that has happened is handled. */
static void
settle(void)
{
	int	 i;

	for (i = 0; i < 3; i++)
		ck_assert_int_ne(event_base_loop(base, EVLOOP_NONBLOCK), -1);
}

static struct pathwatch *
missing(uint64_t id, const char *name)
{
	struct pathwatch	*w = pathwatch_new(watcher, id);

	ck_assert_ptr_ne(w, NULL);
	ck_assert_int_eq(pathwatch_missing(w, at(name)), 0);
	return w;
}

START_TEST(test_appears)
{
	missing(7, "x");
	settle();
	make("y");
	settle();
	ck_assert_uint_eq(ntold, 0);
	make("x");
	settle();
	ck_assert_uint_eq(ntold, 1);
	ck_assert_uint_eq(told[0], 7);
	unlink(at("x"));
	settle();
	ck_assert_uint_eq(ntold, 1);
}
END_TEST

/* What happens between the look and the first turn of the loop counts. */
START_TEST(test_at_once)
{
	missing(1, "x");
	make("x");
	unlink(at("x"));
	missing(2, "a/b/c");
	ck_assert_int_eq(mkdir(at("a"), 0700), 0);
	settle();
	ck_assert_uint_eq(ntold, 2);
}
END_TEST

START_TEST(test_errors)
{
	struct pathwatch	*w = pathwatch_new(watcher, 1);
	char		 deep[PATH_MAX];

	ck_assert_ptr_ne(w, NULL);
	errno = 0;
	ck_assert_ptr_null(pathwatch_new(watcher, 1));
	ck_assert_int_eq(errno, EEXIST);
	make("f");
	ck_assert_int_eq(pathwatch_missing(w, at("f")), -1);
	ck_assert_int_eq(errno, EEXIST);
	ck_assert_int_eq(pathwatch_missing(w, at("")), -1);
	ck_assert_int_eq(errno, EEXIST);
	ck_assert_int_eq(pathwatch_missing(w, "/"), -1);
	ck_assert_int_eq(errno, EEXIST);
	ck_assert_int_eq(pathwatch_missing(w, at("f/x")), -1);
	ck_assert_int_eq(errno, ENOTDIR);
	ck_assert_int_eq(pathwatch_present(w, at("x")), -1);
	ck_assert_int_eq(errno, ENOENT);
	ck_assert_int_eq(symlink("l", at("l")), 0);
	ck_assert_int_eq(pathwatch_missing(w, at("l")), -1);
	ck_assert_int_eq(errno, ELOOP);
	ck_assert_int_eq(pathwatch_missing(w, "/proc/no"), -1);
	ck_assert_int_eq(errno, EOPNOTSUPP);
	memset(deep, 'x', sizeof(deep));
	deep[0] = '/';
	deep[300] = '\0';
	ck_assert_int_eq(pathwatch_missing(w, deep), -1);
	ck_assert_int_eq(errno, ENAMETOOLONG);
	pathwatch_free(&w);
	ck_assert_ptr_null(w);
	/* The id is free again, and nothing of it is left. */
	missing(1, "x");
	make("z");
	settle();
	ck_assert_uint_eq(ntold, 0);
}
END_TEST

/* A link that names a path too long for us when it is put before the rest. */
START_TEST(test_long_links)
{
	struct pathwatch	*w = pathwatch_new(watcher, 1);
	char		 target[PATH_MAX], path[PATH_MAX];
	size_t		 n;

	memset(target, '/', sizeof(target));
	target[PATH_MAX - 1] = '\0';
	ck_assert_int_eq(symlink(target, at("long")), 0);
	n = (size_t)snprintf(path, sizeof(path), "%s/long", top);
	ck_assert_int_eq(pathwatch_missing(w, path), -1);
	ck_assert_int_eq(errno, ENAMETOOLONG);
	while (n + 3 < sizeof(path))
		n += (size_t)snprintf(path + n, sizeof(path) - n, "/y");
	ck_assert_int_eq(pathwatch_missing(w, path), -1);
	ck_assert_int_eq(errno, ENAMETOOLONG);
	pathwatch_free(&w);
}
END_TEST

START_TEST(test_steps)
{
	struct pathwatch	*w = pathwatch_new(watcher, 1);
	char		 path[PATH_MAX];
	size_t		 n;
	unsigned	 i;

	n = (size_t)snprintf(path, sizeof(path), "%s", top);
	for (i = 0; i < 100; i++) {
		n += (size_t)snprintf(path + n, sizeof(path) - n, "/d");
		ck_assert_int_eq(mkdir(path, 0700), 0);
	}
	for (i = 0; i <= LIMIT_WATCH_STEPS / 100; i++)
		if (pathwatch_present(w, path) == -1)
			break;
	ck_assert_int_eq(errno, E2BIG);
	ck_assert_uint_le(i, LIMIT_WATCH_STEPS / 100);
	pathwatch_free(&w);
}
END_TEST

/* The oldest gives way; it is told, but not from inside pathwatch_new(). */
START_TEST(test_oldest)
{
	unsigned	 i;

	for (i = 0; i < LIMIT_WATCHES + 5; i++)
		missing(i, "x");
	ck_assert_uint_eq(ntold, 0);
	settle();
	ck_assert_uint_eq(ntold, 5);
	for (i = 0; i < 5; i++)
		ck_assert_uint_eq(told[i], i);
	make("x");
	settle();
	ck_assert_uint_eq(ntold, LIMIT_WATCHES + 5);
}
END_TEST

/* Telling the first ends the connection: no word about the others. */
START_TEST(test_clear_inside)
{
	struct pathwatch	*w;

	clears = true;
	missing(1, "x");
	missing(2, "x");
	missing(3, "y");
	make("x");
	settle();
	ck_assert_uint_eq(ntold, 1);
	make("y");
	settle();
	ck_assert_uint_eq(ntold, 1);
	w = pathwatch_new(watcher, 3);
	ck_assert_ptr_ne(w, NULL);
	ck_assert_int_eq(pathwatch_present(w, at("y")), 0);
	unlink(at("y"));
	settle();
	ck_assert_uint_eq(ntold, 2);
}
END_TEST

/* A folder that is still open somewhere is removed all the same. */
START_TEST(test_open_folder)
{
	int	 fd;

	ck_assert_int_eq(mkdir(at("d"), 0700), 0);
	fd = open(at("d"), O_RDONLY | O_DIRECTORY);
	ck_assert_int_ne(fd, -1);
	missing(1, "d/x");
	ck_assert_int_eq(rmdir(at("d")), 0);
	settle();
	ck_assert_uint_eq(ntold, 1);
	close(fd);
}
END_TEST

/* Without watches the loop has nothing to wait for, after a while. */
START_TEST(test_linger)
{
	struct pathwatch	*w = missing(1, "x");

	pathwatch_free(&w);
	ck_assert_int_ne(event_base_loop(base, 0), -1);
	missing(2, "x");
	make("x");
	ck_assert_int_ne(event_base_loop(base, 0), -1);
	ck_assert_uint_eq(ntold, 1);
	pathwatcher_clear(NULL);
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("pathwatch");
	TCase	*c = tcase_create("pathwatch");
	SRunner	*r = srunner_create(s);
	int	 failed;

	tcase_add_checked_fixture(c, setup, teardown);
	tcase_set_timeout(c, 60);
	tcase_add_test(c, test_appears);
	tcase_add_test(c, test_at_once);
	tcase_add_test(c, test_errors);
	tcase_add_test(c, test_long_links);
	tcase_add_test(c, test_steps);
	tcase_add_test(c, test_oldest);
	tcase_add_test(c, test_clear_inside);
	tcase_add_test(c, test_open_folder);
	tcase_add_test(c, test_linger);
	suite_add_tcase(s, c);
	srunner_run_all(r, CK_ENV);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed != 0;
}
