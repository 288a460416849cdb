/* master/remote/remote_check.c: which Uplink blocks a daemon can have. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "master/remote/remote_check.h"
#include "t/unit/conf_help.h"

/* What is wrong with these blocks; NULL: nothing. */
static const char *
wrong(const char *text)
{
	conf_fini(&c);
	ck_assert_int_eq(conf_init(&c), 0);
	ck_assert_msg(load(text) == 0, "%s", e.text);
	return remote_check(&c, &e) == 0 ? NULL : e.text;
}

/* Two environments, by what makes them two. */
START_TEST(test_two)
{
	static const struct {
		const char	*url, *id, *url2, *id2;
		bool		 is_same;
	} cases[] = {
		{ "https://a", "x", "https://a", "x", true },
		{ "https://a", "x", "https://a", "y", false },
		{ "https://a", "x", "https://b", "x", false },
		{ "https://a:1", "x", "https://a:2", "x", false },
		{ "https://a/one", "x", "https://a/two", "x", false },
		{ "https://a/one", "x", "https://b/one", "x", false },
		{ "https://a/one", "x", "https://a/one", "x", true },
		{ "https://a/one", "x", "https://a/One", "x", false },
		{ "https://a", "x", "https://A", "x", true },
		{ "https://a", "x", "https://a", "X", false },
	};
	const char	*why;
	char		 text[512];
	size_t		 i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		snprintf(text, sizeof(text), "RemoteUser nobody\n"
		    "Uplink 1\nRegistryUrl %s\nEnvironmentId %s\n"
		    "Uplink 2\nRegistryUrl %s\nEnvironmentId %s\n",
		    cases[i].url, cases[i].id, cases[i].url2, cases[i].id2);
		/* Of another user none but root can have sessions. */
		why = wrong(geteuid() == 0 ? text : strchr(text, '\n') + 1);
		ck_assert_msg((why != NULL) == cases[i].is_same, "%s%s", text,
		    why != NULL ? why : "nothing is wrong");
		if (why != NULL)
			ck_assert_ptr_nonnull(strstr(why, "Uplink 2: the "
			    "RegistryUrl and EnvironmentId of Uplink 1"));
	}
}
END_TEST

START_TEST(test_names)
{
	const char	*why;

	why = wrong("Uplink a\nRegistryUrl https://a\nEnvironmentId x\n"
	    "Forward ws://127.0.0.1:1\n"
	    "Uplink a\nRegistryUrl https://b\nEnvironmentId x\n"
	    "Forward ws://127.0.0.1:1\n");
	ck_assert_ptr_nonnull(why);
	ck_assert_ptr_nonnull(strstr(why, "two blocks have that name"));
	why = wrong("Uplink a\nRegistryUrl https://a\n");
	ck_assert_ptr_nonnull(why);
	ck_assert_ptr_nonnull(strstr(why, "are needed"));
}
END_TEST

/* A file of certificates must be there and have one, whoever names it. */
START_TEST(test_ca_file)
{
	static const char	 uplink[] = "Uplink a\nRegistryUrl https://a\n"
		"EnvironmentId x\nForward ws://127.0.0.1:1\n";
	char			 text[512], path[] = "/tmp/check_ca.XXXXXX";
	FILE			*f = fdopen(mkstemp(path), "w");
	const char		*why;

	ck_assert_ptr_nonnull(f);
	snprintf(text, sizeof(text), "%sUplinkCaFile /nonexistent/ca\n",
	    uplink);
	ck_assert_ptr_nonnull(why = wrong(text));
	ck_assert_ptr_nonnull(strstr(why, ":5: Uplink a: UplinkCaFile "
	    "/nonexistent/ca: No such file"));
	snprintf(text, sizeof(text), "UplinkCaFile %s\n%s", path, uplink);
	ck_assert_ptr_nonnull(why = wrong(text));
	ck_assert_ptr_nonnull(strstr(why, ":1: Uplink a: "));
	ck_assert_ptr_nonnull(strstr(why, "no certificate in it"));
	fputs("words\n-----BEGIN TRUSTED CERTIFICATE-----\n", f);
	fclose(f);
	ck_assert_ptr_null(wrong(text));
	unlink(path);
}
END_TEST

/* One mistake does not hide another. */
START_TEST(test_all_wrong)
{
	const char	*why, *line;
	size_t		 len, n = 0;

	ck_assert_ptr_nonnull(why = wrong("Uplink a\nRegistryUrl https://a\n"
	    "Uplink b\nEnvironmentId x\nUplink c\nRegistryUrl ftp://a\n"
	    "EnvironmentId x\n"));
	while ((line = conf_error_line(&why, &len)) != NULL)
		n++;
	ck_assert_uint_eq(n, 3);
}
END_TEST

/* What is refused, why, and which line is blamed. */
START_TEST(test_refused)
{
#define FORWARD	"Forward ws://127.0.0.1:1\n"
	static const struct {
		unsigned	 line;
		const char	*text, *why;
	} cases[] = {
		{ 2, "Uplink a\nRegistryUrl ftp://u:p@a/\nEnvironmentId x\n"
		    FORWARD, "RegistryUrl ftp://...@a/: expected https://" },
		{ 3, "Uplink a\nEnvironmentId x\nRegistryUrl https://a/?b=c\n"
		    FORWARD, "RegistryUrl https://a/?b=c: expected https://" },
		{ 3, "Uplink a\nRegistryUrl https://a\nEnvironmentId ..\n"
		    FORWARD, "EnvironmentId ..: not a valid name" },
		{ 4, "Uplink a\nRegistryUrl https://a\nEnvironmentId x\n"
		    "Forward http://u:p@b\n",
		    "Forward http://...@b: expected ws://HOST:PORT" },
		{ 1, "Uplink a\nEnvironmentId x\n" FORWARD,
		    "Uplink a: RegistryUrl and EnvironmentId are needed" },
		{ 1, "Uplink a\nRegistryUrl https://a\n" FORWARD,
		    "Uplink a: RegistryUrl and EnvironmentId are needed" },
		{ 4, "Uplink a\nRegistryUrl https://a\nEnvironmentId x\n"
		    "RemoteUser nobody-of-this-name\n",
		    "Uplink a: " },
		{ 9, "Uplink a\nRegistryUrl https://a\nEnvironmentId x\n"
		    "CredentialStdin bearer\n" FORWARD
		    "Uplink b\nRegistryUrl https://a\nEnvironmentId y\n"
		    "CredentialStdin frames\n" FORWARD,
		    "CredentialStdin: two credentials" },
	};
	char		 at[16];
	const char	*why;
	size_t		 i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		why = wrong(cases[i].text);
		ck_assert_msg(why != NULL, "taken: %s", cases[i].text);
		snprintf(at, sizeof(at), ":%u: ", cases[i].line);
		ck_assert_msg(strstr(why, cases[i].why) != NULL &&
		    strstr(why, at) != NULL, "%s: %s", cases[i].text, why);
	}
	ck_assert_ptr_null(wrong("Uplink a\nRegistryUrl https://a\n"
	    "EnvironmentId x\nCredentialStdin bearer\n" FORWARD));
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("remote_check");
	TCase	*t = tcase_create("remote_check");
	SRunner	*r;
	int	 failed;

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, test_two);
	tcase_add_test(t, test_names);
	tcase_add_test(t, test_ca_file);
	tcase_add_test(t, test_all_wrong);
	tcase_add_test(t, test_refused);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed != 0;
}
