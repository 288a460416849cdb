/*
 * master/auth/userdb.c: users are looked up once, and a name service that ends
 * the process that asks it, or does not answer, holds up nobody else.
 */
#include <sys/wait.h>

#include <check.h>
#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/limit.h"
#include "master/auth/userdb.h"

#define SOMEBODY	1000u
#define NOBODY		2000u	/* there is none */
#define ABORTS		3000u
#define FAILS		4000u
#define HANGS		5000u	/* and above */
#define GROUPS		200	/* more than are asked for at first */

static struct event_base	*base;
static struct userdb		*d;
static unsigned			 nforks, nnews;

/* --- in the place of the name service --- */

pid_t
fork(void)
{
	nforks++;
	return _Fork();
}

struct passwd *
getpwuid(uid_t uid)
{
	static char		 name[] = "somebody", home[] = "/home/s",
				 shell[] = "/bin/sh";
	static struct passwd	 pw;

	if (uid == ABORTS)
		abort();
	while (uid >= HANGS)
		pause();
	errno = uid == FAILS ? EMFILE : 0;
	if (uid == NOBODY || uid == FAILS)
		return NULL;
	pw.pw_name = name;
	pw.pw_dir = home;
	pw.pw_shell = shell;
	pw.pw_uid = uid;
	pw.pw_gid = uid + 1;
	return &pw;
}

int
getgrouplist(const char *user, gid_t group, gid_t *list, int *n)
{
	int	 i, max = *n;

	/* No claim of libcheck: its messages would go where answers go. */
	if (strcmp(user, "somebody") != 0)
		abort();
	for (i = 0; i < GROUPS && i < max; i++)
		list[i] = group + (gid_t)i;
	*n = GROUPS;
	return max < GROUPS ? -1 : GROUPS;
}

/* --- */

static void
on_news(void *arg)
{
	ck_assert_ptr_eq(arg, &nnews);
	nnews++;
}

static void
setup(void)
{
	nforks = nnews = 0;
	ck_assert_ptr_nonnull(base = event_base_new());
	ck_assert_ptr_nonnull(d = userdb_new(base, on_news, &nnews));
}

/* Reap those that ended, and tell of them. */
static void
reap_ended(int flags)
{
	pid_t	 pid;

	while ((pid = waitpid(-1, NULL, flags)) > 0) {
		ck_assert(userdb_has(d, pid));
		ck_assert(userdb_on_exit(d, pid));
		ck_assert(!userdb_has(d, pid));
		ck_assert(!userdb_on_exit(d, pid));
	}
}

static void
teardown(void)
{
	userdb_flush(d);
	reap_ended(0);
	userdb_free(&d);
	ck_assert_ptr_null(d);
	event_base_free(base);
}

/* What becomes of a question. */
static enum userdb_state
look_up(uid_t uid, const Ipc__User **out)
{
	enum userdb_state	 state;

	while ((state = userdb_find(d, uid, out)) == USERDB_ASKED) {
		ck_assert_int_eq(event_base_loop(base, EVLOOP_ONCE), 0);
		reap_ended(WNOHANG);
	}
	return state;
}

START_TEST(test_known)
{
	const Ipc__User	*u;
	size_t		 i;

	ck_assert_int_eq(userdb_find(d, SOMEBODY, &u), USERDB_ASKED);
	ck_assert_ptr_null(u);
	ck_assert_int_eq(userdb_find(d, SOMEBODY, &u), USERDB_ASKED);
	ck_assert_uint_eq(nforks, 1);
	ck_assert_int_eq(look_up(SOMEBODY, &u), USERDB_KNOWN);
	ck_assert_uint_eq(nnews, 1);
	ck_assert(u->found);
	ck_assert_str_eq(u->name, "somebody");
	ck_assert_str_eq(u->home, "/home/s");
	ck_assert_str_eq(u->shell, "/bin/sh");
	ck_assert_uint_eq(u->gid, SOMEBODY + 1);
	ck_assert_uint_eq(u->n_group, GROUPS);
	for (i = 0; i < GROUPS; i++)
		ck_assert_uint_eq(u->group[i], SOMEBODY + 1 + i);
	/* Once, until the configuration is read again. */
	ck_assert_int_eq(userdb_find(d, SOMEBODY, &u), USERDB_KNOWN);
	ck_assert_uint_eq(nforks, 1);
	userdb_flush(d);
	ck_assert_uint_eq(nnews, 2);
	ck_assert_int_eq(look_up(SOMEBODY, &u), USERDB_KNOWN);
	ck_assert_uint_eq(nforks, 2);
}
END_TEST

