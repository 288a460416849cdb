#include <sodium.h>
#include <string.h>

#include "common/noise/keccak.h"
#include "common/noise/mlkem_priv.h"

#define K	MLKEM_K
#define POLY	MLKEM_PACKED(12)
#define DU	10
#define DV	4

_Static_assert(K * POLY + 32 == MLKEM_PUBLIC_LEN &&
    MLKEM_SECRET_Z + 32 == MLKEM_SECRET_LEN &&
    K * MLKEM_PACKED(DU) + MLKEM_PACKED(DV) == MLKEM_CIPHERTEXT_LEN,
    "FIPS 203 table 3");

/* Hash a and b (nb may be 0) to out_len bytes. */
static void
hash(unsigned int rate, uint8_t suffix, const void *a, size_t na,
    const void *b, size_t nb, uint8_t *out, size_t out_len)
{
	struct keccak	 k;

	keccak_init(&k, rate, suffix);
	keccak_put(&k, a, na);
	keccak_put(&k, b, nb);
	keccak_get(&k, out, out_len);
	keccak_fini(&k);
}

void
mlkem_own_keypair(const uint8_t seed[MLKEM_SEED_LEN],
    uint8_t public_out[MLKEM_PUBLIC_LEN],
    uint8_t secret_out[MLKEM_SECRET_LEN])
{
	static const uint8_t	 k = K;
	struct {
		struct mlkem_poly	 s[K], t[K], a;
		uint8_t			 g[SHA3_512_LEN], z[32];
	}			 w;
	const uint8_t		*rho = w.g, *sigma = w.g + 32;
	int			 i, j;

	hash(KECCAK_SHA3_512, seed, 32, &k, 1, w.g, sizeof(w.g));
	memcpy(w.z, seed + 32, 32);
	for (i = 0; i < K; i++) {
		mlkem_sample_cbd(&w.s[i], sigma, (uint8_t)i);
		mlkem_ntt(&w.s[i]);
		mlkem_pack(secret_out + POLY * i, &w.s[i], 12);
	}
	for (i = 0; i < K; i++) {
		mlkem_sample_cbd(&w.t[i], sigma, (uint8_t)(K + i));
		mlkem_ntt(&w.t[i]);
		for (j = 0; j < K; j++) {
			mlkem_sample_ntt(&w.a, rho, (uint8_t)j, (uint8_t)i);
			mlkem_mul_add(&w.t[i], &w.a, &w.s[j]);
		}
		mlkem_pack(public_out + POLY * i, &w.t[i], 12);
	}
	memcpy(public_out + K * POLY, rho, 32);
	memcpy(secret_out + MLKEM_SECRET_PUBLIC, public_out, MLKEM_PUBLIC_LEN);
	hash(KECCAK_SHA3_256, public_out, MLKEM_PUBLIC_LEN, NULL, 0,
	    secret_out + MLKEM_SECRET_HASH, SHA3_256_LEN);
	memcpy(secret_out + MLKEM_SECRET_Z, w.z, 32);
	sodium_memzero(&w, sizeof(w));
}

/* Add Q/2 or 0 to each coefficient, by the bits of m. */
static void
add_message(struct mlkem_poly *p, const uint8_t m[32])
{
	struct mlkem_poly	 mu;

	mlkem_unpack(&mu, m, 1);
	mlkem_add(p, &mu);
	sodium_memzero(&mu, sizeof(mu));
}

/* K-PKE.Encrypt (algorithm 14); the ciphertext may overlap the inputs. */
static void
encrypt(const uint8_t public[MLKEM_PUBLIC_LEN], const uint8_t m[32],
    const uint8_t r[32], uint8_t out[MLKEM_CIPHERTEXT_LEN])
{
	struct {
		struct mlkem_poly	 y[K], u[K], v, t;
	}		 w;
	const uint8_t	*rho = public + K * POLY;
	int		 i, j;

	memset(&w, 0, sizeof(w));
	for (i = 0; i < K; i++) {
		mlkem_sample_cbd(&w.y[i], r, (uint8_t)i);
		mlkem_ntt(&w.y[i]);
		mlkem_unpack(&w.t, public + POLY * i, 12);
		mlkem_mul_add(&w.v, &w.t, &w.y[i]);
	}
	for (i = 0; i < K; i++) {
		for (j = 0; j < K; j++) {
			mlkem_sample_ntt(&w.t, rho, (uint8_t)i, (uint8_t)j);
			mlkem_mul_add(&w.u[i], &w.t, &w.y[j]);
		}
		mlkem_ntt_inverse(&w.u[i]);
		mlkem_sample_cbd(&w.t, r, (uint8_t)(K + i));
		mlkem_add(&w.u[i], &w.t);
	}
	mlkem_ntt_inverse(&w.v);
	mlkem_sample_cbd(&w.t, r, 2 * K);
	mlkem_add(&w.v, &w.t);
	add_message(&w.v, m);
	for (i = 0; i < K; i++)
		mlkem_pack(out + MLKEM_PACKED(DU) * i, &w.u[i], DU);
	mlkem_pack(out + MLKEM_PACKED(DU) * K, &w.v, DV);
	sodium_memzero(&w, sizeof(w));
}

