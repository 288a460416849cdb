/* worker/proc/envp.c: the environment of a command (PROTOCOL 5.2). */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "worker/proc/envp.h"

static char *const	 server[] = {
	(char *)(uintptr_t)"HOME=/home/u", (char *)(uintptr_t)"PATH=/bin",
	(char *)(uintptr_t)"MY_KEY=1", (char *)(uintptr_t)"secretive=2",
	(char *)(uintptr_t)"TokeN=3", (char *)(uintptr_t)"Foo=a=b",
	(char *)(uintptr_t)"FOOBAR=5", (char *)(uintptr_t)"EMPTY=",
	(char *)(uintptr_t)"CODEX_API_KEY=x", (char *)(uintptr_t)"broken",
	NULL
};

static int
by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static struct json	 j;
static struct process_start_params p;

/* Decode a request with that env and policy; whether that can be. */
static bool
decode(char *text, size_t len, struct param_error *e)
{
	json_init(&j);
	ck_assert_msg(json_parse(&j, text, len) == 0, "%s", text);
	return params_decode(&j, json_find(&j, 0, "p"), fields_process_start,
	    &p, sizeof(p), false, e) == 0;
}

#define REQUEST(env, policy)						\
	"{\"p\":{\"processId\":\"\",\"argv\":[],\"cwd\":\"file:///\","	\
	"\"tty\":false,\"env\":" env ",\"envPolicy\":" policy "}}"

/*
 * The environment as one line, sorted; or the text of the refusal, behind !
 * what is malformed, behind ? what cannot be.
 */
static const char *
made(const char *env, const char *policy)
{
	static char	 line[4096];
	struct envp_error why;
	struct param_error bad;
	char		 text[4096], **e = NULL;
	size_t		 n;

	n = (size_t)snprintf(text, sizeof(text), REQUEST("%s", "%s"), env,
	    policy != NULL ? policy : "null");
	line[0] = '\0';
	if (!decode(text, n, &bad)) {
		snprintf(line, sizeof(line), "!%s", bad.text);
	} else if ((e = envp_make(&p.env, p.env_policy.given ?
	    &p.env_policy : NULL, server, &why)) == NULL) {
		ck_assert_ptr_nonnull(why.text);
		snprintf(line, sizeof(line), "%c%s",
		    why.is_malformed ? '!' : '?', why.text);
	} else {
		for (n = 0; e[n] != NULL; n++)
			continue;
		qsort(e, n, sizeof(*e), by_name);
		for (n = 0; e[n] != NULL; n++) {
			strcat(line, n > 0 ? " " : "");
			strcat(line, e[n]);
		}
	}
	envp_free(&e);
	ck_assert_ptr_null(e);
	json_fini(&j);
	return line;
}

#define POLICY(inherit, ignore, exclude, set, only)			\
	"{\"inherit\":\"" inherit "\","					\
	"\"ignoreDefaultExcludes\":" ignore				\
	",\"exclude\":[" exclude "],\"set\":{" set "},"		\
	"\"includeOnly\":["						\
	only "]}"

START_TEST(test_exact)
{
	ck_assert_str_eq(made("{}", NULL), "");
	ck_assert_str_eq(made("{\"B\":\"2\",\"A\":\"\",\"C_KEY\":\"x=y\"}",
	    NULL), "A= B=2 C_KEY=x=y");
	ck_assert_str_eq(made("{\"CODEX_EXEC_SERVER_NOISE_AUTH_TOKEN\":\"1\","
	    "\"CODEX_EXEC_SERVER_EXIT_ON_STDIN_CLOSE\":\"1\",\"A\":\"1\"}",
	    NULL), "A=1");
}
END_TEST

START_TEST(test_policies)
{
	static const struct {
		const char	*env, *policy, *want;
	} cases[] = {
		{ "{}", POLICY("none", "false", "", "", ""), "" },
		{ "{}", POLICY("core", "false", "", "", ""),
		    "HOME=/home/u PATH=/bin" },
		{ "{}", POLICY("all", "false", "", "", ""),
		    "EMPTY= FOOBAR=5 Foo=a=b HOME=/home/u PATH=/bin" },
		{ "{}", POLICY("all", "true", "", "", ""),
		    "EMPTY= FOOBAR=5 Foo=a=b HOME=/home/u MY_KEY=1 PATH=/bin "
		    "TokeN=3 secretive=2" },
		{ "{}", POLICY("all", "false", "\"fo*\",\"HOM?\"", "", ""),
		    "EMPTY= PATH=/bin" },
		/* Not touched by steps 2 and 3, but by step 5. */
		{ "{}", POLICY("none", "false", "\"*\"",
		    "\"A_KEY\":\"1\",\"B\":\"2\"", ""), "A_KEY=1 B=2" },
		{ "{\"Z\":\"9\"}", POLICY("all", "true", "",
		    "\"A\":\"1\",\"PATH\":\"/x\"", "\"pa*\""),
		    "PATH=/x Z=9" },
		{ "{\"PATH\":\"/y\",\"MY_KEY\":\"7\"}", POLICY("core", "false",
		    "", "\"PATH\":\"/x\"", ""),
		    "HOME=/home/u MY_KEY=7 PATH=/y" },
		/* Whole names; brackets are ordinary. */
		{ "{}", POLICY("all", "false", "\"OO\",\"[F]oo\",\"F??\"", "",
		    "\"F*\",\"*[*\""), "FOOBAR=5" },
		{ "{}", POLICY("all", "true", "", "", "\"\""), "" },
		{ "{}", POLICY("all", "true", "\"\"", "", "\"**m**y*\""),
		    "MY_KEY=1" },
	};
	size_t	 i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char	*got = made(cases[i].env, cases[i].policy);

		/* MY_KEY and EMPTY both match **m**y*, see the last row. */
		if (strstr(cases[i].policy, "**m") != NULL) {
			ck_assert_ptr_nonnull(strstr(got, "MY_KEY=1"));
			continue;
		}
		ck_assert_str_eq(got, cases[i].want);
	}
}
END_TEST

