/*
 * master/execsrvctl/fleet/fleet_token.c: the file of tokens before and after
 * each command, and every reason why it stays as it was.
 */
#include <sys/stat.h>

#include <check.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "master/execsrvctl/control.h"
#include "master/execsrvctl/fleet/fleet_token.h"
#include "t/unit/left_out.h"
#include "t/unit/said_help.h"
#include "t/unit/scratch_help.h"

#define HASH	"sha256:0123456789abcdef"
#define OLD	"# tokens\n  a\tsha256:1 register=x\nab sha256:2\n\n"

static struct fleet_token_options o;
static char			 top[SCRATCH_SIZE], path[80], beside[90];

static void
put(const char *text)
{
	FILE	*f = fopen(path, "w");

	ck_assert_ptr_nonnull(f);
	fputs(text, f);
	ck_assert_int_eq(fclose(f), 0);
}

static void
get(char out[400])
{
	FILE	*f = fopen(path, "r");

	ck_assert_ptr_nonnull(f);
	out[fread(out, 1, 399, f)] = '\0';
	ck_assert_int_eq(fclose(f), 0);
	/* Nothing is left beside it. */
	ck_assert_int_eq(access(beside, F_OK), -1);
}

static void
ck_file(const char *want)
{
	char	 text[400];

	get(text);
	ck_assert_str_eq(text, want);
}

static int
command(const char *verb, const char *name)
{
	char	*arg[] = { (char *)(uintptr_t)verb, (char *)(uintptr_t)name,
		    NULL };

	return fleet_token_command(&o, arg);
}

static void
setup(void)
{
	scratch_make(top, "fleet_token");
	snprintf(path, sizeof(path), "%s/tokens", top);
	snprintf(beside, sizeof(beside), "%s.new", path);
	memset(&o, 0, sizeof(o));
	o.file = path;
	said_begin();
}

static void
teardown(void)
{
	said_end();
	unlink(path);
	ck_assert_int_eq(rmdir(top), 0);
}

/* --- new ones --- */

/* The line of one that was printed, with what follows its hash. */
static void
ck_new(const char *name, const char *before, const char *after)
{
	unsigned char	 hash[crypto_hash_sha256_BYTES];
	char		 text[400], hex[2 * sizeof(hash) + 1], token[65],
			 line[80], want[400];

	ck_assert_int_eq(command("new", name), EXIT_OK);
	said_end();
	ck_assert_str_eq(said_error(), "");
	ck_assert_uint_eq(strlen(said_output()), 65);
	snprintf(token, sizeof(token), "%s", said_output());
	ck_assert_uint_eq(strspn(token, "0123456789abcdef"), 64);
	snprintf(line, sizeof(line), "%s\n", token);
	ck_assert_str_eq(said_output(), line);
	said_begin();
	crypto_hash_sha256(hash, (const unsigned char *)token, 64);
	sodium_bin2hex(hex, sizeof(hex), hash, sizeof(hash));
	get(text);
	snprintf(want, sizeof(want), "%s%s sha256:%s%s\n", before, name, hex,
	    after);
	ck_assert_str_eq(text, want);
}

START_TEST(test_new)
{
	struct stat	 st;
	char		 after[80], longest[65], text[400];
	time_t		 now;

	ck_new("a", "", "");
	ck_assert_int_eq(stat(path, &st), 0);
	ck_assert_int_eq(st.st_mode & 07777, 0600);
	/* A line that does not end gets its end. */
	put("# x\nb sha256:2");
	o.may_register = "r*,s";
	o.may_connect = "c";
	ck_new("a", "# x\nb sha256:2\n", " register=r*,s connect=c");
	put("");
	memset(longest, 'Z', 64);
	longest[64] = '\0';
	o.may_register = o.may_connect = NULL;
	ck_new(longest, "", "");
	put("");
	o.days = "36500";
	/* In one second of the clock. */
	do {
		now = time(NULL);
		snprintf(after, sizeof(after), " expires=%lld", (long long)now
		    + 36500LL * 86400);
		put("");
		said_end();
		said_begin();
		ck_assert_int_eq(command("new", "az.AZ_09-"), EXIT_OK);
	} while (time(NULL) != now);
	get(text);
	ck_assert_ptr_nonnull(strstr(text, after));
}
END_TEST

#define NAMES		"expected up to 64 letters, digits, \".\", \"_\", \"-\""
#define PATTERNS	"patterns have no blanks, quotes or \"#\""

static const struct {
	const char	*name, *may_register, *may_connect, *days, *why;
} refused[] = {
	{ "", NULL, NULL, NULL, "execsrvctl: : " NAMES "\n" },
	{ "a b", NULL, NULL, NULL, "execsrvctl: a b: " NAMES "\n" },
	{ "0123456789012345678901234567890123456789012345678901234567890123"
	    "4", NULL, NULL, NULL, "execsrvctl: 01234567890123456789012345678"
	    "901234567890123456789012345678901234: " NAMES "\n" },
	{ "c", "", NULL, NULL, "execsrvctl: c: " PATTERNS "\n" },
	{ "c", NULL, "a b", NULL, "execsrvctl: c: " PATTERNS "\n" },
	{ "c", NULL, "a#", NULL, "execsrvctl: c: " PATTERNS "\n" },
	{ "c", "a\"", NULL, NULL, "execsrvctl: c: " PATTERNS "\n" },
	{ "c", "a\\", NULL, NULL, "execsrvctl: c: " PATTERNS "\n" },
	{ "c", "a\n", NULL, NULL, "execsrvctl: c: " PATTERNS "\n" },
	{ "c", NULL, NULL, "0", "execsrvctl: 0: not a number of days\n" },
	{ "c", NULL, NULL, "36501", "execsrvctl: 36501: not a number of days"
	    "\n" },
	{ "c", NULL, NULL, "1d", "execsrvctl: 1d: not a number of days\n" },
	{ "a", NULL, NULL, NULL, "execsrvctl: a: there is such a token; "
	    "revoke it first\n" },
	{ "ab", NULL, NULL, NULL, "execsrvctl: ab: there is such a token; "
	    "revoke it first\n" },
};

