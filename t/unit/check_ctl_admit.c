/*
 * master/ctl/ctl_admit.c: who may use the control socket, and how many.  Those
 * who have come already, and the rest of the socket, are ours.
 */
#include <sys/socket.h>
#include <sys/stat.h>

#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "master/auth/peer_sandbox.h"
#include "master/ctl/ctl.h"
#include "master/ctl/ctl_priv.h"

#define USER		1234

static struct world	 world;
static struct ctl	 c;
static struct ctl_client clients[100], made;
static struct child	 child;
static struct route	 route;
static struct ucred	 cred;
static struct ctl_who	 who;
static bool		 is_inside, is_mapped, fails;
static char		 did[200];

static void
ck_did(const char *what)
{
	ck_assert_str_eq(did, what);
	did[0] = '\0';
}

/* --- in the place of others --- */

int
getsockopt(int fd, int level, int what, void *out, socklen_t *len)
{
	(void)fd;
	if (level != SOL_SOCKET || what != SO_PEERCRED || fails)
		return -1;
	memcpy(out, &cred, sizeof(cred));
	*len = sizeof(cred);
	return 0;
}

uid_t
geteuid(void)
{
	return 99;
}

const char *
peer_sandbox_why(int fd, pid_t pid)
{
	(void)fd;
	ck_assert_int_eq(pid, cred.pid);
	return is_inside ? "inside" : NULL;
}

bool
idmap_is_user(const struct idmap *im, uid_t uid)
{
	(void)uid;
	ck_assert_ptr_eq(im, &world.start.idmap);
	return is_mapped;
}

struct ctl_client *
ctl_add(struct ctl *to, int fd, const struct ctl_who *w)
{
	ck_assert_ptr_eq(to, &c);
	who = *w;
	close(fd);
	strcat(did, "add ");
	return fails ? NULL : &made;
}

void
ctl_expect(struct ctl_client *cl)
{
	ck_assert_ptr_eq(cl, &made);
	strcat(did, "expect ");
}

void
chan_send(struct chan *ch, enum ipc_kind kind, const void *body, int fd)
{
	ck_assert_ptr_eq(ch, child.chan);
	strcat(did, ipc_rows[kind].name);
	if (kind == IPC_operating) {
		ck_assert_uint_eq(((const Ipc__Operating *)body)->ticket, 5);
		ck_assert_int_ne(fcntl(fd, F_GETFD), -1);
	} else {
		ck_assert_uint_eq(((const Ipc__OperateRefused *)body)->ticket,
		    5);
		strcat(did, ": ");
		strcat(did, ((const Ipc__OperateRefused *)body)->why);
	}
}

/* --- tests --- */

static void
setup(void)
{
	memset(&c, 0, sizeof(c));
	memset(&world, 0, sizeof(world));
	world.start.is_root = true;
	c.world = &world;
	TAILQ_INIT(&c.clients);
	cred = (struct ucred){ .pid = 77, .uid = USER };
	is_inside = fails = false;
	is_mapped = true;
	child.route = &route;
	child.pid = 88;
	child.chan = (struct chan *)8;
	route.client_uid = USER;
	route.number = 3;
	snprintf(route.identity, sizeof(route.identity), "uid:%d", USER);
	did[0] = '\0';
}

static void
come(unsigned n, uid_t uid, bool sees_all)
{
	struct ctl_client	*cl;

	for (; n > 0; n--) {
		cl = &clients[c.nclients++];
		memset(cl, 0, sizeof(*cl));
		cl->who.uid = uid;
		cl->who.sees_all = sees_all;
		TAILQ_INSERT_TAIL(&c.clients, cl, entry);
	}
}

static bool
is_admitted(uid_t uid)
{
	int	 fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	bool	 is;

	cred.uid = uid;
	is = ctl_admit(&c, fd) != NULL;
	ck_did(is ? "add " : "");
	ck_assert_int_eq(fcntl(fd, F_GETFD), -1);
	return is;
}

