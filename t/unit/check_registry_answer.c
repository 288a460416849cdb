/* common/dial/registry_answer.c: what a registry may answer, and may not. */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/dial/registry_answer.h"
#include "common/json/b64.h"
#include "t/unit/json_help.h"

#define N(rows)	(int)(sizeof(rows) / sizeof((rows)[0]))

#define ENV	"\"environment_id\":\"env\""
#define URL	"\"url\":\"ws://h/x\""
#define PROFILE	"\"security_profile\":\"noise_hybrid_ik_v1\""
#define ID	"\"executor_registration_id\":\"reg\""
#define MORE	"\"transport_policy\":{\"url\":[1,{}]},\"id\":null"

static struct answer_registration	 a;

static int
registration(const char *text, size_t len, enum answer_kind kind,
    const char *environment)
{
	char	*copy = json_copy(text, len);
	int	 r;

	memset(&a, 0xa5, sizeof(a));
	errno = 0;
	r = answer_registration(&a, copy, len, kind, environment);
	free(copy);
	return r;
}

/* --- registrations ---------------------------------------------------------*/

static const struct {
	const char		*text;
	enum answer_kind	 kind;
	int			 error;
} answers[] = {
	{ "{" ENV "," URL "," PROFILE "," ID "}", ANSWER_NOISE, 0 },
	{ " {" ID "," PROFILE "," MORE "," URL "," ENV "}\r\n ",
	    ANSWER_NOISE, 0 },
	{ "{" ENV "," URL "}", ANSWER_CLEAR, 0 },
	{ "{" ENV "," URL "," PROFILE "," ID "," MORE "}", ANSWER_CLEAR, 0 },
	{ "{\"id\":\"i\",\"executor_id\":\"env\"," URL "}", ANSWER_PLAIN, 0 },
	{ "{\"executor_id\":\"env\"," URL "}", ANSWER_PLAIN, 0 },

	/* something is missing, or no text */
	{ "{" URL "," PROFILE "," ID "}", ANSWER_NOISE, EINVAL },
	{ "{" ENV "," PROFILE "," ID "}", ANSWER_NOISE, EINVAL },
	{ "{" ENV "," URL "," ID "}", ANSWER_NOISE, EINVAL },
	{ "{" ENV "," URL "," PROFILE "}", ANSWER_NOISE, EINVAL },
	{ "{" URL "}", ANSWER_CLEAR, EINVAL },
	{ "{" ENV "}", ANSWER_CLEAR, EINVAL },
	{ "{" ENV "," URL "}", ANSWER_PLAIN, EINVAL },
	{ "{\"executor_id\":\"env\"," URL "}", ANSWER_CLEAR, EINVAL },
	{ "{\"executor_id\":\"env\"}", ANSWER_PLAIN, EINVAL },
	{ "{\"environment_id\":1," URL "}", ANSWER_CLEAR, EINVAL },
	{ "{\"environment_id\":null," URL "}", ANSWER_CLEAR, EINVAL },
	{ "{\"environment_id\":[\"env\"]," URL "}", ANSWER_CLEAR, EINVAL },
	{ "{" ENV ",\"url\":null}", ANSWER_CLEAR, EINVAL },
	{ "{" ENV ",\"url\":{}}", ANSWER_CLEAR, EINVAL },
	{ "{" ENV "," URL ",\"security_profile\":true," ID "}", ANSWER_NOISE,
	    EINVAL },
	{ "{" ENV "," URL "," PROFILE ",\"executor_registration_id\":7}",
	    ANSWER_NOISE, EINVAL },
	{ "{" ENV "," URL "," PROFILE ",\"executor_registration_id\":null}",
	    ANSWER_NOISE, EINVAL },
	/* it would be cut off in the prologue */
	{ "{" ENV "," URL "," PROFILE ",\"executor_registration_id\":"
	    "\"a\\u0000b\"}", ANSWER_NOISE, EINVAL },
	{ "{\"Environment_Id\":\"env\"," URL "}", ANSWER_CLEAR, EINVAL },
	{ "{\"x\":{" ENV "," URL "}}", ANSWER_CLEAR, EINVAL },
	{ "[{" ENV "," URL "}]", ANSWER_CLEAR, EINVAL },

	/* for somebody else, or in another way */
	{ "{\"environment_id\":\"Env\"," URL "}", ANSWER_CLEAR, EBADMSG },
	{ "{\"environment_id\":\"\"," URL "}", ANSWER_CLEAR, EBADMSG },
	{ "{\"environment_id\":\"env \"," URL "}", ANSWER_CLEAR, EBADMSG },
	{ "{\"environment_id\":\"en\"," URL "}", ANSWER_CLEAR, EBADMSG },
	{ "{\"environment_id\":\"env\\u0000\"," URL "}", ANSWER_CLEAR,
	    EBADMSG },
	{ "{\"executor_id\":\"other\"," URL "}", ANSWER_PLAIN, EBADMSG },
	{ "{" ENV "," URL "," ID ",\"security_profile\":\"none\"}",
	    ANSWER_NOISE, EBADMSG },
	{ "{" ENV "," URL "," ID ",\"security_profile\":"
	    "\"noise_hybrid_ik_v1\\u0000\"}", ANSWER_NOISE, EBADMSG },
	{ "{" ENV "," URL "," ID ",\"security_profile\":\"\"}", ANSWER_NOISE,
	    EBADMSG },

	/* no JSON, or none of ours */
	{ "", ANSWER_CLEAR, EINVAL },
	{ " ", ANSWER_CLEAR, EINVAL },
	{ "null", ANSWER_CLEAR, EINVAL },
	{ "\"environment_id\"", ANSWER_CLEAR, EINVAL },
	{ "<html>", ANSWER_CLEAR, EINVAL },
	{ "{" ENV "," URL "", ANSWER_CLEAR, EINVAL },
	{ "{" ENV "," URL "}}", ANSWER_CLEAR, EINVAL },
	{ "{" ENV "," URL "}{}", ANSWER_CLEAR, EINVAL },
	{ "{" ENV "," URL ",}", ANSWER_CLEAR, EINVAL },
	{ "{" ENV "," URL "," URL "}", ANSWER_CLEAR, EINVAL },
	{ "{" ENV "," URL ",\"u\\u0072l\":\"ws://evil\"}", ANSWER_CLEAR,
	    EINVAL },
	{ "{" ENV "," URL ",\"x\":\"\xff\"}", ANSWER_CLEAR, EINVAL },
	{ "{" ENV "," URL ",\"x\":\"\xed\xa0\x80\"}", ANSWER_CLEAR, EINVAL },
	{ "\xef\xbb\xbf{" ENV "," URL "}", ANSWER_CLEAR, EINVAL },
};