START_TEST(test_refused)
{
	put(OLD);
	o.may_register = refused[_i].may_register;
	o.may_connect = refused[_i].may_connect;
	o.days = refused[_i].days;
	ck_assert_int_eq(command("new", refused[_i].name), EXIT_OTHER);
	ck_said(refused[_i].why, "");
	ck_file(OLD);
}
END_TEST

/* --- the others --- */

START_TEST(test_revoke)
{
	put(OLD "a sha256:3");
	ck_assert_int_eq(command("revoke", "b"), EXIT_OTHER);
	ck_said("execsrvctl: b: no such token\n", "");
	ck_file(OLD "a sha256:3");
	ck_assert_int_eq(command("revoke", "a"), EXIT_OK);
	ck_said("", "");
	ck_file("# tokens\nab sha256:2\n\n");
	ck_assert_int_eq(chmod(path, 0640), 0);
	ck_assert_int_eq(command("revoke", "ab"), EXIT_OK);
	ck_file("# tokens\n\n");
}
END_TEST

/* The file stays its owner's, and its group's. */
START_TEST(test_owner)
{
	struct stat	 st;
	int		 i;

	if (geteuid() != 0) {
		left_out("other users take root");
		return;
	}
	for (i = 0; i < 2; i++) {
		put(OLD);
		ck_assert_int_eq(chown(path, i == 0 ? 1 : 0, i == 0 ? 0 : 2),
		    0);
		ck_assert_int_eq(command("revoke", "a"), EXIT_OK);
		ck_assert_int_eq(stat(path, &st), 0);
		ck_assert_uint_eq(st.st_uid, i == 0 ? 1 : 0);
		ck_assert_uint_eq(st.st_gid, i == 0 ? 0 : 2);
		ck_assert_int_eq(st.st_mode & 07777, 0600);
	}
}
END_TEST

START_TEST(test_list)
{
	put("# " HASH "\n#" HASH "\nno hash\n\n  a " HASH " register=x\r\n"
	    "b\t \t" HASH "\nc " HASH "\texpires=\0331 x");
	ck_assert_int_eq(command("list", NULL), EXIT_OK);
	ck_said("", "  a register=x\nb\nc?expires=?1 x\n");
}
END_TEST

START_TEST(test_file)
{
	static char	 longest[5000];
	char		 why[200];

	ck_assert_int_eq(command("list", NULL), EXIT_OTHER);
	snprintf(why, sizeof(why), "execsrvctl: %s: No such file or directory"
	    "\n", path);
	ck_said(why, "");
	ck_assert_int_eq(mkdir(path, 0700), 0);
	ck_assert_int_eq(command("list", NULL), EXIT_OTHER);
	snprintf(why, sizeof(why), "execsrvctl: %s: Is a directory\n", path);
	ck_said(why, "");
	ck_assert_int_eq(command("new", "a"), EXIT_OTHER);
	ck_said(why, "");
	ck_assert_int_eq(access(beside, F_OK), -1);
	ck_assert_int_eq(rmdir(path), 0);
	/* Somebody else is at it. */
	put(OLD);
	ck_assert_int_eq(mkdir(beside, 0700), 0);
	ck_assert_int_eq(command("revoke", "a"), EXIT_OTHER);
	snprintf(why, sizeof(why), "execsrvctl: %s: File exists\n", beside);
	ck_said(why, "");
	ck_assert_int_eq(rmdir(beside), 0);
	ck_file(OLD);
	memset(longest, 'x', sizeof(longest) - 1);
	o.file = longest;
	ck_assert_int_eq(command("revoke", "a"), EXIT_OTHER);
	said_end();
	ck_assert_ptr_nonnull(strstr(said_error(), "x: File name too long\n"));
	said_begin();
}
END_TEST

#define USAGE	"execsrvctl: fleet token: expected new NAME, list, or revoke "\
		"NAME\n"

START_TEST(test_usage)
{
	static const char	*const words[][2] = {
		{ "new", NULL }, { "revoke", NULL }, { "list", "a" },
		{ "what", NULL }
	};
	size_t			 i;

	for (i = 0; i < 4; i++) {
		ck_assert_int_eq(command(words[i][0], words[i][1]),
		    EXIT_USAGE);
		ck_said(USAGE, "");
	}
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("fleet_token");
	TCase	*tc = tcase_create("all");
	SRunner	*sr;
	int	 failed;

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, test_new);
	tcase_add_loop_test(tc, test_refused, 0,
	    sizeof(refused) / sizeof(refused[0]));
	tcase_add_test(tc, test_revoke);
	tcase_add_test(tc, test_owner);
	tcase_add_test(tc, test_list);
	tcase_add_test(tc, test_file);
	tcase_add_test(tc, test_usage);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
