/* SHA-3, SHAKE (FIPS 202) for ML-KEM.  Constant time; wipes stack.  Pure. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define SHA3_256_LEN	32
#define SHA3_512_LEN	64

/* Of keccak_init(): rate in bytes, suffix with padding. */
#define KECCAK_SHA3_256	136, 0x06
#define KECCAK_SHA3_512	72, 0x06
#define KECCAK_SHAKE128	168, 0x1f
#define KECCAK_SHAKE256	136, 0x1f

/* First all keccak_put(), then keccak_get(). */
struct keccak {
	uint64_t	 lanes[25];
	unsigned int	 rate;
	unsigned int	 at;
	uint8_t		 suffix;
	uint8_t		 getting;
};

void	 keccak_init(struct keccak *k, unsigned int rate, uint8_t suffix);
void	 keccak_put(struct keccak *k, const void *data, size_t len);
void	 keccak_get(struct keccak *k, void *out, size_t len);
void	 keccak_fini(struct keccak *k);		/* wipes */