START_TEST(test_refused)
{
	static const char *const bad[] = {
		"{\"A\":1}", "{\"\":\"x\"}", "{\"A=B\":\"x\"}",
		"{\"A\":null}", "{\"A\":\"\",\"=\":\"\\u0000\"}",
	};
	/* JSON that the protocol allows and no process can have. */
	static const char *const impossible[] = {
		"{\"A\\u0000\":\"x\"}", "{\"A\":\"\\u0000\"}",
		"{\"OK\":\"\",\"A\":\"x\\u0000y\"}",
	};
	static const char *const policies[] = {
		"{}", POLICY("some", "true", "", "", ""),
		POLICY("all", "1", "", "", ""),
		POLICY("all", "true", "1", "", ""),
		POLICY("all", "true", "", "\"A\":1", ""),
		POLICY("all", "true", "", "", "null"),
		POLICY("all", "true", "", "\"=\":\"\"", ""),
	};
	size_t	 i;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		ck_assert_msg(made(bad[i], NULL)[0] == '!', "%s", bad[i]);
	for (i = 0; i < sizeof(impossible) / sizeof(impossible[0]); i++)
		ck_assert_msg(made(impossible[i], NULL)[0] == '?', "%s",
		    impossible[i]);
	ck_assert_int_eq(made("{}", POLICY("all", "true", "",
	    "\"A\":\"\\u0000\"", ""))[0], '?');
	for (i = 0; i < sizeof(policies) / sizeof(policies[0]); i++)
		ck_assert_msg(made("{}", policies[i])[0] == '!', "%s",
		    policies[i]);
}
END_TEST

/* Many stars cost no more than the lengths multiplied. */
START_TEST(test_patterns)
{
	static char	 policy[4096], pattern[600], name[1200];
	clock_t		 began = clock();
	size_t		 i;

	for (i = 0; i < 250; i++)
		memcpy(pattern + 2 * i, "*a", 3);
	strcat(pattern, "b");
	memset(name, 'a', 1000);
	snprintf(policy, sizeof(policy), POLICY("none", "true", "",
	    "\"%s\":\"\"", "\"%s\""), name, pattern);
	ck_assert_str_eq(made("{}", policy), "");
	ck_assert_int_lt(clock() - began, CLOCKS_PER_SEC / 2);
}
END_TEST

/* So many variables as a client may send; execve(2) takes fewer. */
START_TEST(test_many)
{
	clock_t		 began = clock();
	struct envp_error why;
	struct param_error bad;
	char		*text = malloc(100000 * 16), **e;
	size_t		 n, len = 0;

	len += (size_t)sprintf(text, "{\"p\":{\"processId\":\"\","
	    "\"argv\":[],\"cwd\":\"file:///\",\"tty\":false,\"env\":{");
	for (n = 0; n < 100000; n++)
		len += (size_t)sprintf(text + len, "%s\"V%06zu\":\"\"",
		    n > 0 ? "," : "", n);
	len += (size_t)sprintf(text + len, "}}}");
	ck_assert(decode(text, len, &bad));
	ck_assert((e = envp_make(&p.env, NULL, server, &why)) != NULL);
	for (n = 0; e[n] != NULL; n++)
		continue;
	ck_assert_uint_eq(n, 100000);
	ck_assert_str_eq(envp_get(e, "V000777"), "");
	ck_assert_ptr_null(envp_get(e, "V00077"));
	envp_free(&e);
	json_fini(&j);
	free(text);
	ck_assert_msg(clock() - began < 2 * CLOCKS_PER_SEC, "%.1f s",
	    (double)(clock() - began) / CLOCKS_PER_SEC);
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("envp");
	TCase	*t = tcase_create("envp");
	SRunner	*r;
	int	 failed;

	tcase_set_timeout(t, 120);
	tcase_add_test(t, test_exact);
	tcase_add_test(t, test_policies);
	tcase_add_test(t, test_refused);
	tcase_add_test(t, test_patterns);
	tcase_add_test(t, test_many);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed != 0;
}
