/*
 * master/workers/cgroups.c: the control groups of workers, with real groups if
 * this machine lets us have them, and without.
 */
#include <sys/stat.h>
#include <sys/wait.h>

#include <check.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/linux/cgfs.h"
#include "common/log.h"
#include "master/workers/cgroups.h"
#include "t/unit/left_out.h"

#define LIMIT_MS	20000	/* for what must happen */
#define MANY		80	/* groups, more than are kept */

static struct event_base	*base;
static struct conf		 conf;
static struct cgroups		*g;

static void
start(void)
{
	ck_assert_ptr_nonnull(base = event_base_new());
	ck_assert_int_eq(conf_init(&conf), 0);
	ck_assert_ptr_nonnull(g = cgroups_new(base, &conf, NULL));
}

static void
stop(void)
{
	char	 path[PATH_MAX];

	snprintf(path, sizeof(path), "%s", cgroups_path(g));
	cgroups_free(&g);
	ck_assert_ptr_null(g);
	if (path[0] != '\0')
		ck_assert_int_eq(access(path, F_OK), -1);
	event_base_free(base);
	conf_fini(&conf);
}

/* A process that only waits, in the group at that path. */
static pid_t
enter(const char *path)
{
	char	 byte, file[PATH_MAX];
	int	 ready[2];
	pid_t	 pid;

	snprintf(file, sizeof(file), "%s/cgroup.procs", path);
	ck_assert_int_eq(pipe(ready), 0);
	if ((pid = fork()) == 0) {
		close(ready[0]);
		if (cgfs_write(AT_FDCWD, file, "0") == 0 &&
		    write(ready[1], "", 1) == 1)
			for (;;)
				pause();
		_exit(1);
	}
	close(ready[1]);
	ck_assert_int_gt(pid, 0);
	if (read(ready[0], &byte, 1) != 1) {
		waitpid(pid, NULL, 0);	/* may not be entered */
		pid = 0;
	}
	close(ready[0]);
	return pid;
}

/* Let timers run until that path is gone. */
static void
await_gone(const char *path)
{
	uint64_t	 until = clock_ms() + LIMIT_MS;

	while (access(path, F_OK) == 0) {
		ck_assert_uint_lt(clock_ms(), until);
		event_base_loop(base, EVLOOP_ONCE | EVLOOP_NONBLOCK);
		usleep(1000);
	}
}

/* The same of the last one: nothing is left to be done. */
static void
await_last(const char *path)
{
	await_gone(path);
	ck_assert_int_eq(event_base_get_num_events(base,
	    EVENT_BASE_COUNT_ADDED), 0);
}

static void
v2_path(char out[PATH_MAX], const struct cgroups_worker *w)
{
	snprintf(out, PATH_MAX, "%s/w%u", cgroups_path(g), w->v2);
}

/* --- none --- */

START_TEST(test_none)
{
	struct cgroups_worker	 w = { .v2 = 0 };
	struct cgroups_limits	 l;
	char			 text[128];

	ck_assert_ptr_nonnull(base = event_base_new());
	ck_assert_int_eq(conf_init(&conf), 0);
	conf.process_cgroup = CONF_CGROUP_NO;
	conf.memory_max = 1000;
	conf.tasks_max = 20;
	conf.cpu_weight = 30;
	ck_assert_ptr_nonnull(g = cgroups_new(base, &conf, NULL));
	ck_assert_str_eq(cgroups_path(g), "");
	cgroups_print(g, text, sizeof(text));
	ck_assert_str_eq(text,
	    "MemoryMax by RLIMIT_AS, TasksMax by RLIMIT_NPROC");
	cgroups_take(g, &w);
	cgroups_limit(g, &conf, 7, &w, &l);
	ck_assert_uint_eq(w.v1, 0);
	ck_assert_uint_eq(w.v2, 0);
	ck_assert_uint_eq(l.n, 0);
	ck_assert_uint_eq(l.as_max, 1000);
	ck_assert_uint_eq(l.tasks_max, 20);
	cgroups_give_back(g, &w);
	stop();
}
END_TEST

