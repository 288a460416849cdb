#include "master/auth/jwks.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <nettle/bignum.h>
#include <nettle/ecc-curve.h>
#include <nettle/ecdsa.h>
#include <nettle/rsa.h>
#include <sodium.h>

#include "common/json/json.h"
#include "common/json/utf8.h"

#define BITS_MIN	2048
#define BITS_MAX	8192
#define COORDINATE	32		/* bytes, of P-256 */
#define HASH_LEN	crypto_hash_sha256_BYTES

struct jwks_key {
	bool			 is_rsa;
	struct rsa_public_key	 rsa;
	struct ecc_point	 ec;
};

struct jwks {
	size_t		 n;
	struct jwks_key	 keys[JWKS_KEYS_MAX];
};

/* Say why: -1. */
#define JWKS_WRONG(why, size, ...)	(snprintf(why, size, __VA_ARGS__), -1)

ssize_t
jwks_decode(struct span text, void *out, size_t size)
{
	size_t	 i, n;

	/* libsodium 1.0.18 takes 0xdf for "_". */
	for (i = 0; i < text.len; i++)
		if ((text.at[i] & 0x80) != 0)
			return -1;
	if (sodium_base642bin(out, size, text.at, text.len, NULL, &n, NULL,
	    sodium_base64_VARIANT_URLSAFE_NO_PADDING) == -1)
		return -1;
	return (ssize_t)n;
}

/* --- a key --- */

/* Decode a member; the length, or -1: absent or malformed. */
static ssize_t
jwks_bytes(const struct json *j, uint32_t key, const char *name,
    uint8_t *out, size_t size)
{
	uint32_t	 i = json_find(j, key, name);
	ssize_t		 n;

	if (i == 0 || json_tok(j, i)->type != JSON_STRING)
		return -1;
	n = jwks_decode((struct span){ json_text(j, i), json_tok(j, i)->len },
	    out, size);
	return n == 0 ? -1 : n;
}

/* 0, or -1 and nothing is to be cleared. */
static int
take_rsa(struct jwks_key *k, const struct json *j, uint32_t key)
{
	uint8_t	 n[BITS_MAX / 8], e[8];
	ssize_t	 nlen = jwks_bytes(j, key, "n", n, sizeof(n));
	ssize_t	 elen = jwks_bytes(j, key, "e", e, sizeof(e));

	if (nlen == -1 || elen == -1)
		return -1;
	rsa_public_key_init(&k->rsa);
	nettle_mpz_set_str_256_u(k->rsa.n, (size_t)nlen, n);
	nettle_mpz_set_str_256_u(k->rsa.e, (size_t)elen, e);
	if (mpz_sizeinbase(k->rsa.n, 2) >= BITS_MIN &&
	    mpz_odd_p(k->rsa.n) && mpz_odd_p(k->rsa.e) &&
	    mpz_cmp_ui(k->rsa.e, 1) > 0 &&
	    rsa_public_key_prepare(&k->rsa) == 1)
		return 0;
	rsa_public_key_clear(&k->rsa);
	return -1;
}

/* A point that is not on the curve is refused. */
static int
take_ec(struct jwks_key *k, const struct json *j, uint32_t key)
{
	uint8_t	 x[COORDINATE], y[COORDINATE];
	mpz_t	 mx, my;
	int	 is_on;

	if (jwks_bytes(j, key, "x", x, sizeof(x)) != COORDINATE ||
	    jwks_bytes(j, key, "y", y, sizeof(y)) != COORDINATE)
		return -1;
	nettle_mpz_init_set_str_256_u(mx, sizeof(x), x);
	nettle_mpz_init_set_str_256_u(my, sizeof(y), y);
	ecc_point_init(&k->ec, nettle_get_secp_256r1());
	if ((is_on = ecc_point_set(&k->ec, mx, my)) == 0)
		ecc_point_clear(&k->ec);
	mpz_clear(mx);
	mpz_clear(my);
	return is_on ? 0 : -1;
}

/* Whether a member is absent or has that text. */
static bool
is_or_absent(const struct json *j, uint32_t key, const char *name,
    const char *text)
{
	uint32_t	 i = json_find(j, key, name);

	return i == 0 || json_is_text(j, i, text);
}

/* Whether it may be used to verify (RFC 7517 sections 4.2 and 4.3). */
static bool
is_for_us(const struct json *j, uint32_t key)
{
	uint32_t	 ops = json_find(j, key, "key_ops"), i;

	if (!is_or_absent(j, key, "use", "sig"))
		return false;
	if (ops == 0)
		return true;
	if (json_tok(j, ops)->type != JSON_ARRAY)
		return false;
	for (i = json_first(ops); json_more(j, ops, i);
	    i = json_after_elem(j, i))
		if (json_is_text(j, i, "verify"))
			return true;
	return false;
}

