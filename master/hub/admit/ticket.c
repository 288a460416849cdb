#include "master/hub/admit/ticket.h"

#include <assert.h>
#include <sodium.h>
#include <string.h>

#define VERSION		1
#define SALT		"execsrv-hub"
#define RAW_MAX		1456	/* bytes of any ticket */
#define VARIANT		sodium_base64_VARIANT_URLSAFE_NO_PADDING

_Static_assert(1 + 4 + 4 + REGISTRATION_LEN + 1 + TICKET_SUBJECT_MAX + 4 + 4 +
    1 + TICKET_LABELS_MAX + sizeof(struct hubkey) + 32 <= RAW_MAX,
    "a ticket of an executor");
_Static_assert((RAW_MAX * 4 + 2) / 3 <= TICKET_MAX, "its text");

static const char *const roles[TICKET_ROLES] = {
	[TICKET_EXECUTOR] = "attach executor",
	[TICKET_HARNESS] = "attach harness",
	[TICKET_AUTHORIZATION] = "authorization",
	[TICKET_FLEET] = "fleet",
};

static const char *const verdicts[] = {
	[TICKET_GOOD] = "good",
	[TICKET_FORGED] = "invalid_signature",
	[TICKET_EXPIRED] = "expired",
	[TICKET_EARLY] = "not_yet_valid",
};

const char *
ticket_why(enum ticket_verdict v)
{
	return verdicts[v];
}

/* --- keys: HKDF (RFC 5869), one block of output for each role --- */

int
ticket_keys_add(struct ticket_keys *k, const void *secret, size_t len)
{
	crypto_auth_hmacsha256_state	 state;
	uint8_t				 prk[TICKET_MAC_LEN];
	static const uint8_t		 block = 1;
	size_t				 i;

	if (len < TICKET_SECRET_MIN || k->n == TICKET_SECRETS)
		return -1;
	crypto_auth_hmacsha256_init(&state, (const uint8_t *)SALT,
	    strlen(SALT));
	crypto_auth_hmacsha256_update(&state, secret, len);
	crypto_auth_hmacsha256_final(&state, prk);
	for (i = 0; i < TICKET_ROLES; i++) {
		crypto_auth_hmacsha256_init(&state, prk, sizeof(prk));
		crypto_auth_hmacsha256_update(&state,
		    (const uint8_t *)roles[i], strlen(roles[i]));
		crypto_auth_hmacsha256_update(&state, &block, 1);
		crypto_auth_hmacsha256_final(&state, k->key[k->n][i]);
	}
	k->n++;
	sodium_memzero(&state, sizeof(state));
	sodium_memzero(prk, sizeof(prk));
	return 0;
}

_Static_assert(TICKET_MAC_LEN == crypto_auth_hmacsha256_BYTES, "HMAC");

/* Of two pieces, one behind the other. */
static void
ticket_mac(const uint8_t key[32], struct span a, struct span b,
    uint8_t mac[TICKET_MAC_LEN])
{
	crypto_auth_hmacsha256_state	 state;

	crypto_auth_hmacsha256_init(&state, key, 32);
	crypto_auth_hmacsha256_update(&state, (const uint8_t *)a.at, a.len);
	crypto_auth_hmacsha256_update(&state, (const uint8_t *)b.at, b.len);
	crypto_auth_hmacsha256_final(&state, mac);
	sodium_memzero(&state, sizeof(state));
}

void
ticket_sign(const struct ticket_keys *k, enum ticket_role role, struct span a,
    struct span b, uint8_t mac[TICKET_MAC_LEN])
{
	assert(k->n > 0 && role < TICKET_ROLES);
	ticket_mac(k->key[0][role], a, b, mac);
}

bool
ticket_is_signed(const struct ticket_keys *k, enum ticket_role role,
    struct span a, struct span b, const uint8_t mac[TICKET_MAC_LEN])
{
	uint8_t	 right[TICKET_MAC_LEN];
	size_t	 i;
	bool	 is = false;

	for (i = 0; i < k->n; i++) {
		ticket_mac(k->key[i][role], a, b, right);
		is |= sodium_memcmp(right, mac, sizeof(right)) == 0;
	}
	return is;
}

/* A ticket is about an environment: its name and NUL are signed with it. */
static struct span
ticket_about(const char *environment)
{
	return (struct span){ environment, strlen(environment) + 1 };
}

/*
 * Base64url without padding of
 *
 *	1	version
 *	4, 4	made and valid until, Unix seconds
 *	16	registration: milliseconds of its time, and 8 random bytes
 *	1, n	subject that it was granted to
 *	4, 4	limits of that subject: a number, and KiB per second
 *	executor: 1, n labels; its public keys
 *	others: 8 random bytes, hash of the harness's public keys
 *	32	HMAC-SHA-256
 */

/* --- bytes --- */

struct ticket_bytes {
	uint8_t	*at, *end;
	int	 is_short;	/* reading only */
};

static void
ticket_put(struct ticket_bytes *b, const void *data, size_t len)
{
	assert((size_t)(b->end - b->at) >= len);
	memcpy(b->at, data, len);
	b->at += len;
}

static void
ticket_put_number(struct ticket_bytes *b, uint64_t n)
{
	const uint8_t	 byte[4] = { (uint8_t)(n >> 24), (uint8_t)(n >> 16),
			    (uint8_t)(n >> 8), (uint8_t)n };

	ticket_put(b, byte, sizeof(byte));
}

