#include <check.h>
#include <errno.h>
#include <sodium.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#include "common/noise/keccak.h"
#include "common/noise/kem.h"
#include "common/noise/mlkem.h"
#include "common/noise/mlkem_priv.h"
#include "t/unit/mlkem_vectors.h"

/* They put on the stack what they like. */
#ifdef __has_feature
#if __has_feature(address_sanitizer) || __has_feature(memory_sanitizer)
#define OWN_STACK	0
#endif
#endif
#ifdef __SANITIZE_ADDRESS__
#define OWN_STACK	0
#endif
#ifndef OWN_STACK
#define OWN_STACK	1
#endif

#define NITEMS(a)	(sizeof(a) / sizeof((a)[0]))

/* What configure chose, our own code whatever it chose, and the uplink's. */
struct kem {
	int	 (*keypair)(const uint8_t *, uint8_t *, uint8_t *);
	int	 (*encapsulate)(const uint8_t *, const uint8_t *, uint8_t *,
		    uint8_t *);
	int	 (*decapsulate)(const uint8_t *, const uint8_t *, uint8_t *);
};

static int
own_keypair(const uint8_t *seed, uint8_t *public, uint8_t *secret)
{
	mlkem_own_keypair(seed, public, secret);
	return 0;
}

static int
own_encapsulate(const uint8_t *public, const uint8_t *m, uint8_t *ciphertext,
    uint8_t *shared)
{
	mlkem_own_encapsulate(public, m, ciphertext, shared);
	return 0;
}

static int
own_decapsulate(const uint8_t *secret, const uint8_t *ciphertext,
    uint8_t *shared)
{
	mlkem_own_decapsulate(secret, ciphertext, shared);
	return 0;
}

static const struct kem	kems[] = {
	{ mlkem_keypair, mlkem_encapsulate, mlkem_decapsulate },
	{ own_keypair, own_encapsulate, own_decapsulate },
	{ kem_keypair, kem_encapsulate, kem_decapsulate },
};

/* Those that look at keys before they use them. */
static const struct kem	*const careful[] = { &kems[0], &kems[2] };

/* A pair, and something for its owner. */
struct talk {
	uint8_t	 seed[MLKEM_SEED_LEN], m[MLKEM_RANDOM_LEN];
	uint8_t	 public[MLKEM_PUBLIC_LEN], secret[MLKEM_SECRET_LEN];
	uint8_t	 ciphertext[MLKEM_CIPHERTEXT_LEN];
	uint8_t	 shared[MLKEM_SHARED_LEN];
};

static void
unhex(uint8_t *out, size_t len, const char *hex)
{
	size_t	 n;

	ck_assert_int_eq(sodium_hex2bin(out, len, hex, strlen(hex), NULL, &n,
	    NULL), 0);
	ck_assert_uint_eq(n, len);
}

static void
ck_bytes(const uint8_t *got, size_t len, const char *want)
{
	uint8_t	 bytes[64];

	ck_assert_uint_le(len, sizeof(bytes));
	unhex(bytes, len, want);
	ck_assert_mem_eq(got, bytes, len);
}

static void
ck_sha256(const uint8_t *got, size_t len, const char *want)
{
	uint8_t	 h[32];

	ck_assert_int_eq(crypto_hash_sha256(h, got, len), 0);
	ck_bytes(h, sizeof(h), want);
}

static void
ck_shared(const struct kem *kem, const uint8_t *secret,
    const uint8_t *ciphertext, const char *want)
{
	uint8_t	 shared[MLKEM_SHARED_LEN];

	ck_assert_int_eq(kem->decapsulate(secret, ciphertext, shared), 0);
	ck_bytes(shared, sizeof(shared), want);
}

static void
talk_make(const struct kem *kem, struct talk *t, const struct vector *v)
{
	unhex(t->seed, sizeof(t->seed), v->seed);
	unhex(t->m, sizeof(t->m), v->m);
	ck_assert_int_eq(kem->keypair(t->seed, t->public, t->secret), 0);
	ck_assert_int_eq(kem->encapsulate(t->public, t->m, t->ciphertext,
	    t->shared), 0);
}