/* Root and the daemon's user see all, and nobody else does. */
START_TEST(test_who)
{
	ck_assert(is_admitted(0));
	ck_assert(who.sees_all && who.session == 0 && who.pid == 77);
	ck_assert(is_admitted(99));
	ck_assert(who.sees_all && who.uid == 99);
	ck_assert(is_admitted(USER));
	ck_assert(!who.sees_all && who.uid == USER);
	/* Who is not mapped is nobody. */
	is_mapped = false;
	ck_assert(is_admitted(0));
	ck_assert(!who.sees_all && who.uid == (uid_t)-1);
	is_mapped = true;
	is_inside = true;
	ck_assert(!is_admitted(0));
	is_inside = false;
	fails = true;
	ck_assert(!is_admitted(0));
}
END_TEST

/* In a directory of ours alone a uid that is not mapped is who it seems. */
START_TEST(test_ours_alone)
{
	static const mode_t	 modes[] = { 0700, 0710, 0701, 0700 };
	const char		*tmp = getenv("TMPDIR");
	char			 path[200];

	snprintf(path, sizeof(path), "%s/ctl.XXXXXX", tmp != NULL ? tmp :
	    "/tmp");
	ck_assert_ptr_nonnull(mkdtemp(path));
	ck_assert_int_eq(chmod(path, modes[_i]), 0);
	world.rundir.path = path;
	world.start.is_root = _i == 3;
	is_mapped = false;
	ck_assert(is_admitted(USER));
	ck_assert_uint_eq(who.uid, _i == 0 ? USER : (uid_t)-1);
	ck_assert_int_eq(rmdir(path), 0);
	ck_assert(is_admitted(USER));
	ck_assert_uint_eq(who.uid, (uid_t)-1);
}
END_TEST

START_TEST(test_of_user)
{
	come(7, USER, false);
	come(20, USER, true);
	ck_assert(is_admitted(USER));
	come(1, USER, false);
	ck_assert(!is_admitted(USER));
	ck_assert(is_admitted(USER + 1));
	ck_assert(is_admitted(0));
}
END_TEST

/* The others leave some places to root. */
START_TEST(test_of_others)
{
	unsigned	 i;

	for (i = 0; i < 47; i++)
		come(1, 5000 + i, false);
	ck_assert(is_admitted(USER));
	come(1, 5047, false);
	ck_assert(!is_admitted(USER));
	come(15, 0, true);
	ck_assert(is_admitted(0));
	come(1, 0, true);
	ck_assert_uint_eq(c.nclients, CTL_CLIENTS_MAX);
	ck_assert(!is_admitted(0));
	ck_assert(!is_admitted(99));
}
END_TEST

START_TEST(test_all_by_root)
{
	come(CTL_CLIENTS_MAX - 1, 0, true);
	ck_assert(is_admitted(USER));
	come(1, 0, true);
	ck_assert(!is_admitted(USER));
}
END_TEST

/* A session's client never sees all, whoever it is. */
START_TEST(test_operate)
{
	route.client_uid = _i == 0 ? USER : 0;
	ctl_operate(&c, &child, 5);
	ck_did("add expect operating");
	ck_assert(!who.sees_all);
	ck_assert_uint_eq(who.uid, route.client_uid);
	ck_assert_uint_eq(who.session, 3);
	ck_assert_int_eq(who.pid, 88);
	ck_assert_str_eq(who.identity, route.identity);
	come(8, route.client_uid, false);
	ctl_operate(&c, &child, 5);
	ck_did("operate_refused: too many requests are waiting");
	ctl_operate(NULL, &child, 5);
	ck_did("operate_refused: too many requests are waiting");
}
END_TEST

START_TEST(test_operate_fails)
{
	fails = true;
	ctl_operate(&c, &child, 5);
	ck_did("add operate_refused: Cannot allocate memory");
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("ctl_admit");
	TCase	*t = tcase_create("ctl_admit");
	SRunner	*r;
	int	 failed;

	tcase_add_checked_fixture(t, setup, NULL);
	tcase_add_test(t, test_who);
	tcase_add_loop_test(t, test_ours_alone, 0, 4);
	tcase_add_test(t, test_of_user);
	tcase_add_test(t, test_of_others);
	tcase_add_test(t, test_all_by_root);
	tcase_add_loop_test(t, test_operate, 0, 2);
	tcase_add_test(t, test_operate_fails);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_ENV);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