/* What is asked for and cannot be, and what stands in for it. */
START_TEST(test_warn)
{
	char	 text[1000], *line;
	int	 ends[2];
	ssize_t	 n;

	ck_assert_ptr_nonnull(base = event_base_new());
	ck_assert_int_eq(conf_init(&conf), 0);
	conf.process_cgroup = CONF_CGROUP_NO;
	conf.memory_max = 1000;
	conf.tasks_max = 0;
	conf.cpu_weight = 30;
	ck_assert_ptr_nonnull(g = cgroups_new(base, &conf, NULL));
	ck_assert_int_eq(pipe(ends), 0);
	log_set_fd(ends[1]);
	cgroups_warn(g, &conf);
	log_set_fd(STDERR_FILENO);
	close(ends[1]);
	ck_assert_int_gt(n = read(ends[0], text, sizeof(text) - 1), 0);
	close(ends[0]);
	text[n] = '\0';
	ck_assert_ptr_nonnull(line = strstr(text, "CPUWeight cannot be "
	    "enforced: no control group with the controller \"cpu\""));
	ck_assert_ptr_nonnull(strstr(line, "MemoryMax cannot be enforced "
	    "except by RLIMIT_AS: no control group with the controller "
	    "\"memory\""));
	ck_assert_ptr_null(strstr(text, "TasksMax"));
	stop();
}
END_TEST

/* --- version 2 --- */

/* An empty group is the next worker's; one with a group below it is not. */
START_TEST(test_reuse)
{
	struct cgroups_worker	 w = { .v2 = 0 }, other = w;
	char			 path[PATH_MAX], below[PATH_MAX + 4];
	unsigned		 first;

	start();
	if (cgroups_path(g)[0] == '\0') {
		left_out("no control group of version 2 can be made");
		stop();
		return;
	}
	cgroups_take(g, &w);
	cgroups_take(g, &other);
	ck_assert_uint_gt(w.v2, 0);
	ck_assert_uint_ne(w.v2, other.v2);
	first = w.v2;
	v2_path(path, &w);
	ck_assert_int_eq(mkdir(path, 0755), 0);
	cgroups_give_back(g, &w);
	ck_assert_uint_eq(w.v2, 0);
	ck_assert_int_eq(access(path, F_OK), 0);
	cgroups_take(g, &w);
	ck_assert_uint_eq(w.v2, first);
	/* The user's, as a session leaves it. */
	if (geteuid() == 0)
		ck_assert_int_eq(chown(path, 12345, (gid_t)-1), 0);
	snprintf(below, sizeof(below), "%s/p1", path);
	ck_assert_int_eq(mkdir(below, 0755), 0);
	cgroups_give_back(g, &w);
	await_gone(path);
	cgroups_take(g, &w);
	ck_assert_uint_ne(w.v2, first);
	/* Never made: nothing to give back but the number. */
	cgroups_give_back(g, &w);
	cgroups_give_back(g, &other);
	ck_assert_uint_eq(other.v2, 0);
	stop();
}
END_TEST

/* Of many groups that become free at once some are kept, all others go. */
START_TEST(test_many)
{
	static struct cgroups_worker	 w[MANY];
	char				 path[MANY][PATH_MAX];
	size_t				 i, kept = 0;

	start();
	if (cgroups_path(g)[0] == '\0') {
		left_out("no control group of version 2 can be made");
		stop();
		return;
	}
	for (i = 0; i < MANY; i++) {
		cgroups_take(g, &w[i]);
		v2_path(path[i], &w[i]);
		ck_assert_int_eq(mkdir(path[i], 0755), 0);
	}
	for (i = 0; i < MANY; i++)
		cgroups_give_back(g, &w[i]);
	await_gone(path[MANY - 1]);
	for (i = 0; i < MANY; i++)
		kept += access(path[i], F_OK) == 0;
	ck_assert_uint_gt(kept, 1);
	/* No number is given twice. */
	for (i = 0; i < MANY; i++) {
		cgroups_take(g, &w[i]);
		ck_assert_int_eq(kept > i, w[i].v2 <= MANY);
	}
	for (i = 0; i < MANY; i++)
		cgroups_give_back(g, &w[i]);
	stop();
}
END_TEST

/* What is left in a group is killed, and the group goes. */
START_TEST(test_kill)
{
	struct cgroups_worker	 w = { .v2 = 0 };
	char			 path[PATH_MAX];
	int			 status;
	pid_t			 pid;

	start();
	cgroups_take(g, &w);
	v2_path(path, &w);
	if (w.v2 == 0 || mkdir(path, 0755) == -1 || (pid = enter(path)) == 0) {
		left_out("no control group of version 2 can be entered");
		cgroups_give_back(g, &w);
		stop();
		return;
	}
	cgroups_give_back(g, &w);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	await_last(path);
	stop();
}
END_TEST

/* --- version 1 --- */

