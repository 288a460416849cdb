#include "common/noise/noise.h"

#include <assert.h>
#include <errno.h>
#include <sodium.h>
#include <string.h>

#include "common/noise/kem.h"

/* The name that is hashed; the label in JSON has X25519 instead. */
#define PROTOCOL	"Noise_hybridIK_25519+MLKEM768_AESGCM_SHA256"
#define DOMAIN		"codex-exec-server-relay-noise/v1"

/* --- the symmetric state (8.2) ---------------------------------------------*/

static void
mix_hash(struct noise_symmetric *s, const void *data, size_t len)
{
	crypto_hash_sha256_state	 st;

	crypto_hash_sha256_init(&st);
	crypto_hash_sha256_update(&st, s->h, sizeof(s->h));
	crypto_hash_sha256_update(&st, data, len);
	crypto_hash_sha256_final(&st, s->h);
	sodium_memzero(&st, sizeof(st));
}

/* HMAC(key, a || b). */
static void
hmac(const uint8_t key[NOISE_HASH], const void *a, size_t alen, const void *b,
    size_t blen, uint8_t out[NOISE_HASH])
{
	crypto_auth_hmacsha256_state	 st;

	crypto_auth_hmacsha256_init(&st, key, NOISE_HASH);
	crypto_auth_hmacsha256_update(&st, a, alen);
	crypto_auth_hmacsha256_update(&st, b, blen);
	crypto_auth_hmacsha256_final(&st, out);
	sodium_memzero(&st, sizeof(st));
}

/* The HKDF of Noise: 2 or 3 outputs, which may be ck itself. */
static void
hkdf(const uint8_t ck[NOISE_HASH], const uint8_t *input, size_t len,
    uint8_t *out[], uint8_t count)
{
	uint8_t	 i, temp[NOISE_HASH];

	assert(count == 2 || count == 3);
	hmac(ck, input, len, "", 0, temp);
	for (i = 1; i <= count; i++)
		hmac(temp, i == 1 ? temp : out[i - 2], i == 1 ? 0 : NOISE_HASH,
		    &i, 1, out[i - 1]);
	sodium_memzero(temp, sizeof(temp));
}

static void
mix_key(struct noise_symmetric *s, const uint8_t input[32])
{
	uint8_t	*out[] = { s->ck, s->k };

	hkdf(s->ck, input, 32, out, 2);
	s->n = 0;
}

static void
mix_key_and_hash(struct noise_symmetric *s, const uint8_t input[32])
{
	uint8_t	 u[NOISE_HASH], *out[] = { s->ck, u, s->k };

	hkdf(s->ck, input, 32, out, 3);
	mix_hash(s, u, sizeof(u));
	s->n = 0;
	sodium_memzero(u, sizeof(u));
}

/* Encrypt; return the length at out, or -1 with errno. */
static int
noise_seal(struct noise_symmetric *s, const void *data, size_t len,
    uint8_t *out)
{
	struct gcm_ad	 ad = { s->h, sizeof(s->h) };
	struct gcm	 g;
	int		 r;

	if (gcm_init(&g, s->k, true) == -1)
		return -1;
	r = gcm_seal(&g, s->n++, ad, data, len, out);
	gcm_fini(&g);
	if (r == -1)
		return -1;
	mix_hash(s, out, len + GCM_TAG);
	return (int)(len + GCM_TAG);
}

/* Decrypt len bytes, tag included.  0, or -1 with errno. */
static int
unseal(struct noise_symmetric *s, const uint8_t *data, size_t len,
    uint8_t *out)
{
	struct gcm_ad	 ad = { s->h, sizeof(s->h) };
	struct gcm	 g;
	int		 r;

	if (gcm_init(&g, s->k, false) == -1)
		return -1;
	r = gcm_open(&g, s->n++, ad, data, len, out);
	gcm_fini(&g);
	if (r == -1) {
		errno = errno == EBADMSG ? EPROTO : errno;
		return -1;
	}
	mix_hash(s, data, len);
	return 0;
}

/* Mix in a DH result.  0, or -1 with errno EPROTO: a point of low order,
 * which the stock implementation takes. */
static int
mix_dh(struct noise_symmetric *s, const uint8_t secret[NOISE_DH],
    const uint8_t point[NOISE_DH])
{
	uint8_t	 shared[NOISE_DH];
	int	 r;

	if ((r = crypto_scalarmult(shared, secret, point)) == 0)
		mix_key(s, shared);
	else
		errno = EPROTO;
	sodium_memzero(shared, sizeof(shared));
	return r;
}

