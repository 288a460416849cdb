/* master/auth/jwks.c: sets of public keys, and what they have signed. */
#include <check.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "master/auth/jwks.h"
#include "master/auth/jwt.h"

#define N(rows)	(int)(sizeof(rows) / sizeof((rows)[0]))

/* By "openssl dgst -sign"; the private keys are gone. */
#define RSA_N							\
	"rOSjCpjqmpCy4hSLi06bM_R9WuCRqlSul2IW5VJF8JnoIGPFiS4I0Kbo"	\
	"C3C8AmbmwzHVU3C8KboRSct44R7rJzAeu0tHzgCvqTAX-1wUXMP9_1xZ"	\
	"aMImCdzz5bSch1W7YCAJplitjY-BUjJNpMb6bij8arnfpKcCC56KJmug"	\
	"sKtGLGOmB2sxo7uFKLnozoOsn5ZK4ofCntBbU7SuI2cRebrz2lh6mVoP"	\
	"UiD9e6GC_KdB12k84iEi0rY3lhtun7D9M13fZYkeFjgQKANG5gZ9Mm6R"	\
	"CJuUkeG81hk1fIg_NQ-zlmenbTVktZyfwV9QlYDQV99m4DKO0bloa4VS"	\
	"ARmVnw"

#define RSA_1024							\
	"2bb4uzutXZYRuywXUrnGcjfh6xUlA-XoN3Vp-W_Pw5_vbMzu2Aldqzbb"	\
	"uOVBBj2Dw-j1LuC3IEWTOcVV3O8oG8CaaNd-Yky1sWN_ipy0gtbqp-GD"	\
	"OFG4e7OSMsqbY4UUwpnr4Aqy0Uh-aeFhebWkpIk1QO5viqqMZop0UU5b"	\
	"ZQs"

#define EC_X							\
	"uWxbeMUVS0DO_IiHws3q8LwL96HxzKIMIUq4YittD20"

#define EC_Y							\
	"bF8HA_Z48Q1hvyqe49gPtBuBvafyRZ-7Cl154rjVK2g"

#define BY_RSA							\
	"eyJhbGciOiJSUzI1NiIsImtpZCI6ImsifQ.eyJleHAiOjEwMDAsInN1Y"	\
	"iI6ImFubiIsImF1ZCI6ImhlcmUifQ.BYtFa1oQc_LlGwCFKIhvQk1NSk"	\
	"NcfZLOqmve2QbV75nnPU8uL7Yf1fHyiGF4vtEenNDvR6hOAwtlS0kFCy"	\
	"UhhrttQwdGUqb-ghU7tX2IRtATOorAo2znKv_3KgMynMVArdO2FEpvxP"	\
	"_ISXpWqPfSndSqsTgb7myCbE2gQ3yWGiQvAJqyJEUeG0zDdLOUYGhLK7"	\
	"0wGhYR1nnHubjGJCo4bHJg2hsUWOOrJOntDz7p6wF-sGBEXBMpYtSkzt"	\
	"LchhS8ILL-WxXA3u0P4tllbF8kx_VpvCNjx9Kjmoy6onx6S39VgPq_Lj"	\
	"zktA9HxhVRlx45GCQWdKfHRwwM9yIIAXkjwg"

#define BY_EC							\
	"eyJhbGciOiJFUzI1NiIsImtpZCI6ImsifQ.eyJleHAiOjEwMDAsInN1Y"	\
	"iI6ImFubiIsImF1ZCI6ImhlcmUifQ.B2KX3oh0bLK4PmT3_Q42jOmTGP"	\
	"gj8rUD_vk05KLY3dKm8_YY5BtpkQ6fsxKHCWaDVbMCxiTheFZUxGakTO"	\
	"AjzA"