START_TEST(test_answer)
{
	int	 r = registration(answers[_i].text, strlen(answers[_i].text),
		    answers[_i].kind, "env");

	if (answers[_i].error != 0) {
		ck_assert_msg(r == -1, "%s", answers[_i].text);
		ck_assert_msg(errno == answers[_i].error, "%s: %s",
		    answers[_i].text, strerror(errno));
		return;
	}
	ck_assert_msg(r == 0, "%s", answers[_i].text);
	ck_assert_str_eq(a.url, "ws://h/x");
	ck_assert_str_eq(a.id, answers[_i].kind == ANSWER_NOISE ? "reg" : "");
}
END_TEST

/* Cut off anywhere; and a NUL behind it is not the end. */
START_TEST(test_cut)
{
	static const char	 text[] = "{" ENV "," URL "," PROFILE "," ID
				    "}";
	size_t			 i;

	for (i = 0; i < sizeof(text) - 1; i++)
		ck_assert_int_eq(registration(text, i, ANSWER_NOISE, "env"),
		    -1);
	ck_assert_int_eq(registration(text, i, ANSWER_NOISE, "env"), 0);
	ck_assert_int_eq(registration(text, i + 1, ANSWER_NOISE, "env"), -1);
}
END_TEST

/* Ids are compared as they are, however they are written. */
START_TEST(test_environments)
{
	ck_assert_int_eq(registration(T("{\"environment_id\":"
	    "\"\\u00e4 \\/..\\\"\"," URL "}"), ANSWER_CLEAR,
	    "\xc3\xa4 /..\""), 0);
	ck_assert_int_eq(registration(T("{\"environment_id\":"
	    "\"a\xcc\x88\"," URL "}"), ANSWER_CLEAR, "\xc3\xa4"), -1);
	ck_assert_int_eq(errno, EBADMSG);
	ck_assert_int_eq(registration(T("{\"environment_id\":\"%2e\"," URL
	    "}"), ANSWER_CLEAR, "."), -1);
}
END_TEST

