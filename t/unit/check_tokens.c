/* master/auth/tokens.c: sets of tokens, one beside another. */
#include <sys/stat.h>

#include <check.h>
#include <pwd.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/limit.h"
#include "master/auth/tokens.h"

static struct conf	 c;
static struct conf_error e;
static struct conf_error why;
static char		 user[64], path[128];
static struct grant	 grant;
static bool		 is_guess;

static void
set(const char *keyword, const char *value)
{
	ck_assert_int_eq(conf_set(&c, keyword, value, &e), 0);
}

static void
setup(void)
{
	const struct passwd	*pw = getpwuid(geteuid());
	const char		*tmp = getenv("TMPDIR");
	int			 fd;

	ck_assert_int_ge(sodium_init(), 0);
	ck_assert_int_eq(conf_init(&c), 0);
	ck_assert_ptr_nonnull(pw);
	snprintf(user, sizeof(user), "%s", pw->pw_name);
	set("PermitRootSession", "yes");
	snprintf(path, sizeof(path), "%s/check_tokens.XXXXXX",
	    tmp == NULL ? "/tmp" : tmp);
	ck_assert_int_ne(fd = mkstemp(path), -1);
	close(fd);
}

static void
teardown(void)
{
	unlink(path);
	conf_fini(&c);
}

static void
put_file(const char *text)
{
	FILE	*f = fopen(path, "w");

	ck_assert_ptr_nonnull(f);
	ck_assert_int_ge(fputs(text, f), 0);
	ck_assert_int_eq(fclose(f), 0);
	ck_assert_int_eq(chmod(path, 0600), 0);
}

/* The line about a token. */
static const char *
line(const char *name, const char *token)
{
	static char	 text[256];
	char		 hex[2 * crypto_hash_sha256_BYTES + 1];
	uint8_t		 hash[crypto_hash_sha256_BYTES];

	crypto_hash_sha256(hash, (const uint8_t *)token, strlen(token));
	sodium_bin2hex(hex, sizeof(hex), hash, sizeof(hash));
	snprintf(text, sizeof(text), "%s sha256:%s user=%s", name, hex, user);
	return text;
}

static struct tokens *
load(void)
{
	return tokens_load(&c, &why);
}

static const char *
judge(const struct tokens *t, const char *token)
{
	return tokens_judge(t, token, strlen(token), 1000, &grant,
	    &is_guess);
}

START_TEST(test_none)
{
	struct tokens	*t = load();

	ck_assert_ptr_nonnull(t);
	ck_assert(!tokens_any(t) && !tokens_any(NULL));
	ck_assert_str_eq(judge(t, "x"), "wrong token");
	ck_assert(is_guess);
	tokens_free(&t);
	ck_assert_ptr_null(t);
	tokens_free(&t);
}
END_TEST

/* What a reload does: the old set counts until there is another one. */
START_TEST(test_again)
{
	struct tokens	*old, *new;
	char		 text[512];
	size_t		 i;

	set("Token", line("one", "first"));
	set("TokenFile", path);
	snprintf(text, sizeof(text), "# more\r\n\r\n%s\r\n\n",
	    line("two", "second"));
	put_file(text);
	ck_assert_msg((old = load()) != NULL, "%s", why.text);
	put_file("two sha256:00\n");
	ck_assert_ptr_null(load());
	ck_assert_ptr_nonnull(strstr(why.text, "line 1"));
	ck_assert_ptr_null(judge(old, "first"));
	ck_assert_str_eq(grant.identity, "token:one");
	ck_assert_uint_eq(grant.user.uid, geteuid());
	ck_assert_ptr_null(judge(old, "second"));
	ck_assert_str_eq(grant.identity, "token:two");
	put_file(line("one", "third"));
	ck_assert_msg((new = load()) != NULL, "%s", why.text);
	ck_assert_ptr_null(judge(new, "third"));
	ck_assert_str_eq(grant.identity, "token:one");
	ck_assert_ptr_null(judge(new, "first"));
	ck_assert_ptr_nonnull(judge(new, "second"));
	ck_assert_ptr_null(judge(old, "second"));
	tokens_free(&old);
	tokens_wipe(&c);
	for (i = 0; i < c.token.n; i++)
		ck_assert_uint_eq(strlen(c.token.item[i]), 0);
	ck_assert_ptr_null(judge(new, "third"));
	tokens_free(&new);
}
END_TEST

