/*
 * master/adopt/upgrade.c: what ends an upgrade that gets nowhere, and when a
 * new program settles.  Its timer is set off by the test.
 */
#include <sys/stat.h>
#include <sys/wait.h>

#include <check.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/fd.h"
#include "master/adopt/upgrade.h"
#include "master/parts.h"
#include "master/workers/child.h"

static struct master		 m;
static struct handoff_program	 program;
static struct upgrade		*u;
static char			 dir[64], why[300], to[64];
static unsigned			 nresults;
static int			 watcher;	/* its end of the channel */

static void
on_result(struct master *of, const struct upgrade_result *r)
{
	ck_assert_ptr_eq(of, &m);
	nresults++;
	snprintf(why, sizeof(why), "%s", r->why != NULL ? r->why : "");
	snprintf(to, sizeof(to), "%s", r->to);
}

static int
no_fd(const struct master *of)
{
	ck_assert_ptr_eq(of, &m);
	return -1;
}

static bool
has_command(const struct master *of)
{
	ck_assert_ptr_eq(of, &m);
	return false;
}

static void
undo(const struct master *of)
{
	ck_assert_ptr_eq(of, &m);
}

static const struct upgrade_events	 events = {
	on_result, no_fd, no_fd, has_command, undo
};

static void
make(void)
{
	const struct upgrade_parts	 parts = {
		.world = &m.world,
		.children = &m.children,
		.listeners = &m.listen,
		.uplinks = &m.uplinks,
		.handed = &m.handed,
		.monitor = -1
	};

	ck_assert_ptr_nonnull(u = upgrade_new(&parts, &events));
}

static void
setup(void)
{
	const char	*tmp = getenv("TMPDIR");
	int		 i;

	memset(&m, 0, sizeof(m));
	memset(&program, 0, sizeof(program));
	m.world.master = &m;
	ck_assert_ptr_nonnull(m.world.base = event_base_new());
	TAILQ_INIT(&m.listen.list);
	TAILQ_INIT(&m.listen.metrics);
	TAILQ_INIT(&m.uplinks.list);
	for (i = 0; i < HANDOFF_KINDS; i++)
		m.handed.fd[i] = -1;
	snprintf(dir, sizeof(dir), "%.40s/upgrade.XXXXXX", tmp != NULL ? tmp :
	    "/tmp");
	ck_assert_ptr_nonnull(mkdtemp(dir));
	m.world.rundir.path = dir;
	/* It is there; nothing looks into it. */
	m.world.records = (struct records *)(void *)dir;
	m.world.start.program = &program;
	program.dir = program.credential = watcher = -1;
	nresults = 0;
	why[0] = to[0] = '\0';
	u = NULL;
}

static void
teardown(void)
{
	upgrade_free(&u);
	fd_close(&watcher);
	event_base_free(m.world.base);
	unlink(program.path);
	ck_assert_int_eq(rmdir(dir), 0);
}

static int
fire(const struct event_base *base, const struct event *ev, void *arg)
{
	(void)base;
	if (event_pending(ev, EV_TIMEOUT, NULL) != 0) {
		++*(unsigned *)arg;
		event_active((struct event *)(uintptr_t)ev, EV_TIMEOUT, 0);
	}
	return 0;
}

/* Its time is up.  Return whether there was a timer. */
static bool
time_is_up(void)
{
	unsigned	 n = 0;

	event_base_foreach_event(m.world.base, fire, &n);
	event_base_loop(m.world.base, EVLOOP_ONCE | EVLOOP_NONBLOCK);
	return n == 1;
}

/* --- the check --- */

static char	*no_words[] = { NULL }, *words[] = { dir, NULL };

/* A program that says so, and then what the script does. */
static void
begin(const char *script, bool only_check)
{
	const char	*text;
	FILE		*f;

	snprintf(program.path, sizeof(program.path), "%s/program", dir);
	ck_assert_ptr_nonnull(f = fopen(program.path, "w"));
	ck_assert_int_gt(fprintf(f, "#!/bin/sh\n%s\n", script), 0);
	ck_assert_int_eq(fclose(f), 0);
	ck_assert_int_eq(chmod(program.path, 0755), 0);
	program.argv = words;
	program.env = no_words;
	make();
	ck_assert_int_eq(upgrade_begin(u, only_check, &text), 0);
	ck_assert_ptr_null(text);
}