static void
mix_public(struct noise_symmetric *s, const struct noise_public *p)
{
	mix_hash(s, p->dh, sizeof(p->dh));
	mix_hash(s, p->kem, sizeof(p->kem));
}

static void
put_part(crypto_hash_sha256_state *st, const void *data, size_t len)
{
	uint8_t	 head[8];
	int	 i;

	for (i = 0; i < 8; i++)
		head[i] = (uint8_t)((uint64_t)len >> (56 - 8 * i));
	crypto_hash_sha256_update(st, head, sizeof(head));
	crypto_hash_sha256_update(st, data, len);
}

/* Initialize, with the responder's keys as pre-message. */
static void
noise_begin(struct noise_symmetric *s, const struct noise_name *name,
    const struct noise_public *responder)
{
	crypto_hash_sha256_state	 st;

	memset(s, 0, sizeof(*s));
	crypto_hash_sha256(s->h, (const uint8_t *)PROTOCOL,
	    sizeof(PROTOCOL) - 1);
	memcpy(s->ck, s->h, sizeof(s->ck));
	crypto_hash_sha256_init(&st);
	crypto_hash_sha256_update(&st, s->h, sizeof(s->h));
	put_part(&st, DOMAIN, sizeof(DOMAIN) - 1);
	put_part(&st, name->environment.at, name->environment.len);
	put_part(&st, name->registration.at, name->registration.len);
	put_part(&st, name->stream.at, name->stream.len);
	crypto_hash_sha256_final(&st, s->h);
	mix_public(s, responder);
}

static void
noise_split(struct noise_symmetric *s, bool is_responder,
    struct noise_keys *keys)
{
	uint8_t	*out[2];

	out[is_responder ? 1 : 0] = keys->send;
	out[is_responder ? 0 : 1] = keys->receive;
	hkdf(s->ck, s->ck, 0, out, 2);
	memcpy(keys->hash, s->h, sizeof(keys->hash));
}

/* --- keys ------------------------------------------------------------------*/

int
noise_identity_make(struct noise_identity *id, const uint8_t dh[NOISE_DH],
    const uint8_t seed[MLKEM_SEED_LEN])
{
	memcpy(id->dh, dh, sizeof(id->dh));
	if (crypto_scalarmult_base(id->pub.dh, id->dh) == 0 &&
	    kem_keypair(seed, id->pub.kem, id->kem) == 0)
		return 0;
	sodium_memzero(id, sizeof(*id));
	errno = EIO;
	return -1;
}

void
noise_public_write(struct json_out *o, const struct noise_public *p)
{
	json_out_open(o, '{');
	json_out_pair(o, "suite", NOISE_SUITE);
	json_out_key(o, "x25519_public_key");
	json_out_b64(o, p->dh, sizeof(p->dh));
	json_out_key(o, "mlkem768_public_key");
	json_out_b64(o, p->kem, sizeof(p->kem));
	json_out_close(o, '}');
}

void
noise_random_fill(struct noise_random *r)
{
	randombytes_buf(r, sizeof(*r));
}

/* EINVAL is about the peer's key: EPROTO. */
static int
kem_result(int r)
{
	if (r == -1 && errno == EINVAL)
		errno = EPROTO;
	return r;
}

/* --- message 1 (8.3) -------------------------------------------------------*/

/* The layout; the payload follows. */
struct request {
	uint8_t	 skem[MLKEM_CIPHERTEXT_LEN];
	uint8_t	 dh[NOISE_DH];			/* e */
	uint8_t	 kem[MLKEM_PUBLIC_LEN];
	uint8_t	 static_dh[NOISE_DH + GCM_TAG];	/* s */
	uint8_t	 static_kem[MLKEM_PUBLIC_LEN + GCM_TAG];
	uint8_t	 payload[];
};
_Static_assert(sizeof(struct request) + GCM_TAG == NOISE_REQUEST,
    "message 1 has no gaps");

static int
write_request(struct noise_initiator *i, const struct noise_identity *self,
    const struct noise_public *to, const struct noise_random *random,
    struct request *m)
{
	struct noise_symmetric	*s = &i->sym;
	uint8_t			 shared[MLKEM_SHARED_LEN];
	int			 r;

