/*
 * worker/os/privdrop.c: which ids, groups, environment and folder a process
 * gets, in which order, and when it must not go on.  The system calls are ours.
 */
#include <sys/prctl.h>

#include <check.h>
#include <errno.h>
#include <grp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/process/envlist.h"
#include "worker/os/dropcaps.h"
#include "worker/os/preauth.h"
#include "worker/os/privdrop.h"

#define REAL		7777		/* for the number that has the pid */
#define NO_STEP		"no such step"

static char		 did[600];
static uid_t		 uids[3];	/* real, effective, saved */
static gid_t		 gids[3];
static bool		 is_unmapped;	/* no other number is */
static bool		 may_return;	/* to be root */
static unsigned		 wrong;		/* this id is not what was asked for */
static const char	*broken;	/* the step that fails */
static Ipc__User	 user;
static Ipc__Assign	 as;

/* --- in the place of the system --- */

/* Note a step.  0, or -1 if it is the one that fails. */
static int PRINTF(1, 2)
step(const char *format, ...)
{
	size_t	 len = strlen(did);
	va_list	 ap;

	va_start(ap, format);
	vsnprintf(did + len, sizeof(did) - len - 2, format, ap);
	va_end(ap);
	if (strcmp(did + len, broken) == 0) {
		errno = EPERM;
		return -1;
	}
	strcat(did, "; ");
	return 0;
}

static unsigned
named(uid_t uid)
{
	return uid == 0x7fc00000 + (uid_t)getpid() ? REAL : (unsigned)uid;
}

uid_t
geteuid(void)
{
	return uids[1];
}

int
setgroups(size_t n, const gid_t *list)
{
	char	 text[80] = "groups";
	size_t	 i;

	for (i = 0; i < n; i++)
		snprintf(text + strlen(text), 12, " %u", (unsigned)list[i]);
	return step("%s", text);
}

int
setresgid(gid_t r, gid_t e, gid_t s)
{
	if (is_unmapped) {
		errno = EINVAL;
		return -1;
	}
	if (step("gids %d %d %d", (int)r, (int)e, (int)s) == -1)
		return -1;
	gids[0] = r;
	gids[1] = e;
	gids[2] = s;
	return 0;
}

int
setresuid(uid_t r, uid_t e, uid_t s)
{
	if (r == 0 && e == 0 && s == 0 && uids[1] != 0)
		return step("root?") == -1 || !may_return ? -1 : 0;
	if (step("uids %u %u %u", named(r), named(e), named(s)) == -1)
		return -1;
	uids[0] = r;
	uids[1] = e;
	uids[2] = s;
	return 0;
}

int
getresuid(uid_t *r, uid_t *e, uid_t *s)
{
	*r = uids[0] + (wrong == 1);
	*e = uids[1] + (wrong == 2);
	*s = uids[2] + (wrong == 3);
	return step("uids?");
}

int
getresgid(gid_t *r, gid_t *e, gid_t *s)
{
	*r = gids[0] + (wrong == 4);
	*e = gids[1] + (wrong == 5);
	*s = gids[2] + (wrong == 6);
	return step("gids?");
}

int
chdir(const char *path)
{
	return step("in %s", path);
}

int
prctl(int option, ...)
{
	va_list		 ap;
	unsigned long	 value;

	va_start(ap, option);
	value = option == PR_SET_DUMPABLE ? (unsigned long)va_arg(ap, int) :
	    va_arg(ap, unsigned long);
	va_end(ap);
	return step("%s %lu", option == PR_SET_DUMPABLE ? "dumpable" :
	    option == PR_SET_CHILD_SUBREAPER ? "subreaper" :
	    option == PR_SET_NO_NEW_PRIVS ? "no new privileges" : "?", value);
}

int
dropcaps(void)
{
	return step("no capabilities");
}

int
preauth_confine(bool is_alone)
{
	return step("confined%s", is_alone ? ", alone" : "");
}

char **
envlist_locale(void)
{
	static char	 lang[] = "LANG=xx";
	char		**list;

	ck_assert_ptr_nonnull(list = calloc(2, sizeof(*list)));
	list[0] = lang;
	return list;
}