START_TEST(test_nobody)
{
	const Ipc__User	*u;

	ck_assert_int_eq(look_up(NOBODY, &u), USERDB_KNOWN);
	ck_assert(!u->found);
	ck_assert_uint_eq(u->n_group, 0);
	ck_assert_int_eq(userdb_find(d, NOBODY, &u), USERDB_KNOWN);
	ck_assert_uint_eq(nforks, 1);
}
END_TEST

/* It costs nobody else, and is tried again a while later. */
START_TEST(test_fails)
{
	uid_t		 uid = _i == 0 ? ABORTS : FAILS;
	const Ipc__User	*u;

	ck_assert_int_eq(userdb_find(d, uid, &u), USERDB_ASKED);
	ck_assert_int_eq(look_up(SOMEBODY, &u), USERDB_KNOWN);
	ck_assert_int_eq(look_up(uid, &u), USERDB_FAILED);
	ck_assert_ptr_null(u);
	ck_assert_int_eq(userdb_find(d, SOMEBODY, &u), USERDB_KNOWN);
	ck_assert_uint_eq(nforks, 2);
	ck_assert_uint_eq(nnews, 2);
	/* Until its timer, the only event that is left. */
	event_base_dispatch(base);
	ck_assert_int_eq(userdb_find(d, uid, &u), USERDB_ASKED);
	ck_assert_uint_eq(nforks, 3);
}
END_TEST

/* So many at a time; the next one begins when one of them has ended. */
START_TEST(test_hang)
{
	const Ipc__User	*u;
	uid_t		 i;

	for (i = 0; i < LIMIT_USER_LOOKUPS; i++)
		ck_assert_int_eq(userdb_find(d, HANGS + i, &u), USERDB_ASKED);
	ck_assert_int_eq(userdb_find(d, SOMEBODY, &u), USERDB_ASKED);
	ck_assert_uint_eq(nforks, LIMIT_USER_LOOKUPS);
	ck_assert_uint_eq(nnews, 0);
	userdb_flush(d);
	ck_assert_uint_eq(nnews, 1);
	reap_ended(0);
	ck_assert_int_eq(look_up(SOMEBODY, &u), USERDB_KNOWN);
}
END_TEST

START_TEST(test_bound)
{
	const Ipc__User	*u;
	uid_t		 i;

	for (i = 0; i < LIMIT_USERS_KNOWN; i++)
		ck_assert_int_eq(look_up(i, &u), USERDB_KNOWN);
	ck_assert_int_eq(userdb_find(d, 0, &u), USERDB_KNOWN);
	ck_assert_int_eq(look_up(LIMIT_USERS_KNOWN, &u), USERDB_KNOWN);
	ck_assert_int_eq(userdb_find(d, 1, &u), USERDB_KNOWN);
	ck_assert_int_eq(userdb_find(d, 0, &u), USERDB_ASKED);
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("userdb");
	TCase	*t = tcase_create("userdb");
	SRunner	*sr = srunner_create(s);
	int	 failed;

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_set_timeout(t, 120);
	tcase_add_test(t, test_known);
	tcase_add_test(t, test_nobody);
	tcase_add_loop_test(t, test_fails, 0, 2);
	tcase_add_test(t, test_hang);
	tcase_add_test(t, test_bound);
	suite_add_tcase(s, t);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed != 0;
}
