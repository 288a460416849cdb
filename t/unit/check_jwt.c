/* master/auth/jwt.c: signed tokens. */
#include <check.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "master/auth/jwt.h"

#define N(rows)	(int)(sizeof(rows) / sizeof((rows)[0]))

#define SECRET	"0123456789abcdef0123456789abcdef"
#define HEADER	"{\"alg\":\"HS256\"}"
#define SKEW	30

/* By another program (hmac of Python): {"exp":1000,"sub":"ann"} */
#define FOREIGN								\
	"eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9."				\
	"eyJleHAiOjEwMDAsInN1YiI6ImFubiJ9."				\
	"FkiHV5DbSU-BCehM0kttC1RymJh0C5q9_Od-0NY6BhU"

static struct jwt_rules	 rules;
static char		 subject[JWT_SUBJECT_MAX + 1];

static void
setup(void)
{
	ck_assert_int_ge(sodium_init(), 0);
	memset(&rules, 0, sizeof(rules));
	rules.secret = (const uint8_t *)SECRET;
	rules.secret_len = strlen(SECRET);
	rules.skew = SKEW;
	strcpy(subject, "?");
}

static size_t
encode(char *out, size_t size, const void *data, size_t len)
{
	sodium_bin2base64(out, size, data, len,
	    sodium_base64_VARIANT_URLSAFE_NO_PADDING);
	return strlen(out);
}

/* A token of these parts, signed. */
static size_t
make(char *out, size_t size, const char *header, const char *claims)
{
	crypto_auth_hmacsha256_state	 st;
	uint8_t				 mac[crypto_auth_hmacsha256_BYTES];
	size_t				 n;

	n = encode(out, size, header, strlen(header));
	out[n++] = '.';
	n += encode(out + n, size - n, claims, strlen(claims));
	crypto_auth_hmacsha256_init(&st, rules.secret, rules.secret_len);
	crypto_auth_hmacsha256_update(&st, (const uint8_t *)out, n);
	crypto_auth_hmacsha256_final(&st, mac);
	out[n++] = '.';
	return n + encode(out + n, size - n, mac, sizeof(mac));
}

static enum jwt_verdict
judge(const char *header, const char *claims, uint64_t now)
{
	static char	 text[4 * JWT_MAX];
	size_t		 n = make(text, sizeof(text), header, claims);

	return jwt_judge(&rules, text, n, now, subject);
}

START_TEST(test_foreign)
{
	char	 text[] = FOREIGN;
	size_t	 i, k, len = strlen(text);

	ck_assert_int_eq(jwt_judge(&rules, text, len, 1000, subject),
	    JWT_GOOD);
	ck_assert_str_eq(subject, "ann");
	/* Any other bit, anywhere, and any other length. */
	for (i = 0; i < len; i++)
		for (k = 0; k < 8; k++) {
			text[i] ^= (char)(1 << k);
			ck_assert_int_eq(jwt_judge(&rules, text, len, 1000,
			    subject), JWT_FORGED);
			text[i] ^= (char)(1 << k);
		}
	for (i = 0; i < len; i++)
		ck_assert_int_eq(jwt_judge(&rules, text, i, 1000, subject),
		    JWT_FORGED);
	rules.secret_len--;
	ck_assert_int_eq(jwt_judge(&rules, text, len, 1000, subject),
	    JWT_FORGED);
}
END_TEST

static const struct {
	const char		*claims;
	uint64_t		 now;
	enum jwt_verdict	 want;
} times[] = {
	{ "{\"exp\":1000}", 0, JWT_GOOD },
	{ "{\"exp\":1000}", 1000 + SKEW, JWT_GOOD },
	{ "{\"exp\":1000}", 1001 + SKEW, JWT_EXPIRED },
	{ "{\"exp\":0}", SKEW, JWT_GOOD },
	{ "{\"exp\":0}", SKEW + 1, JWT_EXPIRED },
	{ "{\"exp\":-1}", 0, JWT_EXPIRED },
	{ "{\"exp\":9223372036854775807}", 1u << 31, JWT_GOOD },
	{ "{\"exp\":9223372036854775808}", 0, JWT_MALFORMED },
	{ "{\"exp\":1e3}", 0, JWT_MALFORMED },
	{ "{\"exp\":1000.0}", 0, JWT_MALFORMED },
	{ "{\"exp\":\"1000\"}", 0, JWT_MALFORMED },
	{ "{\"exp\":null}", 0, JWT_MALFORMED },
	{ "{\"exp\":true}", 0, JWT_MALFORMED },
	{ "{}", 0, JWT_MALFORMED }, { "[]", 0, JWT_MALFORMED },
	{ "1000", 0, JWT_MALFORMED }, { "", 0, JWT_MALFORMED },
	{ "{\"exp\":1000", 0, JWT_MALFORMED },
	{ "{\"exp\":1000}x", 0, JWT_MALFORMED },
	{ "{\"exp\":1000,\"exp\":1000}", 0, JWT_MALFORMED },
	{ "{\"exp\":1000,\"x\":\"\xff\"}", 0, JWT_MALFORMED },
	{ "{\"exp\":1000,\"nbf\":500}", 500 - SKEW, JWT_GOOD },
	{ "{\"exp\":1000,\"nbf\":500}", 499 - SKEW, JWT_EARLY },
	{ "{\"exp\":1000,\"nbf\":-5}", 0, JWT_GOOD },
	{ "{\"exp\":1000,\"nbf\":null}", 0, JWT_GOOD },
	{ "{\"exp\":1000,\"nbf\":\"0\"}", 0, JWT_MALFORMED },
	{ "{\"exp\":1000,\"iss\":1}", 0, JWT_MALFORMED },
	{ "{\"exp\":1000,\"aud\":1}", 0, JWT_MALFORMED },
	{ "{\"exp\":1000,\"aud\":[1]}", 0, JWT_MALFORMED },
	{ "{\"exp\":1000,\"iss\":\"x\",\"aud\":[\"y\"]}", 0, JWT_GOOD },
};