START_TEST(test_vectors)
{
	const struct kem	*kem;
	const struct vector	*v;
	struct talk		 t;

	for (kem = kems; kem < kems + NITEMS(kems); kem++) {
		for (v = vectors; v < vectors + NITEMS(vectors); v++) {
			talk_make(kem, &t, v);
			ck_sha256(t.public, sizeof(t.public),
			    v->public_sha256);
			ck_sha256(t.secret, sizeof(t.secret),
			    v->secret_sha256);
			ck_sha256(t.ciphertext, sizeof(t.ciphertext),
			    v->ciphertext_sha256);
			ck_bytes(t.shared, sizeof(t.shared), v->shared);
			ck_shared(kem, t.secret, t.ciphertext, v->shared);
			t.ciphertext[17] ^= 0x40;
			ck_shared(kem, t.secret, t.ciphertext, v->damaged);
			memset(t.ciphertext, 0, sizeof(t.ciphertext));
			ck_shared(kem, t.secret, t.ciphertext, v->zeros);
			memset(t.ciphertext, 0xff, sizeof(t.ciphertext));
			ck_shared(kem, t.secret, t.ciphertext, v->ones);
		}
	}
}
END_TEST

START_TEST(test_acvp)
{
	const struct kem	*kem;
	const struct acvp	*a;
	struct talk		 t;

	for (kem = kems; kem < kems + NITEMS(kems); kem++) {
		for (a = acvp; a < acvp + NITEMS(acvp); a++) {
			unhex(t.seed, sizeof(t.seed), a->seed);
			ck_assert_int_eq(kem->keypair(t.seed, t.public,
			    t.secret), 0);
			ck_bytes(t.secret, 32, a->secret_begins);
			ck_bytes(t.secret + MLKEM_SECRET_HASH, 32,
			    a->public_sha3);
			ck_assert_mem_eq(t.secret + MLKEM_SECRET_Z,
			    t.seed + 32, 32);
			ck_assert_mem_eq(t.secret + MLKEM_SECRET_PUBLIC,
			    t.public, sizeof(t.public));
		}
	}
}
END_TEST

static void
accumulate(const struct kem *kem, struct keccak *from, struct keccak *to)
{
	struct talk	 t;
	uint8_t		 shared[MLKEM_SHARED_LEN];

	keccak_get(from, t.seed, sizeof(t.seed));
	ck_assert_int_eq(kem->keypair(t.seed, t.public, t.secret), 0);
	keccak_put(to, t.public, sizeof(t.public));
	keccak_get(from, t.m, sizeof(t.m));
	ck_assert_int_eq(kem->encapsulate(t.public, t.m, t.ciphertext,
	    t.shared), 0);
	keccak_put(to, t.ciphertext, sizeof(t.ciphertext));
	keccak_put(to, t.shared, sizeof(t.shared));
	ck_assert_int_eq(kem->decapsulate(t.secret, t.ciphertext, shared), 0);
	ck_assert_mem_eq(shared, t.shared, sizeof(shared));
	keccak_get(from, t.ciphertext, sizeof(t.ciphertext));
	ck_assert_int_eq(kem->decapsulate(t.secret, t.ciphertext, shared), 0);
	keccak_put(to, shared, sizeof(shared));
}

/*
 * The hash of what a hundred random pairs do, 900 matrix elements among them.
 * Expected: TestAccumulated of crypto/mlkem, Go 1.24.
 */
START_TEST(test_accumulated)
{
	const struct kem	*kem;
	struct keccak		 from, to;
	uint8_t			 h[32];
	int			 i;

	for (kem = kems; kem < kems + NITEMS(kems); kem++) {
		keccak_init(&from, KECCAK_SHAKE128);
		keccak_init(&to, KECCAK_SHAKE128);
		for (i = 0; i < 100; i++)
			accumulate(kem, &from, &to);
		keccak_get(&to, h, sizeof(h));
		ck_bytes(h, sizeof(h), "1114b1b6699ed191734fa339376afa7e"
		    "285c9e6acf6ff0177d346696ce564415");
	}
}
END_TEST