START_TEST(test_many)
{
	struct tokens	*t;
	char		 name[32], token[32];
	int		 i;

	for (i = 0; i < 100; i++) {
		snprintf(name, sizeof(name), "n%d", i);
		snprintf(token, sizeof(token), "token %d", i);
		set("Token", line(name, token));
	}
	ck_assert_msg((t = load()) != NULL, "%s", why.text);
	for (i = 0; i < 100; i++) {
		snprintf(name, sizeof(name), "token:n%d", i);
		snprintf(token, sizeof(token), "token %d", i);
		ck_assert_ptr_null(judge(t, token));
		ck_assert_str_eq(grant.identity, name);
	}
	ck_assert_ptr_nonnull(judge(t, "token 100"));
	tokens_free(&t);
}
END_TEST

START_TEST(test_too_many)
{
	struct tokens	*t;
	const char	*row = line("n", "token");
	int		 i;

	for (i = 0; i < LIMIT_TOKENS; i++)
		set("Token", row);
	ck_assert_msg((t = load()) != NULL, "%s", why.text);
	tokens_free(&t);
	set("Token", row);
	ck_assert_ptr_null(load());
	ck_assert_ptr_nonnull(strstr(why.text, "too many"));
}
END_TEST

/* What does not fit together. */
START_TEST(test_settings)
{
	set("RequireToken", "always");
	ck_assert_ptr_null(load());
	ck_assert_ptr_nonnull(strstr(why.text, "RequireToken"));
	set("BearerIssuer", "me");
	ck_assert_ptr_null(load());
	ck_assert_ptr_nonnull(strstr(why.text, "BearerSecretFile"));
	set("BearerSecretFile", "/nowhere/at/all");
	set("TokenUser", user);
	ck_assert_ptr_null(load());
	ck_assert_ptr_nonnull(strstr(why.text, "/nowhere/at/all"));
	set("TokenUser", "nobody of that name");
	ck_assert_ptr_null(load());
	ck_assert_ptr_nonnull(strstr(why.text, "no such user"));
}
END_TEST

START_TEST(test_signed)
{
	struct tokens	*t;

	/* As check_jwt has it, by another program. */
	static const char	 token[] =
		"eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9."
		"eyJleHAiOjEwMDAsInN1YiI6ImFubiJ9."
		"FkiHV5DbSU-BCehM0kttC1RymJh0C5q9_Od-0NY6BhU";

	put_file("  0123456789abcdef0123456789abcdef\r\n");
	set("BearerSecretFile", path);
	set("TokenUser", user);
	ck_assert_msg((t = load()) != NULL, "%s", why.text);
	ck_assert(tokens_any(t));
	ck_assert_ptr_null(judge(t, token));
	ck_assert_str_eq(grant.identity, "jwt:ann");
	ck_assert_uint_eq(grant.user.uid, geteuid());
	ck_assert_str_eq(tokens_judge(t, token, strlen(token), 9000, &grant,
	    &is_guess), "expired");
	ck_assert(!is_guess);
	ck_assert_str_eq(judge(t, "a.b.c"), "wrong token");
	ck_assert(is_guess);
	tokens_free(&t);
	put_file("0123456789abcdef0123456789abcde\n");
	ck_assert_ptr_null(load());
	ck_assert_ptr_nonnull(strstr(why.text, "32 bytes"));
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("tokens");
	TCase	*t = tcase_create("tokens");
	SRunner	*r;
	int	 failed;

	tcase_set_timeout(t, 60);
	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, test_none);
	tcase_add_test(t, test_again);
	tcase_add_test(t, test_many);
	tcase_add_test(t, test_too_many);
	tcase_add_test(t, test_settings);
	tcase_add_test(t, test_signed);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed != 0;
}