START_TEST(test_times)
{
	ck_assert_int_eq(judge(HEADER, times[_i].claims, times[_i].now),
	    times[_i].want);
}
END_TEST

static const struct {
	const char		*header;
	enum jwt_verdict	 want;
} headers[] = {
	{ "{\"typ\":\"JWT\",\"alg\":\"HS256\",\"kid\":\"1\"}", JWT_GOOD },
	{ "{\"alg\":\"\\u0048S256\"}", JWT_GOOD },
	{ "{\"alg\":\"none\"}", JWT_MALFORMED },
	{ "{\"alg\":\"HS512\"}", JWT_MALFORMED },
	{ "{\"alg\":\"hs256\"}", JWT_MALFORMED },
	{ "{\"alg\":[\"HS256\"]}", JWT_MALFORMED },
	{ "{\"alg\":null}", JWT_MALFORMED }, { "{}", JWT_MALFORMED },
	{ "[\"alg\",\"HS256\"]", JWT_MALFORMED }, { "", JWT_MALFORMED },
	{ "{\"alg\":\"HS256\",\"alg\":\"HS256\"}", JWT_MALFORMED },
	{ "{\"alg\":\"HS256\",\"crit\":[\"exp\"]}", JWT_MALFORMED },
};

START_TEST(test_headers)
{
	ck_assert_int_eq(judge(headers[_i].header, "{\"exp\":1000}", 0),
	    headers[_i].want);
}
END_TEST

START_TEST(test_parties)
{
	rules.issuer = "me";
	rules.audience = "you";
	ck_assert_int_eq(judge(HEADER, "{\"exp\":1,\"iss\":\"me\","
	    "\"aud\":\"you\"}", 0), JWT_GOOD);
	ck_assert_int_eq(judge(HEADER, "{\"exp\":1,\"iss\":\"me\","
	    "\"aud\":[\"\",\"you\"]}", 0), JWT_GOOD);
	ck_assert_int_eq(judge(HEADER, "{\"exp\":1,\"iss\":\"m\","
	    "\"aud\":\"you\"}", 0), JWT_ISSUER);
	ck_assert_int_eq(judge(HEADER, "{\"exp\":1,\"iss\":null,"
	    "\"aud\":\"you\"}", 0), JWT_ISSUER);
	ck_assert_int_eq(judge(HEADER, "{\"exp\":1,\"aud\":\"you\"}", 0),
	    JWT_ISSUER);
	ck_assert_int_eq(judge(HEADER, "{\"exp\":1,\"iss\":\"me\\u0000\","
	    "\"aud\":\"you\"}", 0), JWT_ISSUER);
	ck_assert_int_eq(judge(HEADER, "{\"exp\":1,\"iss\":\"me\"}", 0),
	    JWT_AUDIENCE);
	ck_assert_int_eq(judge(HEADER, "{\"exp\":1,\"iss\":\"me\","
	    "\"aud\":[]}", 0), JWT_AUDIENCE);
	ck_assert_int_eq(judge(HEADER, "{\"exp\":1,\"iss\":\"me\","
	    "\"aud\":[\"you\",1]}", 0), JWT_MALFORMED);
}
END_TEST

#define S16	"ssssssssssssssss"
#define S64	S16 S16 S16 S16

static const struct {
	const char	*claims, *subject;	/* NULL: a hash */
} subjects[] = {
	{ "{\"exp\":1}", "" }, { "{\"exp\":1,\"sub\":7}", "" },
	{ "{\"exp\":1,\"sub\":null}", "" },
	{ "{\"exp\":1,\"sub\":\"a@b|c\"}", "a@b|c" },
	{ "{\"exp\":1,\"sub\":\"" S64 "\"}", S64 },
	{ "{\"exp\":1,\"sub\":\"s" S64 "\"}", NULL },
	{ "{\"exp\":1,\"sub\":\"\"}", "" },
	{ "{\"exp\":1,\"sub\":\"a b\"}", NULL },
	{ "{\"exp\":1,\"sub\":\"a\\u0000\"}", NULL },
	{ "{\"exp\":1,\"sub\":\"#a\"}", NULL },
	{ "{\"exp\":1,\"sub\":\"\xc3\xa4\"}", NULL },
};