/* 0, also if it is left out, or -1 with the reason. */
static int
jwks_add(struct jwks *k, const struct json *j, uint32_t key, char *why,
    size_t size)
{
	uint32_t	 kty = json_find(j, key, "kty");
	struct jwks_key	*room = &k->keys[k->n];
	bool		 is_ec;

	if (json_tok(j, key)->type != JSON_OBJECT || kty == 0 ||
	    json_tok(j, kty)->type != JSON_STRING)
		return JWKS_WRONG(why, size, "a key has no \"kty\"");
	if (json_find(j, key, "d") != 0 || json_is_text(j, kty, "oct"))
		return JWKS_WRONG(why, size, "it has a secret key");
	if (k->n == JWKS_KEYS_MAX)
		return JWKS_WRONG(why, size, "more than %d keys",
		    JWKS_KEYS_MAX);
	room->is_rsa = json_is_text(j, kty, "RSA") &&
	    is_or_absent(j, key, "alg", "RS256");
	is_ec = json_is_text(j, kty, "EC") &&
	    json_find(j, key, "crv") != 0 &&
	    is_or_absent(j, key, "crv", "P-256") &&
	    is_or_absent(j, key, "alg", "ES256");
	if ((!room->is_rsa && !is_ec) || !is_for_us(j, key))
		return 0;
	if ((room->is_rsa ? take_rsa : take_ec)(room, j, key) == -1)
		return JWKS_WRONG(why, size, "key %zu: not a valid public key "
		    "of P-256, or of RSA with 2048 to 8192 bits", k->n + 1);
	k->n++;
	return 0;
}

/* --- a set --- */

static int
jwks_fill(struct jwks *k, const struct json *j, char *why, size_t size)
{
	uint32_t	 list = json_tok(j, 0)->type == JSON_OBJECT ?
			    json_find(j, 0, "keys") : 0, i;

	if (list == 0 || json_tok(j, list)->type != JSON_ARRAY)
		return JWKS_WRONG(why, size, "no object with a list \"keys\"");
	for (i = json_first(list); json_more(j, list, i);
	    i = json_after_elem(j, i))
		if (jwks_add(k, j, i, why, size) == -1)
			return -1;
	return k->n > 0 ? 0 : JWKS_WRONG(why, size,
	    "no key for RS256 or ES256");
}

struct jwks *
jwks_new(const char *text, size_t len, char *why, size_t size)
{
	struct jwks	*k = calloc(1, sizeof(*k));
	char		*copy = malloc(len + 1);	/* parsed in place */
	struct json	 j;
	int		 r = -1;

	json_init(&j);
	if (k == NULL || copy == NULL) {
		(void)JWKS_WRONG(why, size, "%s", strerror(ENOMEM));
	} else {
		memcpy(copy, text, len);
		if (len > JWKS_MAX || !utf8_is_valid(copy, len) ||
		    json_parse(&j, copy, len) == -1)
			(void)JWKS_WRONG(why, size, "not JSON");
		else
			r = jwks_fill(k, &j, why, size);
	}
	json_fini(&j);
	free(copy);
	if (r == -1 && k != NULL)
		jwks_free(&k);
	return k;
}

void
jwks_free(struct jwks **kp)
{
	struct jwks_key	*key;

	for (key = (*kp)->keys; key < (*kp)->keys + (*kp)->n; key++)
		if (key->is_rsa)
			rsa_public_key_clear(&key->rsa);
		else
			ecc_point_clear(&key->ec);
	free(*kp);
	*kp = NULL;
}

/* --- signatures --- */

static bool
verify_rsa(const struct rsa_public_key *key, const uint8_t hash[HASH_LEN],
    const uint8_t *signature, size_t len)
{
	mpz_t	 s;
	bool	 r;

	if (len != key->size)
		return false;
	nettle_mpz_init_set_str_256_u(s, len, signature);
	r = rsa_sha256_verify_digest(key, hash, s) == 1;
	mpz_clear(s);
	return r;
}

/* R and S, a half each (RFC 7518 section 3.4). */
static bool
verify_ec(const struct ecc_point *key, const uint8_t hash[HASH_LEN],
    const uint8_t *signature, size_t len)
{
	struct dsa_signature	 s;
	bool			 r;

	if (len != 2 * COORDINATE)
		return false;
	dsa_signature_init(&s);
	nettle_mpz_set_str_256_u(s.r, COORDINATE, signature);
	nettle_mpz_set_str_256_u(s.s, COORDINATE, signature + COORDINATE);
	r = ecdsa_verify(key, HASH_LEN, hash, &s) == 1;
	dsa_signature_clear(&s);
	return r;
}

const char *
jwks_verify(const struct jwks *k, struct span data, const uint8_t *signature,
    size_t len)
{
	const struct jwks_key	*key;
	uint8_t			 hash[HASH_LEN];

	assert(k->n > 0 && k->n <= JWKS_KEYS_MAX);
	crypto_hash_sha256(hash, (const uint8_t *)data.at, data.len);
	for (key = k->keys; key < k->keys + k->n; key++)
		if (key->is_rsa ?
		    verify_rsa(&key->rsa, hash, signature, len) :
		    verify_ec(&key->ec, hash, signature, len))
			return key->is_rsa ? "RS256" : "ES256";
	return NULL;
}