/* The 12 bits of coefficient i of a packed polynomial. */
static void
set_coefficient(uint8_t *key, int i, unsigned int v)
{
	uint8_t	*p = key + i / 2 * 3;

	if (i % 2 == 0) {
		p[0] = (uint8_t)v;
		p[1] = (uint8_t)((p[1] & 0xf0) | v >> 8);
	} else {
		p[1] = (uint8_t)((p[1] & 15) | (v & 15) << 4);
		p[2] = (uint8_t)(v >> 4);
	}
}

static void
ck_refused(const uint8_t *public, const uint8_t *m)
{
	uint8_t	 out[MLKEM_CIPHERTEXT_LEN + MLKEM_SHARED_LEN];
	uint8_t	 was[sizeof(out)];
	size_t	 i;

	errno = 0;
	ck_assert_int_eq(mlkem_check_public(public), -1);
	ck_assert_int_eq(errno, EINVAL);
	memset(out, 0xa5, sizeof(out));
	memcpy(was, out, sizeof(was));
	for (i = 0; i < NITEMS(careful); i++) {
		errno = 0;
		ck_assert_int_eq(careful[i]->encapsulate(public, m, out,
		    out + MLKEM_CIPHERTEXT_LEN), -1);
		ck_assert_int_eq(errno, EINVAL);
		ck_assert_mem_eq(out, was, sizeof(was));
	}
}

/* FIPS 203 section 7.2: coefficients that are not reduced. */
START_TEST(test_public_not_reduced)
{
	struct talk	 t;
	uint8_t		 public[MLKEM_PUBLIC_LEN];
	int		 i;

	talk_make(kems, &t, &vectors[0]);
	ck_assert_int_eq(mlkem_check_public(t.public), 0);
	memcpy(public, t.public, sizeof(public));
	set_coefficient(public, 0, 4095);
	ck_assert_uint_eq(public[0], 0xff);
	ck_assert_uint_eq(public[1], 0x0f);
	ck_refused(public, t.m);
	for (i = 0; i < MLKEM_K * MLKEM_N; i++) {
		memcpy(public, t.public, sizeof(public));
		set_coefficient(public, i, MLKEM_Q - 1);
		ck_assert_int_eq(mlkem_check_public(public), 0);
		set_coefficient(public, i, MLKEM_Q);
		ck_refused(public, t.m);
		set_coefficient(public, i, 4095);
		ck_refused(public, t.m);
	}
	memset(public, 0xff, sizeof(public));
	ck_refused(public, t.m);
	memset(public, 0, sizeof(public));
	set_coefficient(public, MLKEM_K * MLKEM_N - 1, MLKEM_Q);
	ck_refused(public, t.m);
}
END_TEST

/* rho may be anything, and so may reduced coefficients. */
START_TEST(test_public_of_nobody)
{
	uint8_t	 public[MLKEM_PUBLIC_LEN], m[MLKEM_RANDOM_LEN];
	uint8_t	 one[MLKEM_CIPHERTEXT_LEN + MLKEM_SHARED_LEN];
	uint8_t	 two[MLKEM_CIPHERTEXT_LEN + MLKEM_SHARED_LEN];
	size_t	 i;
	int	 fill;

	memset(m, 0, sizeof(m));
	for (fill = 0; fill <= 0xff; fill += 0xff) {
		memset(public, 0, sizeof(public));
		memset(public + MLKEM_SECRET_PUBLIC, fill, 32);
		ck_assert_int_eq(mlkem_check_public(public), 0);
		mlkem_own_encapsulate(public, m, two,
		    two + MLKEM_CIPHERTEXT_LEN);
		for (i = 0; i < NITEMS(careful); i++) {
			ck_assert_int_eq(careful[i]->encapsulate(public, m,
			    one, one + MLKEM_CIPHERTEXT_LEN), 0);
			ck_assert_mem_eq(one, two, sizeof(one));
		}
	}
}
END_TEST

