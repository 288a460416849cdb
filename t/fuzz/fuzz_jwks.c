/*
 * master/auth/jwks.c: any text as a set of keys, which then has signed nothing
 * of what else is there.
 */
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "master/auth/jwks.h"

#define MUST(x)	do { if (!(x)) abort(); } while (0)

int	 LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint8_t	 signature[512] = { 1, 2, 3 };
	struct span		 said = { (const char *)data, size };
	struct jwks		*k;
	char			*copy, why[128] = "";
	size_t			 len;

	MUST(sodium_init() != -1);
	/* Of its own size, so that reading beyond it shows. */
	MUST((copy = malloc(size + 1)) != NULL);
	memcpy(copy, data, size);
	copy[size] = '\0';
	if ((k = jwks_new(copy, size, why, sizeof(why))) != NULL) {
		MUST(size <= JWKS_MAX && why[0] == '\0');
		for (len = 64; len <= sizeof(signature); len *= 2)
			MUST(jwks_verify(k, said, signature, len) == NULL);
		jwks_free(&k);
		MUST(k == NULL);
	} else {
		MUST(why[0] != '\0');
	}
	free(copy);
	return 0;
}
