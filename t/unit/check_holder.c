/*
 * worker/sandbox/holder.c: the worker's side of a holder.  The holder is a
 * process of ours: it says hello as each does, and then what the test wants.
 */
#include <sys/socket.h>

#include <check.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/limit.h"
#include "worker/fs/fsagent.h"
#include "worker/fs/mounted_inodes.h"
#include "worker/os/env.h"
#include "worker/sandbox/enforce.h"
#include "worker/sandbox/holder.h"

/* A hello as it is sent; holder.c asserts its layout. */
struct hello {
	int	 kind;
	pid_t	 pid;
	bool	 net_off, no_changes;
	bool	 has[NSSET_FDS];
	char	 why[ENFORCE_WHY];
	size_t	 made_len, nlocks;
	bool	 more_files;
	size_t	 nfiles;
};

enum { NSSET, PID, FAILED };

static struct env	 env;
static struct holders	*hs;
static struct holder	*h;
static unsigned		 changes;
static int		 says;		/* after its hello; -1: nothing */
static const struct plan plan;
static bool		 has_more;	/* files than it names */

/* --- what the holder does --- */

void
fsagent_serve(int sock, int leave, bool is_confined, bool may_poll)
{
	struct hello	 more;
	char		 byte;

	ck_assert_int_eq(leave, -1);
	(void)is_confined;
	(void)may_poll;
	if (says != -1) {
		memset(&more, 0, sizeof(more));
		more.kind = says;
		more.pid = getppid();
		strcpy(more.why, "later");
		if (send(sock, &more, sizeof(more), MSG_NOSIGNAL) !=
		    (ssize_t)sizeof(more))
			_exit(1);
	}
	while (read(sock, &byte, 1) > 0)
		continue;
	/* A test that became a holder has not passed. */
	_exit(1);
}

void
fsagent_line_init(struct fsagent_line *l)
{
	memset(l, 0, sizeof(*l));
}

void
fsagent_line_fini(struct fsagent_line *l)
{
	memset(l, 0, sizeof(*l));
}

/* It holds locks, but names no stand-ins. */
int
enforce(const struct plan *p, const char *hide, int leave, struct enforced *e)
{
	(void)p;
	(void)hide;
	(void)leave;
	while (e->mounted.nlocks < 3)
		if ((e->mounted.locks[e->mounted.nlocks++] =
		    open("/", O_PATH | O_CLOEXEC)) == -1)
			_exit(1);
	e->mounted.files[0].dev = 1;
	e->mounted.files[0].ino = 2;
	e->mounted.nfiles = 1;
	e->mounted.more_files = has_more;
	return 1;
}

/* --- the worker's side --- */

static void
on_changed(void *arg)
{
	ck_assert_ptr_eq(arg, &env);
	changes++;
	event_base_loopbreak(env.base);
}

static void
start(int what)
{
	memset(&env, 0, sizeof(env));
	ck_assert_ptr_nonnull(env.base = event_base_new());
	env.set.run_dir = (char *)(uintptr_t)"";
	says = what;
	changes = 0;
	ck_assert_ptr_nonnull(hs = holders_new(&env, on_changed, &env));
	ck_assert_ptr_nonnull(h = holder_get(hs, NULL));
	/* Without a plan it is of use before its hello. */
	ck_assert_int_eq(holder_state(h), HOLDER_READY);
	ck_assert_int_eq(event_base_dispatch(env.base), 0);
	ck_assert_uint_eq(changes, 1);
	ck_assert_int_eq(holder_state(h), HOLDER_READY);
}

static void
stop(void)
{
	holders_end(hs);
	holders_free(&hs);
	event_base_free(env.base);
}

START_TEST(test_ready)
{
	start(-1);
	ck_assert_int_ge(holder_sock(h), 0);
	ck_assert_ptr_eq(holder_get(hs, NULL), h);
	stop();
}
END_TEST

/* One that has said hello has nothing more to say: it is given up. */
START_TEST(test_says_more)
{
	start(_i);
	ck_assert_int_eq(event_base_dispatch(env.base), 0);
	ck_assert_uint_eq(changes, 2);
	ck_assert_int_eq(holder_state(h), HOLDER_FAILED);
	ck_assert_str_eq(holder_why(h), "its process was killed");
	stop();
}
END_TEST

static unsigned
count_fds(void)
{
	unsigned	 n = 0;
	int		 fd;

	for (fd = 0; fd < 256; fd++)
		n += fcntl(fd, F_GETFD) != -1;
	return n;
}

/* What a holder that failed had sent is not left for the next one. */
START_TEST(test_locks)
{
	unsigned	 before = 0, i;

	start(NSSET);
	while (holder_state(h) != HOLDER_FAILED)
		ck_assert_int_eq(event_base_dispatch(env.base), 0);
	ck_assert_ptr_nonnull(h = holder_get(hs, &plan));
	for (i = 0; i < 3; i++) {
		ck_assert_ptr_eq(holder_get(hs, &plan), h);
		while (holder_state(h) != HOLDER_READY)
			ck_assert_int_eq(event_base_dispatch(env.base), 0);
		while (holder_state(h) != HOLDER_FAILED)
			ck_assert_int_eq(event_base_dispatch(env.base), 0);
		if (i == 0)
			before = count_fds();
	}
	ck_assert_uint_eq(count_fds(), before);
	stop();
}
END_TEST

static bool
is_mounted_on(dev_t dev, ino_t ino)
{
	struct stat	 st;

	memset(&st, 0, sizeof(st));
	st.st_dev = dev;
	st.st_ino = ino;
	return mounted_inodes_has(&st);
}

/* Which files must not be replaced: any, while it is not known. */
START_TEST(test_mounted)
{
	ck_assert_int_eq(mounted_inodes_init(), 0);
	has_more = _i == 1;
	start(-1);
	ck_assert(!is_mounted_on(1, 2));
	ck_assert_ptr_nonnull(h = holder_get(hs, &plan));
	ck_assert_int_eq(holder_state(h), HOLDER_STARTING);
	ck_assert(is_mounted_on(3, 4));
	while (holder_state(h) != HOLDER_READY)
		ck_assert_int_eq(event_base_dispatch(env.base), 0);
	ck_assert(is_mounted_on(1, 2));
	ck_assert_int_eq(is_mounted_on(3, 4), has_more);
	ck_assert_int_eq(is_mounted_on(1, 4), has_more);
	ck_assert_int_eq(is_mounted_on(3, 2), has_more);
	/* It is killed. */
	ck_assert_int_eq(shutdown(holder_sock(h), SHUT_RDWR), 0);
	while (holder_state(h) != HOLDER_FAILED)
		ck_assert_int_eq(event_base_dispatch(env.base), 0);
	ck_assert(!is_mounted_on(1, 2));
	stop();
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("holder");
	TCase	*t = tcase_create("holder");
	SRunner	*r;
	int	 failed;

	tcase_add_test(t, test_ready);
	tcase_add_loop_test(t, test_says_more, NSSET, FAILED + 1);
	tcase_add_test(t, test_locks);
	tcase_add_loop_test(t, test_mounted, 0, 2);
	tcase_set_timeout(t, 60);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_ENV);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed != 0;
}
