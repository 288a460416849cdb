/* master/auth/allow.c: AllowUsers, DenyUsers, AllowGroups, DenyGroups. */
#include "master/auth/allow.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "t/unit/conf_help.h"

/* The keyword that keeps out the client of a spec; "": none does. */
static const char *
keyword_against(const char *spec)
{
	static char		 word[40];
	struct conf_spec	 s;
	struct conf		 one;
	const char		*why;

	ck_assert_int_eq(conf_spec_parse(&s, spec, &e), 0);
	ck_assert_int_eq(conf_resolve(&c, &s.client, &one), 0);
	why = allow_judge(&one, &s.client);
	snprintf(word, sizeof(word), "%.*s", why == NULL ? 0 :
	    (int)strcspn(why, " "), why == NULL ? "" : why);
	conf_fini(&one);
	conf_spec_fini(&s);
	return word;
}

static void
ck_text(const char *text)
{
	conf_fini(&c);
	ck_assert_int_eq(conf_init(&c), 0);
	ck_assert_msg(load(text) == 0, "%s", e.text);
}

START_TEST(test_judge)
{
	static const struct {
		const char	*conf, *spec, *keyword;
	} cases[] = {
		{ "", "user=a", "" }, { "", "", "" },
		{ "DenyUsers a", "user=a", "DenyUsers" },
		{ "DenyUsers a", "user=ab", "" },
		{ "DenyUsers b a", "user=a", "DenyUsers" },
		{ "DenyUsers b, a", "user=a", "DenyUsers" },
		{ "DenyUsers b\nDenyUsers a", "user=a", "DenyUsers" },
		{ "DenyUsers a*", "user=abc", "DenyUsers" },
		{ "DenyUsers *,!a", "user=a", "" },
		{ "DenyUsers *\nDenyUsers !a,x", "user=a", "" },
		{ "DenyUsers *,!a", "user=b", "DenyUsers" },
		{ "AllowUsers a", "user=a", "" },
		{ "AllowUsers a", "user=b", "AllowUsers" },
		{ "AllowUsers a", "", "AllowUsers" },
		{ "AllowUsers *,!b", "user=b", "AllowUsers" },
		{ "AllowUsers a\nAllowUsers b", "user=b", "" },
		{ "AllowUsers a\nDenyUsers a", "user=a", "DenyUsers" },
		{ "DenyGroups g", "user=a,group=f,group=g", "DenyGroups" },
		{ "DenyGroups g", "user=a,group=f", "" },
		{ "DenyGroups *,!f", "user=a,group=g,group=f", "" },
		{ "AllowGroups g", "user=a,group=f,group=g", "" },
		{ "AllowGroups g", "user=a,group=f", "AllowGroups" },
		{ "AllowGroups g", "user=a", "AllowGroups" },
		{ "AllowGroups *,!f", "user=a,group=g,group=f",
		  "AllowGroups" },
		{ "AllowUsers b\nAllowGroups g", "user=a,group=g",
		  "AllowUsers" },
		{ "AllowUsers a\nAllowGroups g", "user=a,group=f",
		  "AllowGroups" },
		/* In sshd's order. */
		{ "AllowGroups x\nDenyGroups g\nAllowUsers x", "user=a,group=g",
		  "DenyGroups" },
		/* Blocks add. */
		{ "DenyUsers b\nMatch Address 10.0.0.0/8\nDenyUsers a, x",
		  "user=a,addr=10.0.0.1", "DenyUsers" },
		{ "DenyUsers b\nMatch Address 10.0.0.0/8\nDenyUsers a, x",
		  "user=b,addr=10.0.0.1", "DenyUsers" },
		{ "DenyUsers b\nMatch Address 10.0.0.0/8\nDenyUsers a, x",
		  "user=a,addr=11.0.0.1", "" },
		{ "Match Address 10.0.0.0/8\nDenyUsers x\nDenyUsers a",
		  "user=a,addr=10.0.0.1", "DenyUsers" },
	};
	size_t	 i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		ck_text(cases[i].conf);
		ck_assert_msg(strcmp(keyword_against(cases[i].spec),
		    cases[i].keyword) == 0, "%s / %s: \"%s\"", cases[i].conf,
		    cases[i].spec, keyword_against(cases[i].spec));
	}
}
END_TEST

START_TEST(test_bad)
{
	static const char *const values[] = { "!a", ",", "!", "a,!" };
	size_t	 i;

	for (i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		ck_assert_int_eq(conf_set(&c, "DenyUsers", values[i], &e),
		    -1);
		ck_assert_ptr_nonnull(strstr(e.text, "DenyUsers"));
	}
}
END_TEST

static int
note(void *arg, const char *keyword, const char *where, const char *list)
{
	char	*text = arg;

	(void)where;
	snprintf(text + strlen(text), 200 - strlen(text), "%s=%s;", keyword,
	    list);
	return 0;
}

START_TEST(test_each)
{
	char	 text[200] = "";

	ck_text("AllowUsers a b\nDenyUsers c\nDenyGroups g\n"
	    "Match User d,e Group h\nDenyUsers f, i\nMaxProcesses 1\n");
	ck_assert_int_eq(allow_each(&c, false, note, text), 0);
	ck_assert_str_eq(text, "Match User=d,e;AllowUsers=a,b;DenyUsers=c;"
	    "DenyUsers=f,i;");
	text[0] = '\0';
	ck_assert_int_eq(allow_each(&c, true, note, text), 0);
	ck_assert_str_eq(text, "Match Group=h;DenyGroups=g;");
}
END_TEST

START_TEST(test_warn)
{
	char	*text = NULL;
	size_t	 len;
	FILE	*out = open_memstream(&text, &len);

	ck_assert_ptr_nonnull(out);
	ck_text("AllowUsers root no-such-1 no-such-*\nMatch User !no-such-2,*\n"
	    "DenyGroups no-such-3, root\nDenyUsers 77777\n");
	allow_warn(&c, out);
	ck_assert_int_eq(fclose(out), 0);
	ck_assert_ptr_nonnull(strstr(text, "AllowUsers: there is no user "
	    "\"no-such-1\"\n"));
	ck_assert_ptr_nonnull(strstr(text, "Match User: there is no user "
	    "\"no-such-2\"\n"));
	ck_assert_ptr_nonnull(strstr(text, "DenyGroups: there is no group "
	    "\"no-such-3\"\n"));
	ck_assert_ptr_null(strstr(text, "root"));
	ck_assert_ptr_null(strstr(text, "777"));
	ck_assert_ptr_null(strstr(text, "such-*"));
	free(text);
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("allow");
	TCase	*tc = tcase_create("allow");
	SRunner	*r;
	int	 failed;

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, test_judge);
	tcase_add_test(tc, test_bad);
	tcase_add_test(tc, test_each);
	tcase_add_test(tc, test_warn);
	suite_add_tcase(s, tc);
	r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed != 0;
}