#define HS_BY_RSA						\
	"eyJhbGciOiJIUzI1NiIsImtpZCI6ImsifQ.eyJleHAiOjEwMDAsInN1Y"	\
	"iI6ImFubiIsImF1ZCI6ImhlcmUifQ.T9ph_XFsOCfQjbJgCyCrxtFSv4"	\
	"b3pITbiFzBlcBfPF_wQzdyXpvP7bWz0GIYym6HxhVTGuktgatfqO-Bne"	\
	"n9HhH4x_-aLdblD1V0ECPSYAhMdfEa-D3O5eraBuAyOqYe1RfElERbHP"	\
	"tfcuE1affQXMvh6uJnmWgzgn9haluBvFdlXWMMr-_NwfB1YZU1mvwIs4"	\
	"-NZxd5R9Fb7eavc6xNhX--SqppD9chdJ0lBhgHF7rs5oCT3iTBobfFDz"	\
	"6XWPQFNSiTrkb5E0b6FvUrgUV1sXpONpT0b-e6DE0zs_UMxv6G7WOBBI"	\
	"9gU0ODv_yQKUIvdLEzPUFdrtro_3P7PJkMnw"

#define NONE_BY_EC						\
	"eyJhbGciOiJub25lIiwia2lkIjoiayJ9.eyJleHAiOjEwMDAsInN1YiI"	\
	"6ImFubiIsImF1ZCI6ImhlcmUifQ.W-tPxLZblYFLerWFhx2V-DNmFfm4"	\
	"5b_UXNWnsBkqiszfCCmWSnbqR3Ge9GbqY6AKfn5rl10VLJ1CvJvN1Mrk"	\
	"yA"

#define RS_BY_EC							\
	"eyJhbGciOiJSUzI1NiIsImtpZCI6ImsifQ.eyJleHAiOjEwMDAsInN1Y"	\
	"iI6ImFubiIsImF1ZCI6ImhlcmUifQ.AIP4qBo7b2Sqa3pYHBRnV6cGkb"	\
	"V0pN8RyGRz9pR8ND6sryhrJ4k8Hk86aowZQX4i1tVpPGNXe-GgzjTQnT"	\
	"AE8A"

#define PSS_BY_RSA						\
	"eyJhbGciOiJSUzI1NiIsImtpZCI6ImsifQ.eyJleHAiOjEwMDAsInN1Y"	\
	"iI6ImFubiIsImF1ZCI6ImhlcmUifQ.mgfiT7LQoyoWU4lPGckptFJITu"	\
	"OJLIXE4xH8_gGa7cmUPnjDLhZ0Y5xTqNFXdDXox5lmTP9R9iKn6RLxPx"	\
	"DfcUV7vyw31eAcN47O5rZpK0_8i7Z5KoOoC4KAEsmBgRmYvUmX91d29O"	\
	"vvkxTnyG_PCe0VVHPu584xoEUbcm69_sumrEzEEQhC75CKQZAjotaUcI"	\
	"qSGl1LvJ6HDrtXfUSS7zycZlE-AH07xgdOy5oc6f6AFjq2-JakB3Dkps"	\
	"G-2uLlshLSoHI42nMsTOJKk74_V0pPLFsKvZUKHEa9uik-phBBMEWjUn"	\
	"dLCNpAjDA5Rk0Sb50Fo8we0OerAG2YVcpszQ"

#define SHA512_BY_RSA						\
	"eyJhbGciOiJSUzI1NiIsImtpZCI6ImsifQ.eyJleHAiOjEwMDAsInN1Y"	\
	"iI6ImFubiIsImF1ZCI6ImhlcmUifQ.ZVceCFDnUYa4CjqWsbbYpx6N_m"	\
	"O-MEw05PX8ARCVHMUU2PvxhleX7ujW6Gk5jnGeNHskRhfC5rmOkiW16m"	\
	"iQMn3DD5kAEEKcJeRpwca5V8WmqKN8qu-A6qlGfi5dMLDpZXmVRG7_qx"	\
	"toDu4uTxJbyesI8h68DFuA-yaKns9LFK18wrpXFuNdd9fRyLK9xJuQw6"	\
	"0i55ecZB1Hn1XnE19jiGbsw5yR6boIDz8IT5JxB9lyuJ8GkmyEDuKSl3"	\
	"Uty0sf_tXDXE8baNkf--AKVX37p30FqQDNts8OdW8-52bZ-u-5nGwDlj"	\
	"iwkMQpLLw53gs_vIK4Ez5PxS2_GukLnuh2VQ"