int
envlist_from_file(int fd)
{
	return step("environment %d", fd);
}

/* --- the tests --- */

static void
setup(void)
{
	static uint32_t	 groups[] = { 21, 22, 23 };

	ipc__user__init(&user);
	user.found = true;
	user.name = (char *)(uintptr_t)"eve";
	user.home = (char *)(uintptr_t)"/home/eve";
	user.shell = (char *)(uintptr_t)"/bin/zsh";
	user.gid = 21;
	user.n_group = 3;
	user.group = groups;
	ipc__assign__init(&as);
	as.uid = 11;
	as.gid = 31;
	as.user = &user;
	memset(uids, 0, sizeof(uids));
	memset(gids, 0, sizeof(gids));
	did[0] = '\0';
	is_unmapped = may_return = false;
	wrong = 0;
	broken = NO_STEP;
}

static void
ck_did(const char *what)
{
	ck_assert_str_eq(did, what);
	did[0] = '\0';
}

static void
ck_environment(const char *name, const char *home, const char *shell)
{
	ck_assert_str_eq(getenv("LANG"), "xx");
	ck_assert_str_eq(getenv("HOME"), home);
	ck_assert_str_eq(getenv("SHELL"), shell);
	ck_assert_str_eq(getenv("USER"), name);
	ck_assert_str_eq(getenv("LOGNAME"), name);
	ck_assert_str_eq(getenv("PATH"), "/usr/local/bin:/usr/bin:/bin");
	ck_assert_ptr_null(getenv("OF_THE_SERVER"));
}

/* Groups first, then ids: in the other order it could not. */
START_TEST(test_user)
{
	ck_assert_int_eq(setenv("OF_THE_SERVER", "1", 1), 0);
	privdrop_user(&as, -1);
	ck_did("groups 21 22 23; gids 21 21 21; uids 7777 11 7777; uids?; "
	    "gids?; root?; in /home/eve; dumpable 0; subreaper 1; ");
	ck_environment("eve", "/home/eve", "/bin/zsh");
}
END_TEST

/* One without an entry in the data base: no groups but the one told. */
START_TEST(test_number)
{
	user.found = false;
	as.has_gid = true;
	privdrop_user(&as, -1);
	ck_did("groups; gids 31 31 31; uids 7777 11 7777; uids?; gids?; root?; "
	    "in /; dumpable 0; subreaper 1; ");
	ck_environment("11", "/", "/bin/sh");
}
END_TEST

/* Not where the real uid cannot be had, or there is no home. */
START_TEST(test_instead)
{
	broken = "uids 7777 11 7777";
	privdrop_user(&as, -1);
	ck_did("groups 21 22 23; gids 21 21 21; uids 7777 11 7777"
	    "uids 11 11 11; uids?; gids?; root?; in /home/eve; dumpable 0; "
	    "subreaper 1; ");
	setup();
	broken = "in /home/eve";
	privdrop_user(&as, -1);
	ck_did("groups 21 22 23; gids 21 21 21; uids 7777 11 7777; uids?; "
	    "gids?; root?; in /home/evein /; dumpable 0; subreaper 1; ");
}
END_TEST

/* The server's own user, root or not. */
START_TEST(test_own)
{
	as.uid = 0;
	as.user = NULL;
	privdrop_user(&as, 5);
	ck_did("environment 5; dumpable 0; subreaper 1; ");
	uids[1] = as.uid = 12;
	privdrop_user(&as, 6);
	ck_did("environment 6; dumpable 0; subreaper 1; ");
}
END_TEST

/* --- those end the process --- */

/* Each step that fails, but those above. */
static const char	*const steps[] = {
	"groups 21 22 23", "gids 21 21 21", "uids?", "gids?", "dumpable 0",
	"subreaper 1"
};
#define STEPS	((int)(sizeof(steps) / sizeof(steps[0])))

START_TEST(test_step_fails)
{
	broken = steps[_i];
	privdrop_user(&as, -1);
}
END_TEST

