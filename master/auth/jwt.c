#include "master/auth/jwt.h"

#include <sodium.h>
#include <string.h>

#include "common/json/json.h"
#include "common/json/utf8.h"
#include "common/span.h"

#define MAC_LEN		crypto_auth_hmacsha256_BYTES
#define SIGNATURE_MAX	1024	/* bytes: RSA with 8192 bits */
#define SHORT_HASH	16	/* bytes that stand for a long subject */

static const char *const why[] = {
	[JWT_GOOD] = "good",
	[JWT_FORGED] = "signature",
	[JWT_MALFORMED] = "malformed",
	[JWT_EXPIRED] = "expired",
	[JWT_EARLY] = "not valid yet",
	[JWT_ISSUER] = "wrong issuer",
	[JWT_AUDIENCE] = "wrong audience",
	[JWT_SUBJECT] = "no subject",
};

const char *
jwt_why(enum jwt_verdict v)
{
	return why[v];
}

static bool
has_mac(const struct jwt_rules *rules, struct span body, const uint8_t *shown)
{
	crypto_auth_hmacsha256_state	 state;
	uint8_t				 right[MAC_LEN];
	bool				 is_same;

	crypto_auth_hmacsha256_init(&state, rules->secret,
	    rules->secret_len);
	crypto_auth_hmacsha256_update(&state, (const uint8_t *)body.at,
	    body.len);
	crypto_auth_hmacsha256_final(&state, right);
	is_same = sodium_memcmp(shown, right, MAC_LEN) == 0;
	sodium_memzero(&state, sizeof(state));
	sodium_memzero(right, sizeof(right));
	return is_same;
}

/*
 * Return the algorithm that it is signed by, or NULL.  Nothing is parsed before
 * the signature is verified, the header neither: all keys are tried.
 */
static const char *
signed_by(const struct jwt_rules *rules, struct span body, struct span text)
{
	uint8_t	 signature[SIGNATURE_MAX];
	ssize_t	 n;

	if ((n = jwks_decode(text, signature, sizeof(signature))) == -1)
		return NULL;
	if (n == MAC_LEN)
		return rules->secret != NULL && has_mac(rules, body,
		    signature) ? "HS256" : NULL;
	return rules->keys == NULL ? NULL :
	    jwks_verify(rules->keys, body, signature, (size_t)n);
}

/* Decode and parse a part: an object, or nothing. */
static bool
read_object(struct span part, char *room, size_t size, struct json *j)
{
	ssize_t	 n = jwks_decode(part, room, size);

	return n != -1 && utf8_is_valid(room, (size_t)n) &&
	    json_parse(j, room, (size_t)n) == 0 &&
	    json_tok(j, 0)->type == JSON_OBJECT;
}

static bool
is_type(const struct json *j, uint32_t i, enum json_type type)
{
	return json_tok(j, i)->type == (uint32_t)type;
}

static enum jwt_verdict
judge_header(const struct json *j, const char *by)
{
	uint32_t	 alg = json_find(j, 0, "alg");

	return alg != 0 && json_is_text(j, alg, by) &&
	    json_find(j, 0, "crit") == 0 ? JWT_GOOD : JWT_MALFORMED;
}

static enum jwt_verdict
judge_times(const struct json *j, uint64_t now, uint64_t skew,
    uint64_t *expires_out)
{
	uint32_t	 exp = json_find(j, 0, "exp");
	uint32_t	 nbf = json_find(j, 0, "nbf");
	int64_t		 t;

	if (exp == 0 || json_i64(j, exp, &t) == -1)
		return JWT_MALFORMED;
	if (t < 0 || (now > skew && (uint64_t)t < now - skew))
		return JWT_EXPIRED;
	*expires_out = (uint64_t)t;
	if (nbf == 0 || is_type(j, nbf, JSON_NULL))
		return JWT_GOOD;
	if (json_i64(j, nbf, &t) == -1)
		return JWT_MALFORMED;
	return t > 0 && (uint64_t)t > now + skew ? JWT_EARLY : JWT_GOOD;
}

static enum jwt_verdict
judge_issuer(const struct json *j, const char *issuer)
{
	uint32_t	 iss = json_find(j, 0, "iss");

	if (iss != 0 && is_type(j, iss, JSON_NULL))
		iss = 0;
	if (iss != 0 && !is_type(j, iss, JSON_STRING))
		return JWT_MALFORMED;
	return issuer == NULL || (iss != 0 && json_is_text(j, iss, issuer)) ?
	    JWT_GOOD : JWT_ISSUER;
}

static enum jwt_verdict
judge_audience(const struct json *j, const char *audience)
{
	uint32_t	 aud = json_find(j, 0, "aud"), i;
	bool		 is_ours = audience == NULL;

	if (aud == 0 || is_type(j, aud, JSON_NULL))
		return is_ours ? JWT_GOOD : JWT_AUDIENCE;
	if (is_type(j, aud, JSON_STRING))
		return is_ours || json_is_text(j, aud, audience) ?
		    JWT_GOOD : JWT_AUDIENCE;
	if (!is_type(j, aud, JSON_ARRAY))
		return JWT_MALFORMED;
	for (i = json_first(aud); json_more(j, aud, i);
	    i = json_after_elem(j, i)) {
		if (!is_type(j, i, JSON_STRING))
			return JWT_MALFORMED;
		is_ours = is_ours || json_is_text(j, i, audience);
	}
	return is_ours ? JWT_GOOD : JWT_AUDIENCE;
}