#define RSA	"{\"kty\":\"RSA\",\"n\":\"" RSA_N "\",\"e\":\"AQAB\"}"
#define EC	"{\"kty\":\"EC\",\"crv\":\"P-256\",\"x\":\"" EC_X \
		    "\",\"y\":\"" EC_Y "\"}"
#define SET(keys)	"{\"keys\":[" keys "]}"

/* RFC 7515, A.2 and A.3: the keys and signatures of others. */
#define RFC_RSA								\
	"{\"kty\":\"RSA\",\"e\":\"AQAB\",\"n\":\"ofgWCuLjybRlzo0tZWJjNiuSf" \
	"b4p4fAkd_wWJcyQoTbji9k0l8W26mPddxHmfHQp-Vaw-4qPCJrcS2mJPMEzP1Pt0" \
	"Bm4d4QlL-yRT-SFd2lZS-pCgNMsD1W_YpRPEwOWvG6b32690r2jZ47soMZo9wGzj" \
	"b_7OMg0LOL-bSf63kpaSHSXndS5z5rexMdbBYUsLA9e-KXBdQOS-UTo7WTBEMa2R" \
	"2CapHg665xsmtdVMTBQY4uDZlxvb3qCo5ZwKh9kG4LT6_I5IhlJH7aGhyxXFvUK-" \
	"DWNmoudF8NAco9_h9iaGNj8q2ethFkMLs91kzk2PAcDTW9gb54h4FRWyuXpoQ\"}"
#define RFC_EC								\
	"{\"kty\":\"EC\",\"crv\":\"P-256\"," \
	"\"x\":\"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU\"," \
	"\"y\":\"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0\"}"
#define RFC_CLAIMS							\
	"eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFt" \
	"cGxlLmNvbS9pc19yb290Ijp0cnVlfQ"
#define RFC_BY_RSA	"eyJhbGciOiJSUzI1NiJ9." RFC_CLAIMS		\
	".cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh" \
	"7AAuHIm4Bh-0Qc_lF5YKt_O8W2Fp5jujGbds9uJdbF9CUAr7t1dnZcAcQjbKBYNX" \
	"4BAynRFdiuB--f_nZLgrnbyTyWzO75vRK5h6xBArLIARNPvkSjtQBMHlb1L07Qe7" \
	"K0GarZRmB_eSN9383LcOLn6_dO--xi12jzDwusC-eOkHWEsqtFZESc6BfI7noOPq" \
	"vhJ1phCnvWh6IeYI2w9QOYEUipUTI8np6LbgGY9Fs98rqVt5AXLIhWkWywlVmtVr" \
	"Bp0igcN_IoypGlUPQGe77Rw"
#define RFC_BY_EC	"eyJhbGciOiJFUzI1NiJ9." RFC_CLAIMS		\
	".DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlS" \
	"ApmWQxfKTUJqPP3-Kg6NU1Q"

static char	 why[128];

static struct jwks *
set(const char *text)
{
	ck_assert_int_ge(sodium_init(), 0);
	why[0] = '\0';
	return jwks_new(text, strlen(text), why, sizeof(why));
}

/* --- sets --- */