/* The checker has ended: the master reaps it. */
static int
reap(void)
{
	int	 status;
	pid_t	 pid = wait(&status);

	ck_assert_int_gt(pid, 0);
	ck_assert(upgrade_has(u, pid));
	ck_assert(upgrade_on_exit(u, pid, status));
	ck_assert(!upgrade_has(u, pid) && !upgrade_on_exit(u, pid, status));
	return status;
}

/* One that does not come to an end is killed; then another may be tried. */
START_TEST(test_hangs)
{
	const char	*text;
	int		 status;

	begin("exec sleep 1000", true);
	ck_assert_int_eq(upgrade_begin(u, true, &text), -1);
	ck_assert_str_eq(text, "an upgrade is under way");
	ck_assert(time_is_up());
	ck_assert_uint_eq(nresults, 1);
	ck_assert_str_eq(why, "the new program did not check itself in time");
	/* Not before it is reaped. */
	ck_assert_int_eq(upgrade_begin(u, true, &text), -1);
	status = reap();
	ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	ck_assert(!time_is_up());
	ck_assert_uint_eq(nresults, 1);
	ck_assert_int_eq(upgrade_begin(u, true, &text), 0);
}
END_TEST

START_TEST(test_checked)
{
	begin("echo execsrvd 9.9", true);
	ck_assert_int_eq(reap(), 0);
	while (nresults == 0)
		ck_assert_int_eq(event_base_loop(m.world.base, EVLOOP_ONCE), 0);
	ck_assert_str_eq(to, "9.9");
	ck_assert_str_eq(why, "");
	ck_assert(!time_is_up());
}
END_TEST

/* The server stops: no upgrade begins, one that has is over. */
START_TEST(test_stopping)
{
	const char	*text;

	begin("exec sleep 1000", false);
	m.world.state = WORLD_STOPPING;
	upgrade_stop(u);
	ck_assert_uint_eq(nresults, 1);
	ck_assert_str_eq(why, "the server is stopping");
	upgrade_stop(u);
	ck_assert_uint_eq(nresults, 1);
	upgrade_free(&u);
	ck_assert_int_gt(wait(NULL), 0);
	make();
	ck_assert_int_eq(upgrade_begin(u, false, &text), -1);
	ck_assert_str_eq(text, "the server is stopping");
}
END_TEST

/* --- the new program --- */

static char	 former[] = "0.1", pid_text[] = "0";

/* As many sessions are awaited. */
static void
serve(size_t awaited)
{
	int	 pair[2];

	ck_assert_int_eq(fd_packet_pair(pair), 0);
	watcher = pair[1];
	m.handed.text[HANDOFF_FORMER] = former;
	m.handed.text[HANDOFF_WATCHER] = pid_text;
	m.handed.fd[HANDOFF_WATCHER] = pair[0];
	make();
	m.children.in_state[CHILD_AWAITED] = awaited;
	upgrade_serves(u);
}

static void
ck_settled(void)
{
	char	 byte;

	ck_assert_uint_eq(nresults, 1);
	ck_assert_str_eq(why, "");
	/* The watcher is told that all is well. */
	ck_assert_int_eq(read(watcher, &byte, 1), 1);
	ck_assert(!time_is_up());
}

/* As soon as all sessions have come; at once if there are none. */
START_TEST(test_all)
{
	serve((size_t)_i);
	for (; m.children.in_state[CHILD_AWAITED] > 0; upgrade_on_adopted(u)) {
		ck_assert_uint_eq(nresults, 0);
		m.children.in_state[CHILD_AWAITED]--;
	}
	ck_settled();
}
END_TEST

/* One that does not come is not waited for, if others did. */
START_TEST(test_some)
{
	serve(2);
	m.children.in_state[CHILD_AWAITED] = 1;
	upgrade_on_adopted(u);
	ck_assert_uint_eq(nresults, 0);
	ck_assert(time_is_up());
	ck_settled();
}
END_TEST

/* If none came the program is no good: its end is its rollback. */
START_TEST(test_none_came)
{
	serve(2);
	(void)time_is_up();
	exit(0);		/* it went on */
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("upgrade");
	TCase	*t = tcase_create("upgrade");
	SRunner	*r;
	int	 failed;

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_set_timeout(t, 60);
	tcase_add_test(t, test_hangs);
	tcase_add_test(t, test_checked);
	tcase_add_test(t, test_stopping);
	tcase_add_loop_test(t, test_all, 0, 3);
	tcase_add_test(t, test_some);
	tcase_add_exit_test(t, test_none_came, EXIT_FAILURE);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_ENV);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