/* The limits that a session gets; NULL: none by version 1. */
static const Ipc__CgroupLimit *
take_limits(struct cgroups_worker *w, unsigned id, struct cgroups_limits *l)
{
	size_t	 i;

	conf.tasks_max = 5;
	conf.memory_max = 256 << 20;
	conf.cpu_weight = 50;
	cgroups_limit(g, &conf, id, w, l);
	ck_assert_uint_le(l->n, CGROUP_LIMITS);
	for (i = 0; i < l->n; i++)
		if (l->list[i]->dir[0] != '\0') {
			ck_assert_uint_eq(w->v1, id);
			return l->list[i];
		}
	ck_assert_uint_eq(w->v1, 0);
	return NULL;
}

static void
check_values(const struct cgroups_limits *l)
{
	const Ipc__CgroupLimit	*one;
	size_t			 i;

	for (i = 0; i < l->n; i++) {
		one = l->list[i];
		if (one->controller == IPC__CONTROLLER__PIDS)
			ck_assert_str_eq(one->value, "5");
		else if (one->controller == IPC__CONTROLLER__MEMORY)
			ck_assert_str_eq(one->value, "268435456");
		else
			ck_assert_str_eq(one->value, one->dir[0] == '\0' ?
			    "50" : "512");
	}
}

/* A group lasts as long as a process is in it, and no longer. */
START_TEST(test_v1)
{
	struct cgroups_worker	 w = { .v2 = 0 };
	struct cgroups_limits	 l;
	const Ipc__CgroupLimit	*one;
	char			 path[PATH_MAX];
	int			 dir, i;
	pid_t			 pid;

	start();
	if ((one = take_limits(&w, 3, &l)) == NULL) {
		left_out("no controller of version 1 is ours");
		stop();
		return;
	}
	check_values(&l);
	snprintf(path, sizeof(path), "%s", one->dir);
	ck_assert_int_eq(mkdir(path, 0755), 0);
	ck_assert_int_ne(dir = open(path, O_PATH | O_DIRECTORY), -1);
	ck_assert_int_eq(cgfs_write(dir, one->file, one->value), 0);
	close(dir);
	ck_assert_int_gt(pid = enter(path), 0);
	cgroups_give_back(g, &w);
	ck_assert_uint_eq(w.v1, 0);
	for (i = 0; i < 20; i++) {
		event_base_loop(base, EVLOOP_ONCE);
		ck_assert_int_eq(access(path, F_OK), 0);
	}
	ck_assert_int_eq(kill(pid, SIGKILL), 0);
	ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
	await_last(path);
	/* Without a limit there is no group. */
	conf.tasks_max = conf.memory_max = conf.cpu_weight = 0;
	cgroups_limit(g, &conf, 4, &w, &l);
	ck_assert_uint_eq(w.v1, 0);
	stop();
}
END_TEST

/* If our own group is removed, the next session gets one all the same. */
START_TEST(test_taken_away)
{
	struct cgroups_worker	 w = { .v2 = 0 };
	struct cgroups_limits	 l;
	const Ipc__CgroupLimit	*one;
	char			 path[PATH_MAX];

	start();
	if ((one = take_limits(&w, 3, &l)) == NULL) {
		left_out("no controller of version 1 is ours");
		stop();
		return;
	}
	snprintf(path, sizeof(path), "%s", one->dir);
	*strrchr(path, '/') = '\0';
	ck_assert_int_eq(rmdir(path), 0);
	cgroups_give_back(g, &w);
	ck_assert_ptr_nonnull(one = take_limits(&w, 4, &l));
	ck_assert_int_eq(mkdir(one->dir, 0755), 0);
	snprintf(path, sizeof(path), "%s", one->dir);
	cgroups_give_back(g, &w);
	await_last(path);
	stop();
}
END_TEST

/* --- another daemon --- */

/* One that lives keeps its groups; those of a dead one are removed. */
START_TEST(test_dead)
{
	char	 path[PATH_MAX] = "", byte;
	int	 told[2], wait[2];
	ssize_t	 n;
	pid_t	 pid;

	ck_assert_int_eq(pipe(told), 0);
	ck_assert_int_eq(pipe(wait), 0);
	if ((pid = fork()) == 0) {
		close(wait[1]);
		start();
		n = write(told[1], cgroups_path(g),
		    strlen(cgroups_path(g)) + 1);
		_exit(n > 0 && read(wait[0], &byte, 1) == 0 ? 0 : 1);
	}
	ck_assert_int_gt(pid, 0);
	ck_assert_int_gt(read(told[0], path, sizeof(path)), 0);
	if (path[0] != '\0') {
		start();
		ck_assert_int_eq(access(path, F_OK), 0);
		ck_assert_str_ne(cgroups_path(g), path);
		stop();
		ck_assert_int_eq(access(path, F_OK), 0);
	} else {
		left_out("no control group of version 2 can be made");
	}
	close(wait[0]);
	close(wait[1]);
	ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
	if (path[0] == '\0')
		return;
	ck_assert_int_eq(access(path, F_OK), 0);
	start();
	ck_assert_int_eq(access(path, F_OK), -1);
	stop();
	close(told[0]);
	close(told[1]);
}
END_TEST