static const struct {
	const char	*text, *why;	/* NULL: taken */
} sets[] = {
	{ SET(RSA), NULL },
	{ SET(EC), NULL },
	{ SET(EC "," RSA), NULL },
	/* Others are left out. */
	{ SET("{\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"x\":\"AA\"}," EC), NULL },
	{ SET("{\"kty\":\"EC\",\"crv\":\"P-384\"}," EC), NULL },
	{ SET("{\"kty\":\"EC\",\"crv\":\"P-256\",\"use\":\"enc\"}"), "no key" },
	{ SET("{\"kty\":\"RSA\",\"alg\":\"PS256\"}"), "no key" },
	{ SET("{\"kty\":\"RSA\",\"key_ops\":[\"sign\"]}"), "no key" },
	{ SET("{\"kty\":\"RSA\",\"key_ops\":\"verify\"}"), "no key" },
	{ SET("{\"kty\":\"EC\"}"), "no key" },
	{ SET(""), "no key" },
	{ "", "JSON" },
	{ "[]", "keys" },
	{ "{\"keys\":{}}", "keys" },
	{ "{\"keys\":[],\"keys\":[]}", "JSON" },
	{ SET("1"), "kty" },
	{ SET("{}"), "kty" },
	{ SET("{\"kty\":1}"), "kty" },
	{ SET("{\"kty\":\"oct\",\"k\":\"AAAA\"}"), "secret" },
	{ SET("{\"kty\":\"RSA\",\"d\":\"AA\"}"), "secret" },
	/* Of ours, but no keys. */
	{ SET("{\"kty\":\"RSA\"}"), "valid" },
	{ SET("{\"kty\":\"RSA\",\"n\":\"" RSA_N "\",\"e\":\"AA\"}"), "valid" },
	{ SET("{\"kty\":\"RSA\",\"n\":\"" RSA_N "\",\"e\":\"AQ\"}"), "valid" },
	{ SET("{\"kty\":\"RSA\",\"n\":\"" RSA_N "\",\"e\":\"AQAA\"}"),
	    "valid" },
	{ SET("{\"kty\":\"RSA\",\"n\":\"" RSA_N "=\",\"e\":\"AQAB\"}"),
	    "valid" },
	{ SET("{\"kty\":\"RSA\",\"n\":\"" RSA_1024 "\",\"e\":\"AQAB\"}"),
	    "2048" },
	{ SET("{\"kty\":\"RSA\",\"n\":\"\",\"e\":\"AQAB\"}"), "valid" },
	{ SET("{\"kty\":\"EC\",\"crv\":\"P-256\",\"x\":\"" EC_X "\"}"),
	    "valid" },
	/* Not on the curve. */
	{ SET("{\"kty\":\"EC\",\"crv\":\"P-256\",\"x\":\"" EC_X
	    "\",\"y\":\"" EC_X "\"}"), "valid" },
	{ SET("{\"kty\":\"EC\",\"crv\":\"P-256\",\"x\":\"AA\",\"y\":\"AA\"}"),
	    "valid" },
};

START_TEST(test_sets)
{
	struct jwks	*k = set(sets[_i].text);

	if (sets[_i].why == NULL) {
		ck_assert_msg(k != NULL, "%d: %s", _i, why);
		jwks_free(&k);
	} else {
		ck_assert_ptr_null(k);
		ck_assert_msg(strstr(why, sets[_i].why) != NULL, "%d: %s", _i,
		    why);
	}
}
END_TEST

START_TEST(test_many)
{
	static char	 text[JWKS_MAX + 1];
	struct jwks	*k;
	size_t		 n, i, len;

	for (n = JWKS_KEYS_MAX; n <= JWKS_KEYS_MAX + 1; n++) {
		len = (size_t)snprintf(text, sizeof(text), "{\"keys\":[");
		for (i = 0; i < n; i++)
			len += (size_t)snprintf(text + len, sizeof(text) -
			    len, "%s" EC, i > 0 ? "," : "");
		snprintf(text + len, sizeof(text) - len, "]}");
		k = set(text);
		ck_assert_int_eq(k != NULL, n == JWKS_KEYS_MAX);
		if (k != NULL)
			jwks_free(&k);
	}
}
END_TEST

/* --- tokens --- */