/* K-PKE.Decrypt (algorithm 15). */
static void
decrypt(const uint8_t secret[MLKEM_SECRET_LEN],
    const uint8_t ciphertext[MLKEM_CIPHERTEXT_LEN], uint8_t m_out[32])
{
	struct {
		struct mlkem_poly	 u, s, sum, v;
	}	 w;
	int	 i;

	memset(&w, 0, sizeof(w));
	for (i = 0; i < K; i++) {
		mlkem_unpack(&w.u, ciphertext + MLKEM_PACKED(DU) * i, DU);
		mlkem_ntt(&w.u);
		mlkem_unpack(&w.s, secret + POLY * i, 12);
		mlkem_mul_add(&w.sum, &w.s, &w.u);
	}
	mlkem_ntt_inverse(&w.sum);
	mlkem_unpack(&w.v, ciphertext + MLKEM_PACKED(DU) * K, DV);
	mlkem_sub(&w.v, &w.sum);
	mlkem_pack(m_out, &w.v, 1);
	sodium_memzero(&w, sizeof(w));
}

void
mlkem_own_encapsulate(const uint8_t public[MLKEM_PUBLIC_LEN],
    const uint8_t m[MLKEM_RANDOM_LEN],
    uint8_t ciphertext_out[MLKEM_CIPHERTEXT_LEN],
    uint8_t shared_out[MLKEM_SHARED_LEN])
{
	uint8_t	 h[SHA3_256_LEN], g[SHA3_512_LEN];

	hash(KECCAK_SHA3_256, public, MLKEM_PUBLIC_LEN, NULL, 0, h, sizeof(h));
	hash(KECCAK_SHA3_512, m, MLKEM_RANDOM_LEN, h, sizeof(h), g, sizeof(g));
	encrypt(public, m, g + 32, ciphertext_out);
	memcpy(shared_out, g, MLKEM_SHARED_LEN);
	sodium_memzero(g, sizeof(g));
}

void
mlkem_own_decapsulate(const uint8_t secret[MLKEM_SECRET_LEN],
    const uint8_t ciphertext[MLKEM_CIPHERTEXT_LEN],
    uint8_t shared_out[MLKEM_SHARED_LEN])
{
	struct {
		uint8_t	 m[MLKEM_RANDOM_LEN], g[SHA3_512_LEN];
		uint8_t	 rejected[MLKEM_SHARED_LEN];
		uint8_t	 again[MLKEM_CIPHERTEXT_LEN];
	}			 w;
	uint32_t		 differ;
	int			 i;

	decrypt(secret, ciphertext, w.m);
	hash(KECCAK_SHA3_512, w.m, sizeof(w.m), secret + MLKEM_SECRET_HASH,
	    SHA3_256_LEN, w.g, sizeof(w.g));
	hash(KECCAK_SHAKE256, secret + MLKEM_SECRET_Z, 32, ciphertext,
	    MLKEM_CIPHERTEXT_LEN, w.rejected, sizeof(w.rejected));
	encrypt(secret + MLKEM_SECRET_PUBLIC, w.m, w.g + 32, w.again);
	/* All bits set or none. */
	differ = mlkem_opaque((uint32_t)sodium_memcmp(w.again, ciphertext,
	    sizeof(w.again)));
	for (i = 0; i < MLKEM_SHARED_LEN; i++)
		shared_out[i] = (uint8_t)(w.g[i] ^
		    (differ & (w.g[i] ^ w.rejected[i])));
	sodium_memzero(&w, sizeof(w));
}