START_TEST(test_subjects)
{
	ck_assert_int_eq(judge(HEADER, subjects[_i].claims, 0), JWT_GOOD);
	if (subjects[_i].subject != NULL) {
		ck_assert_str_eq(subject, subjects[_i].subject);
	} else {
		ck_assert_uint_eq(strlen(subject), 1 + 32);
		ck_assert_int_eq(subject[0], '#');
		ck_assert_uint_eq(strspn(subject + 1, "0123456789abcdef"),
		    32);
	}
}
END_TEST

/* Only a string is one. */
START_TEST(test_needs_subject)
{
	const char	*want = subjects[_i].subject;

	rules.needs_subject = true;
	ck_assert_int_eq(judge(HEADER, subjects[_i].claims, 0),
	    want != NULL && want[0] == '\0' ? JWT_SUBJECT : JWT_GOOD);
}
END_TEST

/* What is made of them: names with commas behind each; NULL: malformed. */
static const struct {
	const char	*claim, *want;
} groups[] = {
	{ "\"x\":1", "" }, { "\"groups\":null", "" }, { "\"groups\":[]", "" },
	{ "\"groups\":\"a b\"", "a b," }, { "\"groups\":[\"a\"]", "a," },
	{ "\"groups\":[\"b\",\"a\",\"b\"]", "b,a,b," },
	{ "\"groups\":\"\"", NULL }, { "\"groups\":[\"a\",\"\"]", NULL },
	{ "\"groups\":7", NULL }, { "\"groups\":[\"a\",7]", NULL },
	{ "\"groups\":{\"a\":\"b\"}", NULL }, { "\"groups\":true", NULL },
	{ "\"groups\":[[\"a\"]]", NULL }, { "\"groups\":[null]", NULL },
	{ "\"groups\":\"a\\u001f\"", NULL },
	{ "\"groups\":[\"a\\u007f\"]", NULL },
};

static enum jwt_verdict
judge_groups(const char *claim, struct jwt_groups *g)
{
	char	 claims[JWT_MAX], text[2 * JWT_MAX];
	size_t	 n;

	snprintf(claims, sizeof(claims), "{\"exp\":1000,%s}", claim);
	n = make(text, sizeof(text), HEADER, claims);
	return jwt_judge_groups(&rules, text, n, 0, subject, g);
}

START_TEST(test_groups)
{
	struct jwt_groups	 g;
	char			 got[64] = "";
	size_t			 i;

	if (groups[_i].want == NULL) {
		ck_assert_int_eq(judge_groups(groups[_i].claim, &g),
		    JWT_MALFORMED);
		return;
	}
	ck_assert_int_eq(judge_groups(groups[_i].claim, &g), JWT_GOOD);
	for (i = 0; i < g.n; i++) {
		strcat(got, g.name[i]);
		strcat(got, ",");
	}
	ck_assert_str_eq(got, groups[_i].want);
}
END_TEST

START_TEST(test_many_groups)
{
	struct jwt_groups	 g;
	char			 claim[JWT_MAX / 2] = "\"groups\":[\"a\"";
	size_t			 i;

	for (i = 1; i < JWT_GROUPS_MAX + (size_t)_i; i++)
		strcat(claim, ",\"a\"");
	strcat(claim, "]");
	ck_assert_int_eq(judge_groups(claim, &g), _i == 0 ? JWT_GOOD :
	    JWT_MALFORMED);
	if (_i == 0)
		ck_assert_uint_eq(g.n, JWT_GROUPS_MAX);
}
END_TEST

START_TEST(test_long)
{
	static char	 claims[2 * JWT_MAX], text[4 * JWT_MAX];
	size_t		 n, pad;

	/* As long as one may be, and longer. */
	for (pad = 6000; pad < 6200; pad++) {
		snprintf(claims, sizeof(claims), "{\"exp\":1,\"x\":\"%0*d\"}",
		    (int)pad, 0);
		n = make(text, sizeof(text), HEADER, claims);
		ck_assert_int_eq(jwt_judge(&rules, text, n, 0, subject),
		    n <= JWT_MAX ? JWT_GOOD : JWT_FORGED);
	}
	ck_assert_uint_gt(n, JWT_MAX);
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("jwt");
	TCase	*t = tcase_create("jwt");
	SRunner	*r;
	int	 failed;

	tcase_set_timeout(t, 60);
	tcase_add_checked_fixture(t, setup, NULL);
	tcase_add_test(t, test_foreign);
	tcase_add_loop_test(t, test_times, 0, N(times));
	tcase_add_loop_test(t, test_headers, 0, N(headers));
	tcase_add_test(t, test_parties);
	tcase_add_loop_test(t, test_subjects, 0, N(subjects));
	tcase_add_loop_test(t, test_needs_subject, 0, N(subjects));
	tcase_add_loop_test(t, test_groups, 0, N(groups));
	tcase_add_loop_test(t, test_many_groups, 0, 2);
	tcase_add_test(t, test_long);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed != 0;
}