/* FIPS 203 section 7.3: every bit of the public key and of its hash counts. */
START_TEST(test_secret_damaged)
{
	const struct kem	*kem = careful[_i];
	struct talk		 t;
	uint8_t			 shared[MLKEM_SHARED_LEN];
	uint8_t			 was[MLKEM_SHARED_LEN];
	size_t			 i;

	talk_make(kem, &t, &vectors[1]);
	memset(was, 0xa5, sizeof(was));
	for (i = MLKEM_SECRET_PUBLIC; i < MLKEM_SECRET_Z; i++) {
		t.secret[i] ^= (uint8_t)(1u << i % 8);
		memcpy(shared, was, sizeof(was));
		errno = 0;
		ck_assert_int_eq(kem->decapsulate(t.secret, t.ciphertext,
		    shared), -1);
		ck_assert_int_eq(errno, EINVAL);
		ck_assert_mem_eq(shared, was, sizeof(was));
		t.secret[i] ^= (uint8_t)(1u << i % 8);
	}
	ck_shared(kem, t.secret, t.ciphertext, vectors[1].shared);
	memset(t.secret, 0, sizeof(t.secret));
	ck_assert_int_eq(kem->decapsulate(t.secret, t.ciphertext, shared),
	    -1);
	memset(t.secret, 0xff, sizeof(t.secret));
	ck_assert_int_eq(kem->decapsulate(t.secret, t.ciphertext, shared),
	    -1);
}
END_TEST

/*
 * A secret key may have coefficients up to 4095: they count modulo Q, or it is
 * refused, as libcrypto does.
 */
static void
ck_unreduced(const struct kem *kem, const struct talk *t)
{
	uint8_t	 shared[MLKEM_SHARED_LEN];

	errno = 0;
	if (kem == &kems[2] &&
	    kem->decapsulate(t->secret, t->ciphertext, shared) == -1)
		ck_assert_int_eq(errno, EINVAL);
	else
		ck_shared(kem, t->secret, t->ciphertext, unreduced);
}

START_TEST(test_secret_not_reduced)
{
	const struct kem	*kem;
	struct talk		 t;
	int			 i;

	for (kem = kems; kem < kems + NITEMS(kems); kem++) {
		talk_make(kem, &t, &vectors[0]);
		memset(t.secret, 0xff, MLKEM_SECRET_PUBLIC);
		ck_unreduced(kem, &t);
		for (i = 0; i < MLKEM_K * MLKEM_N; i++)
			set_coefficient(t.secret, i, 4095 - MLKEM_Q);
		ck_unreduced(kem, &t);
	}
}
END_TEST

/* What the owner of z gets for a ciphertext that is not good. */
static void
rejected(const struct talk *t, uint8_t out[MLKEM_SHARED_LEN])
{
	struct keccak	 k;

	keccak_init(&k, KECCAK_SHAKE256);
	keccak_put(&k, t->secret + MLKEM_SECRET_Z, 32);
	keccak_put(&k, t->ciphertext, sizeof(t->ciphertext));
	keccak_get(&k, out, MLKEM_SHARED_LEN);
	keccak_fini(&k);
}

/* One bit wrong in whatever byte, and all is lost. */
START_TEST(test_ciphertext_damaged)
{
	const struct kem	*kem;
	struct talk		 t;
	uint8_t			 shared[MLKEM_SHARED_LEN];
	uint8_t			 want[MLKEM_SHARED_LEN];
	size_t			 i;

	for (kem = kems; kem < kems + NITEMS(kems); kem++) {
		talk_make(kem, &t, &vectors[2]);
		for (i = 0; i < sizeof(t.ciphertext); i++) {
			t.ciphertext[i] ^= (uint8_t)(1u << i % 8);
			rejected(&t, want);
			ck_assert_int_eq(kem->decapsulate(t.secret,
			    t.ciphertext, shared), 0);
			ck_assert_mem_eq(shared, want, sizeof(want));
			t.ciphertext[i] ^= (uint8_t)(1u << i % 8);
		}
		ck_shared(kem, t.secret, t.ciphertext, vectors[2].shared);
	}
}
END_TEST

/* Places to try for an overlap. */
#define STEP	73

