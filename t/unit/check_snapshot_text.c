/* Shell snapshots: output taken apart, command lines and environments made. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <check.h>

#include "common/limit.h"
#include "worker/proc/envp.h"
#include "worker/proc/snapshot_text.h"

#define NROWS(a)	(sizeof(a) / sizeof((a)[0]))
#define B		"\0EXECSRV_SNAPSHOT\0"
#define E		"EXECSRV_SNAPSHOT_END"
#define TEXT(s)		s, sizeof(s)

/* Output, each with a NUL behind it; state NULL: there is none. */
static const struct {
	const char	*out;
	size_t		 len;
	const char	*state, *left;	/* with blanks between */
} outs[] = {
	{ TEXT(B "state\nx\0A=1\0B=2 3\0" E), "state\nx", "A=1 B=2 3" },
	{ TEXT("noise\n\0more" B "s\0" E "\0behind"), "s", "" },
	{ TEXT(B "\0A=\0" E), "", "A=" },
	{ TEXT(B "s\0A=1\nEXECSRV_SNAPSHOT_END=1\0" E), "s",
	    "A=1\nEXECSRV_SNAPSHOT_END=1" },
	{ TEXT(B "s\0PWD=/\0OLDPWD=/\0SHLVL=1\0_=x\0PWDX=1\0no\0=1\0"
	    "__EXECSRV_SNAPSHOT_0=x\0" E), "s", "PWDX=1" },
	{ TEXT(""), NULL, NULL },
	{ TEXT("EXECSRV_SNAPSHOT\0s\0A=1\0" E), NULL, NULL },
	{ TEXT(B "s\0A=1"), NULL, NULL },
	{ B "s\0A=1\0" E, sizeof(B "s\0A=1\0" E) - 1, NULL, NULL },
	{ TEXT(E "\0" B), NULL, NULL },
};

START_TEST(test_parse)
{
	char	*copy = malloc(outs[_i].len), *state, **left, joined[256];
	size_t	 i;
	int	 n = 0, rv;

	ck_assert_ptr_nonnull(copy);
	memcpy(copy, outs[_i].out, outs[_i].len);
	rv = snapshot_parse(copy, outs[_i].len, &state, &left);
	ck_assert_int_eq(rv, outs[_i].state != NULL ? 0 : -1);
	if (rv == 0) {
		ck_assert_str_eq(state, outs[_i].state);
		joined[0] = '\0';
		for (i = 0; left[i] != NULL; i++)
			n += snprintf(joined + n, sizeof(joined) - (size_t)n,
			    "%s%s", i > 0 ? " " : "", left[i]);
		ck_assert_str_eq(joined, outs[_i].left);
	}
	free(copy);
	free(state);
	envp_free(&left);
}
END_TEST

START_TEST(test_complete)
{
	static const char	 out[] = B "s\0A=1\0" E;
	size_t			 n;

	/* In two parts, wherever the cut is. */
	for (n = 0; n < sizeof(out); n++) {
		ck_assert(!snapshot_is_complete(out, n, 0));
		ck_assert(snapshot_is_complete(out, sizeof(out), n));
	}
}
END_TEST

START_TEST(test_shells)
{
	static char		 bash[] = "bash", zsh[] = "zsh";
	static char		 fish[] = "fish";
	struct param_text	 name = { bash, 4 };
	enum snapshot_shell	 shell;

	ck_assert_int_eq(snapshot_shell_find(&name, &shell), 0);
	ck_assert(shell == SNAPSHOT_BASH && snapshot_script(shell) != NULL);
	name.len = 2;
	ck_assert_int_eq(snapshot_shell_find(&name, &shell), -1);
	name.s = zsh;
	name.len = 3;
	ck_assert_int_eq(snapshot_shell_find(&name, &shell), 0);
	ck_assert_ptr_null(snapshot_script(shell));
	name.s = fish;
	name.len = 4;
	ck_assert_int_eq(snapshot_shell_find(&name, &shell), -1);
}
END_TEST