START_TEST(test_wrong_id)
{
	wrong = (unsigned)_i;
	privdrop_user(&as, -1);
}
END_TEST

START_TEST(test_back_to_root)
{
	may_return = true;
	privdrop_user(&as, -1);
}
END_TEST

START_TEST(test_no_groups)
{
	user.found = false;
	as.has_gid = true;
	broken = "groups";
	privdrop_user(&as, -1);
}
END_TEST

START_TEST(test_nowhere)
{
	user.home = (char *)(uintptr_t)"/";
	broken = "in /";
	privdrop_user(&as, -1);
}
END_TEST

START_TEST(test_untold)
{
	as.user = NULL;
	privdrop_user(&as, -1);
}
END_TEST

START_TEST(test_unknown)
{
	user.found = false;
	privdrop_user(&as, -1);
}
END_TEST

/* Only root becomes another one. */
START_TEST(test_not_root)
{
	uids[1] = 12;
	privdrop_user(&as, -1);
}
END_TEST

START_TEST(test_no_environment)
{
	as.uid = 0;
	broken = "environment 5";
	privdrop_user(&as, 5);
}
END_TEST

/* --- nobody --- */

#define NOBODY_GIDS	"gids -1 65534 -1; groups; gids 65534 65534 65534; "

START_TEST(test_anybody)
{
	privdrop_anybody();
	ck_did(NOBODY_GIDS "uids 65534 65534 65534; uids?; gids?; root?; "
	    "dumpable 0; ");
	setup();
	is_unmapped = true;
	privdrop_anybody();
	ck_did("dumpable 0; ");
	setup();
	uids[1] = 12;
	privdrop_anybody();
	ck_did("dumpable 0; ");
}
END_TEST

/* Alone only with a real uid of its own; capabilities of a root that stays. */
START_TEST(test_preauth)
{
	privdrop_preauth();
	ck_did(NOBODY_GIDS "uids 7777 65534 7777; uids?; gids?; root?; "
	    "dumpable 0; no new privileges 1; confined, alone; ");
	setup();
	is_unmapped = true;
	privdrop_preauth();
	ck_did("dumpable 0; no new privileges 1; no capabilities; confined; ");
	setup();
	uids[1] = 12;
	privdrop_preauth();
	ck_did("dumpable 0; no new privileges 1; confined; ");
}
END_TEST

static const char	*const preauth_steps[] = {
	"dumpable 0", "no new privileges 1", "no capabilities", "confined"
};
#define PREAUTH_STEPS							\
	((int)(sizeof(preauth_steps) / sizeof(preauth_steps[0])))

START_TEST(test_preauth_fails)
{
	is_unmapped = true;
	broken = preauth_steps[_i];
	privdrop_preauth();
}
END_TEST

START_TEST(test_anybody_fails)
{
	broken = "dumpable 0";
	privdrop_anybody();
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("privdrop_user");
	TCase	*t = tcase_create("privdrop_user");
	SRunner	*sr;
	int	 failed;

	tcase_add_checked_fixture(t, setup, NULL);
	tcase_add_test(t, test_user);
	tcase_add_test(t, test_number);
	tcase_add_test(t, test_instead);
	tcase_add_test(t, test_own);
	tcase_add_test(t, test_anybody);
	tcase_add_test(t, test_preauth);
	tcase_add_loop_exit_test(t, test_step_fails, 1, 0, STEPS);
	tcase_add_loop_exit_test(t, test_wrong_id, 1, 1, 7);
	tcase_add_exit_test(t, test_back_to_root, 1);
	tcase_add_exit_test(t, test_no_groups, 1);
	tcase_add_exit_test(t, test_nowhere, 1);
	tcase_add_exit_test(t, test_untold, 1);
	tcase_add_exit_test(t, test_unknown, 1);
	tcase_add_exit_test(t, test_not_root, 1);
	tcase_add_exit_test(t, test_no_environment, 1);
	tcase_add_loop_exit_test(t, test_preauth_fails, 1, 0, PREAUTH_STEPS);
	tcase_add_exit_test(t, test_anybody_fails, 1);
	suite_add_tcase(s, t);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