static void
make_groups(char path[][PATH_MAX], const char *dir, const char *const *names,
    size_t n)
{
	size_t	 i;

	for (i = 0; i < n; i++) {
		snprintf(path[i], PATH_MAX, "%.4000s/%s", dir, names[i]);
		ck_assert_int_eq(mkdir(path[i], 0755), 0);
	}
}

/* Which are left of what stand here; they are removed. */
static void
ck_left(char path[][PATH_MAX], const char *want)
{
	size_t	 i;

	for (i = 0; i < strlen(want); i++) {
		if (want[i] == '-')
			await_gone(path[i]);
		ck_assert_int_eq(access(path[i], F_OK) == 0, want[i] == '+');
		if (want[i] == '+')
			ck_assert_int_eq(rmdir(path[i]), 0);
	}
}

/* The next master: of a former one only what has the name of a worker goes. */
START_TEST(test_sweep)
{
	static const char *const	 names[] = {
		"w3", "w5", "w7", "w0", "w", "w9x", "s8", "x6", "v5"
	};
	static char			 path[9][PATH_MAX];
	struct cgroups_worker		 w = { .v2 = 3, .v1 = 0 };
	struct cgroups_names		 former;

	start();
	if (cgroups_path(g)[0] == '\0') {
		left_out("no control group of version 2 can be made");
		stop();
		return;
	}
	cgroups_names(g, &former);
	make_groups(path, cgroups_path(g), names, 9);
	cgroups_leave(g);
	cgroups_free(&g);
	ck_assert_ptr_nonnull(g = cgroups_new(base, &conf, &former));
	cgroups_keep(g, &w);
	ck_assert_uint_eq(w.v2, 3);
	ck_assert_uint_eq(cgroups_sweep(g), 7);
	ck_left(path, "+--++++++");
	/* New ones are above all of them. */
	w.v2 = 0;
	cgroups_take(g, &w);
	ck_assert_uint_eq(w.v2, 8);
	stop();
}
END_TEST

/* The same of version 1. */
START_TEST(test_sweep_v1)
{
	static const char *const	 names[] = { "s4", "s6", "w9", "s0" };
	static char			 path[4][PATH_MAX];
	struct cgroups_worker		 w = { .v2 = 0 };
	struct cgroups_limits		 l;
	const Ipc__CgroupLimit		*one;
	struct cgroups_names		 former;
	char				 dir[PATH_MAX];

	start();
	if ((one = take_limits(&w, 3, &l)) == NULL) {
		left_out("no controller of version 1 is ours");
		stop();
		return;
	}
	snprintf(dir, sizeof(dir), "%s", one->dir);
	*strrchr(dir, '/') = '\0';
	cgroups_names(g, &former);
	make_groups(path, dir, names, 4);
	cgroups_leave(g);
	cgroups_free(&g);
	ck_assert_ptr_nonnull(g = cgroups_new(base, &conf, &former));
	w.v2 = 0;
	w.v1 = 4;
	cgroups_keep(g, &w);
	ck_assert_uint_eq(w.v1, 4);
	ck_assert_uint_eq(cgroups_sweep(g), 6);
	ck_left(path, "+-++");
	stop();
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("cgroups");
	TCase	*t = tcase_create("cgroups");
	SRunner	*sr = srunner_create(s);
	int	 failed;

	tcase_set_timeout(t, 60);
	tcase_add_test(t, test_none);
	tcase_add_test(t, test_warn);
	tcase_add_test(t, test_reuse);
	tcase_add_test(t, test_many);
	tcase_add_test(t, test_kill);
	tcase_add_test(t, test_v1);
	tcase_add_test(t, test_taken_away);
	tcase_add_test(t, test_dead);
	tcase_add_test(t, test_sweep);
	tcase_add_test(t, test_sweep_v1);
	suite_add_tcase(s, t);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed != 0;
}