static void
ck_overlap_keypair(const struct kem *kem, const struct talk *t)
{
	uint8_t	 a[MLKEM_SECRET_LEN], b[MLKEM_SECRET_LEN];
	size_t	 at;

	for (at = 0; at <= sizeof(t->secret) - 64; at += STEP) {
		memcpy(a + at, t->seed, sizeof(t->seed));
		ck_assert_int_eq(kem->keypair(a + at, b, a), 0);
		ck_assert_mem_eq(a, t->secret, sizeof(t->secret));
		ck_assert_mem_eq(b, t->public, sizeof(t->public));
	}
	for (at = 0; at <= sizeof(t->public) - 64; at += STEP) {
		memcpy(a + at, t->seed, sizeof(t->seed));
		ck_assert_int_eq(kem->keypair(a + at, a, b), 0);
		ck_assert_mem_eq(b, t->secret, sizeof(t->secret));
		ck_assert_mem_eq(a, t->public, sizeof(t->public));
	}
}

/* The ciphertext over the key and the secret over m; then crosswise. */
static void
ck_overlap_encapsulate(const struct kem *kem, const struct talk *t)
{
	uint8_t	 a[2 * MLKEM_PUBLIC_LEN], b[2 * MLKEM_PUBLIC_LEN];
	size_t	 at;

	for (at = 0; at < sizeof(t->public); at += STEP) {
		memcpy(a + at, t->public, sizeof(t->public));
		memcpy(b, t->m, sizeof(t->m));
		ck_assert_int_eq(kem->encapsulate(a + at, b, a, b), 0);
		ck_assert_mem_eq(a, t->ciphertext, MLKEM_CIPHERTEXT_LEN);
		ck_assert_mem_eq(b, t->shared, MLKEM_SHARED_LEN);

		memcpy(a, t->public, sizeof(t->public));
		memcpy(b + at, t->m, sizeof(t->m));
		ck_assert_int_eq(kem->encapsulate(a, b + at, b, a + at), 0);
		ck_assert_mem_eq(b, t->ciphertext, MLKEM_CIPHERTEXT_LEN);
		ck_assert_mem_eq(a + at, t->shared, MLKEM_SHARED_LEN);
	}
}

static void
ck_overlap_decapsulate(const struct kem *kem, const struct talk *t)
{
	uint8_t	 b[MLKEM_SECRET_LEN];
	size_t	 at;

	for (at = 0; at <= sizeof(t->ciphertext) - 32; at += STEP) {
		memcpy(b, t->ciphertext, sizeof(t->ciphertext));
		ck_assert_int_eq(kem->decapsulate(t->secret, b, b + at), 0);
		ck_assert_mem_eq(b + at, t->shared, MLKEM_SHARED_LEN);
	}
	for (at = 0; at <= sizeof(t->secret) - 32; at += STEP) {
		memcpy(b, t->secret, sizeof(t->secret));
		ck_assert_int_eq(kem->decapsulate(b, t->ciphertext, b + at),
		    0);
		ck_assert_mem_eq(b + at, t->shared, MLKEM_SHARED_LEN);
	}
}

/* Results may replace what they are made of. */
START_TEST(test_overlap)
{
	const struct kem	*kem;
	struct talk		 t;

	for (kem = kems; kem < kems + NITEMS(kems); kem++) {
		talk_make(kem, &t, &vectors[0]);
		ck_overlap_keypair(kem, &t);
		ck_overlap_encapsulate(kem, &t);
		ck_overlap_decapsulate(kem, &t);
	}
}
END_TEST

#if OWN_STACK

/* What runs on a stack of its own, so that one can look at it later. */
static struct {
	ucontext_t	 here, there;
	struct talk	 talk;
	uint8_t		 stack[256 * 1024];
} aside;

static void
run_aside(void (*fn)(void))
{
	memset(aside.stack, 0, sizeof(aside.stack));
	ck_assert_int_eq(getcontext(&aside.there), 0);
	aside.there.uc_stack.ss_sp = aside.stack;
	aside.there.uc_stack.ss_size = sizeof(aside.stack);
	aside.there.uc_link = &aside.here;
	makecontext(&aside.there, fn, 0);
	ck_assert_int_eq(swapcontext(&aside.here, &aside.there), 0);
}

/* Whether 16 bytes of a secret in a row are still there. */
static int
is_left(const void *secret, size_t len)
{
	const uint8_t	*p = secret;
	size_t		 i;

	for (i = 0; i + 16 <= len; i += 16) {
		if (memmem(aside.stack, sizeof(aside.stack), p + i, 16))
			return 1;
	}
	return 0;
}

