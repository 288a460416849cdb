/*
 * master/auth/names.c: a name service that ends the process that asks it.  The
 * one of this machine is not asked.
 */
#include <sys/wait.h>

#include <check.h>
#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/conf/conf.h"
#include "master/accept/policy.h"
#include "master/auth/names.h"
#include "master/auth/runas.h"

#define MEMBERS	5000

static int	 asked;		/* by us, not by a child */

/* --- in the place of the name service --- */

static void
come_to_harm(const char *name)
{
	asked++;
	if (strcmp(name, "abort") == 0)
		abort();
	if (strcmp(name, "leave") == 0)
		_exit(0);
	errno = strcmp(name, "memory") == 0 ? ENOMEM : ENOENT;
}

struct passwd *
getpwnam(const char *name)
{
	static char		 zoe[] = "zoe";
	static struct passwd	 pw = { .pw_name = zoe, .pw_uid = 4711,
				    .pw_gid = 4712 };

	come_to_harm(name);
	return strcmp(name, zoe) == 0 ? &pw : NULL;
}

struct group *
getgrnam(const char *name)
{
	static char		 many[] = "many", none[] = "none";
	static char		 texts[MEMBERS][16], *list[MEMBERS + 1];
	static struct group	 gr;
	unsigned		 i;

	come_to_harm(name);
	gr.gr_gid = 4713;
	gr.gr_mem = list;
	if (strcmp(name, none) == 0) {
		gr.gr_name = none;
		list[0] = NULL;
		return &gr;
	}
	if (strcmp(name, many) != 0)
		return NULL;
	gr.gr_name = many;
	for (i = 0; i < MEMBERS; i++) {
		snprintf(texts[i], sizeof(texts[i]), "member%u", i);
		list[i] = texts[i];
	}
	return &gr;
}

static void
teardown(void)
{
	names_end();
	ck_assert_int_eq(asked, 0);
	/* None is left. */
	ck_assert_int_eq(waitpid(-1, NULL, WNOHANG), -1);
	ck_assert_int_eq(errno, ECHILD);
}

static void
ck_none(const void *found, int error)
{
	int	 is = errno;

	ck_assert_ptr_null(found);
	ck_assert_int_eq(is, error);
}

static void
ck_says(const char *text)
{
	ck_assert_msg(strstr(names_error(ECANCELED), text) != NULL, "%s",
	    names_error(ECANCELED));
}

static void
ck_zoe(void)
{
	const struct passwd	*pw = names_user("zoe");

	ck_assert_ptr_nonnull(pw);
	ck_assert_str_eq(pw->pw_name, "zoe");
	ck_assert_uint_eq(pw->pw_uid, 4711);
	ck_assert_uint_eq(pw->pw_gid, 4712);
}

/* --- */

START_TEST(test_found)
{
	const struct group	*gr;
	char			 name[16], longest[600];
	unsigned		 i;

	ck_zoe();
	ck_none(names_user("nobody known"), 0);
	ck_none(names_group("zoe"), 0);
	ck_assert_ptr_nonnull(gr = names_group("none"));
	ck_assert_uint_eq(gr->gr_gid, 4713);
	ck_assert_str_eq(gr->gr_name, "none");
	ck_assert_ptr_null(gr->gr_mem[0]);
	ck_assert_ptr_nonnull(gr = names_group("many"));
	/* A look for users leaves it as it is. */
	ck_zoe();
	ck_assert_str_eq(gr->gr_name, "many");
	for (i = 0; i < MEMBERS; i++) {
		snprintf(name, sizeof(name), "member%u", i);
		ck_assert_str_eq(gr->gr_mem[i], name);
	}
	ck_assert_ptr_null(gr->gr_mem[i]);
	memset(longest, 'x', sizeof(longest));
	longest[sizeof(longest) - 1] = '\0';
	ck_none(names_user(longest), 0);
}
END_TEST

/* It costs that name; the next one is looked up by another child. */
START_TEST(test_harm)
{
	ck_none(names_user("abort"), ECANCELED);
	ck_says("user abort: the name service died: Aborted");
	ck_zoe();
	ck_none(names_group("abort"), ECANCELED);
	ck_says("group abort: the name service died: Aborted");
	ck_none(names_user("leave"), ECANCELED);
	ck_says("user leave: the name service died");
	ck_none(names_user("memory"), ECANCELED);
	ck_says("user memory: Cannot allocate memory");
	ck_zoe();
	names_end();
	ck_zoe();
	ck_assert_str_eq(names_error(ENOENT), strerror(ENOENT));
}
END_TEST

/* Settings that name somebody: an error, and not the end. */
START_TEST(test_settings)
{
	static const char *const	 rows[][2] = {
		{ "AllowUsers", "abort" }, { "DenyGroups", "abort" },
		{ "SessionUser", "abort" }, { "DenyUsers", "memory" },
	};
	struct conf		 c;
	struct conf_error	 e;
	struct policy		*p;

	ck_assert_int_eq(conf_init(&c), 0);
	ck_assert_int_eq(conf_set(&c, rows[_i][0], rows[_i][1], &e), 0);
	ck_assert_ptr_null(p = policy_new(&c, &e));
	ck_assert_msg(strstr(e.text, "looking up ") != NULL, "%s", e.text);
	conf_fini(&c);
	/* The next reading of them is not affected. */
	ck_assert_int_eq(conf_init(&c), 0);
	ck_assert_int_eq(conf_set(&c, "AllowUsers", "zoe", &e), 0);
	ck_assert_ptr_nonnull(p = policy_new(&c, &e));
	policy_free(&p);
	conf_fini(&c);
}
END_TEST

START_TEST(test_runas)
{
	struct runas	 who;
	struct conf	 c;
	char		 why[RUNAS_WHY];

	ck_assert_int_eq(conf_init(&c), 0);
	ck_assert_int_eq(runas_find(&c, "TokenUser", "abort", &who, why,
	    sizeof(why)), -1);
	ck_assert_msg(strstr(why, "name service died") != NULL, "%s", why);
	ck_assert_int_eq(runas_find(&c, "TokenUser", "nobody known", &who,
	    why, sizeof(why)), -1);
	ck_assert_msg(strstr(why, "no such user") != NULL, "%s", why);
	conf_fini(&c);
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("names");
	TCase	*t = tcase_create("all");
	SRunner	*sr = srunner_create(s);
	int	 failed;

	tcase_add_checked_fixture(t, NULL, teardown);
	tcase_add_test(t, test_found);
	tcase_add_test(t, test_harm);
	tcase_add_loop_test(t, test_settings, 0, 4);
	tcase_add_test(t, test_runas);
	suite_add_tcase(s, t);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed == 0 ? 0 : 1;
}