	if ((r = kem_result(kem_encapsulate(to->kem, random->m[0],
	    m->skem, shared))) == 0) {
		mix_hash(s, m->skem, sizeof(m->skem));
		mix_key_and_hash(s, shared);
	}
	sodium_memzero(shared, sizeof(shared));
	if (r == -1 ||
	    noise_identity_make(&i->e, random->dh, random->kem) == -1)
		return -1;
	memcpy(m->dh, i->e.pub.dh, sizeof(m->dh));
	memcpy(m->kem, i->e.pub.kem, sizeof(m->kem));
	mix_public(s, &i->e.pub);
	if (mix_dh(s, i->e.dh, to->dh) == -1 ||
	    noise_seal(s, self->pub.dh, NOISE_DH, m->static_dh) == -1 ||
	    noise_seal(s, self->pub.kem, MLKEM_PUBLIC_LEN, m->static_kem) == -1)
		return -1;
	return mix_dh(s, self->dh, to->dh);
}

int
noise_request(struct noise_initiator *i, const struct noise_identity *self,
    const struct noise_public *to, const struct noise_name *name,
    const struct noise_random *random, const void *payload, size_t len,
    uint8_t *out)
{
	struct request	*m = (struct request *)out;

	if (len > NOISE_MESSAGE_MAX - NOISE_REQUEST) {
		errno = EMSGSIZE;
		goto fail;
	}
	noise_begin(&i->sym, name, to);
	if (write_request(i, self, to, random, m) == 0 &&
	    noise_seal(&i->sym, payload, len, m->payload) != -1)
		return (int)(NOISE_REQUEST + len);
 fail:
	sodium_memzero(i, sizeof(*i));
	return -1;
}

static int
read_request(struct noise_responder *r, const struct noise_identity *self,
    const struct request *m)
{
	struct noise_symmetric	*s = &r->sym;
	uint8_t			 shared[MLKEM_SHARED_LEN];
	int			 ret;

	mix_hash(s, m->skem, sizeof(m->skem));
	if ((ret = kem_result(kem_decapsulate(self->kem, m->skem,
	    shared))) == 0)
		mix_key_and_hash(s, shared);
	sodium_memzero(shared, sizeof(shared));
	if (ret == -1)
		return -1;
	memcpy(r->e.dh, m->dh, sizeof(r->e.dh));
	memcpy(r->e.kem, m->kem, sizeof(r->e.kem));
	mix_public(s, &r->e);
	if (kem_result(mlkem_check_public(r->e.kem)) == -1 ||
	    mix_dh(s, self->dh, r->e.dh) == -1 ||
	    unseal(s, m->static_dh, sizeof(m->static_dh), r->s.dh) == -1 ||
	    unseal(s, m->static_kem, sizeof(m->static_kem), r->s.kem) == -1 ||
	    kem_result(mlkem_check_public(r->s.kem)) == -1)
		return -1;
	return mix_dh(s, self->dh, r->s.dh);
}

int
noise_take_request(struct noise_responder *r,
    const struct noise_identity *self, const struct noise_name *name,
    const uint8_t *msg, size_t len, uint8_t *payload_out, size_t size)
{
	const struct request	*m = (const struct request *)msg;

	if (len < NOISE_REQUEST || len > NOISE_MESSAGE_MAX ||
	    len - NOISE_REQUEST > size) {
		errno = EMSGSIZE;
		goto fail;
	}
	noise_begin(&r->sym, name, &self->pub);
	if (read_request(r, self, m) == 0 && unseal(&r->sym, m->payload,
	    len - sizeof(*m), payload_out) == 0)
		return (int)(len - NOISE_REQUEST);
 fail:
	sodium_memzero(r, sizeof(*r));
	return -1;
}

/* --- message 2 (8.4) -------------------------------------------------------*/

struct response {
	uint8_t	 ekem[MLKEM_CIPHERTEXT_LEN];
	uint8_t	 skem[MLKEM_CIPHERTEXT_LEN + GCM_TAG];
	uint8_t	 dh[NOISE_DH];			/* e */
	uint8_t	 kem[MLKEM_PUBLIC_LEN];
	uint8_t	 payload[];
};
_Static_assert(sizeof(struct response) + GCM_TAG == NOISE_RESPONSE,
    "message 2 has no gaps");

/* Tokens ekem and skem. */
static int
write_kem(struct noise_responder *r, const struct noise_random *random,
    struct response *m)
{
	struct noise_symmetric	*s = &r->sym;
	uint8_t			 ct[MLKEM_CIPHERTEXT_LEN];
	uint8_t			 shared[MLKEM_SHARED_LEN];
	int			 ret = -1;

