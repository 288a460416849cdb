/*
 * Keys and ciphertexts of any bytes: keys are refused exactly when FIPS 203
 * says so, a ciphertext that nobody made gives what only z can tell, and a pair
 * agrees.
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/noise/keccak.h"
#include "common/noise/kem.h"
#include "common/noise/mlkem.h"
#include "common/noise/mlkem_priv.h"

#define CHECK(claim)	do { if (!(claim)) abort(); } while (0)

int	 LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What is left of the input. */
struct procin {
	const uint8_t	*p;
	size_t		 len;
};

/* The next bytes; once there are none left, the last one again and again. */
static void
take(struct procin *in, uint8_t *out, size_t len)
{
	for (; len > 0; len--) {
		*out++ = in->len > 0 ? *in->p : 0;
		if (in->len > 1) {
			in->p++;
			in->len--;
		}
	}
}

/* Bit by bit, as algorithm 3 has it. */
static int
is_reduced(const uint8_t *public)
{
	unsigned int	 v, bit;
	int		 i, j;

	for (i = 0; i < MLKEM_K * MLKEM_N; i++) {
		v = 0;
		for (j = 0; j < 12; j++) {
			bit = (unsigned int)(i * 12 + j);
			v |= (public[bit / 8] >> bit % 8 & 1u) << j;
		}
		if (v >= MLKEM_Q)
			return 0;
	}
	return 1;
}

static void
rejected(const uint8_t *secret, const uint8_t *ciphertext, uint8_t *out)
{
	struct keccak	 k;

	keccak_init(&k, KECCAK_SHAKE256);
	keccak_put(&k, secret + MLKEM_SECRET_Z, 32);
	keccak_put(&k, ciphertext, MLKEM_CIPHERTEXT_LEN);
	keccak_get(&k, out, MLKEM_SHARED_LEN);
	keccak_fini(&k);
}

static void
try_public(struct procin *in)
{
	uint8_t	 public[MLKEM_PUBLIC_LEN], m[MLKEM_RANDOM_LEN];
	uint8_t	 ciphertext[MLKEM_CIPHERTEXT_LEN], again[MLKEM_CIPHERTEXT_LEN];
	uint8_t	 shared[MLKEM_SHARED_LEN], shared2[MLKEM_SHARED_LEN];
	int	 good;

	take(in, m, sizeof(m));
	take(in, public, sizeof(public));
	good = is_reduced(public);
	errno = 0;
	CHECK(mlkem_check_public(public) == (good ? 0 : -1));
	CHECK(errno == (good ? 0 : EINVAL));
	CHECK(mlkem_encapsulate(public, m, ciphertext, shared) ==
	    (good ? 0 : -1));
	CHECK(errno == (good ? 0 : EINVAL));
	/* Our own does what it can with any bytes. */
	mlkem_own_encapsulate(public, m, again, shared2);
	CHECK(!good || (memcmp(ciphertext, again, sizeof(again)) == 0 &&
	    memcmp(shared, shared2, sizeof(shared)) == 0));
}

static void
try_secret(struct procin *in)
{
	uint8_t		 secret[MLKEM_SECRET_LEN];
	uint8_t		 ciphertext[MLKEM_CIPHERTEXT_LEN];
	uint8_t		 shared[MLKEM_SHARED_LEN], want[MLKEM_SHARED_LEN];
	uint8_t		 h[SHA3_256_LEN];
	struct keccak	 k;
	int		 good;

	take(in, ciphertext, sizeof(ciphertext));
	take(in, secret, sizeof(secret));
	keccak_init(&k, KECCAK_SHA3_256);
	keccak_put(&k, secret + MLKEM_SECRET_PUBLIC, MLKEM_PUBLIC_LEN);
	keccak_get(&k, h, sizeof(h));
	good = memcmp(h, secret + MLKEM_SECRET_HASH, sizeof(h)) == 0;
	errno = 0;
	CHECK(mlkem_decapsulate(secret, ciphertext, shared) ==
	    (good ? 0 : -1));
	CHECK(errno == (good ? 0 : EINVAL));
	memcpy(secret + MLKEM_SECRET_HASH, h, sizeof(h));
	CHECK(mlkem_decapsulate(secret, ciphertext, shared) == 0);
	/* Nobody meets the one good ciphertext of such a key by chance. */
	rejected(secret, ciphertext, want);
	CHECK(memcmp(shared, want, sizeof(want)) == 0);
}

/* Good at first, then with some bytes of the input's choice. */
static void
try_pair(struct procin *in)
{
	uint8_t	 seed[MLKEM_SEED_LEN], m[MLKEM_RANDOM_LEN], at[2], byte;
	uint8_t	 public[MLKEM_PUBLIC_LEN], secret[MLKEM_SECRET_LEN];
	uint8_t	 ciphertext[MLKEM_CIPHERTEXT_LEN], was[MLKEM_CIPHERTEXT_LEN];
	uint8_t	 shared[MLKEM_SHARED_LEN], got[MLKEM_SHARED_LEN];

	take(in, seed, sizeof(seed));
	take(in, m, sizeof(m));
	CHECK(mlkem_keypair(seed, public, secret) == 0);
	CHECK(mlkem_encapsulate(public, m, ciphertext, shared) == 0);
	CHECK(mlkem_decapsulate(secret, ciphertext, got) == 0);
	CHECK(memcmp(got, shared, sizeof(got)) == 0);
	CHECK(kem_keypair(seed, public, secret) == 0);
	CHECK(kem_encapsulate(public, m, was, got) == 0);
	CHECK(memcmp(was, ciphertext, sizeof(was)) == 0);
	CHECK(memcmp(got, shared, sizeof(got)) == 0);

	memcpy(was, ciphertext, sizeof(was));
	while (in->len > 2) {
		take(in, at, sizeof(at));
		take(in, &byte, 1);
		ciphertext[(at[0] << 8 | at[1]) % MLKEM_CIPHERTEXT_LEN] ^=
		    byte;
	}
	if (memcmp(was, ciphertext, sizeof(was)) != 0)
		rejected(secret, ciphertext, shared);
	CHECK(mlkem_decapsulate(secret, ciphertext, got) == 0);
	CHECK(memcmp(got, shared, sizeof(got)) == 0);
	memset(got, 0, sizeof(got));
	CHECK(kem_decapsulate(secret, ciphertext, got) == 0);
	CHECK(memcmp(got, shared, sizeof(got)) == 0);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct procin	 in = { data, size };
	uint8_t		 what;

	take(&in, &what, 1);
	switch (what % 3) {
	case 0:
		try_public(&in);
		break;
	case 1:
		try_secret(&in);
		break;
	default:
		try_pair(&in);
	}
	return 0;
}