static void
forget_to_wipe(void)
{
	volatile uint8_t	 copy[32];
	size_t			 i;

	for (i = 0; i < sizeof(copy); i++)
		copy[i] = aside.talk.seed[i];
}

static void
do_keypair(void)
{
	struct talk	*t = &aside.talk;

	mlkem_own_keypair(t->seed, t->public, t->secret);
}

static void
do_encapsulate(void)
{
	struct talk	*t = &aside.talk;

	mlkem_own_encapsulate(t->public, t->m, t->ciphertext, t->shared);
}

static void
do_decapsulate(void)
{
	struct talk	*t = &aside.talk;

	mlkem_own_decapsulate(t->secret, t->ciphertext, t->shared);
}

/* What encapsulation and decapsulation have in common. */
static void
ck_none_left(const struct talk *t)
{
	struct mlkem_poly	 p;
	struct keccak		 k;
	uint8_t			 g[SHA3_512_LEN];

	keccak_init(&k, KECCAK_SHA3_512);
	keccak_put(&k, t->m, sizeof(t->m));
	keccak_put(&k, t->secret + MLKEM_SECRET_HASH, SHA3_256_LEN);
	keccak_get(&k, g, sizeof(g));
	ck_assert(!is_left(t->m, sizeof(t->m)));
	ck_assert(!is_left(g, sizeof(g)));
	ck_assert(!is_left(k.lanes, sizeof(k.lanes)));
	mlkem_sample_cbd(&p, g + 32, 0);
	ck_assert(!is_left(&p, sizeof(p)));
	mlkem_ntt(&p);
	ck_assert(!is_left(&p, sizeof(p)));
}

/* Nothing of a secret stays on the stack. */
START_TEST(test_stack)
{
	struct talk		*t = &aside.talk;
	struct mlkem_poly	 p;
	struct keccak		 k;
	uint8_t			 g[SHA3_512_LEN];

	talk_make(&kems[1], t, &vectors[0]);
	run_aside(forget_to_wipe);
	ck_assert(is_left(t->seed, 32));

	run_aside(do_keypair);
	keccak_init(&k, KECCAK_SHA3_512);
	keccak_put(&k, t->seed, 32);
	keccak_put(&k, "\003", 1);
	keccak_get(&k, g, sizeof(g));
	ck_assert(!is_left(t->seed, sizeof(t->seed)));
	ck_assert(!is_left(g + 32, 32));
	ck_assert(!is_left(t->secret, MLKEM_SECRET_PUBLIC));
	mlkem_unpack(&p, t->secret, 12);
	ck_assert(!is_left(&p, sizeof(p)));

	run_aside(do_encapsulate);
	ck_none_left(t);
	run_aside(do_decapsulate);
	ck_none_left(t);
	ck_assert(!is_left(&p, sizeof(p)));
	t->ciphertext[0] ^= 1;
	run_aside(do_decapsulate);
	ck_none_left(t);
	ck_assert(!is_left(t->shared, sizeof(t->shared)));
	ck_assert(!is_left(t->secret + MLKEM_SECRET_Z, 32));
}
END_TEST

#endif

int
main(void)
{
	Suite	*s = suite_create("mlkem");
	TCase	*t = tcase_create("mlkem");
	SRunner	*sr = srunner_create(s);
	int	 failed;

	tcase_set_timeout(t, 120);
	kem_start();
	tcase_add_test(t, test_vectors);
	tcase_add_test(t, test_acvp);
	tcase_add_test(t, test_accumulated);
	tcase_add_test(t, test_public_not_reduced);
	tcase_add_test(t, test_public_of_nobody);
	tcase_add_loop_test(t, test_secret_damaged, 0, NITEMS(careful));
	tcase_add_test(t, test_secret_not_reduced);
	tcase_add_test(t, test_ciphertext_damaged);
	tcase_add_test(t, test_overlap);
#if OWN_STACK
	tcase_add_test(t, test_stack);
#endif
	suite_add_tcase(s, t);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed != 0;
}