START_TEST(test_argv)
{
	static char	 zero[] = "/bin/sh", one[] = "-lc", two[] = "echo $1";
	static char	 three[] = "a b";
	char		*argv[] = { zero, one, two, three, NULL }, **made;
	char		*state;

	ck_assert_ptr_nonnull(made = snapshot_argv(SNAPSHOT_SH, argv, "x"));
	ck_assert_str_eq(made[0], "/bin/sh");
	ck_assert_str_eq(made[1], "-c");
	ck_assert_ptr_nonnull(strstr(made[2], "eval \"unset "
	    "__EXECSRV_SNAPSHOT_0\n${__EXECSRV_SNAPSHOT_0}\""));
	ck_assert_str_eq(made[2] + strlen(made[2]) - strlen("fi\necho $1"),
	    "fi\necho $1");
	ck_assert_str_eq(made[3], "a b");
	ck_assert_ptr_null(made[4]);
	envp_free(&made);
	/* The longest state. */
	ck_assert_ptr_nonnull(state = malloc(LIMIT_SNAPSHOT + 1));
	memset(state, 'x', LIMIT_SNAPSHOT);
	state[LIMIT_SNAPSHOT] = '\0';
	made = snapshot_argv(SNAPSHOT_BASH, argv, state);
	ck_assert_ptr_nonnull(made);
	ck_assert_str_eq(made[1], "-pc");
	ck_assert_ptr_nonnull(strstr(made[2], "${__EXECSRV_SNAPSHOT_8}\""));
	envp_free(&made);
	free(state);
}
END_TEST

START_TEST(test_envp)
{
	static char	 a1[] = "A=1", a2[] = "A=2", ab[] = "AB=2";
	static char	 b3[] = "B=3";
	static char	 a4[] = "A=4", b4[] = "B=4", c4[] = "C=4";
	char		*own[] = { a1, NULL }, *left[] = { a2, ab, b3, NULL };
	char		*prepared[] = { a4, b4, c4, NULL }, **made;

	ck_assert_ptr_nonnull(made = snapshot_envp(own, left, prepared, "s"));
	ck_assert_str_eq(made[0], "A=1");
	ck_assert_str_eq(made[1], "AB=2");
	ck_assert_str_eq(made[2], "B=3");
	ck_assert_str_eq(made[3], "C=4");
	ck_assert_str_eq(made[4], "__EXECSRV_SNAPSHOT_0=s");
	ck_assert_ptr_null(made[5]);
	envp_free(&made);
}
END_TEST

START_TEST(test_policy)
{
	static char			 x[] = "X*", n[] = "N", v[] = "v\0w";
	struct param_text		 exclude = { x, 2 };
	struct param_pair		 set = { { n, 1 }, { v, 3 } };
	struct env_policy_params	 p;
	struct snapshot_policy		 copy;

	memset(&p, 0, sizeof(p));
	p.exclude.n = p.set.n = 1;
	p.exclude.v = &exclude;
	p.set.v = &set;
	ck_assert_int_eq(snapshot_policy_init(&copy, &p), 0);
	x[0] = n[0] = v[0] = '?';
	ck_assert(param_is(&copy.params.inherit, "all"));
	ck_assert(!copy.params.ignore_default);
	ck_assert_uint_eq(copy.params.exclude.n, 1);
	ck_assert_str_eq(copy.params.exclude.v[0].s, "X*");
	ck_assert_uint_eq(copy.params.include_only.n, 0);
	ck_assert_str_eq(copy.params.set.v[0].name.s, "N");
	ck_assert_int_eq(memcmp(copy.params.set.v[0].value.s, "v\0w", 4), 0);
	snapshot_policy_fini(&copy);
	ck_assert_int_eq(snapshot_policy_init(&copy, NULL), 0);
	ck_assert(copy.params.ignore_default && copy.params.exclude.n == 0);
	snapshot_policy_fini(&copy);
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("snapshot_text");
	TCase	*t = tcase_create("texts");
	SRunner	*r;
	int	 bad;

	tcase_add_loop_test(t, test_parse, 0, NROWS(outs));
	tcase_add_test(t, test_complete);
	tcase_add_test(t, test_shells);
	tcase_add_test(t, test_argv);
	tcase_add_test(t, test_envp);
	tcase_add_test(t, test_policy);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	bad = srunner_ntests_failed(r);
	srunner_free(r);
	return bad != 0;
}