static void
ticket_put_text(struct ticket_bytes *b, const char *text)
{
	size_t	 n = strlen(text);
	uint8_t	 len = (uint8_t)n;

	assert(n <= UINT8_MAX);
	ticket_put(b, &len, 1);
	ticket_put(b, text, n);
}

static void
ticket_get(struct ticket_bytes *b, void *out, size_t len)
{
	if ((size_t)(b->end - b->at) < len) {
		b->is_short = 1;
		memset(out, 0, len);
		return;
	}
	memcpy(out, b->at, len);
	b->at += len;
}

static uint32_t
ticket_get_number(struct ticket_bytes *b)
{
	uint8_t	 byte[4];

	ticket_get(b, byte, sizeof(byte));
	return (uint32_t)byte[0] << 24 | (uint32_t)byte[1] << 16 |
	    (uint32_t)byte[2] << 8 | byte[3];
}

static void
ticket_get_text(struct ticket_bytes *b, char *out, size_t max)
{
	uint8_t	 len;

	ticket_get(b, &len, 1);
	if (len > max) {
		b->is_short = 1;
		len = 0;
	}
	ticket_get(b, out, len);
	out[len] = '\0';
}

/* --- tickets --- */

size_t
ticket_write(const struct ticket_keys *k, enum ticket_role role,
    const char *environment, const struct ticket *t, char out[TICKET_MAX + 1])
{
	uint8_t			 raw[RAW_MAX], version = VERSION;
	struct ticket_bytes	 b = { raw, raw + sizeof(raw), 0 };

	ticket_put(&b, &version, 1);
	ticket_put_number(&b, t->made);
	ticket_put_number(&b, t->until);
	ticket_put(&b, t->registration, sizeof(t->registration));
	ticket_put_text(&b, t->subject);
	ticket_put_number(&b, t->limit);
	ticket_put_number(&b, t->rate);
	if (role == TICKET_EXECUTOR) {
		ticket_put_text(&b, t->labels);
		ticket_put(&b, &t->key, sizeof(t->key));
	} else {
		ticket_put(&b, t->nonce, sizeof(t->nonce));
		ticket_put(&b, t->harness, sizeof(t->harness));
	}
	assert(b.end - b.at >= TICKET_MAC_LEN);
	ticket_sign(k, role, ticket_about(environment), (struct span){
	    (const char *)raw, (size_t)(b.at - raw) }, b.at);
	b.at += TICKET_MAC_LEN;
	sodium_bin2base64(out, TICKET_MAX + 1, raw, (size_t)(b.at - raw),
	    VARIANT);
	return strlen(out);
}

/* Nothing is parsed before its signature is verified. */
enum ticket_verdict
ticket_read(const struct ticket_keys *k, enum ticket_role role,
    const char *environment, struct span text, uint64_t now, uint64_t skew,
    struct ticket *t)
{
	uint8_t			 raw[RAW_MAX], version;
	struct ticket_bytes	 b = { raw, NULL, 0 };
	size_t			 i, len;

	memset(t, 0, sizeof(*t));
	/* libsodium 1.0.18 takes 0xdf for "_". */
	for (i = 0; i < text.len; i++)
		if ((text.at[i] & 0x80) != 0)
			return TICKET_FORGED;
	if (text.len > TICKET_MAX || sodium_base642bin(raw, sizeof(raw),
	    text.at, text.len, NULL, &len, NULL, VARIANT) == -1 ||
	    len < TICKET_MAC_LEN)
		return TICKET_FORGED;
	b.end = raw + len - TICKET_MAC_LEN;
	if (!ticket_is_signed(k, role, ticket_about(environment),
	    (struct span){ (const char *)raw, len - TICKET_MAC_LEN }, b.end))
		return TICKET_FORGED;
	ticket_get(&b, &version, 1);
	t->made = ticket_get_number(&b);
	t->until = ticket_get_number(&b);
	ticket_get(&b, t->registration, sizeof(t->registration));
	ticket_get_text(&b, t->subject, TICKET_SUBJECT_MAX);
	t->limit = ticket_get_number(&b);
	t->rate = ticket_get_number(&b);
	if (role == TICKET_EXECUTOR) {
		ticket_get_text(&b, t->labels, TICKET_LABELS_MAX);
		ticket_get(&b, &t->key, sizeof(t->key));
	} else {
		ticket_get(&b, t->nonce, sizeof(t->nonce));
		ticket_get(&b, t->harness, sizeof(t->harness));
	}
	if (b.is_short || b.at != b.end || version != VERSION)
		return TICKET_FORGED;
	if (t->made > now + skew)
		return TICKET_EARLY;
	return now > t->until + skew ? TICKET_EXPIRED : TICKET_GOOD;
}

/* --- registrations and keys --- */

void
registration_make(uint8_t out[REGISTRATION_LEN], uint64_t now_ms)
{
	size_t	 i;

	for (i = 0; i < 8; i++)
		out[i] = (uint8_t)(now_ms >> (56 - 8 * i));
	randombytes_buf(out + 8, REGISTRATION_LEN - 8);
}

void
registration_text(const uint8_t id[REGISTRATION_LEN],
    char out[REGISTRATION_TEXT + 1])
{
	sodium_bin2hex(out, REGISTRATION_TEXT + 1, id, REGISTRATION_LEN);
}

void
hubkey_hash(const struct hubkey *key, uint8_t out[HUBKEY_HASH_LEN])
{
	crypto_hash_sha256(out, (const uint8_t *)key, sizeof(*key));
}
