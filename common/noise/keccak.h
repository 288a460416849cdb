/*
 * SHA-3 and SHAKE (FIPS 202), for ML-KEM; libsodium 1.0.18 has neither.
 * Constant time in the data; wipes what it leaves on the stack.  Pure.
 */
#ifndef COMMON_NOISE_KECCAK_H
#define COMMON_NOISE_KECCAK_H

#include <stddef.h>
#include <stdint.h>

#define SHA3_256_LEN	32
#define SHA3_512_LEN	64

/* Rate in bytes, suffix with padding: the last arguments of keccak_init(). */
#define KECCAK_SHA3_256	136, 0x06
#define KECCAK_SHA3_512	72, 0x06
#define KECCAK_SHAKE128	168, 0x1f
#define KECCAK_SHAKE256	136, 0x1f

/* A sponge: all input by keccak_put(), then all output by keccak_get(). */
struct keccak {
	uint64_t	 lanes[25];
	unsigned int	 rate;
	unsigned int	 at;
	uint8_t		 suffix;
	uint8_t		 getting;
};

/* Begin.  Whoever put a secret in calls keccak_fini(). */
void	 keccak_init(struct keccak *k, unsigned int rate, uint8_t suffix);

/* Take len bytes of input.  Not after keccak_get(). */
void	 keccak_put(struct keccak *k, const void *data, size_t len);

/* The next len bytes of output. */
void	 keccak_get(struct keccak *k, void *out, size_t len);

/* Wipe. */
void	 keccak_fini(struct keccak *k);

#endif