/* With texts of so many bytes. */
static int
long_ones(size_t url, size_t id)
{
	char	*text = malloc(url + id + 256), *s;
	int	 r;

	ck_assert_ptr_nonnull(text);
	s = text + sprintf(text, "{" ENV "," PROFILE ",\"url\":\"");
	memset(s, 'u', url);
	s += url;
	s += sprintf(s, "\",\"executor_registration_id\":\"");
	memset(s, 'i', id);
	s += id;
	s += sprintf(s, "\"}");
	r = registration(text, (size_t)(s - text), ANSWER_NOISE, "env");
	free(text);
	return r;
}

START_TEST(test_lengths)
{
	ck_assert_int_eq(long_ones(TARGET_PATH - 1, ANSWER_ID_MAX), 0);
	ck_assert_uint_eq(strlen(a.url), TARGET_PATH - 1);
	ck_assert(!a.is_long);
	ck_assert_uint_eq(strlen(a.id), ANSWER_ID_MAX);
	ck_assert_int_eq(long_ones(1, ANSWER_ID_MAX + 1), -1);
	ck_assert_int_eq(errno, EINVAL);
	ck_assert_int_eq(long_ones(1, 60000), -1);
	/* The reference takes an empty one. */
	ck_assert_int_eq(long_ones(1, 0), 0);
	ck_assert_str_eq(a.id, "");
}
END_TEST

/*
 * A URL that cannot be used does not fail the registration; it counts as a
 * connection that failed (PROTOCOL 12.2).
 */
START_TEST(test_unusable_urls)
{
	ck_assert_int_eq(long_ones(TARGET_PATH, 3), 0);
	ck_assert_str_eq(a.url, "");
	ck_assert(a.is_long);
	ck_assert_str_eq(a.id, "iii");
	ck_assert_int_eq(long_ones(60000, 3), 0);
	ck_assert_str_eq(a.url, "");
	ck_assert_int_eq(long_ones(0, 3), 0);
	ck_assert_str_eq(a.url, "");
	ck_assert(!a.is_long);
	ck_assert_int_eq(registration(T("{" ENV
	    ",\"url\":\"ws://h\\u0000.evil\"}"), ANSWER_CLEAR, "env"), 0);
	ck_assert_str_eq(a.url, "");
	ck_assert_int_eq(registration(T("{" ENV
	    ",\"url\":\"no \\r\\n \\u00e4\"}"), ANSWER_CLEAR, "env"), 0);
	ck_assert_str_eq(a.url, "no \r\n \xc3\xa4");
}
END_TEST

/* As deep as 64 KiB allow, and as many values. */
START_TEST(test_deep)
{
	char	*text = malloc(65536);

	ck_assert_ptr_nonnull(text);
	memset(text, '[', 65536);
	ck_assert_int_eq(registration(text, 65536, ANSWER_NOISE, "env"), -1);
	ck_assert_int_eq(errno, EINVAL);
	memset(text, ',', 65536);
	ck_assert_int_eq(registration(text, 65536, ANSWER_NOISE, "env"), -1);
	ck_assert(!answer_is_valid(text, 65536));
	free(text);
}
END_TEST

/* --- validations -----------------------------------------------------------*/

static const struct {
	const char	*text;
	bool		 yes;
} verdicts[] = {
	{ "{\"valid\":true}", true },
	{ " {\"x\":[],\"valid\" : true , \"y\":false}\n", true },
	{ "{\"v\\u0061lid\":true}", true },
	{ "{\"valid\":false}", false },
	{ "{\"valid\":\"true\"}", false },
	{ "{\"valid\":1}", false },
	{ "{\"valid\":null}", false },
	{ "{\"valid\":[true]}", false },
	{ "{\"valid\":{\"valid\":true}}", false },
	{ "{\"x\":{\"valid\":true}}", false },
	{ "{\"Valid\":true}", false },
	{ "{\"valid\\u0000\":true}", false },
	{ "{\"valid\":false,\"valid\":true}", false },
	{ "{\"valid\":true,\"valid\":false}", false },
	{ "{\"valid\":true", false },
	{ "{\"valid\":true}x", false },
	{ "{\"valid\":true}{\"valid\":true}", false },
	{ "{\"valid\":True}", false },
	{ "[\"valid\",true]", false },
	{ "[{\"valid\":true}]", false },
	{ "true", false },
	{ "\"valid\"", false },
	{ "{}", false },
	{ "", false },
	{ "{\"valid\":true,\"x\":\"\xc0\x80\"}", false },
};