static const struct {
	const char		*keys, *token;
	uint64_t		 now;
	enum jwt_verdict	 verdict;
} tokens[] = {
	{ SET(RSA), BY_RSA, 1000, JWT_GOOD },
	{ SET(EC), BY_EC, 1000, JWT_GOOD },
	{ SET(RSA "," EC), BY_EC, 1000, JWT_GOOD },
	{ SET(EC "," RSA), BY_RSA, 1000, JWT_GOOD },
	{ SET(RFC_RSA "," RSA), BY_RSA, 1000, JWT_GOOD },
	{ SET(EC), BY_EC, 1001, JWT_EXPIRED },
	/* Others' keys. */
	{ SET(EC), BY_RSA, 1000, JWT_FORGED },
	{ SET(RSA), BY_EC, 1000, JWT_FORGED },
	{ SET(RFC_RSA "," RFC_EC), BY_RSA, 1000, JWT_FORGED },
	{ SET(RFC_RSA "," RFC_EC), BY_EC, 1000, JWT_FORGED },
	/* Another algorithm than it says, or none of ours. */
	{ SET(RSA), HS_BY_RSA, 1000, JWT_MALFORMED },
	{ SET(EC), NONE_BY_EC, 1000, JWT_MALFORMED },
	{ SET(EC), RS_BY_EC, 1000, JWT_MALFORMED },
	{ SET(RSA), PSS_BY_RSA, 1000, JWT_FORGED },
	{ SET(RSA), SHA512_BY_RSA, 1000, JWT_FORGED },
	/* Those of RFC 7515 have no audience. */
	{ SET(RFC_RSA), RFC_BY_RSA, 1300819380, JWT_AUDIENCE },
	{ SET(RFC_EC), RFC_BY_EC, 1300819380, JWT_AUDIENCE },
	{ SET(RFC_EC), RFC_BY_EC, 1300819381, JWT_EXPIRED },
};

START_TEST(test_tokens)
{
	struct jwks		*k = set(tokens[_i].keys);
	struct jwt_rules	 rules = { .keys = k, .audience = "here",
				    .needs_subject = true };
	char			 subject[JWT_SUBJECT_MAX + 1] = "";

	ck_assert_ptr_nonnull(k);
	ck_assert_int_eq(jwt_judge(&rules, tokens[_i].token,
	    strlen(tokens[_i].token), tokens[_i].now, subject),
	    tokens[_i].verdict);
	ck_assert_str_eq(subject, tokens[_i].verdict == JWT_GOOD ? "ann" : "");
	jwks_free(&k);
}
END_TEST

/* Any other bit, anywhere; any other length. */
START_TEST(test_bits)
{
	static const char *const	 good[] = { BY_RSA, BY_EC };
	struct jwks			*k = set(SET(RSA "," EC));
	struct jwt_rules		 rules = { .keys = k,
					    .audience = "here" };
	char				 text[1024], subject[65];
	size_t				 i, len = strlen(good[_i]);

	memcpy(text, good[_i], len);
	for (i = 0; i < len; i++) {
		text[i] = (char)(text[i] ^ 1 << i % 8);
		ck_assert_int_eq(jwt_judge(&rules, text, len, 1000, subject),
		    JWT_FORGED);
		text[i] = good[_i][i];
		ck_assert_int_eq(jwt_judge(&rules, text, i, 1000, subject),
		    JWT_FORGED);
	}
	ck_assert_int_eq(jwt_judge(&rules, text, len, 1000, subject),
	    JWT_GOOD);
	jwks_free(&k);
}
END_TEST

/* R or S of 0, and of the order of the curve and above. */
START_TEST(test_ranges)
{
	static const char	 body[] = "a.b";
	struct jwks		*k = set(SET(EC));
	uint8_t			 signature[64];
	struct span		 data = { body, 3 };
	int			 i;

	for (i = 0; i < 4; i++) {
		memset(signature, (i & 1) != 0 ? 0xff : 0, 32);
		memset(signature + 32, (i & 2) != 0 ? 0xff : 0, 32);
		ck_assert_ptr_null(jwks_verify(k, data, signature, 64));
	}
	jwks_free(&k);
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("jwks");
	TCase	*t = tcase_create("jwks");
	SRunner	*r;
	int	 failed;

	tcase_set_timeout(t, 60);
	tcase_add_loop_test(t, test_sets, 0, N(sets));
	tcase_add_test(t, test_many);
	tcase_add_loop_test(t, test_tokens, 0, N(tokens));
	tcase_add_loop_test(t, test_bits, 0, 2);
	tcase_add_test(t, test_ranges);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed != 0;
}
