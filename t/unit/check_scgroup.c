/* worker/os/scgroup.c: where a session's limits are set, and who leaves. */
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <check.h>

#include "common/fd.h"
#include "t/unit/left_out.h"
#include "worker/os/scgroup.h"

#define USER	54321			/* who has no processes */

/* Directories and files as groups have them; what is written stays. */
static char	 top[] = "/tmp/check_scgroup.XXXXXX";

static const char *const	 folders[] = { "s", "s/t", "s/a" };
static const char *const	 files[] = {
	"s/cgroup.procs", "s/cgroup.subtree_control", "s/memory.max",
	"s/pids.max", "s/t/cgroup.procs", "s/t/pids.max", "s/a/cgroup.procs"
};

#define COUNT(list)	(sizeof(list) / sizeof(list[0]))

static const char *
path_of(const char *name)
{
	static char	 path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", top, name);
	return path;
}

static void
setup(void)
{
	size_t	 i;
	int	 fd;

	strcpy(top + strlen(top) - 6, "XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(top));
	for (i = 0; i < COUNT(folders); i++)
		ck_assert_int_eq(mkdir(path_of(folders[i]), 0755), 0);
	for (i = 0; i < COUNT(files); i++) {
		fd = open(path_of(files[i]), O_WRONLY | O_CREAT | O_CLOEXEC,
		    0644);
		ck_assert_int_ne(fd, -1);
		fd_close(&fd);
	}
}

static void
teardown(void)
{
	size_t	 i;

	for (i = 0; i < COUNT(files); i++)
		unlink(path_of(files[i]));
	for (i = COUNT(folders); i-- > 0;)
		rmdir(path_of(folders[i]));
	rmdir(top);
}

static void
expect(const char *name, const char *want)
{
	char	 text[64];

	ck_assert_int_ne(fd_read_file(AT_FDCWD, path_of(name), text,
	    sizeof(text)), -1);
	ck_assert_msg(strcmp(text, want) == 0, "%s: \"%s\", not \"%s\"", name,
	    text, want);
}

/* MemoryMax and TasksMax, in the order that is worse. */
static int
enter(const char *dir, const char *tasks, int *group, struct scgroup *out)
{
	static char		 room[PATH_MAX], value[16];
	Ipc__Settings		 set = IPC__SETTINGS__INIT;
	Ipc__CgroupLimit	 limit[2], *list[] = { &limit[0], &limit[1] };

	snprintf(room, sizeof(room), "%s", dir);
	snprintf(value, sizeof(value), "%s", tasks);
	ipc__cgroup_limit__init(&limit[0]);
	ipc__cgroup_limit__init(&limit[1]);
	limit[0].controller = IPC__CONTROLLER__PIDS;
	limit[0].file = (char *)(uintptr_t)"pids.max";
	limit[0].value = value;
	limit[1].controller = IPC__CONTROLLER__MEMORY;
	limit[1].file = (char *)(uintptr_t)"memory.max";
	limit[1].value = (char *)(uintptr_t)"99";
	limit[0].dir = limit[1].dir = room;
	set.cgroup_limit = list;
	set.n_cgroup_limit = 2;
	return scgroup_enter(&set, group, out);
}

START_TEST(test_v1)
{
	struct scgroup	 g;
	int		 group = -1;

	ck_assert_int_eq(enter(path_of("s"), "16", &group, &g), 0);
	ck_assert_int_eq(group, -1);
	ck_assert(!g.is_below);
	expect("s/memory.max", "99");
	expect("s/pids.max", "");
	expect("s/t/pids.max", "16");
	expect("s/t/cgroup.procs", "0");
	expect("s/cgroup.subtree_control", "");
	/* Memory's group has the same name here. */
	expect("s/cgroup.procs", "0");
	ck_assert_int_eq(truncate(path_of("s/cgroup.procs"), 0), 0);
	ck_assert(scgroup_leave(g.out, EAGAIN));
	expect("s/cgroup.procs", "0");
	expect("s/a/cgroup.procs", "");
}
END_TEST

START_TEST(test_v2)
{
	struct scgroup	 g;
	struct stat	 now, below;
	int		 group;

	group = open(path_of("s"), O_PATH | O_DIRECTORY | O_CLOEXEC);
	ck_assert_int_ne(group, -1);
	ck_assert_int_eq(enter("", "16", &group, &g), 0);
	ck_assert(g.is_below);
	expect("s/memory.max", "99");
	expect("s/pids.max", "");
	expect("s/t/pids.max", "16");
	expect("s/t/cgroup.procs", "0");
	expect("s/cgroup.subtree_control", "+pids");
	expect("s/cgroup.procs", "");
	/* The groups of commands are made below it. */
	ck_assert_int_eq(fstat(group, &now), 0);
	ck_assert_int_eq(stat(path_of("s/t"), &below), 0);
	ck_assert_uint_eq(now.st_ino, below.st_ino);
	expect("s/a/cgroup.procs", "");
	ck_assert(scgroup_leave(g.out, EAGAIN));
	expect("s/a/cgroup.procs", "0");
	fd_close(&group);
}
END_TEST

START_TEST(test_unlimited)
{
	struct scgroup	 g;
	struct stat	 now, same;
	int		 group;

	group = open(path_of("s"), O_PATH | O_DIRECTORY | O_CLOEXEC);
	ck_assert_int_eq(enter("", "max", &group, &g), 0);
	ck_assert_int_eq(g.in, -1);
	ck_assert_int_eq(g.out, -1);
	ck_assert(!g.is_below);
	expect("s/t/pids.max", "");
	expect("s/t/cgroup.procs", "");
	expect("s/cgroup.subtree_control", "");
	ck_assert_int_eq(fstat(group, &now), 0);
	ck_assert_int_eq(stat(path_of("s"), &same), 0);
	ck_assert_uint_eq(now.st_ino, same.st_ino);
	fd_close(&group);
}
END_TEST

/* A limit that cannot be set: no session. */
START_TEST(test_refused)
{
	static const char *const	 gone[] = {
		"s/memory.max", "s/t/pids.max", "s/t/cgroup.procs",
		"s/a/cgroup.procs", "s/cgroup.subtree_control"
	};
	struct scgroup			 g;
	int				 group;

	ck_assert_int_eq(unlink(path_of(gone[_i])), 0);
	group = open(path_of("s"), O_PATH | O_DIRECTORY | O_CLOEXEC);
	ck_assert_int_eq(enter("", "16", &group, &g), -1);
	fd_close(&group);
	group = -1;
	ck_assert_int_eq(enter("", "16", &group, &g), -1);
}
END_TEST

START_TEST(test_leave)
{
	int	 fd = open(path_of("s/cgroup.procs"), O_WRONLY | O_CLOEXEC);
	int	 unwritable = open(path_of("s/pids.max"), O_RDONLY |
		    O_CLOEXEC);

	ck_assert(!scgroup_leave(-1, EAGAIN));
	ck_assert(!scgroup_leave(fd, ENOMEM));
	expect("s/cgroup.procs", "");
	ck_assert(!scgroup_leave(unwritable, EAGAIN));
	ck_assert(scgroup_leave(fd, EAGAIN));
	expect("s/cgroup.procs", "0");
	fd_close(&fd);
	fd_close(&unwritable);
}
END_TEST

static int
wait_for(pid_t pid)
{
	int	 status;

	ck_assert_int_ne(pid, -1);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	return status;
}

static int	 is_at_limit;

/* For LeakSanitizer, which forks. */
int	 __lsan_is_turned_off(void);

int
__lsan_is_turned_off(void)
{
	return is_at_limit;
}

/* As who may have no process more: fork(2) fails, outside as well. */
static void
fork_at_limit(const struct scgroup *g)
{
	struct rlimit	 one = { 1, 1 };

	if (setrlimit(RLIMIT_NPROC, &one) == -1 ||
	    (getuid() == 0 && setresuid(USER, USER, USER) == -1))
		_exit(2);
	is_at_limit = 1;
	_exit(scgroup_fork(g) == -1 && errno == EAGAIN ? 0 : 1);
}

START_TEST(test_fork)
{
	struct scgroup	 g = { -1, -1, false };
	pid_t		 pid;
	int		 status;

	g.out = open(path_of("s/cgroup.procs"), O_WRONLY | O_CLOEXEC);
	g.in = open(path_of("s/t/cgroup.procs"), O_WRONLY | O_CLOEXEC);
	ck_assert(g.out != -1 && g.in != -1);
	/* Nobody moves where there is room. */
	if ((pid = scgroup_fork(&g)) == 0)
		_exit(7);
	ck_assert_int_eq(wait_for(pid), 7 << 8);
	expect("s/cgroup.procs", "");
	expect("s/t/cgroup.procs", "");
	if ((pid = fork()) == 0)
		fork_at_limit(NULL);
	if ((status = wait_for(pid)) == 2 << 8) {
		left_out("no other user");
		return;
	}
	ck_assert_int_eq(status, 0);
	expect("s/cgroup.procs", "");
	if ((pid = fork()) == 0)
		fork_at_limit(&g);
	ck_assert_int_eq(wait_for(pid), 0);
	/* Left, and came back. */
	expect("s/cgroup.procs", "0");
	expect("s/t/cgroup.procs", "0");
	/* Who cannot come back would give commands more than they may have. */
	fd_close(&g.in);
	if ((pid = fork()) == 0)
		fork_at_limit(&g);
	ck_assert_int_eq(wait_for(pid), 1 << 8);
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("scgroup");
	TCase	*t = tcase_create("scgroup");
	SRunner	*sr = srunner_create(s);
	int	 failed;

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, test_v1);
	tcase_add_test(t, test_v2);
	tcase_add_test(t, test_unlimited);
	tcase_add_loop_test(t, test_refused, 0, 5);
	tcase_add_test(t, test_leave);
	tcase_add_test(t, test_fork);
	suite_add_tcase(s, t);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed != 0;
}