START_TEST(test_valid)
{
	size_t	 len = strlen(verdicts[_i].text);
	char	*copy = json_copy(verdicts[_i].text, len);

	ck_assert_msg(answer_is_valid(copy, len) == verdicts[_i].yes, "%s",
	    verdicts[_i].text);
	free(copy);
}
END_TEST

/* What an empty body looks like. */
START_TEST(test_nothing)
{
	char	 code[8];

	ck_assert(!answer_is_valid(NULL, 0));
	ck_assert(!answer_error_code(NULL, 0, code, sizeof(code)));
	ck_assert_str_eq(code, "");
	ck_assert_int_eq(answer_registration(&a, NULL, 0, ANSWER_NOISE, ""),
	    -1);
	ck_assert_int_eq(errno, EINVAL);
}
END_TEST

/* --- errors ----------------------------------------------------------------*/

static const struct {
	const char	*text, *code;
} codes[] = {
	{ "{\"error\":{\"code\":\"registration_conflict\"}}",
	    "registration_conflict" },
	{ "{\"error\":{\"message\":\"m\",\"code\":\"A-z_09\"},\"x\":1}",
	    "A-z_09" },
	{ "{\"error\":{\"code\":\"a b\\n\\u0000\\u001b[31mc\\u00e4%s\"}}",
	    "ab31mcs" },
	{ "{\"error\":{\"code\":\"\"}}", "" },
	{ "{\"error\":{\"code\":\"\\u00e4 \"}}", "" },
	{ "{\"error\":{\"code\":401}}", "" },
	{ "{\"error\":{\"code\":null}}", "" },
	{ "{\"error\":{\"code\":[\"x\"]}}", "" },
	{ "{\"error\":{\"message\":\"m\"}}", "" },
	{ "{\"error\":\"code\"}", "" },
	{ "{\"error\":[\"code\",\"x\"]}", "" },
	{ "{\"code\":\"x\"}", "" },
	{ "[{\"error\":{\"code\":\"x\"}}]", "" },
	{ "{\"error\":{\"code\":\"x\"}", "" },
	{ "{\"error\":{\"code\":\"x\xff\"}}", "" },
	{ "Bad Gateway", "" },
	{ "", "" },
};

START_TEST(test_code)
{
	size_t	 len = strlen(codes[_i].text);
	char	*copy = json_copy(codes[_i].text, len), out[64];

	memset(out, 0xa5, sizeof(out));
	ck_assert_int_eq(answer_error_code(copy, len, out, sizeof(out)),
	    codes[_i].code[0] != '\0');
	ck_assert_str_eq(out, codes[_i].code);
	free(copy);
}
END_TEST

/* What there is room for. */
START_TEST(test_code_room)
{
	static const char	 text[] =
	    "{\"error\":{\"code\":\"a b-c_d.efgh\"}}";
	static const char *const want[] = {
		"", "a", "ab", "ab-", "ab-c", "ab-c_", "ab-c_d", "ab-c_de"
	};
	char			*copy, *out;
	size_t			 n;

	for (n = 1; n <= 8; n++) {
		copy = json_copy(text, sizeof(text) - 1);
		ck_assert_ptr_nonnull(out = malloc(n));
		ck_assert_int_eq(answer_error_code(copy, sizeof(text) - 1,
		    out, n), n > 1);
		ck_assert_str_eq(out, want[n - 1]);
		free(out);
		free(copy);
	}
}
END_TEST

/* --- connections -----------------------------------------------------------*/

#define SUITE	"\"suite\":\"" NOISE_SUITE "\""
#define SECRET	"\"harness_key_authorization\":\"auth \\u00fc\""

/* An answer, with keys of these bytes; a member left out or changed. */
static void
put_connection(char *out, size_t size, size_t dh, size_t kem,
    const char *suite, const char *rest)
{
	char	 text[2][2048];
	uint8_t	 key[MLKEM_PUBLIC_LEN + 8];

	memset(key, 7, sizeof(key));
	text[0][b64_encode(text[0], key, dh)] = '\0';
	text[1][b64_encode(text[1], key, kem)] = '\0';
	snprintf(out, size, "{" ENV "," URL "," PROFILE "," ID ",%s,"
	    "\"executor_public_key\":{%s,\"x25519_public_key\":\"%s\","
	    "\"mlkem768_public_key\":\"%s\",\"more\":1}}", rest, suite,
	    text[0], text[1]);
}

static struct answer_connection	 connection;

static int
take_connection(const char *text, const char *environment)
{
	char	*copy = json_copy(text, strlen(text));
	int	 r;

	errno = 0;
	r = answer_connection(&connection, copy, strlen(text), environment);
	free(copy);
	return r;
}