	if (kem_result(kem_encapsulate(r->e.kem, random->m[0], m->ekem,
	    shared)) == -1)
		goto out;
	mix_hash(s, m->ekem, sizeof(m->ekem));
	mix_key(s, shared);
	if (kem_result(kem_encapsulate(r->s.kem, random->m[1], ct,
	    shared)) == -1 ||
	    noise_seal(s, ct, sizeof(ct), m->skem) == -1)
		goto out;
	mix_key_and_hash(s, shared);
	ret = 0;
 out:
	sodium_memzero(shared, sizeof(shared));
	sodium_memzero(ct, sizeof(ct));
	return ret;
}

/* Tokens e, ee and se.  The ML-KEM key is sent but unused. */
static int
write_e(struct noise_responder *r, const struct noise_random *random,
    struct response *m)
{
	struct noise_identity	 e;
	int			 ret;

	if (noise_identity_make(&e, random->dh, random->kem) == -1)
		return -1;
	memcpy(m->dh, e.pub.dh, sizeof(m->dh));
	memcpy(m->kem, e.pub.kem, sizeof(m->kem));
	mix_public(&r->sym, &e.pub);
	ret = mix_dh(&r->sym, e.dh, r->e.dh) == -1 ||
	    mix_dh(&r->sym, e.dh, r->s.dh) == -1 ? -1 : 0;
	sodium_memzero(&e, sizeof(e));
	return ret;
}

int
noise_response(struct noise_responder *r, const struct noise_random *random,
    const void *payload, size_t len, uint8_t *out,
    struct noise_keys *keys_out)
{
	struct response	*m = (struct response *)out;
	int		 ret = -1;

	if (len > NOISE_MESSAGE_MAX - NOISE_RESPONSE) {
		errno = EMSGSIZE;
	} else if (write_kem(r, random, m) == 0 &&
	    write_e(r, random, m) == 0 &&
	    noise_seal(&r->sym, payload, len, m->payload) != -1) {
		noise_split(&r->sym, true, keys_out);
		ret = (int)(NOISE_RESPONSE + len);
	}
	if (ret == -1)
		sodium_memzero(keys_out, sizeof(*keys_out));
	sodium_memzero(r, sizeof(*r));
	return ret;
}

static int
read_kem(struct noise_initiator *i, const struct noise_identity *self,
    const struct response *m)
{
	struct noise_symmetric	*s = &i->sym;
	uint8_t			 ct[MLKEM_CIPHERTEXT_LEN];
	uint8_t			 shared[MLKEM_SHARED_LEN];
	int			 ret = -1;

	if (kem_result(kem_decapsulate(i->e.kem, m->ekem, shared)) == -1)
		goto out;
	mix_hash(s, m->ekem, sizeof(m->ekem));
	mix_key(s, shared);
	if (unseal(s, m->skem, sizeof(m->skem), ct) == -1 ||
	    kem_result(kem_decapsulate(self->kem, ct, shared)) == -1)
		goto out;
	mix_key_and_hash(s, shared);
	ret = 0;
 out:
	sodium_memzero(shared, sizeof(shared));
	sodium_memzero(ct, sizeof(ct));
	return ret;
}

static int
read_e(struct noise_initiator *i, const struct noise_identity *self,
    const struct response *m)
{
	mix_hash(&i->sym, m->dh, sizeof(m->dh));
	mix_hash(&i->sym, m->kem, sizeof(m->kem));
	if (mix_dh(&i->sym, i->e.dh, m->dh) == -1)
		return -1;
	return mix_dh(&i->sym, self->dh, m->dh);
}

int
noise_take_response(struct noise_initiator *i,
    const struct noise_identity *self, const uint8_t *msg, size_t len,
    uint8_t *payload_out, size_t size, struct noise_keys *keys_out)
{
	const struct response	*m = (const struct response *)msg;
	int			 ret = -1;

	if (len < NOISE_RESPONSE || len > NOISE_MESSAGE_MAX ||
	    len - NOISE_RESPONSE > size) {
		errno = EMSGSIZE;
	} else if (read_kem(i, self, m) == 0 && read_e(i, self, m) == 0 &&
	    unseal(&i->sym, m->payload, len - sizeof(*m), payload_out) == 0) {
		noise_split(&i->sym, false, keys_out);
		ret = (int)(len - NOISE_RESPONSE);
	}
	if (ret == -1)
		sodium_memzero(keys_out, sizeof(*keys_out));
	sodium_memzero(i, sizeof(*i));
	return ret;
}