/* "#" begins no subject that stands as it is, so none can look like another. */
static void
take_subject(const struct json *j, char out[JWT_SUBJECT_MAX + 1])
{
	uint32_t	 sub = json_find(j, 0, "sub");
	uint8_t		 hash[crypto_hash_sha256_BYTES];
	const char	*text;
	size_t		 len, i;

	out[0] = '\0';
	if (sub == 0 || !is_type(j, sub, JSON_STRING))
		return;
	/* An empty one names nobody. */
	if ((len = json_tok(j, sub)->len) == 0)
		return;
	text = json_text(j, sub);
	for (i = 0; i < len; i++)
		if (text[i] <= ' ' || text[i] > '~')
			break;
	if (len <= JWT_SUBJECT_MAX && i == len && text[0] != '#') {
		memcpy(out, text, len);
		out[len] = '\0';
		return;
	}
	crypto_hash_sha256(hash, (const uint8_t *)text, len);
	out[0] = '#';
	sodium_bin2hex(out + 1, JWT_SUBJECT_MAX, hash, SHORT_HASH);
}

static int
jwt_take_group(struct jwt_groups *g, size_t *at, const struct json *j,
    uint32_t i)
{
	const char	*text = json_text(j, i);
	size_t		 len = json_tok(j, i)->len, k;

	if (!is_type(j, i, JSON_STRING) || len == 0 ||
	    g->n == JWT_GROUPS_MAX || len >= sizeof(g->text) - *at)
		return -1;
	for (k = 0; k < len; k++)
		if ((unsigned char)text[k] < ' ' || text[k] == 0x7f)
			return -1;
	g->name[g->n++] = memcpy(g->text + *at, text, len);
	g->text[*at + len] = '\0';
	*at += len + 1;
	return 0;
}

/* All or none: a rule may also exclude a group. */
static int
jwt_take_groups(struct jwt_groups *g, const struct json *j)
{
	uint32_t	 groups = json_find(j, 0, "groups"), i;
	size_t		 at = 0;

	g->n = 0;
	if (groups == 0 || is_type(j, groups, JSON_NULL))
		return 0;
	if (!is_type(j, groups, JSON_ARRAY))
		return jwt_take_group(g, &at, j, groups);
	for (i = json_first(groups); json_more(j, groups, i);
	    i = json_after_elem(j, i))
		if (jwt_take_group(g, &at, j, i) == -1)
			return -1;
	return 0;
}

static enum jwt_verdict
judge_claims(const struct jwt_rules *rules, const struct json *j,
    uint64_t now, char subject_out[JWT_SUBJECT_MAX + 1],
    struct jwt_groups *groups_out)
{
	enum jwt_verdict	 v;
	uint64_t		 expires;

	if ((v = judge_times(j, now, rules->skew, &expires)) != JWT_GOOD ||
	    (v = judge_issuer(j, rules->issuer)) != JWT_GOOD ||
	    (v = judge_audience(j, rules->audience)) != JWT_GOOD)
		return v;
	if (groups_out != NULL && jwt_take_groups(groups_out, j) == -1)
		return JWT_MALFORMED;
	if (groups_out != NULL)
		groups_out->expires = expires;
	take_subject(j, subject_out);
	return subject_out[0] == '\0' && rules->needs_subject ? JWT_SUBJECT :
	    JWT_GOOD;
}

enum jwt_verdict
jwt_judge_groups(const struct jwt_rules *rules, const char *token, size_t len,
    uint64_t now, char subject_out[JWT_SUBJECT_MAX + 1],
    struct jwt_groups *groups_out)
{
	struct span		 rest = { token, len }, header, claims;
	struct span		 body = { token, 0 };
	struct json		 j;
	char			 room[JWT_MAX];
	const char		*by;
	enum jwt_verdict	 v = JWT_MALFORMED;

	if (len > JWT_MAX || !span_cut(&rest, '.', &header) ||
	    !span_cut(&rest, '.', &claims))
		return JWT_FORGED;
	body.len = header.len + 1 + claims.len;
	if ((by = signed_by(rules, body, rest)) == NULL)
		return JWT_FORGED;
	json_init(&j);
	if (read_object(header, room, sizeof(room), &j))
		v = judge_header(&j, by);
	if (v == JWT_GOOD)
		v = read_object(claims, room, sizeof(room), &j) ?
		    judge_claims(rules, &j, now, subject_out, groups_out) :
		    JWT_MALFORMED;
	json_fini(&j);
	sodium_memzero(room, sizeof(room));
	return v;
}

/*
 * As the reference: "exp" is required, "nbf" optional, both integers; "iss" is
 * a string, "aud" a string or a list.  Stricter: no other algorithm, no "crit",
 * no member twice.
 */
enum jwt_verdict
jwt_judge(const struct jwt_rules *rules, const char *token, size_t len,
    uint64_t now, char subject_out[JWT_SUBJECT_MAX + 1])
{
	return jwt_judge_groups(rules, token, len, now, subject_out, NULL);
}