START_TEST(test_connection)
{
	static char	 text[8192];
	uint8_t		 key[MLKEM_PUBLIC_LEN];

	put_connection(text, sizeof(text), NOISE_DH, MLKEM_PUBLIC_LEN, SUITE,
	    SECRET);
	ck_assert_int_eq(take_connection(text, "env"), 0);
	memset(key, 7, sizeof(key));
	ck_assert_mem_eq(connection.executor.dh, key, NOISE_DH);
	ck_assert_mem_eq(connection.executor.kem, key, sizeof(key));
	ck_assert_str_eq(connection.authorization, "auth \xc3\xbc");
	ck_assert_str_eq(connection.of.id, "reg");
	ck_assert_str_eq(connection.of.url, "ws://h/x");
	ck_assert_int_eq(take_connection(text, "other"), -1);
	ck_assert_int_eq(errno, EBADMSG);
}
END_TEST

static const struct {
	size_t		 dh, kem;
	const char	*suite, *rest;
} connections[] = {
	{ NOISE_DH - 1, MLKEM_PUBLIC_LEN, SUITE, SECRET },
	{ NOISE_DH + 1, MLKEM_PUBLIC_LEN, SUITE, SECRET },
	{ 0, MLKEM_PUBLIC_LEN, SUITE, SECRET },
	{ NOISE_DH, MLKEM_PUBLIC_LEN - 1, SUITE, SECRET },
	{ NOISE_DH, MLKEM_PUBLIC_LEN + 1, SUITE, SECRET },
	{ MLKEM_PUBLIC_LEN, NOISE_DH, SUITE, SECRET },
	{ NOISE_DH, MLKEM_PUBLIC_LEN, "\"suite\":\"other\"", SECRET },
	{ NOISE_DH, MLKEM_PUBLIC_LEN, "\"suite\":1", SECRET },
	{ NOISE_DH, MLKEM_PUBLIC_LEN, "\"x\":1", SECRET },
	{ NOISE_DH, MLKEM_PUBLIC_LEN, SUITE, "\"x\":1" },
	{ NOISE_DH, MLKEM_PUBLIC_LEN, SUITE,
	    "\"harness_key_authorization\":\"\"" },
	{ NOISE_DH, MLKEM_PUBLIC_LEN, SUITE,
	    "\"harness_key_authorization\":\"a\\u0000\"" },
	{ NOISE_DH, MLKEM_PUBLIC_LEN, SUITE,
	    "\"harness_key_authorization\":null" },
};

START_TEST(test_bad_connection)
{
	static char	 text[8192];

	put_connection(text, sizeof(text), connections[_i].dh,
	    connections[_i].kem, connections[_i].suite,
	    connections[_i].rest);
	ck_assert_int_eq(take_connection(text, "env"), -1);
	ck_assert_int_eq(errno, EINVAL);
}
END_TEST

/* A registration is not enough, nor is what is no base64. */
START_TEST(test_no_connection)
{
	static char	 text[8192];

	ck_assert_int_eq(take_connection("{" ENV "," URL "," PROFILE "," ID
	    "," SECRET "}", "env"), -1);
	put_connection(text, sizeof(text), NOISE_DH, MLKEM_PUBLIC_LEN, SUITE,
	    SECRET);
	*strstr(text, "BwcH") = '*';
	ck_assert_int_eq(take_connection(text, "env"), -1);
	ck_assert_int_eq(errno, EINVAL);
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("answer");
	TCase	*tc = tcase_create("all");
	SRunner	*sr;
	int	 failed;

	tcase_set_timeout(tc, 60);
	tcase_add_loop_test(tc, test_answer, 0, N(answers));
	tcase_add_test(tc, test_cut);
	tcase_add_test(tc, test_environments);
	tcase_add_test(tc, test_lengths);
	tcase_add_test(tc, test_unusable_urls);
	tcase_add_test(tc, test_deep);
	tcase_add_loop_test(tc, test_valid, 0, N(verdicts));
	tcase_add_test(tc, test_nothing);
	tcase_add_loop_test(tc, test_code, 0, N(codes));
	tcase_add_test(tc, test_code_room);
	tcase_add_test(tc, test_connection);
	tcase_add_loop_test(tc, test_bad_connection, 0, N(connections));
	tcase_add_test(tc, test_no_connection);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed == 0 ? 0 : 1;
}
